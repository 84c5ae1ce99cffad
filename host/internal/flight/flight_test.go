package flight_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/reshost/reshost/host/internal/flight"
)

type (
	member struct{ name string }
	group  = flight.Group[string, member, int]
	call   = flight.Call[member, int]
)

func begin(run func(context.Context, *call) int) flight.Begin[member, int] {
	return func() func(context.Context, *call) int { return run }
}

func TestEqualQuestionsShareOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g group
		var calls, leaders atomic.Int32
		release := make(chan struct{})
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				v, leads, err := g.Do(t.Context(), t.Context(), "k", &member{}, begin(func(_ context.Context, c *call) int {
					<-release
					n := 0
					c.Each(func(*member) { n++ })
					calls.Add(1)
					return n
				}))
				if leads {
					leaders.Add(1)
				}
				if v != 1000 || err != nil {
					t.Errorf("got %d, %v", v, err)
				}
			})
		}
		synctest.Wait()
		if n := g.Waiting(); n != 1000 {
			t.Errorf("%d wait", n)
		}
		close(release)
		wg.Wait()
		if calls.Load() != 1 || leaders.Load() != 1 || g.Waiting() != 0 {
			t.Errorf("%d calls, %d leaders, %d waiting", calls.Load(), leaders.Load(), g.Waiting())
		}
	})
}

// Who leaves does not end the call; the last one does, and nobody joins it then.
func TestLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g group
		run := func(ctx context.Context, _ *call) int {
			<-ctx.Done()
			return 0
		}
		first, leaveFirst := context.WithCancel(t.Context())
		second, leaveSecond := context.WithCancel(t.Context())
		ended := make(chan string, 2)
		ask := func(name string, ctx context.Context) {
			if _, _, err := g.Do(ctx, t.Context(), "k", &member{name}, begin(run)); errors.Is(err, context.Canceled) {
				ended <- name
			}
		}
		go ask("first", first)
		go ask("second", second)
		synctest.Wait()
		leaveFirst()
		synctest.Wait()
		if g.Waiting() != 1 || <-ended != "first" {
			t.Fatalf("%d wait", g.Waiting())
		}
		leaveSecond()
		<-ended
		v, leads, err := g.Do(t.Context(), t.Context(), "k", &member{}, begin(func(context.Context, *call) int { return 7 }))
		if v != 7 || !leads || err != nil {
			t.Errorf("after all have left: %d %v %v", v, leads, err)
		}
	})
}

func TestBaseEndsACall(t *testing.T) {
	base, end := context.WithCancel(t.Context())
	var g group
	end()
	v, _, err := g.Do(t.Context(), base, "k", &member{}, begin(func(ctx context.Context, _ *call) int {
		<-ctx.Done()
		return 3
	}))
	if v != 3 || err != nil {
		t.Errorf("got %d, %v", v, err)
	}
}

func TestNotBegun(t *testing.T) {
	var g group
	nothing := func() func(context.Context, *call) int { return nil }
	if _, _, err := g.Do(t.Context(), t.Context(), "k", &member{}, nothing); !errors.Is(err, flight.ErrShut) {
		t.Errorf("got %v", err)
	}
	g.Start(t.Context(), t.Context(), "k", &member{}, nothing)
	if n := g.Waiting(); n != 0 {
		t.Errorf("%d wait", n)
	}
}

func TestHammer(t *testing.T) {
	var g group
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 500 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+w)%3 == 0 {
					cancel()
				}
				key := string(rune('a' + i%3))
				v, _, err := g.Do(ctx, t.Context(), key, &member{}, begin(func(context.Context, *call) int { return int(key[0]) }))
				if err == nil && v != int(key[0]) {
					t.Errorf("key %s: %d", key, v)
				}
				cancel()
			}
		})
	}
	wg.Wait()
}
