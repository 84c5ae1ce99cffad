package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
)

// snapshot is what the host serves at one moment. It is immutable: a request works on the one it began with, and a change
// publishes another.
type snapshot struct {
	// views are in the order of lists.
	views  []*view
	byName map[string]int
	// claims are by scheme, the narrowest first.
	claims map[string][]claim
}

// route is where a URI leads.
type route struct {
	*view
	// uri is canonical: what the policy is asked about, and what keys are made of.
	uri string
	// asked is what the provider gets: uri, but a direct resource's authority is in the case in which the provider stated it,
	// so that a provider can compare it with its own text.
	asked string
	// template is nil for a direct resource.
	template *template
	vars     []provider.Var
}

// templateText returns the template that matched, as written, and its place in Info; for a direct resource "" and -1.
func (r *route) templateText() (string, int) {
	if r.template == nil {
		return "", -1
	}
	return r.template.spec.URITemplate, r.template.index
}

func newSnapshot(views []*view) *snapshot {
	s := &snapshot{views: views, byName: make(map[string]int, len(views)), claims: map[string][]claim{}}
	for i, v := range views {
		s.byName[v.name] = i
		for _, c := range v.claims {
			s.claims[c.scheme] = append(s.claims[c.scheme], c)
		}
	}
	for _, cs := range s.claims {
		slices.SortStableFunc(cs, func(a, b claim) int { return len(b.prefix) - len(a.prefix) })
	}
	return s
}

// owner returns the provider that a URI belongs to: the one with the narrowest claim. Nobody else is asked when that one
// does not serve it, so that no provider can answer in another's place.
func (s *snapshot) owner(u, folded uri.URI) *view {
	cs := s.claims[u.Scheme]
	for i := range cs {
		if cs[i].covers(u, folded) {
			return cs[i].view
		}
	}
	return nil
}

// route finds who serves u, and as what. It goes by the canonical spelling: a URI that a template would match in another one is
// routed again, so that "R%26D" leads neither around a narrower claim on "R&D" nor around a direct resource of that name.
func (s *snapshot) route(u uri.URI) (route, bool) {
	const spellings = 3 // one more than there are, unless templates disagree for ever
	for range spellings {
		r, seen, ok := s.lead(u)
		if !ok {
			return route{}, false
		}
		if seen == u || seen == u.FoldAuthority() {
			return r, true
		}
		u = seen
	}
	return route{}, false
}

// lead routes u as it is spelled, and returns its canonical spelling too: a direct resource goes before any template (rule L4),
// the more specific template before the other.
func (s *snapshot) lead(u uri.URI) (route, uri.URI, bool) {
	folded := u.FoldAuthority()
	v := s.owner(u, folded)
	if v == nil {
		return route{}, uri.URI{}, false
	}
	if i, ok := v.byURI[folded.String()]; ok {
		return route{view: v, uri: folded.String(), asked: v.direct[i].asked}, folded, true
	}
	for _, t := range v.templates {
		if vars, seen, ok := t.match(u, folded); ok {
			return route{view: v, uri: seen.String(), asked: seen.String(), template: t, vars: vars}, seen, true
		}
	}
	return route{}, uri.URI{}, false
}

// routeText parses and routes a URI that a provider stated. It fails unless it leads back to that provider.
func (s *snapshot) routeText(v *view, text string) (route, error) {
	u, err := uri.Parse(text)
	if err != nil {
		return route{}, err
	}
	r, ok := s.route(u)
	switch {
	case !ok:
		return route{}, fmt.Errorf("no resource or template of %s matches it", v.name)
	case r.unit != v.unit:
		return route{}, fmt.Errorf("it belongs to %s", r.name)
	}
	return r, nil
}

// showsTemplate reports whether t can match a URI that belongs to v: a narrower claim may exclude all of them.
func (s *snapshot) showsTemplate(v *view, t *template) bool {
	prefix := t.LiteralPrefix()
	for i := range v.claims {
		c := &v.claims[i]
		if strings.HasPrefix(c.folded, prefix) || strings.HasPrefix(c.prefix, prefix) ||
			strings.HasPrefix(prefix, c.folded) || strings.HasPrefix(prefix, c.prefix) {
			return true
		}
	}
	return false
}

// conflict returns why a and b cannot be served side by side, or nil.
func conflict(a, b *view) error {
	if a.name == b.name {
		return fmt.Errorf("provider %q: the name is taken", b.name)
	}
	for i := range a.claims {
		for j := range b.claims {
			if x, y := &a.claims[i], &b.claims[j]; x.folded == y.folded {
				return fmt.Errorf("provider %q: %s is claimed by provider %q already; narrow one of them (only)", b.name, y, a.name)
			}
		}
	}
	return nil
}
