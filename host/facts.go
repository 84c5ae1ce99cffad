package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/internal/uritemplate"
	"github.com/reshost/reshost/host/provider"
)

// view is what a unit serves, checked and compiled from its Info. It is immutable; a new Info makes a new view.
type view struct {
	*unit
	info provider.Info
	// claims are in the order of Info; a provider without Only has one for each scheme.
	claims []claim
	direct []directResource
	// byURI finds a direct resource by its normalised URI, authority folded.
	byURI map[string]int
	// listed are the templates in the order of Info; templates in that in which they are tried, the more specific first.
	listed, templates []*template
	cache             CacheRules
	// warnings are for the log, once the view is in use.
	warnings []string
}

// claim is a set of URIs: all of a scheme, or those with a prefix.
type claim struct {
	scheme string
	// prefix is normalised and, in folded, its authority lower case. It is the scheme and ":" for all of it.
	prefix, folded string
	view           *view
}

// whole reports whether the claim is not narrowed.
func (c *claim) whole() bool { return len(c.prefix) == len(c.scheme)+1 }

func (c *claim) String() string {
	if c.whole() {
		return fmt.Sprintf("the scheme %q", c.scheme)
	}
	return fmt.Sprintf("the prefix %q", c.prefix)
}

// covers reports whether u lies within the claim. An authority in either case is within: the owner of "docs://Host/" owns
// "docs://host/" too, whichever of its templates will match.
func (c *claim) covers(u, folded uri.URI) bool {
	return c.whole() || strings.HasPrefix(u.String(), c.prefix) || strings.HasPrefix(folded.String(), c.folded)
}

// directResource is one of Info.Resources.
type directResource struct {
	provider.Resource
	parsed uri.URI // authority folded
	asked  string  // normalised, but the authority as the provider spells it
}

// template is one of Info.Templates.
type template struct {
	*uritemplate.Template
	spec            provider.Template
	index           int
	slash, complete map[string]bool
}

func (t *template) allowsSlash(name string) bool { return t.slash[name] }

// match returns the variables of u, and the canonical spelling that this template has for u: where the authority is literal, its
// case does not count, nor does it where a character of a value is percent-encoded without need.
func (t *template) match(u, folded uri.URI) ([]provider.Var, uri.URI, bool) {
	if t.LiteralAuthority() {
		u = folded
	}
	return t.Resolve(u, t.allowsSlash)
}

// compile checks a provider's facts. Its errors name what is wrong, not the provider.
func compile(u *unit, info provider.Info, cache CacheRules) (*view, error) {
	v := &view{unit: u, cache: cache, byURI: make(map[string]int, len(info.Resources))}
	info.Schemes, info.Only = slices.Clone(info.Schemes), slices.Clone(info.Only)
	info.MetaKeys = slices.Clone(info.MetaKeys)
	info.Resources, info.Templates = slices.Clone(info.Resources), slices.Clone(info.Templates)
	v.info = info
	if err := v.compileClaims(); err != nil {
		return nil, err
	}
	for i := range info.Resources {
		if err := v.compileResource(&info.Resources[i]); err != nil {
			return nil, fmt.Errorf("resource %q: %w", info.Resources[i].URI, err)
		}
	}
	for i := range info.Templates {
		t, err := v.compileTemplate(i, &info.Templates[i])
		if err != nil {
			return nil, fmt.Errorf("template %q: %w", info.Templates[i].URITemplate, err)
		}
		v.listed = append(v.listed, t)
	}
	v.templates = slices.Clone(v.listed)
	slices.SortStableFunc(v.templates, func(a, b *template) int { return uritemplate.Compare(a.Template, b.Template) })
	v.warnOverlaps()
	return v, nil
}

func checkName(name string) error {
	if name == "" || len(name) > 64 {
		return fmt.Errorf("provider name %q is not of 1 to 64 bytes", cut(name, 64))
	}
	for i := range len(name) {
		c := name[i]
		if !alphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return fmt.Errorf("provider name %q holds a character other than letters, digits, '-', '_' and '.'", name)
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func checkScheme(s string) error {
	for i := range len(s) {
		c := s[i]
		if 'a' <= c && c <= 'z' || i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.') {
			continue
		}
		return fmt.Errorf("%q is not a URI scheme in lower case", s)
	}
	if s == "" {
		return errors.New("a scheme is empty")
	}
	return nil
}

func (v *view) compileClaims() error {
	if len(v.info.Schemes) == 0 {
		return errors.New("no scheme is claimed")
	}
	for _, s := range v.info.Schemes {
		if err := checkScheme(s); err != nil {
			return err
		}
		if len(v.info.Only) == 0 {
			v.claims = append(v.claims, claim{scheme: s, prefix: s + ":", folded: s + ":", view: v})
		}
	}
	for _, prefix := range v.info.Only {
		c, err := v.compileOnly(prefix)
		if err != nil {
			return fmt.Errorf("only %q: %w", prefix, err)
		}
		v.claims = append(v.claims, c)
	}
	return nil
}

func (v *view) compileOnly(prefix string) (claim, error) {
	u, err := uri.Parse(prefix)
	if err != nil {
		return claim{}, err
	}
	if !slices.Contains(v.info.Schemes, u.Scheme) {
		return claim{}, fmt.Errorf("the scheme %q is not claimed", u.Scheme)
	}
	c := claim{scheme: u.Scheme, prefix: u.String(), folded: u.FoldAuthority().String(), view: v}
	if c.prefix == u.Scheme+"://" { // all that most schemes can hold: as wide as the scheme, so that two cannot share it so
		c.prefix, c.folded = u.Scheme+":", u.Scheme+":"
	}
	return c, nil
}

func (v *view) compileResource(r *provider.Resource) error {
	u, err := uri.Parse(r.URI)
	if err != nil {
		return err
	}
	if !slices.Contains(v.info.Schemes, u.Scheme) {
		return fmt.Errorf("the scheme %q is not claimed", u.Scheme)
	}
	if err := checkResource(r); err != nil {
		return err
	}
	asked := u.String()
	u = u.FoldAuthority()
	if _, ok := v.byURI[u.String()]; ok {
		v.warnings = append(v.warnings, fmt.Sprintf("resource %q is there twice; the first one counts", r.URI))
		return nil
	}
	v.byURI[u.String()] = len(v.direct)
	v.direct = append(v.direct, directResource{Resource: *r, parsed: u, asked: asked})
	return nil
}

func (v *view) compileTemplate(i int, spec *provider.Template) (*template, error) {
	parsed, err := uritemplate.Parse(spec.URITemplate)
	if err != nil {
		return nil, err
	}
	if err := checkTemplate(spec); err != nil {
		return nil, err
	}
	if scheme := parsed.Scheme(); !slices.Contains(v.info.Schemes, scheme) {
		return nil, fmt.Errorf("the scheme %q is not claimed", scheme)
	}
	t := &template{Template: parsed, spec: *spec, index: i, slash: map[string]bool{}, complete: map[string]bool{}}
	t.spec.Vars = slices.Clone(spec.Vars)
	return t, t.compileVars()
}

func (t *template) compileVars() error {
	have := t.Vars()
	for _, tv := range t.spec.Vars {
		if !slices.Contains(have, tv.Name) {
			return fmt.Errorf("the handler takes a variable %q that the template does not have", tv.Name)
		}
		t.slash[tv.Name], t.complete[tv.Name] = tv.Slash, tv.Complete
	}
	for _, name := range have {
		if _, ok := t.slash[name]; !ok {
			return fmt.Errorf("the variable %q is not among those that the handler takes", name)
		}
	}
	return nil
}

// maxOverlapChecks bounds the pairs that warnOverlaps looks at.
const maxOverlapChecks = 10000

// warnOverlaps names templates of which one matches what the other expands to: the order between them is by rule, and the
// author should know.
func (v *view) warnOverlaps() {
	checks := 0
	for i, a := range v.templates {
		sample, ok := a.sample()
		if !ok {
			continue
		}
		for j, b := range v.templates {
			if i == j {
				continue
			}
			if checks++; checks > maxOverlapChecks {
				return
			}
			if _, _, ok := b.match(sample, sample.FoldAuthority()); ok {
				first, second := v.templates[min(i, j)], v.templates[max(i, j)]
				v.warnings = append(v.warnings, fmt.Sprintf("templates %q and %q match the same URIs, such as %q; the first of them is used",
					first.spec.URITemplate, second.spec.URITemplate, sample.String()))
			}
		}
	}
}

// sample is a URI that t matches.
func (t *template) sample() (uri.URI, bool) {
	var vars []provider.Var
	for _, name := range t.Vars() {
		vars = append(vars, provider.Var{Name: name, Value: "x"})
	}
	s, err := t.Expand(vars)
	if err != nil {
		return uri.URI{}, false
	}
	u, err := uri.Parse(s)
	return u, err == nil
}
