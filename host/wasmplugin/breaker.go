package wasmplugin

import (
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// BreakerState is what the breaker of a plugin does with calls.
type BreakerState string

// The states of a breaker.
const (
	// BreakerClosed: calls reach the plugin.
	BreakerClosed BreakerState = "closed"
	// BreakerOpen: calls are answered unavailable; the plugin rests.
	BreakerOpen BreakerState = "open"
	// BreakerHalfOpen: the rest is over, and the next call is a trial.
	BreakerHalfOpen BreakerState = "half_open"
)

// When a breaker opens: half of at least so many calls failed, over at least so many URIs.
const (
	breakerCalls = 20
	breakerURIs  = 3
	// breakerWindow is how long a call counts, and breakerKept how many are kept.
	breakerWindow = time.Minute
	breakerKept   = 256
	// breakerMemory is how long it is remembered that there is more than one caller.
	breakerMemory = 10 * time.Minute
	// The rest of a plugin: at first, and at most. It doubles with each trial that fails, and where the plugin fails again within
	// breakerCalm.
	firstRest   = time.Second
	longestRest = time.Minute
	breakerCalm = 5 * time.Minute
)

// breaker keeps calls from a plugin that fails whoever calls it. Only traps, timeouts and starts that failed count. The zero
// value is not usable: see newBreaker.
//
// One caller cannot open it for all: where there are two, half of the calls of the others must have failed as well. Nor
// can one keep it open: a trial that failed is followed by another caller's, where one comes.
type breaker struct {
	log  *slog.Logger
	seed maphash.Seed

	mu    sync.Mutex // guards the rest
	state BreakerState
	// calls are the last ones, the oldest at next once they are breakerKept.
	calls []verdict
	next  int
	// last and other are the two callers that were seen last.
	last, other sighting
	rest        time.Duration
	until       time.Time // the end of the rest
	closedAt    time.Time
	trying      bool   // a trial is under way
	tried       uint64 // who made the trial that failed last
}

// verdict is one call that counts.
type verdict struct {
	at       time.Time
	who, uri uint64
	failed   bool
}

type sighting struct {
	who uint64
	at  time.Time
}

// sign is how a call went, for the breaker.
type sign int

const (
	// neither says nothing about the plugin: it was not reached, or its caller left.
	neither sign = iota
	worked
	failed
)

// pass is a call that the breaker let through.
type pass struct {
	who, uri uint64
	trial    bool
}

func newBreaker(log *slog.Logger) *breaker {
	return &breaker{log: log, seed: maphash.MakeSeed(), state: BreakerClosed}
}

// hash makes a number of what identifies a caller or a URI: only equality counts.
func (b *breaker) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(b.seed)
	for _, p := range parts {
		h.WriteString(p)
		h.WriteByte(0)
	}
	return h.Sum64()
}

// whoOf identifies a caller: a principal, or the address of an anonymous one.
func (b *breaker) whoOf(c *provider.Caller) uint64 {
	if c.Principal.Anonymous() {
		return b.hash("", c.Remote)
	}
	return b.hash(c.Principal.Issuer, c.Principal.Subject, c.Principal.Tenant)
}

// enter asks whether a call may reach the plugin. caller is nil for the host itself, whose calls do not count. Whoever gets
// a pass calls leave.
func (b *breaker) enter(caller *provider.Caller, export, about string) (pass, error) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	var p pass
	if caller != nil {
		p.who, p.uri = b.whoOf(caller), b.hash(export, about)
		b.see(p.who, now)
	}
	if b.state == BreakerClosed {
		return p, nil
	}
	if left := b.until.Sub(now); left > 0 {
		return p, resting(left)
	}
	b.state = BreakerHalfOpen
	// After a trial that failed it is another caller's turn, for as long as the plugin rested.
	turn := p.who == b.tried && b.several(now)
	if left := b.until.Add(b.rest).Sub(now); turn && left > 0 {
		return p, resting(left)
	}
	if b.trying || caller == nil {
		return p, resting(time.Second)
	}
	p.trial, b.trying = true, true
	return p, nil
}

func resting(left time.Duration) error {
	return &provider.Error{Code: provider.Unavailable, Message: "the plugin keeps failing and rests", RetryAfter: left}
}

// leave says how a call went.
func (b *breaker) leave(p pass, o sign) {
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.trial {
		b.trying = false
	}
	switch {
	case o == neither:
	case p.trial && o == worked:
		b.state, b.closedAt, b.calls, b.next, b.tried = BreakerClosed, now, nil, 0, 0
		b.log.Info("the plugin answers again: its breaker is closed")
	case p.trial:
		b.tried = p.who
		b.rest = min(2*b.rest, longestRest)
		b.open(now)
	case b.state == BreakerClosed && p != pass{}:
		b.note(verdict{now, p.who, p.uri, o == failed})
		if o == failed && b.fails(now) {
			b.rest = min(max(2*b.rest, firstRest), longestRest)
			if b.closedAt.IsZero() || now.Sub(b.closedAt) > breakerCalm {
				b.rest = firstRest
			}
			b.open(now)
		}
	}
}

// open begins a rest. Called with mu held.
func (b *breaker) open(now time.Time) {
	b.state, b.until = BreakerOpen, now.Add(b.rest)
	b.log.Error("the plugin keeps failing: its breaker is open, and calls are answered unavailable", "rest", b.rest)
}

// see notes that a caller is there. Called with mu held.
func (b *breaker) see(who uint64, now time.Time) {
	if who != b.last.who {
		b.other, b.last.who = b.last, who
	}
	b.last.at = now
}

// several reports whether there is more than one caller. Called with mu held.
func (b *breaker) several(now time.Time) bool {
	return !b.other.at.IsZero() && now.Sub(b.other.at) < breakerMemory
}

// note keeps a call. Called with mu held.
func (b *breaker) note(v verdict) {
	if len(b.calls) < breakerKept {
		b.calls = append(b.calls, v)
		return
	}
	b.calls[b.next] = v
	b.next = (b.next + 1) % breakerKept
}

// tally counts calls.
type tally struct{ calls, failed int }

func (t tally) half() bool { return t.failed > 0 && 2*t.failed >= t.calls }

// fails reports whether the plugin fails whoever calls it. Called with mu held.
func (b *breaker) fails(now time.Time) bool {
	var all tally
	callers, uris := map[uint64]tally{}, map[uint64]bool{}
	for _, v := range b.calls {
		if now.Sub(v.at) > breakerWindow {
			continue
		}
		one := callers[v.who]
		one.calls++
		all.calls++
		if v.failed {
			one.failed++
			all.failed++
			uris[v.uri] = true
		}
		callers[v.who] = one
	}
	if all.calls < breakerCalls || !all.half() || len(uris) < breakerURIs {
		return false
	}
	if !b.several(now) {
		return true
	}
	var worst tally
	for _, one := range callers {
		if one.failed > worst.failed {
			worst = one
		}
	}
	return tally{all.calls - worst.calls, all.failed - worst.failed}.half()
}

// status returns the state, and the end of the rest where it is not closed.
func (b *breaker) status() (BreakerState, time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.state == BreakerClosed:
		return b.state, time.Time{}
	case !time.Now().Before(b.until):
		return BreakerHalfOpen, b.until
	}
	return b.state, b.until
}
