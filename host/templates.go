package host

import (
	"context"
	"fmt"
	"time"

	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// Templates is [Host.List] for templates.
func (h *Host) Templates(ctx context.Context, p *Principal, cursor string) (*TemplatePage, error) {
	c, ctx, leave, err := h.enter(ctx, p)
	if err != nil {
		return nil, err
	}
	defer leave()
	page, err := h.templates(ctx, c, optional(cursor))
	if err != nil {
		return nil, err
	}
	return &TemplatePage{Templates: page.Templates, Next: page.Next, Cache: CacheHint(page.Cache)}, nil
}

// templates returns a page of templates, as their authors wrote them. No provider is called: they are facts.
func (h *Host) templates(ctx context.Context, c *caller, text *string) (*mcp.TemplatePage, error) {
	start := time.Now()
	page, err := h.templatePage(ctx, c, text)
	if err != nil {
		return nil, h.settle(ctx, &outcome{op: "templates", caller: c, err: err, start: start})
	}
	return page, nil
}

func (h *Host) templatePage(ctx context.Context, c *caller, text *string) (*mcp.TemplatePage, error) {
	s := h.snap.Load()
	at := cursor{public: h.mayShareLists(s)}
	first := 0
	if text != nil {
		given, err := h.openCursor(methodTemplates, c, *text)
		if err != nil {
			return nil, err
		}
		i, place, ok := s.resume(given)
		if !ok {
			return nil, errBadCursor(fmt.Errorf("the providers %q and %q are gone", given.prev, given.provider))
		}
		place.public = place.public && at.public
		at, first = place, i
	}
	page := &mcp.TemplatePage{Templates: []provider.Template{}, Cache: mcp.CacheHint{Public: at.public}}
	p := h.newPager()
	for i, v := range s.views[first:] {
		if ttl := v.cache.clamp(v.cache.TTL); i == 0 || ttl < page.Cache.TTL {
			page.Cache.TTL = ttl
		}
		for at.provider = v.name; at.offset < len(v.listed); at.offset++ {
			t := v.listed[at.offset]
			if !s.showsTemplate(v, t) || !h.allowsTemplate(ctx, c, t, v) {
				continue
			}
			if !p.take(sizeOfTemplate(&t.spec)) {
				var err error
				page.Next, err = h.sealCursor(methodTemplates, c, &at)
				return page, err
			}
			page.Templates = append(page.Templates, t.spec)
		}
		at = cursor{prev: v.name, public: at.public}
	}
	return page, nil
}

// allowsTemplate asks the policy about an entry of the list of templates.
func (h *Host) allowsTemplate(ctx context.Context, c *caller, t *template, v *view) bool {
	return h.opts.Policy == nil || h.ask(ctx, &PolicyRequest{
		Op: OpTemplates, Principal: c.principal, Template: t.spec.URITemplate, Provider: v.name,
	})
}
