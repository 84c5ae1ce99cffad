package host

import (
	"fmt"
	"slices"

	"github.com/reshost/reshost/host/provider"
)

// Member is one provider of those that [Host.SetProviders] serves.
type Member struct {
	// Keep is the name of a provider that is served and stays as it is. Empty: Provider is served, in the place of the one of
	// its name where there is one.
	Keep string
	// Provider and Options are those of [Host.Add].
	Provider provider.Provider
	Options  *ProviderOptions
}

// SetProviders makes members all that is served, in their order, at one stroke: each request meets what was served before or what
// is served after, and clients are told once that lists changed. Providers that are not among members are closed in the
// background when their last call has ended; Close waits for them.
//
// All or nothing: when it fails (claims as in Add, a Keep that is not served, an Add or Replace under way) everything is served as
// before, and closing the new providers stays with the caller.
func (h *Host) SetProviders(members []Member) error {
	fresh := make([]*view, len(members))
	for i, m := range members {
		if m.Keep != "" {
			continue
		}
		v, err := h.view(m.Provider, m.Options)
		if err != nil {
			return err
		}
		fresh[i] = v
	}
	// What cannot be served is not attached either. Attaching takes no lock, so the second look is the one that counts.
	if _, err := h.arrange(members, fresh, false); err != nil {
		return err
	}
	for _, v := range fresh {
		if v == nil {
			continue
		}
		err := guard("Attach", func() error {
			v.p.Attach(v.unit)
			return nil
		})
		if err != nil {
			return fmt.Errorf("provider %q: %w", v.name, err)
		}
	}
	changed, err := h.arrange(members, fresh, true)
	if err != nil || !changed {
		return err
	}
	h.changed()
	for _, v := range fresh {
		if v != nil {
			h.warn(v)
			v.stale.Store(true) // what it said between Attach and now found nobody
			h.refreshSoon(v.unit)
		}
	}
	return nil
}

// arrange finds the slots of members and, when asked to, puts them in the place of all that is served. It reports whether they are
// others.
func (h *Host) arrange(members []Member, fresh []*view, publish bool) (changed bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	slots, err := h.slotsOf(members, fresh)
	if err != nil || slices.Equal(slots, h.slots) {
		return false, err
	}
	if !publish {
		return true, nil
	}
	old := h.slots
	h.slots = slots
	h.publish()
	for _, s := range old {
		if !slices.Contains(slots, s) {
			h.retire(s.live.unit)
		}
	}
	return true, nil
}

// slotsOf returns the slots of members, and refuses those that cannot stand together. h.mu is held.
func (h *Host) slotsOf(members []Member, fresh []*view) ([]*slot, error) {
	if h.closing {
		return nil, ErrClosed
	}
	for _, s := range h.slots {
		if s.live == nil || s.next != nil {
			return nil, fmt.Errorf("provider %q: it is being added or replaced", s.name)
		}
	}
	slots := make([]*slot, len(members))
	for i, m := range members {
		switch v := fresh[i]; {
		case v != nil:
			slots[i] = &slot{name: v.name, live: v}
		default:
			if slots[i] = h.find(m.Keep); slots[i] == nil {
				return nil, fmt.Errorf("provider %q: there is none of that name to keep", m.Keep)
			}
		}
		for _, other := range slots[:i] {
			if err := conflict(other.live, slots[i].live); err != nil {
				return nil, err
			}
		}
	}
	return slots, nil
}
