package wasmplugin

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/reshost/reshost/abi"
)

// pluginLog is where a plugin's lines go: the host's logger with the plugin's name, so many lines a second.
type pluginLog struct {
	log   *slog.Logger
	limit int // lines a second; negative: no limit

	mu      sync.Mutex // guards the rest
	tokens  float64
	last    time.Time
	dropped int
}

func newPluginLog(log *slog.Logger, limit int) *pluginLog {
	return &pluginLog{log: log, limit: limit, tokens: float64(limit), last: time.Now()}
}

// line writes one line of the guest's, or one about it.
func (l *pluginLog) line(level slog.Level, text string, attrs ...slog.Attr) {
	ctx := context.Background()
	if !l.log.Enabled(ctx, level) {
		return
	}
	ok, dropped := l.allow()
	if dropped > 0 {
		l.log.LogAttrs(ctx, slog.LevelWarn, "log lines of the plugin were dropped", slog.Int("lines", dropped))
	}
	if ok {
		l.log.LogAttrs(ctx, level, text, attrs...)
	}
}

// allow takes a token. Where lines were dropped before, it says how many once.
func (l *pluginLog) allow() (ok bool, dropped int) {
	if l.limit < 0 {
		return true, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.tokens = min(float64(l.limit), l.tokens+now.Sub(l.last).Seconds()*float64(l.limit))
	l.last = now
	if l.tokens < 1 {
		l.dropped++
		return false, 0
	}
	l.tokens--
	dropped, l.dropped = l.dropped, 0
	return true, dropped
}

// slogLevel maps a guest's level.
func slogLevel(l abi.Level) slog.Level {
	switch l {
	case abi.LevelEmergency, abi.LevelAlert, abi.LevelCritical, abi.LevelError:
		return slog.LevelError
	case abi.LevelWarning:
		return slog.LevelWarn
	case abi.LevelDebug:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// levelName returns the RFC 5424 name of a guest's level, as the protocol writes it.
func levelName(l abi.Level) string {
	names := [...]string{"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"}
	if l < 0 || int(l) >= len(names) {
		return "info"
	}
	return names[l]
}

// output takes an instance's standard output and standard error apart into lines.
type output struct {
	log            *pluginLog
	stdout, stderr []byte // the last, unfinished lines
	tail           []byte // the end of standard error
}

// maxTail is how much of standard error a failure carries.
const maxTail = 2 << 10

func (o *output) write(fd uint32, b []byte) {
	pending, level, stream := &o.stdout, slog.LevelInfo, "stdout"
	if fd == 2 {
		pending, level, stream = &o.stderr, slog.LevelWarn, "stderr"
		o.keepTail(b)
	}
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		end := i
		if i < 0 {
			end = len(b)
		}
		if room := abi.MaxLogLine - len(*pending); room > 0 {
			*pending = append(*pending, b[:min(end, room)]...)
		}
		if i < 0 {
			return
		}
		b = b[i+1:]
		o.log.line(level, safeText(string(*pending), abi.MaxLogLine), slog.String("stream", stream))
		*pending = (*pending)[:0]
	}
}

func (o *output) keepTail(b []byte) {
	if len(b) >= maxTail {
		o.tail = append(o.tail[:0], b[len(b)-maxTail:]...)
		return
	}
	if over := len(o.tail) + len(b) - maxTail; over > 0 {
		o.tail = append(o.tail[:0], o.tail[over:]...)
	}
	o.tail = append(o.tail, b...)
}

// flush ends unfinished lines: at the end of a call.
func (o *output) flush() {
	for fd, pending := range map[uint32][]byte{1: o.stdout, 2: o.stderr} {
		if len(pending) > 0 {
			tail := o.tail
			o.write(fd, []byte{'\n'})
			o.tail = tail
		}
	}
}

// takeTail returns the end of standard error and forgets it.
func (o *output) takeTail() string {
	t := strings.TrimSpace(string(o.tail))
	o.tail = o.tail[:0]
	return t
}

// safeText makes a guest's text fit for logs and clients: valid UTF-8 of at most limit bytes, in which what steers a
// terminal or hides text is written as an escape.
func safeText(s string, limit int) string {
	clean := len(s) <= limit
	for i := 0; clean && i < len(s); i++ {
		clean = s[i] >= 0x20 && s[i] < 0x7f
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		e := s[i : i+size]
		switch {
		case r == utf8.RuneError && size == 1:
			e = `\x` + strconv.FormatUint(uint64(s[i]), 16)
		case r == '\n':
			e = `\n`
		case r == '\t':
			e = `\t`
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == 0x2028, r == 0x2029:
			q := strconv.QuoteRuneToASCII(r)
			e = q[1 : len(q)-1]
		}
		if b.Len()+len(e) > limit {
			break
		}
		b.WriteString(e)
		i += size
	}
	return b.String()
}
