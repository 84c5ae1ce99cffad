package wasmplugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/internal/uritemplate"
	"github.com/reshost/reshost/host/provider"
)

// served is what a plugin serves at a moment: facts under effective names, and how URIs lead to them. It is immutable.
type served struct {
	info   provider.Info
	direct map[string]bool // normalised, authority folded
	routes []route
}

// route is one template.
type route struct {
	template *uritemplate.Template
	// fold says that the template's authority is literal, so that a URI's is compared without case.
	fold  bool
	slash map[string]bool
}

// schemeNames maps schemes between the plugin's names and the effective ones.
type schemeNames struct {
	own       []string // the plugin's names, in the manifest's order, then the operator's
	effective map[string]string
}

// nameSchemes applies the operator's names to the manifest's schemes.
func nameSchemes(m *Manifest, cfg *Config) (*schemeNames, error) {
	n := &schemeNames{effective: map[string]string{}}
	anyScheme := slices.Contains(m.Schemes, abi.AnyScheme)
	for _, s := range m.Schemes {
		if s != abi.AnyScheme {
			n.own = append(n.own, s)
		}
	}
	for _, s := range sortedKeys(cfg.Schemes) {
		if slices.Contains(n.own, s) {
			continue
		}
		if !anyScheme {
			return nil, fmt.Errorf("schemes: the plugin has no scheme %q (it has %s)", s, strings.Join(n.own, ", "))
		}
		if !validScheme(s) {
			return nil, fmt.Errorf("schemes: %q is not a scheme in lower case", s)
		}
		n.own = append(n.own, s)
	}
	if len(n.own) == 0 {
		return nil, errors.New(`schemes: the plugin serves any scheme: name at least one, such as {"docs": "docs"}`)
	}
	taken := map[string]string{}
	for _, s := range n.own {
		e := s
		if to, ok := cfg.Schemes[s]; ok && to != "" {
			e = to
		}
		if !validScheme(e) {
			return nil, fmt.Errorf("schemes: %q is not a scheme in lower case", e)
		}
		if other, ok := taken[e]; ok {
			return nil, fmt.Errorf("schemes: %q and %q are both named %q", other, s, e)
		}
		if (e == "http" || e == "https") && !cfg.AllowWebSchemes {
			return nil, fmt.Errorf("the plugin claims the scheme %q, which clients load by themselves: rename it under schemes, or set allow_web_schemes", e)
		}
		taken[e], n.effective[s] = s, e
	}
	return n, nil
}

// rename replaces the scheme of a URI or template by its effective name.
func (n *schemeNames) rename(text string) string {
	scheme, rest, ok := strings.Cut(text, ":")
	if !ok {
		return text
	}
	if e, ok := n.effective[strings.ToLower(scheme)]; ok {
		return e + ":" + rest
	}
	return text
}

// effectiveNames returns the effective schemes in order.
func (n *schemeNames) effectiveNames() []string {
	out := make([]string, 0, len(n.own))
	for _, s := range n.own {
		out = append(out, n.effective[s])
	}
	return out
}

// serve states what a plugin with this manifest and configuration serves.
func serve(m *Manifest, names *schemeNames, cfg *Config) (*served, error) {
	s := &served{direct: map[string]bool{}}
	s.info = provider.Info{
		Name: cfg.Name, Version: m.Version, Schemes: names.effectiveNames(), Only: cfg.Only, List: m.List,
		SeesCaller: len(cfg.Grants.Meta) > 0 || len(cfg.Grants.Principal) > 0, MetaKeys: cfg.Grants.Meta,
	}
	if err := checkOnly(cfg.Only, s.info.Schemes); err != nil {
		return nil, err
	}
	for _, r := range m.Resources {
		r.URI = names.rename(r.URI)
		u, err := uri.Parse(r.URI)
		if err != nil {
			return nil, fmt.Errorf("resource %q: %w", r.URI, err)
		}
		if folded := u.FoldAuthority().String(); s.claims(folded) {
			s.direct[folded] = true
			s.info.Resources = append(s.info.Resources, r)
		}
	}
	for _, t := range m.Templates {
		t.URITemplate = names.rename(t.URITemplate)
		parsed, err := uritemplate.Parse(t.URITemplate)
		if err != nil {
			return nil, fmt.Errorf("template %q: %w", t.URITemplate, err)
		}
		r := route{template: parsed, fold: literalAuthority(t.URITemplate), slash: map[string]bool{}}
		for _, v := range t.Vars {
			r.slash[v.Name] = v.Slash
		}
		s.routes = append(s.routes, r)
		s.info.Templates = append(s.info.Templates, t)
	}
	return s, nil
}

func checkOnly(only, schemes []string) error {
	for _, prefix := range only {
		scheme, _, ok := strings.Cut(prefix, ":")
		if !ok || !slices.Contains(schemes, scheme) {
			return fmt.Errorf("only: %q does not begin with a scheme of the plugin (%s)", prefix, strings.Join(schemes, ", "))
		}
	}
	return nil
}

// claims reports whether a normalised URI is within the operator's prefixes.
func (s *served) claims(u string) bool {
	if len(s.info.Only) == 0 {
		return true
	}
	return slices.ContainsFunc(s.info.Only, func(p string) bool { return strings.HasPrefix(u, p) })
}

// resolve returns the normal form of a URI that leads back to this plugin, by a direct resource or a template.
func (s *served) resolve(text string) (string, bool) {
	u, err := uri.Parse(text)
	if err != nil || !slices.Contains(s.info.Schemes, u.Scheme) {
		return "", false
	}
	folded := u.FoldAuthority()
	if f := folded.String(); s.direct[f] && s.claims(f) {
		return f, true
	}
	for i := range s.routes {
		r := &s.routes[i]
		candidate := u
		if r.fold {
			candidate = folded
		}
		text := candidate.String()
		if !s.claims(text) {
			continue
		}
		if _, ok := r.template.Match(candidate, func(name string) bool { return r.slash[name] }); ok {
			return text, true
		}
	}
	return "", false
}

// literalAuthority reports whether no expression stands in a template's authority.
func literalAuthority(template string) bool {
	_, rest, _ := strings.Cut(template, ":")
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return true
	}
	end := strings.IndexAny(rest, "/?#")
	open := strings.IndexByte(rest, '{')
	if open < 0 {
		return true
	}
	// An expression that brings its own "/" or "?" ends a literal authority.
	if end < 0 || open < end {
		return open+1 < len(rest) && strings.IndexByte("/?", rest[open+1]) >= 0
	}
	return true
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
