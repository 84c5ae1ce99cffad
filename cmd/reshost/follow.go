package main

import (
	"context"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// rereader has files that what is in use came from. Their status is asked rather than the kernel for news: it also shows a symbolic
// link that points elsewhere now, on every system and over networks.
type rereader interface {
	// lastRead returns how the files were when they were last read.
	lastRead() map[string]fs.FileInfo
	// reload reads them again. asked says that somebody asked for it, by SIGHUP.
	reload(ctx context.Context, asked bool)
}

// followFiles reloads f in a goroutine when its files have changed, and at once on SIGHUP, until the returned function is called.
func followFiles(f rereader, every time.Duration) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watchFiles(ctx, f, every, hangup)
	}()
	return func() {
		cancel()
		<-done
		signal.Stop(hangup)
	}
}

// watchFiles is the goroutine of followFiles. Files that changed are read once they have stayed as they are from one look to the
// next: several are not replaced at one time, and half of a file may parse.
func watchFiles(ctx context.Context, f rereader, every time.Duration, hangup <-chan os.Signal) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	last := f.lastRead()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			f.reload(ctx, true)
			last = f.lastRead()
		case <-ticker.C:
			now := stamps(f.lastRead())
			if sameStamps(now, last) && !sameStamps(now, f.lastRead()) {
				f.reload(ctx, false)
			}
			last = now
		}
	}
}
