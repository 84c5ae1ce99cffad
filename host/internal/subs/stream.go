package subs

import (
	"context"
	"errors"
	"os"
	"sync"
)

// Event is one change: of the resource at URI or, where that is empty, of lists.
type Event struct{ URI string }

// Stream is what one subscriber hears. Its methods may be called concurrently.
type Stream struct {
	hub   *Hub
	owner Owner
	// ready has a token when there may be something to take.
	ready chan struct{}

	// mu guards what follows. watches is changed under the hub's lock too, so that either is enough to read it.
	mu      sync.Mutex
	watches map[string]*entry
	// queue holds the URIs to tell of, in the order of their first change since the last time; queued is the same as a set.
	queue  []string
	queued map[string]bool
	list   bool
	ended  bool
	closed bool
}

// push queues an update of uri for one who watches watched. In a full queue the watched URI stands for all below it.
func (s *Stream) push(uri, watched string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if len(s.queue) >= s.hub.opts.StreamURIs {
		uri = watched
	}
	if s.queued[uri] {
		return
	}
	if s.queued == nil {
		s.queued = map[string]bool{}
	}
	s.queued[uri] = true
	s.queue = append(s.queue, uri)
	s.wake()
}

func (s *Stream) pushList() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.list = true
		s.wake()
	}
}

// wake lets a Next look. Any lock may be held.
func (s *Stream) wake() {
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// Next waits for an event and takes it. It fails with [ErrEnded] when no more will come, or with ctx's error. Two that wait at
// once get different events.
func (s *Stream) Next(ctx context.Context) (Event, error) {
	for {
		if ctx.Err() != nil {
			return Event{}, ctx.Err()
		}
		e, ok, err := s.take()
		if ok || err != nil {
			return e, err
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
		}
	}
}

// take takes the first event. Lists come first: what is read after an update may stand in a new list.
func (s *Stream) take() (e Event, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		s.wake()
		return Event{}, false, ErrEnded
	case s.list:
		s.list = false
	case len(s.queue) > 0:
		e.URI = s.queue[0]
		delete(s.queued, e.URI)
		if s.queue = s.queue[1:]; len(s.queue) == 0 {
			s.queue, s.queued = nil, nil // a quiet stream keeps nothing
		}
	case s.ended:
		s.wake()
		return Event{}, false, ErrEnded
	default:
		return Event{}, false, nil
	}
	if s.list || len(s.queue) > 0 || s.ended {
		s.wake() // for another Next, since one token was for all of these
	}
	s.hub.delivered.Add(1)
	return e, true, nil
}

// Return gives back an event that could not be delivered, so that another reader of the stream gets it.
func (s *Stream) Return(e Event) {
	if e.URI == "" {
		s.pushList()
		return
	}
	s.push(e.URI, e.URI)
}

// Covering returns the URIs of the stream by which it hears of uri: itself or those above it.
func (s *Stream) Covering(uri string) []string {
	var found []string
	s.hub.mu.RLock()
	defer s.hub.mu.RUnlock()
	s.hub.above(uri, func(e *entry) {
		if e.listeners[s] {
			found = append(found, e.uri)
		}
	})
	return found
}

// End ends the stream gracefully: what is queued can be taken, and nothing more comes.
func (s *Stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
}

// Close ends the stream and detaches its URIs. Later calls do nothing.
func (s *Stream) Close() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.streams[s] {
		return
	}
	delete(h.streams, s)
	delete(h.lists, s)
	if s.owner != (Owner{}) {
		if h.owners[s.owner]--; h.owners[s.owner] == 0 {
			delete(h.owners, s.owner)
		}
	}
	s.mu.Lock()
	watches := s.watches
	s.watches, s.queue, s.queued, s.list, s.ended, s.closed = nil, nil, nil, false, true, true
	s.wake()
	s.mu.Unlock()
	for _, e := range watches {
		h.leave(e, s)
	}
}

// Fail is Close for a stream whose reader failed with err; it counts the one that was stuck past a deadline.
func (s *Stream) Fail(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.hub.stalled.Add(1)
	}
	s.Close()
}
