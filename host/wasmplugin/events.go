package wasmplugin

import (
	"sync"
	"time"
)

// eventGate lets a plugin's events through at a bounded rate. Above it nothing is told one by one any more: at the end of that
// second everything counts as changed, once.
type eventGate struct {
	rate int // a second; negative: no limit

	mu     sync.Mutex // guards what follows
	window time.Time
	passed int
	// flood fires at the end of a second in which there were too many; nil in others.
	flood  *time.Timer
	closed bool
}

// admit counts n events. It reports false for those that are too many; all is called when their second is over, and what comes
// until then is covered by it.
func (g *eventGate) admit(n int, all func()) bool {
	if g.rate < 0 {
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flood != nil || g.closed {
		return false
	}
	now := time.Now()
	if now.Sub(g.window) >= time.Second {
		g.window, g.passed = now, 0
	}
	if g.passed+n <= g.rate {
		g.passed += n
		return true
	}
	g.flood = time.AfterFunc(time.Second-now.Sub(g.window), func() {
		g.mu.Lock()
		g.flood = nil
		closed := g.closed
		g.mu.Unlock()
		if !closed {
			all()
		}
	})
	return false
}

func (g *eventGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.flood != nil {
		g.flood.Stop()
	}
}

// report hands on what a call said has changed.
func (p *Plugin) report(ch *changes) {
	if ch.list && p.manifest.Dynamic {
		p.describeAgain()
	}
	n := len(ch.uris)
	if ch.list {
		n++
	}
	if n == 0 || p.events.Load() == nil {
		return
	}
	if ch.all {
		n = p.gate.rate + 1 // more than one call may report: above any rate
		if n <= 0 {
			p.allChanged()
			return
		}
	}
	if !p.gate.admit(n, p.allChanged) {
		return
	}
	events := p.events.Load()
	for _, u := range ch.uris {
		events.Updated(u)
	}
	if ch.list {
		events.ListChanged()
	}
}

// allChanged tells that everything watched may have changed, and the list.
func (p *Plugin) allChanged() {
	events := p.events.Load()
	if events == nil {
		return
	}
	for _, u := range p.poll.uris() {
		events.Updated(u)
	}
	events.ListChanged()
}

// uris returns what is watched. The poller may be nil.
func (o *poller) uris() []string {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]string, 0, len(o.watched))
	for u := range o.watched {
		list = append(list, u)
	}
	return list
}
