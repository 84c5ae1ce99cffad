package host

import (
	"sync/atomic"
)

// cacheCounters count what became of questions to the cache.
type cacheCounters struct {
	hit, miss, coalesced, stale, revalidated, invalidated atomic.Uint64
}

// CacheStats are counts since the host began, save Entries and Bytes, which are as of now.
type CacheStats struct {
	// Hit and Miss count reads, pages of lists and completions that were answered from the cache, and that were not; Stale those
	// that were answered by what is older than its ttl.
	Hit, Miss, Stale uint64
	// Coalesced counts the misses that waited for another one's call.
	Coalesced uint64
	// Revalidated counts results that a provider said are still good, by their etag.
	Revalidated uint64
	// Invalidated counts changes that providers reported.
	Invalidated uint64
	// Evicted counts results that went to make room.
	Evicted uint64
	Entries int
	Bytes   int64
}

// CacheStats returns what the cache did.
func (h *Host) CacheStats() CacheStats {
	c, s := &h.kept.counts, h.kept.store.Stats()
	return CacheStats{
		Hit: c.hit.Load(), Miss: c.miss.Load(), Stale: c.stale.Load(), Coalesced: c.coalesced.Load(),
		Revalidated: c.revalidated.Load(), Invalidated: c.invalidated.Load(),
		Evicted: s.Evicted, Entries: s.Entries, Bytes: s.Bytes,
	}
}
