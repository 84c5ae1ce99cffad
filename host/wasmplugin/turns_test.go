package wasmplugin

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// TestTurns: while as many guests of a plugin as may compute do so for ever, or sleep, another call of it is answered.
func TestTurns(t *testing.T) {
	for _, procs := range []int{1, 2, 4} {
		for _, what := range []string{"computing", "sleeping"} {
			t.Run(what, func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				g := newGuest(letters)
				poll := g.importFunc(wasiModuleName, "poll_oneoff", i32+i32+i32+i32, i32)
				busy := loop()
				if what == "sleeping" {
					busy = slices.Concat(i32c(0x2010), i32c(1), opStore32, i32c(0x2018), i64c(3600e9), op(0x37, 3, 0),
						i32c(0x2000), i32c(0x3000), i32c(1), i32c(0x4000), callf(poll), opDrop)
				}
				g.read(g.takeRequest(), i32c(requestAt+2+int64(len("letters://"))), opLoad8, i32c('x'), op(0x46, 0x04, 0x40), busy, op(0x0b), g.text("good"), ok())
				p, _ := loadGuest(t, g, Config{Limits: Limits{Timeout: 4 * time.Second, Instances: 8}})
				if got := cap(p.turns); got != max(procs-1, 1) {
					t.Errorf("%d turns with %d processors", got, procs)
				}
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() {
						_, err := readURI(t.Context(), p, "letters://x")
						if provider.CodeOf(err) != provider.Timeout {
							t.Errorf("a busy call ended with %v", err)
						}
					})
				}
				for p.pool.busy() < 5 {
					time.Sleep(time.Millisecond)
				}
				start := time.Now()
				for range 5 {
					if _, err := readURI(t.Context(), p, "letters://a"); err != nil {
						t.Error(err)
					}
				}
				if d := time.Since(start); d > 2*time.Second {
					t.Errorf("the other calls took %s", d)
				}
				wg.Wait()
				if len(p.turns) != 0 || len(p.runtime.turns) != 0 {
					t.Errorf("%d and %d turns were not given back", len(p.turns), len(p.runtime.turns))
				}
			})
		}
	}
}

// TestTurnsInOrder: turns go to who waited longest, and who leaves or is stopped holds none.
func TestTurnsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		killed := make(chan struct{})
		p := &Plugin{runtime: &Runtime{turns: make(turns, 1)}, turns: make(turns, 1), killed: killed}
		first := &call{plugin: p}
		if err := first.takeTurn(t.Context()); err != nil {
			t.Fatal(err)
		}
		var order []int
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				c := &call{plugin: p}
				if err := c.takeTurn(t.Context()); err != nil {
					t.Error(err)
				}
				order = append(order, i)
				c.giveTurn()
			})
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := (&call{plugin: p}).takeTurn(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller who leaves: %v", err)
		}
		first.giveTurn()
		wg.Wait()
		if !slices.Equal(order, []int{0, 1, 2}) {
			t.Errorf("order %v", order)
		}
		p.runtime.turns <- struct{}{}
		wg.Go(func() {
			if err := (&call{plugin: p}).takeTurn(t.Context()); !errors.Is(err, errPoolClosed) {
				t.Errorf("stopped: %v", err)
			}
		})
		synctest.Wait()
		close(killed)
		wg.Wait()
		if len(p.turns) != 0 {
			t.Error("a turn was not given back")
		}
	})
}

// TestStartsTakeTurns: a start function computes only while it has a turn, as any guest.
func TestStartsTakeTurns(t *testing.T) {
	g := newGuest(letters)
	g.start = g.fn("", "", "", "", loop()) + 1
	r, _ := testRuntime(t, nil)
	done := make(chan error)
	go func() {
		_, err := r.Load(t.Context(), &Config{Wasm: g.read(ok()).bytes(), Limits: Limits{Timeout: time.Second}})
		done <- err
	}()
	seen := false
	for {
		select {
		case err := <-done:
			if err == nil || !seen {
				t.Errorf("it had a turn: %t; error %v", seen, err)
			}
			return
		default:
			seen = seen || len(r.turns) == 1
			time.Sleep(time.Millisecond)
		}
	}
}
