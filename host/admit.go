package host

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// caller is who asks. principal is never nil.
type caller struct {
	principal *Principal
	remote    string
	meta      provider.JSON
}

func newCaller(p *Principal, remote string, meta provider.JSON) *caller {
	if p == nil {
		p = &Principal{}
	}
	return &caller{principal: p, remote: remote, meta: meta}
}

// share is whom a request counts against: a verified principal, or the address of anonymous callers. The zero value
// counts against nobody.
type share struct{ issuer, subject, remote string }

func (c *caller) share() share {
	if !c.principal.Anonymous() {
		return share{issuer: c.principal.Issuer, subject: c.principal.Subject}
	}
	if a, err := netip.ParseAddr(c.remote); err != nil || a.IsLoopback() {
		return share{}
	}
	return share{remote: c.remote}
}

// admission counts the requests being served. The zero value is empty.
type admission struct {
	total atomic.Int64

	mu     sync.Mutex // guards shares
	shares map[share]int
}

// refusal is why a request is not served now.
type refusal struct {
	// tooMany says that this caller has too many requests at once; otherwise the host has.
	tooMany bool
	closed  bool
}

func (r *refusal) Error() string { return r.asError().Message }

func (r *refusal) asError() *provider.Error {
	switch {
	case r.closed:
		return provider.Wrap(provider.Unavailable, ErrClosed, "the server is shutting down")
	case r.tooMany:
		return &provider.Error{Code: provider.Unavailable, Message: "too many requests of this caller at once", RetryAfter: retryAfter}
	default:
		return &provider.Error{Code: provider.Unavailable, Message: "too many requests at once", RetryAfter: retryAfter}
	}
}

// retryAfter is what refused callers are told: slots come free within a call's time, mostly much sooner.
const retryAfter = time.Second

// admit takes a slot for a request of c, at once or not at all: who is refused can try elsewhere, while a queue here would
// only make everyone late. The returned function gives the slot back.
func (h *Host) admit(c *caller) (release func(), refused *refusal) {
	if !h.requests.enter() {
		return nil, &refusal{closed: true}
	}
	s := c.share()
	if refused := h.admission.take(s, &h.opts.Limits); refused != nil {
		h.requests.leave()
		return nil, refused
	}
	return func() {
		h.admission.give(s)
		h.requests.leave()
	}, nil
}

func (a *admission) take(s share, l *Limits) *refusal {
	if a.total.Add(1) > int64(l.Requests) {
		a.total.Add(-1)
		return &refusal{}
	}
	if s == (share{}) {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shares[s] >= l.PrincipalRequests {
		a.total.Add(-1)
		return &refusal{tooMany: true}
	}
	if a.shares == nil {
		a.shares = map[share]int{}
	}
	a.shares[s]++
	return nil
}

func (a *admission) give(s share) {
	a.total.Add(-1)
	if s == (share{}) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shares[s]--; a.shares[s] <= 0 {
		delete(a.shares, s)
	}
}

// enter begins a request in process: it takes a slot, and ends the request when Close gives up waiting for it.
func (h *Host) enter(ctx context.Context, p *Principal) (*caller, context.Context, func(), error) {
	c := newCaller(p, "", nil)
	release, refused := h.admit(c)
	if refused != nil {
		return nil, nil, nil, refused.asError()
	}
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.base, cancel)
	return c, ctx, func() {
		stop()
		cancel()
		release()
	}, nil
}
