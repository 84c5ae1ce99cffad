// Package stdio serves the Model Context Protocol over a pair of byte streams, one message a line.
package stdio

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// Options configure [Serve]. The zero value, and nil, work.
type Options struct {
	// Logger receives what goes wrong with the streams. nil discards.
	Logger *slog.Logger
	// Principal is the caller of every request on this pipe (rule A5). nil: anonymous.
	Principal *provider.Principal
	// MaxMessage bounds a line in bytes. 0: 4 MiB.
	MaxMessage int
	// MaxConcurrent bounds the requests in flight. 0: 1,024.
	MaxConcurrent int
	// Drain is how long requests in flight may take after the end of input. 0: 5 s.
	Drain time.Duration
}

// Serve reads messages from r until its end or until ctx is done, and writes answers to w, nothing else (rule T1).
// At the end of r it answers what is in flight, for at most Options.Drain, and returns nil. When ctx is done it cancels
// what is in flight and returns the context's error. It closes neither stream: a Read or Write that blocks at that moment
// outlives Serve until its stream is closed.
func Serve(ctx context.Context, s *mcp.Server, r io.Reader, w io.Writer, opts *Options) error {
	return errors.New("not yet")
}
