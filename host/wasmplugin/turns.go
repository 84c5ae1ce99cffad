package wasmplugin

import (
	"context"
	"runtime"
)

// turns bound how many guests compute at once: those of a runtime as many as there are processors, those of one plugin
// one less, so that no plugin has all. They are handed on first come, first served, after turnLength at the latest. A guest
// needs a turn of its plugin's, then one of the runtime's; who waits for the second holds no other of that kind, so that
// nobody waits in a circle.
type turns chan struct{}

// processorTurns and pluginTurns are the turns of a runtime and of one plugin.
func processorTurns() turns { return make(turns, runtime.GOMAXPROCS(0)) }

func pluginTurns(all turns) turns { return make(turns, max(cap(all)-1, 1)) }

// take waits for a turn.
func (t turns) take(ctx context.Context, killed <-chan struct{}) error {
	select {
	case t <- struct{}{}:
		return nil
	default:
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-killed:
		return stopping()
	}
}

func (t turns) give() { <-t }

// takeTurn waits until the call's guest may compute.
func (c *call) takeTurn(ctx context.Context) error {
	p := c.plugin
	if err := p.turns.take(ctx, p.killed); err != nil {
		return err
	}
	if err := p.runtime.turns.take(ctx, p.killed); err != nil {
		p.turns.give()
		return err
	}
	c.computing = true
	return nil
}

// giveTurn gives back what takeTurn took. It does nothing where the call has no turn.
func (c *call) giveTurn() {
	if !c.computing {
		return
	}
	c.computing = false
	c.plugin.runtime.turns.give()
	c.plugin.turns.give()
}

// passTurn lets others run.
func (c *call) passTurn(ctx context.Context) {
	had := c.computing
	c.giveTurn()
	runtime.Gosched()
	if had {
		c.resumeTurn(ctx)
	}
}

// resumeTurn waits until the guest may go on, or ends its call.
func (c *call) resumeTurn(ctx context.Context) {
	if err := c.takeTurn(ctx); err != nil {
		panic(&interrupted{err})
	}
}

// blocking is for host functions that may wait for something: others compute meanwhile.
func blocking(fn hostFunc) hostFunc {
	return func(ctx context.Context, c *call, m guestMemory, stack []uint64) {
		had := c.computing
		c.giveTurn()
		fn(ctx, c, m, stack)
		if had {
			c.resumeTurn(ctx)
		}
	}
}
