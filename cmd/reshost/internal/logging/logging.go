// Package logging puts go-hclog behind log/slog, the interface that the host logs through. Only cmd/reshost imports it.
//
//	log := logging.New(os.Stderr, &logging.Options{Level: "info", Format: "json"})
//	h, err := host.New(&host.Options{Logger: log})
//
// A logger that carries the attribute "plugin" becomes a sub-logger of that name: its lines read "reshost.handbook".
//
// Nothing here fails: an unknown level counts as info.
package logging

import (
	"context"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Name of the root logger.
const Name = "reshost"

// pluginKey is the attribute that names a sub-logger.
const pluginKey = "plugin"

// levelTrace is below slog's own levels, as hclog's Trace is.
const levelTrace = slog.LevelDebug - 4

// Options configure New.
type Options struct {
	// Level is trace, debug, info, warn, error or off. Default info.
	Level string
	// Format is text or json. Default text.
	Format string
	// NoColor keeps colour out even where w is a terminal.
	NoColor bool
	// Terminal says that what is written to w comes to a terminal, where w itself is no file.
	Terminal bool
}

// New returns a logger that writes to w: in colour only when w is a terminal.
func New(w io.Writer, opts *Options) *slog.Logger {
	level := hclog.LevelFromString(opts.Level)
	if level == hclog.NoLevel {
		level = hclog.Info
	}
	o := &hclog.LoggerOptions{
		Name: Name, Level: level, Output: w, JSONFormat: opts.Format == "json", Color: hclog.ColorOff, TimeFormat: time.RFC3339Nano,
		JSONEscapeDisabled: true,
	}
	if _, ok := w.(*os.File); ok && !opts.NoColor && !o.JSONFormat {
		o.Color, o.ColorHeaderOnly = hclog.AutoColor, true
	}
	if opts.Terminal && !opts.NoColor && !o.JSONFormat {
		o.Color, o.ColorHeaderOnly = hclog.ForceColor, true
	}
	return slog.New(&handler{log: hclog.New(o)})
}

// handler is a slog.Handler on an hclog.Logger.
type handler struct {
	log hclog.Logger
	// group is the prefix of attribute names, "" or ending in a dot.
	group string
}

func (h *handler) Enabled(_ context.Context, l slog.Level) bool {
	if h.log.GetLevel() == hclog.Off {
		return false
	}
	return toLevel(l) >= h.log.GetLevel()
}

func (h *handler) Handle(_ context.Context, r slog.Record) error {
	log, args := h.log, make([]any, 0, 2*r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		if name, ok := h.plugin(a); ok {
			log = log.Named(name)
			return true
		}
		args = appendAttr(args, h.group, a)
		return true
	})
	log.Log(toLevel(r.Level), r.Message, args...)
	return nil
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	log, args := h.log, make([]any, 0, 2*len(attrs))
	for _, a := range attrs {
		if name, ok := h.plugin(a); ok {
			log = log.Named(name)
			continue
		}
		args = appendAttr(args, h.group, a)
	}
	if len(args) > 0 {
		log = log.With(args...)
	}
	return &handler{log, h.group}
}

func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{h.log, h.group + name + "."}
}

// plugin returns the name that an attribute gives a sub-logger.
func (h *handler) plugin(a slog.Attr) (string, bool) {
	if a.Key != pluginKey || h.group != "" || a.Value.Kind() != slog.KindString || a.Value.String() == "" {
		return "", false
	}
	return a.Value.String(), true
}

// appendAttr adds an attribute as name and value; a group's attributes get its name as prefix.
func appendAttr(args []any, prefix string, a slog.Attr) []any {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			args = appendAttr(args, prefix, inner)
		}
		return args
	}
	if a.Equal(slog.Attr{}) {
		return args
	}
	return append(slices.Grow(args, 2), prefix+a.Key, plain(v))
}

// plain returns a value that hclog prints well in both forms.
func plain(v slog.Value) any {
	switch v.Kind() {
	case slog.KindDuration:
		return v.Duration().String()
	case slog.KindTime:
		return v.Time().Format(time.RFC3339Nano)
	}
	if err, ok := v.Any().(error); ok {
		return err.Error()
	}
	return v.Any()
}

func toLevel(l slog.Level) hclog.Level {
	switch {
	case l < slog.LevelDebug && l <= levelTrace:
		return hclog.Trace
	case l < slog.LevelInfo:
		return hclog.Debug
	case l < slog.LevelWarn:
		return hclog.Info
	case l < slog.LevelError:
		return hclog.Warn
	}
	return hclog.Error
}
