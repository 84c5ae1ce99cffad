package logging

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
)

func logged(t *testing.T, level string, log func(*slog.Logger)) []map[string]any {
	t.Helper()
	var b bytes.Buffer
	log(New(&b, &Options{Level: level, Format: "json"}))
	var lines []map[string]any
	for line := range strings.Lines(b.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if m["@timestamp"] == nil {
			t.Errorf("no time in %q", line)
		}
		delete(m, "@timestamp")
		lines = append(lines, m)
	}
	return lines
}

func TestJSON(t *testing.T) {
	got := logged(t, "debug", func(l *slog.Logger) {
		l.Log(context.Background(), slog.LevelDebug-4, "too low")
		l.Debug("one", "n", 1, "err", errors.New("broken"), "d", 1500*time.Millisecond)
		l.With("plugin", "docs", "a", "b").Warn("two", slog.Group("g", "x", 1))
		l.WithGroup("h").Error("three", "plugin", "not a name here")
		l.Info("four", "plugin", "files", "html", "<&>")
	})
	want := []map[string]any{
		{"@level": "debug", "@module": "reshost", "@message": "one", "n": 1.0, "err": "broken", "d": "1.5s"},
		{"@level": "warn", "@module": "reshost.docs", "@message": "two", "a": "b", "g.x": 1.0},
		{"@level": "error", "@module": "reshost", "@message": "three", "h.plugin": "not a name here"},
		{"@level": "info", "@module": "reshost.files", "@message": "four", "html": "<&>"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestLevels(t *testing.T) {
	for level, want := range map[string]int{"trace": 5, "debug": 4, "info": 3, "warn": 2, "error": 1, "off": 0, "": 3, "nonsense": 3} {
		got := logged(t, level, func(l *slog.Logger) {
			for _, at := range []slog.Level{slog.LevelDebug - 4, slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				l.Log(context.Background(), at, "line")
			}
		})
		if len(got) != want {
			t.Errorf("level %q lets %d lines through, want %d", level, len(got), want)
		}
	}
}

// TestText shows that what is no terminal gets no colour, and that one call is one line whatever the values hold.
func TestText(t *testing.T) {
	var b bytes.Buffer
	New(&b, &Options{}).With("plugin", "docs").Info("message", "value", "two\nlines \x1b[31m")
	if s := b.String(); strings.Contains(s, "\x1b[") || !strings.Contains(s, "[INFO]  reshost.docs: message:") {
		t.Errorf("got %q", s)
	}
}
