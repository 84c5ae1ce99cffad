package wasmplugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// bigLetters answers with so many bytes of the letter of the URI, out of one static buffer, and grows its memory.
func bigLetters(n int64) *guest {
	g := newGuest(letters)
	g.minPages = uint32(n/pageSize) + 3
	const big = 2 * pageSize
	g.read(g.takeRequest(), i32c(1), opGrow, opDrop,
		i32c(requestAt+2+int64(len("letters://"))), opLoad8, set(0),
		i32c(big), get(0), i32c(n), opFill,
		g.record(abi.KindContent, (&abi.Content{Text: true}).Append(nil)), i32c(big), i32c(n), callf(g.write), opDrop,
		i32c(big), i32c('!'), i32c(n), opFill, ok())
	return g
}

// TestViewsAreCopied is case WSM-06: 64 reads at once, each answer uniform and right, under every isolation.
func TestViewsAreCopied(t *testing.T) {
	const size = 1 << 20
	for _, isolation := range []string{"reset", "shared", "fresh"} {
		t.Run(isolation, func(t *testing.T) {
			p, _ := loadGuest(t, bigLetters(size), Config{Isolation: isolation, Limits: Limits{QueueWait: time.Minute, Timeout: time.Minute, Instances: 8}})
			var wg sync.WaitGroup
			for i := range 64 {
				wg.Go(func() {
					letter := string(rune('a' + i%26))
					res, err := readURI(t.Context(), p, "letters://"+letter)
					if err != nil {
						t.Error(err)
						return
					}
					if b := res.Contents[0].Body; len(b) != size || bytes.Count(b, []byte(letter)) != size {
						t.Errorf("%s: %d bytes, of which %d are right", letter, len(b), bytes.Count(b, []byte(letter)))
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestPoolHammer mixes good calls, traps, timeouts, callers who leave and reclaiming, and then closes in the middle of it.
func TestPoolHammer(t *testing.T) {
	g := newGuest(letters)
	is := func(c rune, then ...[]byte) []byte {
		return slices.Concat(get(0), i32c(int64(c)), op(0x46, 0x04, 0x40), slices.Concat(then...), op(0x0b))
	}
	g.read(g.takeRequest(), i32c(requestAt+2+int64(len("letters://"))), opLoad8, set(0),
		is('t', opUnreachable), is('l', loop()), is('g', i32c(10000), opGrow, opDrop), g.text("good"), ok())
	for _, isolation := range []string{"reset", "shared"} {
		t.Run(isolation, func(t *testing.T) {
			r, _ := testRuntime(t, &Options{MaxMemory: 64 * pageSize})
			wasm := g.bytes()
			a := load(t, r, wasm, Config{Name: "a", Isolation: isolation, Limits: Limits{Instances: 6, Timeout: 2 * time.Second}})
			b := load(t, r, wasm, Config{Name: "b", Isolation: isolation, Limits: Limits{Instances: 6, Timeout: 2 * time.Second}})
			rounds := 40
			if testing.Short() {
				rounds = 10
			}
			var wg sync.WaitGroup
			for i := range 16 {
				p := []*Plugin{a, b}[i%2]
				wg.Go(func() { hammer(t, p, i, rounds) })
			}
			wg.Go(func() {
				for range 20 {
					r.reclaim(nil)
					time.Sleep(time.Millisecond)
				}
			})
			wg.Wait()
			if n := a.pool.live; n > 6 {
				t.Errorf("%d instances", n)
			}
			wg.Go(func() { hammer(t, a, 0, 5) })
			wg.Go(func() {
				if err := a.Close(context.Background()); err != nil {
					t.Error(err)
				}
			})
			wg.Wait()
		})
	}
}

func hammer(t *testing.T, p *Plugin, seed, rounds int) {
	for k := range rounds {
		letter := "xxxxxxtxxg"[(seed+k)%10]
		ctx, cancel := t.Context(), context.CancelFunc(func() {})
		want := map[provider.Code]bool{provider.Unavailable: true}
		switch {
		case letter == 't':
			want[provider.Internal] = true
		case k%13 == 5:
			letter = 'l'
			ctx, cancel = context.WithTimeout(ctx, 5*time.Millisecond)
			want[provider.Timeout] = true
		}
		res, err := readURI(ctx, p, "letters://"+string(rune(letter)))
		cancel()
		switch {
		case err != nil && !want[provider.CodeOf(err)]:
			t.Errorf("%c: %v", letter, err)
		case err == nil && string(res.Contents[0].Body) != "good":
			t.Errorf("%c: %q", letter, res.Contents[0].Body)
		}
	}
}

// TestNeighbour shows that one plugin's endless loop does not keep another from answering (WSM-02).
func TestNeighbour(t *testing.T) {
	r, _ := testRuntime(t, nil)
	bad := load(t, r, newGuest(letters).read(loop()).bytes(), Config{Name: "bad", Limits: Limits{Timeout: time.Second}})
	g := newGuest(letters)
	good := load(t, r, g.read(g.text("good"), ok()).bytes(), Config{Name: "good"})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			_, err := readURI(t.Context(), bad, "letters://x")
			wantCode(t, err, provider.Timeout)
		})
	}
	for range 20 {
		if _, err := readURI(t.Context(), good, "letters://x"); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
}

// TestCloseCutsShort shows that a close whose context is done ends calls that still run.
func TestCloseCutsShort(t *testing.T) {
	p, _ := loadGuest(t, newGuest(letters).read(loop()), Config{Limits: Limits{Timeout: time.Minute}})
	done := make(chan error)
	go func() {
		_, err := readURI(context.Background(), p, "letters://x")
		done <- err
	}()
	for p.pool.busy() == 0 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	if err := <-done; err == nil {
		t.Error("the call went on")
	}
	_, err := readURI(t.Context(), p, "letters://x")
	wantCode(t, err, provider.Unavailable)
}

// busy returns how many instances are neither ready nor being started or restored.
func (p *pool) busy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.live - p.starting - p.restoring - len(p.ready)
}

// fakePool returns a pool of instances that are nothing but memory.
func fakePool(opts poolOptions, start starter) *pool {
	opts.startTimeout = -1
	if opts.failed == nil {
		opts.failed = func(error) {}
	}
	if start == nil {
		start = func(context.Context, bool) (*instance, error) { return &instance{mem: &memory{}}, nil }
	}
	return newPool(opts, start)
}

func TestPoolQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fakePool(poolOptions{instances: 1, queue: 2, queueWait: 2 * time.Second}, nil)
		first, err := p.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		var mu sync.Mutex
		wait := func(name string) {
			go func() {
				inst, err := p.acquire(t.Context())
				mu.Lock()
				order = append(order, fmt.Sprint(name, " ", err == nil))
				mu.Unlock()
				if err == nil {
					p.release(inst, keep)
				}
			}()
			synctest.Wait()
		}
		wait("a")
		wait("b")
		if _, err := p.acquire(t.Context()); provider.CodeOf(err) != provider.Unavailable || !strings.Contains(err.Error(), "too many") {
			t.Errorf("a full queue: %v", err)
		}
		p.release(first, keep)
		synctest.Wait()
		if got := fmt.Sprint(order); got != "[a true b true]" {
			t.Errorf("order %s", got)
		}
		again, err := p.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := p.acquire(t.Context()); provider.CodeOf(err) != provider.Unavailable {
			t.Errorf("a long wait: %v", err)
		}
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("waited %s", d)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := p.acquire(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller who leaves: %v", err)
		}
		p.release(again, discard)
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := p.acquire(t.Context()); !errors.Is(err, errPoolClosed) {
			t.Errorf("after close: %v", err)
		}
	})
}

func TestPoolStartFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := true
		boom := errors.New("boom")
		p := fakePool(poolOptions{instances: 4, warm: 2, queue: 8, queueWait: time.Second}, func(context.Context, bool) (*instance, error) {
			if fail {
				return nil, boom
			}
			return &instance{mem: &memory{}}, nil
		})
		if _, err := p.acquire(t.Context()); !errors.Is(err, boom) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		fail = false
		inst, err := p.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(p.ready) != 2 {
			t.Errorf("%d are ready ahead", len(p.ready))
		}
		p.release(inst, discard)
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestPoolTrims: instances that a rush left behind are closed once nobody has needed them for a while; those that are needed stay.
func TestPoolTrims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fakePool(poolOptions{instances: 16, warm: 2, queue: 8, queueWait: time.Second}, nil)
		use := func(n int) {
			var taken []*instance
			for range n {
				inst, err := p.acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				taken = append(taken, inst)
			}
			for _, inst := range taken {
				p.release(inst, keep)
			}
			synctest.Wait()
		}
		use(16)
		for range 10 {
			use(5)
			time.Sleep(trimAfter / 2)
		}
		count := func() (ready, live int) {
			synctest.Wait()
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.ready), p.live
		}
		// Five are used, two more are kept ready.
		if n, live := count(); n < 5 || n > 7 || n != live {
			t.Errorf("%d of %d instances are ready while five are used", n, live)
		}
		time.Sleep(3 * trimAfter)
		if n, live := count(); n != 2 || live != 2 {
			t.Errorf("%d of %d instances are ready, want 2 of 2", n, live)
		}
		use(3)
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * trimAfter)
	})
}

// TestPoolWaitsForMemory shows that a caller waits while memory is used up, and is told so when none comes back.
func TestPoolWaitsForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := time.Now().Add(500 * time.Millisecond)
		p := fakePool(poolOptions{instances: 2, queue: 8, queueWait: 2 * time.Second}, func(context.Context, bool) (*instance, error) {
			if time.Now().Before(room) {
				return nil, errNoMemory
			}
			return &instance{mem: &memory{}}, nil
		})
		inst, err := p.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.release(inst, discard)
		synctest.Wait()
		room = time.Now().Add(time.Hour)
		if _, err := p.acquire(t.Context()); provider.CodeOf(err) != provider.Unavailable {
			t.Errorf("error %v", err)
		}
		if err := p.close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
