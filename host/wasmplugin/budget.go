package wasmplugin

import (
	"errors"
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
// experimental.LinearMemory. The engine drops it without saying so on some paths, hence Free may come twice.
type memory struct {
	limit  uint64
	budget *budget

	mu    sync.Mutex // guards the rest; the engine may free from another goroutine
	buf   []byte
	taken int64
	freed bool
	// refused says that growth met the instance's limit, or the budget.
	refused bool
}

// Reallocate grows the memory to size bytes, or returns nil where the limit or the budget forbids it.
func (m *memory) Reallocate(size uint64) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed || size > m.limit {
		m.refused = true
		return nil
	}
	if size <= uint64(cap(m.buf)) {
		m.buf = m.buf[:size]
		return m.buf
	}
	// A quarter more than asked for, so that growing page by page copies little.
	room := min(m.limit, size+uint64(cap(m.buf))/4) &^ (pageSize - 1)
	room = max(room, size)
	if !m.budget.take(int64(room)) {
		if room = size; !m.budget.take(int64(room)) {
			m.refused = true
			return nil
		}
	}
	buf := make([]byte, size, room)
	copy(buf, m.buf)
	m.budget.give(m.taken)
	m.buf, m.taken = buf, int64(room)
	return m.buf
}

// Free gives the bytes back to the budget.
func (m *memory) Free() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.budget.give(m.taken)
	m.buf, m.taken, m.freed = nil, 0, true
}

// outgrown reports whether growth was refused.
func (m *memory) outgrown() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}
