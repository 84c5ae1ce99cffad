package host

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/reshost/reshost/host/provider"
)

// slot is the place of one provider in the host's order. live is nil until it is first served; next is a generation that
// is attached and not yet served. Both hold their claims.
type slot struct {
	name       string
	live, next *view
}

// Add registers a provider and starts to serve it. Lists show providers in the order in which they were added.
//
// It fails, naming both, when a provider of that name is there or when the two claim the same URIs: a scheme, or a prefix
// of Info.Only. The provider is then not attached, and closing it stays with the caller; once Add succeeds, the host
// closes it.
func (h *Host) Add(p provider.Provider, opts *ProviderOptions) error {
	v, err := h.view(p, opts)
	if err != nil {
		return err
	}
	s := &slot{name: v.name, next: v}
	if err := h.reserve(s, v); err != nil {
		return err
	}
	return h.serve(s, v)
}

// Replace puts p in the place of the provider of the same name, at one stroke: each request meets the old one or the new
// one. The old one is closed as by Remove. When Replace fails before that stroke (an unknown name, claims as in Add) the
// old one serves on, and closing p stays with the caller; when ctx ends first, the new one serves all the same.
func (h *Host) Replace(ctx context.Context, p provider.Provider, opts *ProviderOptions) error {
	v, err := h.view(p, opts)
	if err != nil {
		return err
	}
	h.mu.Lock()
	s := h.find(v.name)
	h.mu.Unlock()
	if s == nil {
		return fmt.Errorf("provider %q: there is none of that name to replace", v.name)
	}
	if err := h.reserve(s, v); err != nil {
		return err
	}
	h.mu.Lock()
	old := s.live.unit // another view may take the place of live now, but no other unit while next is set
	h.mu.Unlock()
	if err := h.serve(s, v); err != nil {
		return err
	}
	return old.wait(ctx)
}

// Remove ends a provider: no new call reaches it, and it is closed when its last call has ended. Remove waits for that,
// or until ctx is done; the provider is closed in the background then.
func (h *Host) Remove(ctx context.Context, name string) error {
	h.mu.Lock()
	s := h.find(name)
	if s == nil {
		h.mu.Unlock()
		return fmt.Errorf("provider %q: there is none of that name", name)
	}
	if s.next != nil {
		h.mu.Unlock()
		return fmt.Errorf("provider %q: it is being replaced", name)
	}
	h.slots = slices.DeleteFunc(h.slots, func(x *slot) bool { return x == s })
	h.publish()
	h.retire(s.live.unit)
	h.mu.Unlock()
	h.changed()
	return s.live.unit.wait(ctx)
}

// Providers returns the facts about the providers being served, in order. They are shared: read them only.
func (h *Host) Providers() []provider.Info {
	views := h.snap.Load().views
	infos := make([]provider.Info, len(views))
	for i, v := range views {
		infos[i] = v.info
	}
	return infos
}

// view asks a provider for its facts and compiles them into the first view of a new unit.
func (h *Host) view(p provider.Provider, opts *ProviderOptions) (*view, error) {
	if p == nil {
		return nil, errors.New("the provider is nil")
	}
	cache := h.opts.Cache
	if opts != nil && opts.Cache != nil {
		cache = opts.Cache.clone()
	}
	info, err := describe(p)
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	if err := checkName(info.Name); err != nil {
		return nil, err
	}
	if err := cache.check(); err != nil {
		return nil, fmt.Errorf("provider %q: %w", info.Name, err)
	}
	u := h.newUnit(p, info.Name)
	u.clientLogs = opts != nil && opts.ClientLogs
	v, err := compile(u, info, cache)
	if err != nil {
		return nil, fmt.Errorf("provider %q: %w", info.Name, err)
	}
	return v, nil
}

// find returns the slot of that name. h.mu is held.
func (h *Host) find(name string) *slot {
	for _, s := range h.slots {
		if s.name == name && s.live != nil {
			return s
		}
	}
	return nil
}

// reserve holds v's name and claims in slot s, which is new when nothing of it is live. Between this and serve the
// provider is attached, without the lock.
func (h *Host) reserve(s *slot, v *view) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return ErrClosed
	}
	if err := h.conflicts(s, v); err != nil {
		return err
	}
	if s.live == nil {
		h.slots = append(h.slots, s)
		return nil
	}
	if s.next != nil || !slices.Contains(h.slots, s) {
		return fmt.Errorf("provider %q: it is being replaced or removed", v.name)
	}
	s.next = v
	return nil
}

// conflicts asks whether v can stand in slot s beside all others. h.mu is held.
func (h *Host) conflicts(s *slot, v *view) error {
	for _, other := range h.slots {
		if other == s {
			continue
		}
		for _, o := range []*view{other.live, other.next} {
			if o == nil {
				continue
			}
			if err := conflict(o, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// serve attaches v's provider and makes s.next live.
func (h *Host) serve(s *slot, v *view) error {
	err := guard("Attach", func() error {
		v.p.Attach(v.unit)
		return nil
	})
	h.mu.Lock()
	if err == nil && h.closing {
		err = ErrClosed
	}
	if err != nil {
		s.next = nil
		if s.live == nil {
			h.slots = slices.DeleteFunc(h.slots, func(x *slot) bool { return x == s })
		}
		h.mu.Unlock()
		return fmt.Errorf("provider %q: %w", v.name, err)
	}
	old := s.live
	s.live, s.next = s.next, nil // a refresh may have put a newer view there
	h.publish()
	if old != nil {
		h.retire(old.unit)
	}
	h.mu.Unlock()
	h.changed()
	h.warn(v)
	if v.stale.Load() {
		h.refreshSoon(v.unit)
	}
	return nil
}

// publish makes what the slots hold visible to requests. h.mu is held.
func (h *Host) publish() {
	var views []*view
	for _, s := range h.slots {
		if s.live != nil {
			views = append(views, s.live)
		}
	}
	h.snap.Store(newSnapshot(views))
}

// changed tells subscribers that what is served changed, and takes what they watch to those who serve it now. It comes after
// publish, without the lock.
func (h *Host) changed() {
	h.hub.Reroute()
	h.hub.ListChanged()
}

// warn logs what is doubtful about a view, once it is served.
func (h *Host) warn(v *view) {
	for _, w := range v.warnings {
		h.log.Warn(w, "provider", v.name)
	}
	s := h.snap.Load()
	for _, d := range v.direct {
		if s.owner(d.parsed, d.parsed) != v {
			h.log.Warn("a resource lies outside what the provider may serve (only)", "provider", v.name, "uri", d.URI)
		}
	}
	for _, t := range v.listed {
		if !s.showsTemplate(v, t) {
			h.log.Warn("a template lies outside what the provider may serve (only)", "provider", v.name, "template", t.spec.URITemplate)
		}
	}
}

// refreshSoon looks at a provider's Info again, off the provider's own goroutine: Events do not block.
func (h *Host) refreshSoon(u *unit) {
	if !u.refreshing.CompareAndSwap(false, true) {
		return // the one at it sees stale
	}
	started := h.spawn(func() {
		for u.stale.Swap(false) {
			if err := h.refresh(u); err != nil {
				h.log.Error("a provider's new facts are not taken; the old ones stay", "provider", u.name, "error", err)
			}
		}
		u.refreshing.Store(false)
		if u.stale.Load() { // set after the loop looked and before refreshing fell
			h.refreshSoon(u)
		}
	})
	if !started {
		u.refreshing.Store(false)
	}
}

// refresh replaces the view of a unit by one of its present Info.
func (h *Host) refresh(u *unit) error {
	if !u.calls.enter() {
		return nil
	}
	defer u.calls.leave()
	info, err := describe(u.p)
	if err != nil {
		return err
	}
	if info.Name != u.name {
		return fmt.Errorf("the name changed to %q", cut(info.Name, 64))
	}
	h.mu.Lock()
	var cache *CacheRules
	for _, s := range h.slots {
		for _, v := range []*view{s.live, s.next} {
			if v != nil && v.unit == u {
				cache = &v.cache
			}
		}
	}
	h.mu.Unlock()
	if cache == nil {
		return nil
	}
	v, err := compile(u, info, *cache)
	if err != nil {
		return err
	}
	return h.swap(v)
}

// swap puts v in the place of the view of the same unit, wherever that stands.
func (h *Host) swap(v *view) error {
	h.mu.Lock()
	for _, s := range h.slots {
		live := s.live != nil && s.live.unit == v.unit
		if !live && (s.next == nil || s.next.unit != v.unit) {
			continue
		}
		if err := h.conflicts(s, v); err != nil {
			h.mu.Unlock()
			return err
		}
		if !live {
			s.next = v
			break
		}
		same := reflect.DeepEqual(s.live.info, v.info)
		s.live = v
		h.publish()
		h.mu.Unlock()
		if !same { // a provider that only says often that its list changed leads nobody elsewhere
			h.changed()
		}
		h.warn(v)
		return nil
	}
	h.mu.Unlock()
	return nil
}
