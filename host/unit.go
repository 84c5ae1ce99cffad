package host

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"github.com/reshost/reshost/host/provider"
)

// unit is one generation of a provider: what is called, counted and, in the end, closed. What it serves stands in its
// view, which is replaced when its Info changes.
type unit struct {
	host *Host
	name string
	gen  uint64
	p    provider.Provider
	// calls is entered by each call, so that Close comes after the last.
	calls *gate
	// clientLogs says that its log lines may reach clients.
	clientLogs bool
	// closed is closed when Provider.Close has returned err.
	closed chan struct{}
	err    error

	// stale asks for another look at Info; refreshing says that a goroutine is at it.
	stale, refreshing atomic.Bool
	// sharedList is set while what List returns is said to be the same for every caller.
	sharedList atomic.Bool
	// failing is set while List fails.
	failing atomic.Bool
	// changes and listChanges count what makes all results of this provider old, or its lists.
	changes, listChanges atomic.Uint64
	// clamped counts the results whose ttl was out of bounds.
	clamped atomic.Uint64
	// strange counts the updates of URIs that are not this provider's.
	strange atomic.Uint64
}

func (h *Host) newUnit(p provider.Provider, name string) *unit {
	return &unit{host: h, name: name, gen: h.generation.Add(1), p: p, calls: newGate(), closed: make(chan struct{})}
}

// Updated implements provider.Events. A URI that is not this provider's is ignored; the log says so, ever more seldom.
func (u *unit) Updated(text string) {
	snap := u.host.snap.Load()
	i, ok := snap.byName[u.name]
	if !ok || snap.views[i].unit != u {
		return // not served yet, or no longer
	}
	r, err := snap.routeText(snap.views[i], text)
	if err != nil {
		if n := u.strange.Add(1); n&(n-1) == 0 {
			u.host.log.Warn("a provider reported a change of what is not its own", "provider", u.name, "uri", cut(text, maxLogged), "times", n, "error", err)
		}
		return
	}
	// Before anybody is told, so that who reads on hearing of it gets the new content.
	u.host.forget(r.uri)
	u.host.hub.Updated(r.uri)
}

// maxLogged is how much of a URI stands in the log.
const maxLogged = 256

// ListChanged implements provider.Events.
func (u *unit) ListChanged() {
	u.listChanges.Add(1)
	u.stale.Store(true)
	u.host.refreshSoon(u)
	u.host.hub.ListChanged()
}

// Watch implements subs.Source. The hub bounds its time.
func (u *unit) Watch(ctx context.Context, uri string) error {
	if !u.calls.enter() {
		return errRetired
	}
	defer u.calls.leave()
	return u.host.call(ctx, "Watch", func(ctx context.Context) error { return u.p.Watch(ctx, uri) })
}

// Unwatch implements subs.Source.
func (u *unit) Unwatch(uri string) {
	if !u.calls.enter() {
		return // it is closing, which ends every watch
	}
	defer u.calls.leave()
	err := guard("Unwatch", func() error {
		u.p.Unwatch(uri)
		return nil
	})
	if err != nil {
		u.host.log.Error("a provider failed", "provider", u.name, "error", err)
	}
}

// retire lets no new call in and closes the provider when its last call has ended. The unit is out of the snapshot already,
// and h.mu is held, so that Close cannot miss the goroutine.
func (h *Host) retire(u *unit) {
	u.calls.shut()
	h.background.Go(func() {
		<-u.calls.idle
		u.err = guard("Close", func() error { return u.p.Close(h.base) })
		if u.err != nil {
			h.log.Error("closing a provider", "provider", u.name, "generation", u.gen, "error", u.err)
		}
		close(u.closed)
	})
}

// wait returns when the retired unit's provider is closed, with its error, or when ctx is done.
func (u *unit) wait(ctx context.Context) error {
	select {
	case <-u.closed:
		if u.err != nil {
			return fmt.Errorf("provider %q: closing it: %w", u.name, u.err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("provider %q: it closes when its last call has ended: %w", u.name, ctx.Err())
	}
}

// guard runs a provider's or an operator's code and turns a panic into an error that carries the stack.
func guard(what string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{what: what, value: r, stack: debug.Stack()}
		}
	}()
	return f()
}

// panicError is a recovered panic.
type panicError struct {
	what  string
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic in %s: %v", e.what, e.value) }

// describe asks a provider for its facts.
func describe(p provider.Provider) (info provider.Info, err error) {
	err = guard("Info", func() error {
		info = p.Info()
		return nil
	})
	return info, err
}

// call runs one call of a provider within the deadline. The error, when there is one, is a *provider.Error whose code says
// whose fault it was: the caller's leaving is Canceled, never the provider's.
func (h *Host) call(ctx context.Context, what string, f func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, h.opts.Limits.Call)
	defer cancel()
	err := guard(what, func() error { return f(limited) })
	if err == nil {
		return nil
	}
	switch code := provider.CodeOf(err); {
	case ctx.Err() == context.Canceled:
		return provider.Wrap(provider.Canceled, err, "")
	case code == provider.Canceled && limited.Err() == nil:
		return provider.Wrap(provider.Internal, err, "the provider gave up a call that nobody left")
	case (code == provider.Internal || code == provider.Canceled) && limited.Err() != nil:
		return provider.Wrap(provider.Timeout, err, "")
	default:
		return asError(err)
	}
}
