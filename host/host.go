package host

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/reshost/reshost/host/internal/epoch"
	"github.com/reshost/reshost/host/internal/httpd"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/internal/stdio"
	"github.com/reshost/reshost/host/internal/subs"
	"github.com/reshost/reshost/host/provider"
)

// Principal is a verified caller. The zero value is the anonymous one.
type Principal = provider.Principal

// ErrClosed is returned by methods of a [Host] after Close.
var ErrClosed = errors.New("the host is closed")

// Host serves the resources of its providers. Create one with [New]. Its methods may be called concurrently.
type Host struct {
	opts   *Options
	log    *slog.Logger
	seal   *sealer
	server *mcp.Server
	http   *httpd.Handler
	hub    *subs.Hub
	// kept holds what providers answered, and epochs what changed since.
	kept   *results
	epochs *epoch.Table
	// keySalt makes the keys of this process its own: generations begin anew with each.
	keySalt [16]byte

	// snap is what requests see; it is replaced under mu.
	snap       atomic.Pointer[snapshot]
	generation atomic.Uint64
	admission  admission
	// gap stands for an open variable where a template is expanded in part. It is random, so that it occurs in no value.
	gap string
	// requests is entered by each request, so that Close can wait for the last.
	requests *gate

	// base ends when Close gives up waiting: calls in process and providers that are closing end with it.
	base  context.Context
	abort context.CancelFunc
	// serving ends the stdio sessions, each with the answers that it owes.
	serving    context.Context
	endServing context.CancelFunc
	sessions   sync.WaitGroup
	background sync.WaitGroup
	done       chan struct{} // closed when shutdown is through, with closeErr
	closeErr   error

	// mu guards what follows, and adding to sessions and background. No code of a provider or of the application runs
	// under it.
	mu      sync.Mutex
	slots   []*slot
	closing bool
}

// New returns a host without providers. It fails when an option has no meaning; the message names it.
func New(opts *Options) (*Host, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("host options: %w", err)
	}
	seal, err := newSealer(o.Keys)
	if err != nil {
		return nil, fmt.Errorf("host options: %w", err)
	}
	h := &Host{opts: o, log: o.Logger, seal: seal, requests: newGate(), done: make(chan struct{}), gap: rand.Text()}
	h.kept, h.epochs = newResults(o), epoch.New()
	_, _ = rand.Read(h.keySalt[:]) // it never fails
	h.base, h.abort = context.WithCancel(context.Background())
	h.serving, h.endServing = context.WithCancel(h.base)
	h.snap.Store(newSnapshot(nil))
	h.hub = subs.New(h.watchTarget, h.hubOptions())
	h.server = mcp.NewServer(backend{h}, h.serverOptions())
	h.http = httpd.New(h.server, h.httpOptions())
	return h, nil
}

// Handler returns the Streamable HTTP endpoint (rules H1 to H5). It is the same one at every call, serves any path it is
// mounted on, and answers 503 after Close.
func (h *Host) Handler() http.Handler { return h.http }

// ServeStdio serves one client over a pair of streams, one JSON message a line (rules T1 and T2). It returns nil when r
// ends, after all answers are written, and when the host closes; ctx's error when ctx is done first. Nothing but protocol
// is written to w. It closes neither stream, so a Read that blocks at the end outlives it until its stream is closed.
func (h *Host) ServeStdio(ctx context.Context, r io.Reader, w io.Writer) error {
	h.mu.Lock()
	if h.closing {
		h.mu.Unlock()
		return ErrClosed
	}
	h.sessions.Add(1)
	h.mu.Unlock()
	defer h.sessions.Done()
	joined, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.base, cancel)()
	err := stdio.Serve(joined, h.server, r, w, h.stdioOptions())
	if ctx.Err() == nil && h.serving.Err() != nil {
		return nil
	}
	return err
}

// Close ends the host: new requests are refused, subscriptions end with their last message, and requests in flight are waited for until ctx is done; they are
// cancelled then, and ctx's error is returned. All providers are closed; when one fails at it, so does Close. No goroutine
// of the host is left when Close returns without ctx's error. Later calls wait for the same end.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	first := !h.closing
	h.closing = true
	h.mu.Unlock()
	if first {
		go h.shutdown()
	}
	select {
	case <-h.done:
		return h.closeErr
	case <-ctx.Done():
		h.abort()
		return fmt.Errorf("closing the host: %w", ctx.Err())
	}
}

// shutdown ends everything in order: what brings requests, the requests, what answers them.
func (h *Host) shutdown() {
	defer close(h.done)
	h.requests.shut()
	h.hub.Close()
	httpErr := h.http.Close(h.base)
	select {
	case <-h.requests.idle:
	case <-h.base.Done():
	}
	h.endServing()
	h.sessions.Wait()
	h.hub.Wait()
	h.mu.Lock()
	var units []*unit
	for _, s := range h.slots {
		if s.live != nil {
			units = append(units, s.live.unit)
		}
	}
	h.slots = nil
	h.publish()
	for _, u := range units {
		h.retire(u)
	}
	h.mu.Unlock()
	h.background.Wait()
	errs := []error{httpErr}
	for _, u := range units {
		errs = append(errs, u.wait(context.Background()))
	}
	h.closeErr = errors.Join(errs...)
	h.abort()
}

// spawn runs f in a goroutine that Close waits for, unless the host is closing.
func (h *Host) spawn(f func()) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return false
	}
	h.background.Go(f)
	return true
}
