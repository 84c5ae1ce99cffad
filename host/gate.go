package host

import (
	"sync"
	"sync/atomic"
)

// gate counts who is inside and, once shut, tells when the last one has left. The zero value is not usable: see newGate.
type gate struct {
	state atomic.Int64 // those inside, plus shutBit
	once  sync.Once
	idle  chan struct{} // closed when shut and empty
}

const shutBit = 1 << 62

func newGate() *gate { return &gate{idle: make(chan struct{})} }

// enter lets the caller in, who then calls leave, unless the gate is shut.
func (g *gate) enter() bool {
	if g.state.Add(1)&shutBit != 0 {
		g.leave()
		return false
	}
	return true
}

func (g *gate) leave() {
	if g.state.Add(-1) == shutBit {
		g.once.Do(func() { close(g.idle) })
	}
}

// shut lets nobody in from now on. It is called once.
func (g *gate) shut() {
	if g.state.Add(shutBit) == shutBit {
		g.once.Do(func() { close(g.idle) })
	}
}
