package subs

import (
	"context"
	"fmt"
	"runtime/debug"
)

// entry is one watched URI. The hub's lock guards it.
//
// want is where it should be attached and have where it is. At most one goroutine brings have to want, so that a source sees
// Watch and Unwatch of one URI in turn, however fast listeners come and go.
type entry struct {
	uri       string
	listeners map[*Stream]bool
	want      Target
	have      Target
	// settled is closed when have is want, or when getting there failed with err; nil while nothing is under way.
	settled chan struct{}
	err     error
}

// mark tells all listeners that the entry's URI changed. The hub's lock is held.
func (e *entry) mark() {
	for s := range e.listeners {
		s.push(e.uri, e.uri)
	}
}

// Attach adds URIs to the stream. It returns when each is attached at its source, or when ctx is done, with one error for each
// URI: nil where it is. A URI that the stream has already is attached no second time. From then on no change is lost: what
// comes before the next call of Next waits for it.
func (s *Stream) Attach(ctx context.Context, uris []string) []error {
	errs := make([]error, len(uris))
	waits := make([]*entry, len(uris))
	for i, uri := range uris {
		waits[i], errs[i] = s.join(uri)
	}
	for i, e := range waits {
		if e == nil {
			continue
		}
		if errs[i] = s.hub.settle(ctx, e); errs[i] != nil {
			s.Detach(uris[i])
		}
	}
	return errs
}

// join makes the stream a listener of uri.
func (s *Stream) join(uri string) (*entry, error) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || !h.streams[s] {
		return nil, ErrEnded
	}
	e := s.watches[uri]
	if e == nil && len(s.watches) >= h.opts.StreamURIs {
		return nil, &LimitError{Limit: "URIs in one subscription", Value: h.opts.StreamURIs, Owner: true}
	}
	target := h.resolve(uri)
	if target.Source == nil {
		return nil, ErrNoSource
	}
	if e == nil {
		if e = h.entries[uri]; e == nil || e.want.Source == nil {
			if h.sources[target.Source] >= h.opts.SourceURIs {
				return nil, &LimitError{Limit: "URIs watched at one provider", Value: h.opts.SourceURIs}
			}
		}
		if e == nil {
			e = &entry{uri: uri, listeners: map[*Stream]bool{}}
			h.entries[uri] = e
			h.lengths[len(uri)]++
		}
		e.listeners[s] = true
		s.mu.Lock()
		if s.watches == nil {
			s.watches = map[string]*entry{}
		}
		s.watches[uri] = e
		s.mu.Unlock()
	}
	h.aim(e, target)
	return e, nil
}

// Detach removes a URI from the stream and reports whether it was there.
func (s *Stream) Detach(uri string) bool {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	s.mu.Lock()
	e := s.watches[uri]
	delete(s.watches, uri)
	s.mu.Unlock()
	if e == nil {
		return false
	}
	h.leave(e, s)
	return true
}

// leave takes a listener out of an entry; the last one detaches it. The hub's lock is held.
func (h *Hub) leave(e *entry, s *Stream) {
	delete(e.listeners, s)
	if len(e.listeners) == 0 {
		h.aim(e, Target{})
	}
}

// aim sets where an entry should be attached and sees to it. The hub's lock is held.
func (h *Hub) aim(e *entry, t Target) {
	if e.want.Source != t.Source {
		if old := e.want.Source; old != nil {
			if h.sources[old]--; h.sources[old] == 0 {
				delete(h.sources, old)
			}
		}
		if t.Source != nil {
			h.sources[t.Source]++
		}
	}
	e.want = t
	if e.settled != nil {
		return // the goroutine at it sees want
	}
	if e.have == t {
		h.forget(e)
		return
	}
	if h.stopped {
		return
	}
	e.settled, e.err = make(chan struct{}), nil
	h.work.Go(func() { h.move(e) })
}

// forget drops an entry that nobody listens to and that is attached nowhere. The hub's lock is held.
func (h *Hub) forget(e *entry) {
	if len(e.listeners) > 0 || e.have.Source != nil || h.entries[e.uri] != e {
		return
	}
	delete(h.entries, e.uri)
	if h.lengths[len(e.uri)]--; h.lengths[len(e.uri)] == 0 {
		delete(h.lengths, len(e.uri))
	}
}

// move brings an entry to where it should be.
func (h *Hub) move(e *entry) {
	for {
		h.mu.Lock()
		want, have := e.want, e.have
		if want == have {
			h.settledNow(e, nil)
			h.mu.Unlock()
			return
		}
		e.have = Target{}
		h.mu.Unlock()
		if have.Source != nil {
			h.unwatch(have)
		}
		var err error
		if want.Source != nil {
			err = h.watch(want)
		}
		h.mu.Lock()
		if err == nil {
			e.have = want
		} else if e.want == want {
			h.settledNow(e, err)
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
}

// settledNow ends the work on an entry. The hub's lock is held.
func (h *Hub) settledNow(e *entry, err error) {
	e.err = err
	if err != nil && e.want.Source != nil {
		// It stays where it is, nowhere; the next to attach tries again.
		if h.sources[e.want.Source]--; h.sources[e.want.Source] == 0 {
			delete(h.sources, e.want.Source)
		}
		e.want = Target{}
	}
	close(e.settled)
	e.settled = nil
	h.forget(e)
}

// settle waits until the work on an entry is over and returns how it ended.
func (h *Hub) settle(ctx context.Context, e *entry) error {
	for {
		h.mu.RLock()
		settled, have, err := e.settled, e.have, e.err
		h.mu.RUnlock()
		switch {
		case settled == nil && have.Source != nil:
			return nil
		case settled == nil && err != nil:
			return err
		case settled == nil:
			return ErrNoSource
		}
		select {
		case <-settled:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watch calls a source, in bounded number and time. A panic of it is its failure.
func (h *Hub) watch(t Target) (err error) {
	ctx, cancel := context.WithTimeout(h.base, h.opts.Watch)
	defer cancel()
	select {
	case h.calls <- struct{}{}:
		defer func() { <-h.calls }()
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in Watch: %v\n%s", v, debug.Stack())
		}
	}()
	return t.Source.Watch(ctx, t.URI)
}

// unwatch calls a source. A panic changes nothing: the URI counts as detached.
func (h *Hub) unwatch(t Target) {
	defer func() {
		if v := recover(); v != nil {
			h.opts.Failed(t.URI, fmt.Errorf("panic in Unwatch: %v\n%s", v, debug.Stack()))
		}
	}()
	t.Source.Unwatch(t.URI)
}

// Reroute asks anew where every watched URI leads, after that changed. A URI that leads elsewhere now is attached there and
// counts as updated: what changed in between, nobody saw. One that leads nowhere waits until somebody serves it again.
func (h *Hub) Reroute() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	for _, e := range h.entries {
		if len(e.listeners) == 0 {
			continue
		}
		t := h.resolve(e.uri)
		if t == e.want {
			continue
		}
		h.aim(e, t)
		if !h.stopped {
			h.work.Go(func() { h.moved(e) })
		}
	}
}

// moved tells the listeners of an entry once it is attached to another source.
func (h *Hub) moved(e *entry) {
	if err := h.settle(h.base, e); err != nil && h.base.Err() == nil {
		h.opts.Failed(e.uri, err)
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	if e.have.Source != nil {
		e.mark()
	}
}
