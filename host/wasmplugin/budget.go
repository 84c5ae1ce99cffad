package wasmplugin

import (
	"errors"
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
