package subs

import "time"

// burst is a run of list changes that is told once. The hub's lock guards it.
type burst struct {
	timer *time.Timer // nil between bursts
	begun time.Time
	// number tells the timer of a burst that is over from that of the next.
	number uint64
}

// stop forgets a burst that is on.
func (b *burst) stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
	b.timer = nil
	b.number++
}

// ListChanged says that lists changed. Whoever wants to hear of it does so once, when the burst is over.
func (h *Hub) ListChanged() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.lists) == 0 {
		return
	}
	b := &h.burst
	if b.timer == nil {
		b.begun = time.Now()
		number := b.number
		b.timer = time.AfterFunc(h.opts.Quiet, func() { h.tellLists(number) })
		return
	}
	left := h.opts.Longest - time.Since(b.begun)
	b.timer.Reset(max(min(h.opts.Quiet, left), 0))
}

// tellLists ends a burst.
func (h *Hub) tellLists(number uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.burst.timer == nil || h.burst.number != number {
		return
	}
	h.burst.stop()
	for s := range h.lists {
		s.pushList()
	}
}
