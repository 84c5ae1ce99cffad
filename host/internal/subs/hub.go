package subs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ErrEnded says that a stream, or the whole hub, has ended.
var ErrEnded = errors.New("the subscription has ended")

// ErrNoSource says that nobody watches a URI.
var ErrNoSource = errors.New("nobody watches this URI")

// LimitError says which limit an Open or Attach met.
type LimitError struct {
	// Limit names it, such as "subscriptions of one caller".
	Limit string
	Value int
	// Owner says that it is this caller's own limit; otherwise it is everybody's.
	Owner bool
}

// Error names the limit and its value.
func (e *LimitError) Error() string { return fmt.Sprintf("more than %d %s", e.Value, e.Limit) }

// Source watches URIs. Its methods are called concurrently, for one URI in strict alternation. Values are compared by ==.
type Source interface {
	// Watch begins to report changes of uri to [Hub.Updated]. It may block until ctx is done.
	Watch(ctx context.Context, uri string) error
	// Unwatch ends what Watch began. It does not block.
	Unwatch(uri string)
}

// Target is where a URI leads: a source, and the text by which it knows the URI. The zero value leads nowhere.
type Target struct {
	Source Source
	URI    string
}

// Owner is whom a stream counts against. The zero value counts against nobody.
type Owner struct{ Issuer, Subject, Remote string }

// Options bound a [Hub]. A field of 0 has its default.
type Options struct {
	// Streams and OwnerStreams bound the streams in all and of one owner. Default 10,000 and 100.
	Streams, OwnerStreams int
	// StreamURIs bounds the URIs of one stream, and what waits in its queue. Default 1,000.
	StreamURIs int
	// SourceURIs bounds the distinct URIs watched at one source. Default 10,000.
	SourceURIs int
	// Watch is how long one call of Source.Watch may take. Default 10 s.
	Watch time.Duration
	// Quiet and Longest shape list changes: a burst counts as over when nothing came for Quiet, at the latest Longest after
	// its beginning, and is told once. Default 50 ms and 500 ms.
	Quiet, Longest time.Duration
	// Failed hears of attachments that fail behind nobody's back: when a URI moved to another source. It may be nil.
	Failed func(uri string, err error)
}

// together is how many calls of Source.Watch run at once.
const together = 64

// Stats are counts since the hub began, save Streams and URIs, which are as of now.
type Stats struct {
	Streams, URIs int
	// Updates is how many changes came in, Delivered how many events were taken, Stalled how many streams ended because
	// their reader was stuck.
	Updates, Delivered, Stalled uint64
}

// Hub is the table. Create one with [New]; its methods may be called concurrently.
type Hub struct {
	opts Options
	// resolve returns where a URI leads now. It is called under mu and must not block.
	resolve func(uri string) Target
	// base ends the calls of sources when the hub closes.
	base  context.Context
	abort context.CancelFunc
	calls chan struct{} // bounds calls of Source.Watch
	work  sync.WaitGroup

	updates, delivered, stalled atomic.Uint64

	// mu guards what follows. It comes before a stream's own lock.
	mu      sync.RWMutex
	closed  bool // no stream can be opened
	stopped bool // no source is called any more
	streams map[*Stream]bool
	owners  map[Owner]int
	lists   map[*Stream]bool // those that want to hear of lists
	entries map[string]*entry
	// lengths counts the watched URIs by length: an update is looked up only at lengths that occur.
	lengths map[int]int
	sources map[Source]int
	burst   burst
}

// New returns an empty hub. resolve says where a URI leads at this moment; it must not block nor call back. nil opts gives the
// defaults.
func New(resolve func(uri string) Target, opts *Options) *Hub {
	h := &Hub{
		resolve: resolve, streams: map[*Stream]bool{}, owners: map[Owner]int{}, lists: map[*Stream]bool{},
		entries: map[string]*entry{}, lengths: map[int]int{}, sources: map[Source]int{}, calls: make(chan struct{}, together),
	}
	if opts != nil {
		h.opts = *opts
	}
	o := &h.opts
	setDefault(&o.Streams, 10_000)
	setDefault(&o.OwnerStreams, 100)
	setDefault(&o.StreamURIs, 1000)
	setDefault(&o.SourceURIs, 10_000)
	setDefault(&o.Watch, 10*time.Second)
	setDefault(&o.Quiet, 50*time.Millisecond)
	setDefault(&o.Longest, 500*time.Millisecond)
	if o.Failed == nil {
		o.Failed = func(string, error) {}
	}
	h.base, h.abort = context.WithCancel(context.Background())
	return h
}

func setDefault[T int | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// Open begins a stream; list says that it hears of list changes. Its owner calls Close.
func (h *Hub) Open(owner Owner, list bool) (*Stream, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, ErrEnded
	case len(h.streams) >= h.opts.Streams:
		return nil, &LimitError{Limit: "subscriptions", Value: h.opts.Streams}
	case owner != (Owner{}) && h.owners[owner] >= h.opts.OwnerStreams:
		return nil, &LimitError{Limit: "subscriptions of one caller", Value: h.opts.OwnerStreams, Owner: true}
	}
	s := &Stream{hub: h, owner: owner, ready: make(chan struct{}, 1)}
	h.streams[s] = true
	if owner != (Owner{}) {
		h.owners[owner]++
	}
	if list {
		h.lists[s] = true
	}
	return s, nil
}

// Updated says that the resource at uri changed: whoever watches it, or a URI above it, hears of it. The cost is that of its
// own listeners.
func (h *Hub) Updated(uri string) {
	h.updates.Add(1)
	h.mu.RLock()
	defer h.mu.RUnlock()
	h.above(uri, func(e *entry) {
		for s := range e.listeners {
			s.push(uri, e.uri)
		}
	})
}

// above calls f with the entries of uri itself and of the URIs above it: those that it continues at a '/' of its path. mu is
// held.
func (h *Hub) above(uri string, f func(*entry)) {
	if e := h.entries[uri]; e != nil {
		f(e)
	}
	path, _, _ := strings.Cut(uri, "?")
	for i := len(path) - 1; i > 0; i-- {
		if path[i] != '/' {
			continue
		}
		// The URI above may be written with its closing slash or without.
		for _, n := range [2]int{i + 1, i} {
			if n == len(uri) || h.lengths[n] == 0 {
				continue
			}
			if e := h.entries[uri[:n]]; e != nil {
				f(e)
			}
		}
	}
}

// UpdatedAll marks every URI watched at a source as updated: what changed there is not known.
func (h *Hub) UpdatedAll(src Source) {
	h.updates.Add(1)
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, e := range h.entries {
		if e.want.Source == src {
			e.mark()
		}
	}
}

// Close ends all streams: each can take what waits in its queue, and then [ErrEnded]. No stream can be opened afterwards. It
// does not wait.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	h.burst.stop()
	streams := maps.Clone(h.streams)
	h.mu.Unlock()
	for s := range streams {
		s.end()
	}
}

// Wait returns when no call of a source is in flight any more; those that are, are cut short. It comes after Close, and
// after what was opened is closed.
func (h *Hub) Wait() {
	h.mu.Lock()
	h.stopped = true
	h.mu.Unlock()
	h.abort()
	h.work.Wait()
}

// Stats returns counts.
func (h *Hub) Stats() Stats {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return Stats{
		Streams: len(h.streams), URIs: len(h.entries),
		Updates: h.updates.Load(), Delivered: h.delivered.Load(), Stalled: h.stalled.Load(),
	}
}
