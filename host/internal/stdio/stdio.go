// Package stdio serves the Model Context Protocol over a pair of byte streams, one message a line: the standard streams of
// a process, or any others.
//
// host imports it. It knows lines, ids in flight and cancellation; what a message means is host/internal/mcp's.
//
//	err := stdio.Serve(ctx, server, os.Stdin, os.Stdout, nil)
//
// # Errors
//
// Nothing that a client sends ends [Serve]: a malformed or overlong line gets its error, and the next line is read. It fails
// when a stream fails, or when its context is done.
package stdio

import (
	"context"
	"errors"
	"fmt"
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
	// MaxRunning bounds how many of them are served at once; the others wait for their turn, and can be cancelled
	// meanwhile. 0: 64.
	MaxRunning int
	// Drain is how long requests in flight may take after the end of input. 0: 5 s.
	Drain time.Duration
	// Closing, when it is done, ends Serve as the end of input does. nil: only that does.
	Closing context.Context
}

// grace is how long Serve waits for what it has cancelled. A provider that ignores its context is left behind.
const grace = time.Second

func (o *Options) withDefaults() Options {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.MaxMessage <= 0 {
		opts.MaxMessage = 4 << 20
	}
	if opts.MaxConcurrent <= 0 {
		opts.MaxConcurrent = 1024
	}
	if opts.MaxRunning <= 0 {
		opts.MaxRunning = 64
	}
	if opts.Closing == nil {
		opts.Closing = context.Background()
	}
	if opts.Drain <= 0 {
		opts.Drain = 5 * time.Second
	}
	return opts
}

// Serve reads messages from r until its end or until ctx is done, and writes answers to w, nothing else (rule T1).
// At the end of r it ends the subscriptions and answers what is in flight, for at most Options.Drain, and returns nil. When ctx is done it cancels
// what is in flight and returns the context's error. It closes neither stream: a Read or Write that blocks at that moment
// outlives Serve until its stream is closed, unless the stream has deadlines, as pipes of os have.
func Serve(ctx context.Context, s *mcp.Server, r io.Reader, w io.Writer, opts *Options) error {
	inner, cancel := context.WithCancel(ctx)
	p := newPipe(inner, s, opts.withDefaults())
	ended, written := make(chan error, 1), make(chan error, 1)
	go func() { ended <- p.read(r) }()
	go func() { written <- p.write(w) }()

	var err error
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case werr := <-written:
		written = nil
		err = fmt.Errorf("write a message: %w", werr)
	case rerr := <-ended:
		if rerr != nil && !errors.Is(rerr, io.EOF) {
			err = fmt.Errorf("read a message: %w", rerr)
		}
		p.drain(ctx)
	case <-p.opts.Closing.Done():
		p.drain(ctx)
	}
	if err == nil {
		err = ctx.Err()
	}
	cancel()
	if err != nil {
		close(p.stop) // first, so that nobody waits for the writer
	}
	p.conn.Close()
	p.wait(grace)
	p.finish(r, w, written, err == nil)
	return err
}

// finish ends the goroutines that hold the streams, as far as the streams allow.
func (p *pipe) finish(r io.Reader, w io.Writer, written <-chan error, flush bool) {
	if flush {
		close(p.flush)
		select {
		case <-written:
			written = nil
		case <-time.After(grace):
		}
		close(p.stop)
	}
	if d, ok := r.(interface{ SetReadDeadline(time.Time) error }); ok {
		d.SetReadDeadline(time.Now()) // best effort: a stream without deadlines stays blocked until it is closed
	}
	if written == nil {
		return
	}
	if d, ok := w.(interface{ SetWriteDeadline(time.Time) error }); ok {
		d.SetWriteDeadline(time.Now()) // as above
	}
	select {
	case <-written:
	case <-time.After(grace):
		p.opts.Logger.Warn("a client does not read: its output was dropped")
	}
}
