package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/reshost/reshost/host/cache"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// Bounds of a walk through what a provider lists.
const (
	// maxListCalls bounds the calls made for one page.
	maxListCalls = 100
	// maxListPages bounds a provider's pages in one walk.
	maxListPages = 100000
)

const (
	methodList      = "resources/list"
	methodTemplates = "resources/templates/list"
)

// List returns one page of the resources that principal p (nil: anonymous) may see. An empty cursor asks for the first
// page. A cursor that List did not return for the same principal is Invalid.
func (h *Host) List(ctx context.Context, p *Principal, cursor string) (*ResourcePage, error) {
	c, ctx, leave, err := h.enter(ctx, p)
	if err != nil {
		return nil, err
	}
	defer leave()
	page, err := h.list(ctx, c, optional(cursor))
	if err != nil {
		return nil, err
	}
	return &ResourcePage{Resources: page.Resources, Next: page.Next, Cache: CacheHint(page.Cache), LeftOut: page.LeftOut}, nil
}

// optional is how callers in process ask for the first page.
func optional(cursor string) *string {
	if cursor == "" {
		return nil
	}
	return &cursor
}

// list returns a page of resources: providers in order, of each first its direct resources and then what it lists. A
// provider that fails is left out, so that it neither truncates nor fails the list.
func (h *Host) list(ctx context.Context, c *caller, text *string) (*mcp.ResourcePage, error) {
	start := time.Now()
	page, err := h.listPage(ctx, c, text)
	for errors.Is(err, errRetired) && ctx.Err() == nil {
		page, err = h.listPage(ctx, c, text) // with the newer snapshot that is there by now
	}
	if err != nil {
		return nil, h.settle(ctx, &outcome{op: "list", caller: c, err: err, start: start})
	}
	return page, nil
}

func (h *Host) listPage(ctx context.Context, c *caller, text *string) (*mcp.ResourcePage, error) {
	w := &walk{Host: h, ctx: ctx, caller: c, snap: h.snap.Load(), seen: map[string]struct{}{}}
	w.pager = h.newPager()
	if err := w.begin(methodList, text); err != nil {
		return nil, err
	}
	for w.index < len(w.snap.views) && !w.more {
		if err := w.provider(w.snap.views[w.index]); err != nil {
			return nil, err
		}
	}
	return w.page()
}

// pager measures a page while it fills.
type pager struct {
	items, maxItems int
	bytes, maxBytes int64
	// full says that the next entry belongs to the next page.
	full bool
}

func (h *Host) newPager() pager {
	return pager{maxItems: h.opts.PageSize, maxBytes: h.opts.Limits.PageBytes}
}

// take makes room for an entry of about size bytes, unless the page is full.
func (p *pager) take(size int) bool {
	if p.full || p.items > 0 && p.bytes+int64(size) > p.maxBytes {
		p.full = true
		return false
	}
	p.items++
	p.bytes += int64(size)
	p.full = p.items >= p.maxItems
	return true
}

// errRetired says that a provider went while it was being asked.
var errRetired = errors.New("the provider was replaced or removed")

// walk makes one page of resources.
type walk struct {
	*Host
	pager
	ctx    context.Context
	caller *caller
	snap   *snapshot

	// index is the view that at stands in.
	index int
	// at moves with the walk. Once the page is full it goes on to look for one more entry, so that the last page leads to
	// no empty one.
	at    cursor
	more  bool   // there is a next page,
	next  cursor // which begins here
	given bool   // at.token came from the client and was not used yet
	calls int

	out  []provider.Resource
	seen map[string]struct{} // URIs from List on this page
	ttl  time.Duration
	some bool // ttl was set
	// leftOut names the providers that failed.
	leftOut []string
}

// begin puts the walk where the cursor says.
func (w *walk) begin(method string, text *string) error {
	if text == nil {
		w.at.public = w.listMayBePublic()
		return nil
	}
	c, err := w.openCursor(method, w.caller, *text)
	if err != nil {
		return err
	}
	i, at, ok := w.snap.resume(c)
	if !ok {
		return errBadCursor(fmt.Errorf("the providers %q and %q are gone", c.prev, c.provider))
	}
	w.at, w.index, w.given = at, i, at.token != nil
	w.at.public = c.public && w.mayShareLists(w.snap)
	return nil
}

// listMayBePublic decides the scope of all pages before page one: private, unless every provider says public. What a
// provider will say about its list is not known before it is asked; what it said last stands for it.
func (w *walk) listMayBePublic() bool {
	for _, v := range w.snap.views {
		if v.info.List && !v.sharedList.Load() {
			return false
		}
	}
	return w.mayShareLists(w.snap)
}

// mayShareLists reports whether the operator lets lists be public: they hold what every provider serves.
func (h *Host) mayShareLists(s *snapshot) bool {
	for _, v := range s.views {
		if !h.mayShareAll(v) {
			return false
		}
	}
	return len(s.views) > 0
}

// mayShareAll is mayShare for all schemes of v.
func (h *Host) mayShareAll(v *view) bool {
	return !slices.ContainsFunc(v.info.Schemes, func(scheme string) bool { return !h.mayShare(v, scheme) })
}

// provider walks through one provider from w.at on, to its end or until it is known that there is a next page.
func (w *walk) provider(v *view) error {
	w.at.provider = v.name
	if !w.at.guest {
		w.direct(v)
		if w.more {
			return nil
		}
		w.at.guest, w.at.offset = true, 0
	}
	if v.info.List {
		for w.at.guest && !w.more {
			if err := w.guestPage(v); err != nil {
				return err
			}
		}
		if w.more {
			return nil
		}
	}
	w.index++
	w.at = cursor{prev: v.name, public: w.at.public}
	return nil
}

func (w *walk) direct(v *view) {
	for ; w.at.offset < len(v.direct) && !w.more; w.at.offset++ {
		d := &v.direct[w.at.offset]
		r, ok := w.snap.route(d.parsed)
		if !ok || r.unit != v.unit || !w.allows(w.ctx, OpList, w.caller, &r) {
			continue
		}
		w.note(v.cache.clamp(v.cache.TTL))
		w.emit(&d.Resource)
	}
}

// emit puts an entry on the page, or notes that the next page begins with it.
func (w *walk) emit(r *provider.Resource) {
	if !w.take(sizeOfResource(r)) {
		w.stop()
		return
	}
	w.out = append(w.out, *r)
}

// stop ends the walk: the next page begins where it stands.
func (w *walk) stop() {
	w.more = true
	w.next = w.at
}

// note takes a ttl into account: the page's is the least.
func (w *walk) note(ttl time.Duration) {
	if !w.some || ttl < w.ttl {
		w.ttl = ttl
	}
	w.some = true
}

// guestPage takes one page of what v lists, from w.at on. It leaves w.at.guest unset when v is through.
func (w *walk) guestPage(v *view) error {
	if w.full && w.at.token != nil || w.calls >= maxListCalls {
		w.stop() // the provider says that there is more: it need not be asked
		return nil
	}
	meta, err := w.grantedMeta(w.caller, v)
	if err != nil {
		return err
	}
	probing := w.full
	res, hint, err := w.callList(v, meta)
	given := w.given
	w.given = false
	switch code := provider.CodeOf(err); {
	case err == nil:
	case errors.Is(err, errRetired) || code == provider.Canceled || w.ctx.Err() != nil:
		return err
	case code == provider.Invalid && given:
		return errBadCursor(err)
	default:
		w.leaveOut(v, err)
		return nil
	}
	if v.failing.Swap(false) {
		w.log.Info("the provider lists again", "provider", v.name)
	}
	v.sharedList.Store(res.Cache.Public)
	if !probing {
		w.account(v, hint, res.Cache.Public)
	}
	w.entries(v, res)
	if !w.more {
		w.advance(v, res)
	}
	return nil
}

// callList asks for enough entries to fill the page; one is enough to know that there is another page. The result may be one that
// others get too: it is not changed.
func (w *walk) callList(v *view, meta provider.JSON) (*provider.ListResult, mcp.CacheHint, error) {
	want := 1
	if !w.full {
		want = w.maxItems - w.items
	}
	req := &provider.ListRequest{
		Caller: provider.Caller{Principal: w.caller.principal, Meta: meta, Remote: w.caller.remote},
		Cursor: bytes.Clone(w.at.token), PageSize: want + w.at.offset,
	}
	w.calls++
	token := "first"
	if req.Cursor != nil {
		token = "next " + string(req.Cursor)
	}
	q := listCall{
		Host: w.Host, caller: w.caller, view: v, mayShare: w.mayShareAll(v),
		parts: keyParts{kind: askList, view: v, texts: []string{token, strconv.Itoa(req.PageSize)}, meta: meta},
	}
	q.ask = func(ctx context.Context, e *cache.Entry) (*provider.Cache, error) {
		err := q.call(ctx, "List", func(ctx context.Context) (err error) {
			e.List, err = v.p.List(ctx, req)
			return err
		})
		if err != nil {
			return nil, err
		}
		if e.List == nil {
			return nil, fault("it returned nothing")
		}
		return &e.List.Cache, nil
	}
	e, hint, err := q.do(w.ctx)
	if err != nil {
		return nil, hint, err
	}
	return e.List, hint, nil
}

// entries puts what the caller may see of a provider's page on ours. An entry that breaks the rules is left out and the
// first of them logged.
func (w *walk) entries(v *view, res *provider.ListResult) {
	bad := 0
	var first error
	for ; w.at.offset < len(res.Resources) && !w.more; w.at.offset++ {
		r := &res.Resources[w.at.offset]
		ok, err := w.visible(v, r)
		if err != nil {
			if bad++; bad == 1 {
				first = fmt.Errorf("%q: %w", cut(r.URI, 256), err)
			}
		}
		if ok {
			w.emit(r)
		}
	}
	if bad > 0 {
		w.log.WarnContext(w.ctx, "entries are left out of a list", "provider", v.name, "entries", bad, "first", first)
	}
}

// visible reports whether the caller gets to see an entry; it is an error when nobody could.
func (w *walk) visible(v *view, r *provider.Resource) (bool, error) {
	route, err := w.snap.routeText(v, r.URI)
	if err != nil {
		return false, err
	}
	if route.template == nil {
		return false, nil // it stands among the direct resources
	}
	if _, double := w.seen[route.uri]; double {
		return false, nil
	}
	w.seen[route.uri] = struct{}{}
	if err := checkResource(r); err != nil {
		return false, err
	}
	if int64(sizeOfResource(r)) > w.maxBytes {
		return false, errors.New("it is larger than a page")
	}
	return w.allows(w.ctx, OpList, w.caller, &route), nil
}

// advance goes on to the provider's next page, or ends with it.
func (w *walk) advance(v *view, res *provider.ListResult) {
	w.at.offset = 0
	w.at.pages++
	switch {
	case res.Next == nil:
		w.at.guest = false
		return
	case w.at.token != nil && bytes.Equal(res.Next, w.at.token):
		w.leaveOut(v, fault("its next page is the same page again"))
	case len(res.Next) > maxToken:
		w.leaveOut(v, fault(fmt.Sprintf("its cursor has more than %d bytes", maxToken)))
	case w.at.pages >= maxListPages:
		w.leaveOut(v, fault(fmt.Sprintf("it has more than %d pages", maxListPages)))
	case w.calls >= maxListCalls && len(w.seen) == 0:
		w.leaveOut(v, fault(fmt.Sprintf("%d of its pages were empty", maxListCalls)))
	default:
		w.at.token = append([]byte{}, res.Next...)
	}
}

// account takes a result's cache hint into the page's.
func (w *walk) account(v *view, hint mcp.CacheHint, public bool) {
	w.note(hint.TTL)
	if w.at.public && !public {
		// The scope was fixed before, from what the provider said then. What it says now is about bytes on this page.
		w.log.Warn("a list said to be public is private after all", "provider", v.name)
		w.at.public = false
	}
}

// leaveOut goes on without a provider that fails.
func (w *walk) leaveOut(v *view, err error) {
	w.leftOut = append(w.leftOut, v.name)
	w.at.guest = false
	v.failing.Store(true)
	w.log.WarnContext(w.ctx, "a provider is left out of a list", "provider", v.name, "code", provider.CodeOf(err).String(), "cause", err)
}

// page returns what the walk gathered.
func (w *walk) page() (*mcp.ResourcePage, error) {
	page := &mcp.ResourcePage{Resources: w.out, Cache: mcp.CacheHint{TTL: w.ttl, Public: w.at.public}, LeftOut: w.leftOut}
	if page.Resources == nil {
		page.Resources = []provider.Resource{}
	}
	if len(w.leftOut) > 0 {
		page.Cache.TTL = 0
	}
	if !w.more {
		return page, nil
	}
	w.next.public = w.at.public
	var err error
	page.Next, err = w.sealCursor(methodList, w.caller, &w.next)
	return page, err
}
