package cache

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
)

// Memory keeps entries in this process, up to a bound in bytes. What is used seldom and long ago goes first (W-TinyLFU). It
// starts no goroutine.
type Memory struct {
	entries *otter.Cache[Key, *Entry]
	evicted atomic.Uint64
}

// NewMemory returns an empty store of at most maxBytes, counted by [Entry.Size]; no more than 0 bytes hold nothing.
func NewMemory(maxBytes int64) *Memory {
	m := &Memory{}
	m.entries = otter.Must(&otter.Options[Key, *Entry]{
		MaximumWeight: uint64(max(maxBytes, 1)), // the smallest entry is larger than 1
		Weigher:       func(_ Key, e *Entry) uint32 { return uint32(min(e.Size(), math.MaxUint32)) },
		OnDeletion: func(e otter.DeletionEvent[Key, *Entry]) {
			if e.WasEvicted() {
				m.evicted.Add(1)
			}
		},
		Executor: func(f func()) { f() }, // nothing to stop, and the bound holds when Set returns
	})
	return m
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, key Key) *Entry {
	e, _ := m.entries.GetIfPresent(key)
	return e
}

// Set implements [Store].
func (m *Memory) Set(_ context.Context, key Key, e *Entry) { m.entries.Set(key, e) }

// Delete implements [Store].
func (m *Memory) Delete(_ context.Context, key Key) { m.entries.Invalidate(key) }

// Stats implements [Store].
func (m *Memory) Stats() Stats {
	return Stats{Entries: m.entries.EstimatedSize(), Bytes: int64(m.entries.WeightedSize()), Evicted: m.evicted.Load()}
}
