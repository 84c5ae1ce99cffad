package providertest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/internal/uritemplate"
	"github.com/reshost/reshost/host/provider"
)

// kit is what a check works with: one provider, used as the host would.
type kit struct {
	ctx    context.Context
	opts   Options
	create func() provider.Provider
	report func(format string, args ...any)

	p      provider.Provider
	info   provider.Info
	events *recorder
	routes []route
	direct map[string]bool // normalised URIs of info.Resources
}

// route is a template, ready to match.
type route struct {
	index    int
	template *uritemplate.Template
	vars     []provider.TemplateVar
}

func (r *route) slash(name string) bool {
	return slices.ContainsFunc(r.vars, func(v provider.TemplateVar) bool { return v.Name == name && v.Slash })
}

// recorder is the sink for events.
type recorder struct {
	mu      sync.Mutex // guards what follows
	updated []string
}

func (r *recorder) Updated(uri string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.updated = append(r.updated, uri)
}

func (r *recorder) ListChanged() {}

// open creates the provider and builds the routes. Faults of Info are checkInfo's to report.
func (k *kit) open() {
	k.p = k.create()
	k.info = k.p.Info()
	k.events = &recorder{}
	k.p.Attach(k.events)
	k.direct = map[string]bool{}
	for i := range k.info.Resources {
		if u, err := uri.Parse(k.info.Resources[i].URI); err == nil {
			k.direct[u.FoldAuthority().String()] = true
		}
	}
	for i := range k.info.Templates {
		if tmpl, err := uritemplate.Parse(k.info.Templates[i].URITemplate); err == nil {
			k.routes = append(k.routes, route{index: i, template: tmpl, vars: k.info.Templates[i].Vars})
		}
	}
	slices.SortStableFunc(k.routes, func(a, b route) int {
		return cmp.Or(uritemplate.Compare(a.template, b.template), cmp.Compare(a.index, b.index))
	})
}

func (k *kit) close() {
	if k.p == nil {
		return
	}
	if err := k.p.Close(context.WithoutCancel(k.ctx)); err != nil {
		k.report("Close: %v", err)
	}
	k.p = nil
}

// parse reports a URI that is malformed, not normalised, or of a scheme that the provider does not claim.
func (k *kit) parse(where, text string) (uri.URI, bool) {
	u, err := uri.Parse(text)
	switch {
	case err != nil:
		k.report("%s: URI %q: %v", where, text, err)
	case u.String() != text:
		k.report("%s: URI %q is not normalised: clients would know it as %q", where, text, u)
	case !slices.Contains(k.info.Schemes, u.Scheme):
		k.report("%s: URI %q has a scheme that Info.Schemes does not claim", where, text)
	case !k.inOnly(text):
		k.report("%s: URI %q lies outside Info.Only", where, text)
	default:
		return u, true
	}
	return uri.URI{}, false
}

func (k *kit) inOnly(text string) bool {
	return len(k.info.Only) == 0 ||
		slices.ContainsFunc(k.info.Only, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// request routes a URI as the host does: a direct resource first, then the most specific template.
func (k *kit) request(u uri.URI) (*provider.ReadRequest, bool) {
	req := &provider.ReadRequest{URI: u.String(), TemplateIndex: -1, MaxBytes: k.opts.MaxBytes}
	if k.direct[u.FoldAuthority().String()] {
		return req, true
	}
	for i := range k.routes {
		r := &k.routes[i]
		if vars, ok := r.template.Match(u, r.slash); ok {
			req.Template, req.TemplateIndex, req.Vars = r.template.String(), r.index, vars
			return req, true
		}
	}
	return nil, false
}

// walk lists everything in pages of size. It reports what breaks the walk and returns what it saw.
func (k *kit) walk(size int) []provider.Resource {
	var all []provider.Resource
	if !k.info.List {
		return nil
	}
	seen := map[string]bool{}
	var cursor []byte
	for {
		res, err := k.p.List(k.ctx, &provider.ListRequest{Cursor: cursor, PageSize: size})
		switch {
		case err != nil:
			k.report("List with PageSize %d after %d resources: %v", size, len(all), err)
			return all
		case res == nil:
			k.report("List returns neither a result nor an error")
			return all
		case len(res.Resources) > size:
			k.report("List returns %d resources for PageSize %d", len(res.Resources), size)
			return all
		}
		all = append(all, res.Resources...)
		switch {
		case res.Next == nil:
			return all
		case len(res.Next) == 0:
			k.report("List returns a Next that is empty but not nil: nil ends a list")
			return all
		case seen[string(res.Next)]:
			k.report("List returns cursor %q a second time: the walk does not end", res.Next)
			return all
		case len(all) > k.opts.MaxListed || len(seen) > k.opts.MaxListed:
			k.report("List goes on after %d resources in %d pages (Options.MaxListed)", len(all), len(seen))
			return all
		}
		seen[string(res.Next)] = true
		cursor = slices.Clone(res.Next)
	}
}

// target is a resource that the kit reads.
type target struct {
	uri    uri.URI
	listed *provider.Resource // nil for those of Options.URIs
}

// targets returns resources that must be readable. At most Options.MaxReads of them come from lists.
func (k *kit) targets() []target {
	listed := slices.Concat(k.info.Resources, k.walk(1000))
	step := max(1, (len(listed)+k.opts.MaxReads-1)/k.opts.MaxReads)
	var out []target
	for i := 0; i < len(listed); i += step {
		if u, err := uri.Parse(listed[i].URI); err == nil {
			out = append(out, target{u, &listed[i]})
		}
	}
	for _, text := range k.opts.URIs {
		u, err := uri.Parse(text)
		if err != nil {
			k.report("Options.URIs: %q: %v", text, err)
			continue
		}
		out = append(out, target{uri: u})
	}
	return out
}
