package wasmplugin

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// budget counts bytes of guest memory against a limit and against its parent's. Safe for concurrent use.
type budget struct {
	limit  int64 // negative: none
	parent *budget
	used   atomic.Int64
}

// take reserves n bytes, or nothing where that would pass a limit.
func (b *budget) take(n int64) bool {
	if b == nil {
		return true
	}
	for {
		used := b.used.Load()
		if b.limit >= 0 && n > b.limit-used {
			return false
		}
		if b.used.CompareAndSwap(used, used+n) {
			break
		}
	}
	if !b.parent.take(n) {
		b.used.Add(-n)
		return false
	}
	return true
}

// room reports whether n bytes are within this budget's own limit, whatever its parent's.
func (b *budget) room(n int64) bool { return b.limit < 0 || n <= b.limit-b.used.Load() }

// give returns n bytes that take reserved.
func (b *budget) give(n int64) {
	for ; b != nil; b = b.parent {
		b.used.Add(-n)
	}
}

// errNoMemory says that a budget has no room for another instance's memory.
var errNoMemory = errors.New("guest memory is used up")

const pageSize = 64 << 10

// memory is one instance's linear memory: at most limit bytes, all of them counted. It is the engine's
// experimental.LinearMemory. It belongs to its instance: the engine's Free says nothing, drop ends it.
type memory struct {
	limit  uint64
	budget *budget
	spares *spares
	// hint is the size that earlier instances reached: room for it at once saves copying.
	hint uint64

	buf   []byte
	taken int64
	// refused says that growth met the instance's limit, or the budget.
	refused bool
}

// Reallocate grows the memory to size bytes, or returns nil where the limit or the budget forbids it.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	if size <= uint64(cap(m.buf)) {
		m.buf = m.buf[:size]
		return m.buf
	}
	// A quarter more than there was, so that growing page by page copies little.
	room := max(size, min(m.limit, max(m.hint, size+uint64(cap(m.buf))/4)&^(pageSize-1)))
	if !m.budget.take(int64(room)) {
		if room = size; !m.budget.take(int64(room)) {
			m.refused = true
			return nil
		}
	}
	buf := m.spares.get(room)[:size]
	copy(buf, m.buf)
	m.budget.give(m.taken)
	m.spares.put(m.buf)
	m.buf, m.taken = buf, int64(room)
	return m.buf
}

// Free does nothing: the engine calls it when it closes a module, which may be while the guest still runs.
func (m *memory) Free() {}

// drop gives the bytes back. Nothing may run in the memory any more.
func (m *memory) drop() {
	m.budget.give(m.taken)
	m.spares.put(m.buf)
	m.buf, m.taken = nil, 0
}

// spares keeps the memories of instances that are gone for those to come, of the same plugin: new memory costs the
// system's clearing and the collector's work. Safe for concurrent use; nil keeps nothing.
type spares struct {
	most int

	mu   sync.Mutex // guards bufs
	bufs [][]byte
}

// get returns n bytes of zeroes.
func (s *spares) get(n uint64) []byte {
	if buf := s.take(n); buf != nil {
		clear(buf)
		return buf
	}
	return make([]byte, n)
}

func (s *spares) take(n uint64) []byte {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range s.bufs {
		if uint64(cap(b)) == n {
			s.bufs = slices.Delete(s.bufs, i, i+1)
			return b[:n]
		}
	}
	return nil
}

func (s *spares) put(b []byte) {
	if s == nil || cap(b) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bufs) >= s.most {
		if s.most == 0 {
			return
		}
		s.bufs = slices.Delete(s.bufs, 0, 1) // the oldest, perhaps of a size that is not asked for any more
	}
	s.bufs = append(s.bufs, b)
}

// empty lets the collector have all.
func (s *spares) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bufs = nil
}
