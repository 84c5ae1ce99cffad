package wasmplugin

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// callerNamed is a principal, or an anonymous caller by address.
func callerNamed(name string) *provider.Caller {
	if strings.Contains(name, ".") {
		return &provider.Caller{Remote: name}
	}
	return &provider.Caller{Principal: &provider.Principal{Issuer: "i", Subject: name}}
}

// breakerCall is one call in a test: who, about what, and how it goes.
type breakerCall struct {
	who, uri string
	outcome  sign
}

// make makes a call and reports whether it was let through.
func (b *breaker) make(c breakerCall) bool {
	p, err := b.enter(callerNamed(c.who), "rh_read", c.uri)
	if err != nil {
		return false
	}
	b.leave(p, c.outcome)
	return true
}

// repeat returns n calls; uris and callers take turns.
func repeatCalls(n int, o sign, uris int, who ...string) []breakerCall {
	out := make([]breakerCall, n)
	for i := range out {
		out[i] = breakerCall{who[i%len(who)], fmt.Sprint("x://", i%uris), o}
	}
	return out
}

func TestBreakerOpens(t *testing.T) {
	join := func(lists ...[]breakerCall) (all []breakerCall) {
		for _, l := range lists {
			all = append(all, l...)
		}
		return all
	}
	for _, tt := range []struct {
		name  string
		calls []breakerCall
		want  BreakerState
	}{
		{"20 failures, two callers, three URIs", repeatCalls(20, failed, 3, "ann", "bob"), BreakerOpen},
		{"19 failures", repeatCalls(19, failed, 3, "ann", "bob"), BreakerClosed},
		{"two URIs", repeatCalls(60, failed, 2, "ann", "bob", "cyd"), BreakerClosed},
		{"one caller, where there is no other", repeatCalls(20, failed, 3, "ann"), BreakerOpen},
		{"one caller, where there is another", join(repeatCalls(1, worked, 1, "bob"), repeatCalls(100, failed, 7, "ann")), BreakerClosed},
		{"one caller, who pushed the other out", join(repeatCalls(1, worked, 1, "bob"), repeatCalls(2*breakerKept, failed, 7, "ann")), BreakerClosed},
		{"one caller, and another's bad luck", join(repeatCalls(10, worked, 3, "bob"), repeatCalls(1, failed, 1, "bob"), repeatCalls(100, failed, 7, "ann")), BreakerClosed},
		{"anonymous callers count by address", join(repeatCalls(1, worked, 1, "192.0.2.1"), repeatCalls(100, failed, 7, "192.0.2.2")), BreakerClosed},
		{"half failed", join(repeatCalls(10, worked, 3, "ann", "bob"), repeatCalls(10, failed, 3, "ann", "bob")), BreakerOpen},
		{"less than half", join(repeatCalls(12, worked, 3, "ann", "bob"), repeatCalls(10, failed, 3, "ann", "bob")), BreakerClosed},
		{"what says nothing does not count", repeatCalls(100, neither, 7, "ann", "bob"), BreakerClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBreaker(slog.New(slog.DiscardHandler))
			for _, c := range tt.calls {
				b.make(c)
			}
			if got, _ := b.status(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestBreakerRests: it opens, rests, tries, rests longer, tries another caller first, and closes.
func TestBreakerRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuffer{}
		b := newBreaker(slog.New(slog.NewTextHandler(log, nil)))
		open := func() {
			for _, c := range repeatCalls(20, failed, 3, "ann", "bob") {
				b.make(c)
			}
		}
		check := func(want BreakerState, left time.Duration) {
			t.Helper()
			if state, until := b.status(); state != want || left > 0 && time.Until(until) != left {
				t.Fatalf("%s, %s left; want %s, %s", state, time.Until(until), want, left)
			}
		}
		open()
		check(BreakerOpen, firstRest)
		_, err := b.enter(callerNamed("cyd"), "rh_read", "x://9")
		if e := wantCode(t, err, provider.Unavailable); e.RetryAfter != firstRest {
			t.Errorf("retry after %s", e.RetryAfter)
		}
		time.Sleep(firstRest)
		check(BreakerHalfOpen, 0)
		trial, err := b.enter(callerNamed("ann"), "rh_read", "x://0")
		if err != nil || !trial.trial {
			t.Fatalf("no trial: %v", err)
		}
		if b.make(breakerCall{"bob", "x://1", worked}) {
			t.Error("two trials at once")
		}
		b.leave(trial, failed)
		check(BreakerOpen, 2*firstRest)
		time.Sleep(2 * firstRest)
		if b.make(breakerCall{"ann", "x://1", failed}) {
			t.Error("another trial of the one whose trial failed")
		}
		// A trial that says nothing leaves the next one to the next caller.
		if !b.make(breakerCall{"bob", "x://1", neither}) || !b.make(breakerCall{"bob", "x://1", worked}) {
			t.Error("no trial of another caller")
		}
		check(BreakerClosed, 0)
		open() // soon again: a longer rest
		check(BreakerOpen, 4*firstRest)
		time.Sleep(4 * firstRest)
		b.make(breakerCall{"ann", "x://1", worked})
		time.Sleep(2 * breakerCalm)
		open()
		check(BreakerOpen, firstRest)
		for range 20 { // a failed trial by each in turn, once the other's turn is over
			time.Sleep(2 * longestRest)
			b.make(breakerCall{"ann", "x://1", failed})
		}
		check(BreakerOpen, longestRest)
		if n := strings.Count(log.String(), "its breaker is closed"); n != 2 {
			t.Errorf("closed %d times in the log:\n%s", n, log)
		}
	})
}

// TestBreakerForgets: what is older than a minute does not count.
func TestBreakerForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(slog.New(slog.DiscardHandler))
		for _, c := range repeatCalls(40, failed, 3, "ann", "bob") {
			time.Sleep(breakerWindow / 15)
			b.make(c)
		}
		if got, _ := b.status(); got != BreakerClosed {
			t.Errorf("%s", got)
		}
	})
}

// TestBreakerOfPlugin: traps and timeouts of a guest open it, its own errors do not, and the guest is left alone meanwhile.
func TestBreakerOfPlugin(t *testing.T) {
	for _, tt := range []struct {
		name string
		code [][]byte
		time time.Duration // of a call
		want BreakerState
	}{
		{"trap", [][]byte{opUnreachable}, 0, BreakerOpen},
		{"timeout", [][]byte{loop()}, 50 * time.Millisecond, BreakerOpen},
		{"the guest's own error", [][]byte{i32c(5)}, 0, BreakerClosed},
		{"a broken contract", [][]byte{ok()}, 0, BreakerClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, log := loadGuest(t, newGuest(letters).read(tt.code...), Config{Limits: Limits{Timeout: tt.time}})
			var wg sync.WaitGroup
			for i := range 4 {
				wg.Go(func() {
					for k := range 10 {
						_, err := p.Read(t.Context(), &provider.ReadRequest{
							Caller: *callerNamed([]string{"ann", "bob"}[i%2]), URI: fmt.Sprint("letters://", k%5),
							Template: "letters://{name}", Vars: []provider.Var{{Name: "name", Value: "x"}},
						})
						if err == nil {
							t.Error("no error")
						}
					}
				})
			}
			wg.Wait()
			s := p.Status()
			// A rest may be over by now, and a trial have been made.
			if open := s.Breaker != BreakerClosed; open != (tt.want == BreakerOpen) || open != strings.Contains(log.String(), "its breaker is open") {
				t.Errorf("breaker %s\n%s", s.Breaker, log)
			}
			if s.Breaker == BreakerOpen && (s.Available() || s.RetryAt.IsZero()) {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// TestBreakerHammer is for the race detector.
func TestBreakerHammer(t *testing.T) {
	b := newBreaker(slog.New(slog.DiscardHandler))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 2000 {
				b.make(breakerCall{fmt.Sprint("caller", i), fmt.Sprint("x://", k), sign((i + k) % 3)})
				b.status()
			}
		})
	}
	wg.Wait()
	if b.trying {
		t.Error("a trial was never over")
	}
}

// TestStderrStaysWithItsCall: what one call wrote to stderr is not told with another's failure.
func TestStderrStaysWithItsCall(t *testing.T) {
	g := newGuest(letters)
	write := g.importFunc(wasiModuleName, "fd_write", i32+i32+i32+i32, i32)
	text, n := g.bytesAt([]byte("of ann"))
	g.read(g.takeRequest(), i32c(requestAt+2+int64(len("letters://"))), opLoad8, i32c('a'), op(0x46, 0x04, 0x40),
		i32c(0x7000), i32c(text), opStore32, i32c(0x7004), i32c(n), opStore32,
		i32c(2), i32c(0x7000), i32c(1), i32c(0x7100), callf(write), opDrop, g.text("good"), i32c(0), op(0x0f, 0x0b),
		i32c(5))
	p, _ := loadGuest(t, g, Config{Isolation: "shared", Limits: Limits{Instances: 1}})
	mustRead(t, p)
	_, err := readURI(t.Context(), p, "letters://b")
	if wantCode(t, err, provider.Internal); strings.Contains(err.Error(), "of ann") {
		t.Errorf("error %v", err)
	}
}
