// Package epoch counts changes of resources, in memory of a fixed size, so that what was read before a change can be told from
// what was read after it.
//
// A reader notes [Table.Of] before it asks a provider. What it stores is good as long as Of still says so: a change that came while
// the provider was being asked makes it differ too. Only package host imports it. Nothing here fails.
package epoch

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

// slots is how many counters there are. Two URIs may share one: then a change of either counts for both, which costs a read.
const slots = 1 << 15

// Table counts changes. Create one with [New]; its methods may be called concurrently.
type Table struct {
	seed  maphash.Seed
	slots [slots]atomic.Uint64
}

// New returns a table in which nothing has changed.
func New() *Table { return &Table{seed: maphash.MakeSeed()} }

// What a slot counts: changes of a URI and of all below it, or of a URI because of something below it.
const (
	below = '/'
	own   = '='
)

// Of returns the count of changes that concern uri: of itself, of what it lies below, and of what lies below it. It grows with
// each of them.
func (t *Table) Of(uri string) uint64 {
	var sum uint64
	t.each(uri, func(h *maphash.Hash, whole bool) {
		sum += t.at(h, below)
		if whole {
			sum += t.at(h, own)
		}
	})
	return sum
}

// Changed counts a change of uri or of something below it. When it returns, Of says so.
func (t *Table) Changed(uri string) {
	t.each(uri, func(h *maphash.Hash, whole bool) {
		if whole {
			t.slot(h, below).Add(1)
		} else {
			t.slot(h, own).Add(1)
		}
	})
}

func (t *Table) at(h *maphash.Hash, kind byte) uint64 { return t.slot(h, kind).Load() }

func (t *Table) slot(h *maphash.Hash, kind byte) *atomic.Uint64 {
	sum := h.Sum64()
	if kind == own {
		sum = sum>>32 | sum<<32 // other bits of the same hash
	}
	return &t.slots[sum%slots]
}

// each calls f for every URI that uri lies below, whether that is written with a closing slash or without, and for uri itself. A
// query makes another resource of the same path, which lies below the one without it.
func (t *Table) each(uri string, f func(h *maphash.Hash, whole bool)) {
	var h maphash.Hash
	h.SetSeed(t.seed)
	path, query, hasQuery := strings.Cut(uri, "?")
	path = strings.TrimRight(path, "/")
	begin := 0
	for i := range len(path) {
		if path[i] != '/' {
			continue
		}
		_, _ = h.WriteString(path[begin:i])
		f(&h, false)
		begin = i
	}
	_, _ = h.WriteString(path[begin:])
	if !hasQuery {
		f(&h, true)
		return
	}
	f(&h, false)
	_ = h.WriteByte('?')
	_, _ = h.WriteString(query)
	f(&h, true)
}
