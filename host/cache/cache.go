// Package cache is where a host keeps results between requests: a dumb store by key, and the one in memory that a host uses by
// default.
//
// A store knows nothing of resources, callers or time. What a key is made of, how long an entry is good and whether a change has
// made it old is the host's to say, so that every store is right in the same way. An embedder gives another one in
// host.Options.Store:
//
//	h, err := host.New(&host.Options{Store: myStore})
//
// # Errors
//
// A store does not fail towards its caller: one that cannot be reached holds nothing. It logs what is wrong itself.
package cache

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// Key names an entry. It is a digest (SHA-256) of all that the result depends on, the caller's partition included, so equal keys
// mean equal questions by callers who may share the answer.
type Key [32]byte

// Store keeps entries by key. Its methods may be called concurrently. They may block, not much longer than ctx lives.
type Store interface {
	// Get returns the entry of that key, or nil. The entry is shared: nobody changes it, save by Hit.
	Get(ctx context.Context, key Key) *Entry
	// Set keeps an entry in place of any other of that key. It may drop this one, or others, to keep its bounds. The entry
	// belongs to the store and to whom it is given from then on.
	Set(ctx context.Context, key Key, e *Entry)
	// Delete forgets a key.
	Delete(ctx context.Context, key Key)
	// Stats says what the store holds.
	Stats() Stats
}

// Stats are counts of a store.
type Stats struct {
	// Entries and Bytes are what is held now, about.
	Entries int
	Bytes   int64
	// Evicted counts the entries that went to make room.
	Evicted uint64
}

// Entry is one result: a read's Body, a Missing resource, a List or a Completion. It is not changed once it is stored.
type Entry struct {
	// Body is a read's contents, encoded for the host's own use.
	Body []byte
	// Missing says that there is no such resource.
	Missing bool
	// List and Completion are what a provider returned.
	List       *provider.ListResult
	Completion *provider.CompleteResult

	// ETag is the provider's, for a conditional read; empty for none.
	ETag string
	// Public says that every caller gets the same.
	Public bool
	// Retrieved is when the provider was asked, and TTL how long after that the result is good. A TTL of 0 is good for nothing but
	// a conditional read.
	Retrieved time.Time
	TTL       time.Duration
	// Epoch is the count of changes that the result has seen. A host serves an entry only while that is its own count.
	Epoch uint64

	hits atomic.Uint64
}

// Hit counts a use, and returns how many there were before.
func (e *Entry) Hit() uint64 { return e.hits.Add(1) - 1 }

// Hits returns how often the entry was used.
func (e *Entry) Hits() uint64 { return e.hits.Load() }

// What the fixed parts of an entry cost in memory, in bytes, about.
const (
	sizeOfEntry    = 320
	sizeOfResource = 320
	sizeOfString   = 16
)

// Size returns about how many bytes an entry holds in memory, with its key and its place in a table.
func (e *Entry) Size() int64 {
	n := int64(sizeOfEntry + len(e.Body) + len(e.ETag))
	if e.List != nil {
		n += int64(len(e.List.Next))
		for i := range e.List.Resources {
			r := &e.List.Resources[i]
			n += sizeOfResource + int64(len(r.URI)+len(r.Name)+len(r.Title)+len(r.Description)+len(r.MIMEType)+len(r.Meta))
			for j := range r.Icons {
				n += sizeOfResource + int64(len(r.Icons[j].Src))
			}
		}
	}
	if e.Completion != nil {
		for _, v := range e.Completion.Values {
			n += sizeOfString + int64(len(v))
		}
	}
	return n
}
