// Package flight lets equal questions share one call. Only package host imports it.
//
// A [Group] makes one call a key. Whoever asks while it runs becomes a member and waits for the same result; who leaves does not
// end it for the others, and when the last one has left, its context is canceled. A result is handed to the members and
// forgotten.
package flight

import (
	"context"
	"errors"
	"sync"
)

// Group shares calls by key. Members bring an M, results are of type V. The zero value is ready for use.
type Group[K comparable, M, V any] struct {
	mu    sync.Mutex // guards calls, and members and left of each
	calls map[K]*Call[M, V]
}

// Call is one call in flight.
type Call[M, V any] struct {
	done    chan struct{} // closed when result is set
	result  V
	cancel  context.CancelFunc
	mu      *sync.Mutex // the group's
	members map[*M]bool
	first   *M // whose question it is
}

// Each calls f with each of the members there are, without a lock: one of them may be leaving.
func (c *Call[M, V]) Each(f func(m *M)) {
	c.mu.Lock()
	members := make([]*M, 0, len(c.members))
	for m := range c.members {
		members = append(members, m)
	}
	c.mu.Unlock()
	for _, m := range members {
		f(m)
	}
}

// ErrShut says that a call was not begun.
var ErrShut = errors.New("the call was not begun")

// Begin is called, under the group's lock, when a call is to be made. It returns the function that makes it, in a goroutine of its own,
// or nil, which fails the question with [ErrShut].
type Begin[M, V any] func() func(context.Context, *Call[M, V]) V

// Do returns the result of the call of that key: of the one in flight, or of a new one. The call's context carries the values of
// ctx, and ends when no member is left or base is done, not with ctx. leads says that the call was made for this member. It fails
// with ctx's error or with ErrShut. A member is not used twice.
func (g *Group[K, M, V]) Do(ctx, base context.Context, key K, m *M, begin Begin[M, V]) (v V, leads bool, err error) {
	c := g.join(ctx, base, key, m, begin)
	if c == nil {
		return v, false, ErrShut
	}
	select {
	case <-c.done:
		return c.result, c.first == m, nil
	case <-ctx.Done():
		g.leave(key, c, m)
		return v, false, ctx.Err()
	}
}

// Start begins a call for which nobody waits, unless one is in flight. m never leaves it.
func (g *Group[K, M, V]) Start(ctx, base context.Context, key K, m *M, begin Begin[M, V]) {
	g.mu.Lock()
	_, running := g.calls[key]
	g.mu.Unlock()
	if !running {
		g.join(ctx, base, key, m, begin)
	}
}

func (g *Group[K, M, V]) join(ctx, base context.Context, key K, m *M, begin Begin[M, V]) *Call[M, V] {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c, ok := g.calls[key]; ok {
		c.members[m] = true
		return c
	}
	run := begin()
	if run == nil {
		return nil
	}
	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c := &Call[M, V]{done: make(chan struct{}), cancel: cancel, mu: &g.mu, members: map[*M]bool{m: true}, first: m}
	if g.calls == nil {
		g.calls = map[K]*Call[M, V]{}
	}
	g.calls[key] = c
	go func() {
		defer cancel()
		defer context.AfterFunc(base, cancel)()
		c.result = run(own, c)
		g.mu.Lock()
		if g.calls[key] == c {
			delete(g.calls, key)
		}
		g.mu.Unlock()
		close(c.done)
	}()
	return c
}

// leave takes a member out. The last one ends the call, which nobody joins from then on.
func (g *Group[K, M, V]) leave(key K, c *Call[M, V], m *M) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(c.members, m)
	if len(c.members) > 0 {
		return
	}
	c.cancel()
	if g.calls[key] == c {
		delete(g.calls, key)
	}
}

// Waiting returns how many members wait for calls now.
func (g *Group[K, M, V]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, c := range g.calls {
		n += len(c.members)
	}
	return n
}
