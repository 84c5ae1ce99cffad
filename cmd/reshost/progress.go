package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/reshost/reshost/host/wasmplugin"
)

// statusLine is a stderr whose last line says what is under way. Whatever else is written stands above it. It is used for a
// terminal only: elsewhere the log says it.
type statusLine struct {
	mu   sync.Mutex // guards the rest
	w    io.Writer
	text string
}

// clearLine goes to the beginning of a terminal's line and clears it (ECMA-48, EL).
const clearLine = "\r\x1b[K"

// Write implements io.Writer.
func (l *statusLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == "" {
		return l.w.Write(b)
	}
	fmt.Fprint(l.w, clearLine)
	n, err := l.w.Write(b)
	fmt.Fprint(l.w, l.text)
	return n, err
}

// set replaces the line; "" ends it.
func (l *statusLine) set(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text != l.text {
		fmt.Fprint(l.w, clearLine+text)
		l.text = text
	}
}

// progressLook is how often the line is brought up to date.
const progressLook = 200 * time.Millisecond

// showProgress says on a terminal which plugins are being compiled and started. It ends when none is any more, or with the
// function that it returns.
func (a *app) showProgress(status func() []wasmplugin.Status) (stop func()) {
	line, ok := a.stderr.(*statusLine)
	if !ok {
		return func() {}
	}
	done := make(chan struct{})
	var work sync.WaitGroup
	began := time.Now()
	work.Go(func() {
		defer line.set("")
		look := time.NewTicker(progressLook)
		defer look.Stop()
		for {
			select {
			case <-done:
				return
			case <-look.C:
			}
			text := progressText(status(), time.Since(began))
			if line.set(text); text == "" {
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		work.Wait()
	})
}

// progressText is the line for plugins in these states, "" when nothing is under way.
func progressText(plugins []wasmplugin.Status, since time.Duration) string {
	var names []string
	ready := 0
	for i := range plugins {
		switch p := &plugins[i]; p.State {
		case wasmplugin.StateReady, wasmplugin.StateFailed:
			ready++
		case wasmplugin.StateCompiling, wasmplugin.StateStarting:
			names = append(names, printable(p.Name))
		}
	}
	if ready == len(plugins) {
		return ""
	}
	const shown = 3
	if more := len(names) - shown; more > 0 {
		names = append(names[:shown], fmt.Sprintf("%d more", more))
	}
	busy := ""
	if len(names) > 0 {
		busy = "; compiling and starting " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("plugins: %d of %d ready%s (%d s)", ready, len(plugins), busy, int(since.Seconds()))
}
