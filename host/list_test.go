package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// scheme is a provider of its own scheme that lists uris.
func lister(name string, n int) *fake {
	f := &fake{info: provider.Info{
		Name: name, Schemes: []string{name}, Templates: []provider.Template{template(name+"://x/{id}", "id")},
	}}
	return listing(f, numbered(name+"://x/", n)...)
}

// LST-01: the same order each time, every URI once, and 250 entries at page size 50 are exactly 5 pages, wherever the
// providers' borders lie.
func TestListPages(t *testing.T) {
	with := func(f *fake, direct int) *fake {
		for _, uri := range numbered(f.info.Name+"://direct/", direct) {
			f.info.Resources = append(f.info.Resources, provider.Resource{URI: uri, Name: "README"})
		}
		return f
	}
	quiet := func(name string) *fake {
		return with(&fake{info: provider.Info{Name: name, Schemes: []string{name}}}, 0)
	}
	tests := []struct {
		name      string
		providers []provider.Provider
		items     int
		pages     int
	}{
		{name: "nothing", pages: 1},
		{name: "one provider", providers: []provider.Provider{lister("a", 250)}, items: 250, pages: 5},
		{name: "direct ones only", providers: []provider.Provider{with(quiet("a"), 250)}, items: 250, pages: 5},
		{name: "direct ones and a list", providers: []provider.Provider{with(lister("a", 210), 40)}, items: 250, pages: 5},
		{name: "a border at a page's end", providers: []provider.Provider{lister("a", 100), lister("b", 150)}, items: 250, pages: 5},
		{name: "borders within pages", providers: []provider.Provider{lister("a", 77), with(lister("b", 33), 11), lister("c", 129)}, items: 250, pages: 5},
		{name: "empty ones behind", providers: []provider.Provider{lister("a", 250), quiet("b"), lister("c", 0)}, items: 250, pages: 5},
		{name: "empty ones between", providers: []provider.Provider{quiet("z"), lister("a", 50), quiet("b"), lister("c", 0), lister("d", 200)}, items: 250, pages: 5},
		{name: "one more", providers: []provider.Provider{lister("a", 250), with(quiet("b"), 1)}, items: 251, pages: 6},
		{name: "one more, listed", providers: []provider.Provider{lister("a", 250), quiet("c"), lister("b", 1)}, items: 251, pages: 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, &host.Options{PageSize: 50}, tt.providers...)
			first, pages := walkPages(t, h, nil)
			if len(first) != tt.items || pages != tt.pages {
				t.Errorf("%d items in %d pages, want %d in %d", len(first), pages, tt.items, tt.pages)
			}
			if u := slices.Compact(slices.Sorted(slices.Values(first))); len(u) != len(first) {
				t.Errorf("%d different URIs of %d", len(u), len(first))
			}
			for range 20 {
				if again := walk(t, h, nil); !cmp.Equal(first, again) {
					t.Fatal("another order")
				}
			}
		})
	}
}

// An empty list is [] (L3) and TPL-23.
func TestListEmpty(t *testing.T) {
	h := newHost(t, nil)
	page, err := h.List(t.Context(), nil, "")
	if err != nil || page.Resources == nil || len(page.Resources) != 0 || page.Next != "" {
		t.Errorf("resources: %+v, %v", page, err)
	}
	templates, err := h.Templates(t.Context(), nil, "")
	if err != nil || templates.Templates == nil || len(templates.Templates) != 0 || templates.Next != "" {
		t.Errorf("templates: %+v, %v", templates, err)
	}
}

// Entries that a page cannot hold, or that nobody could read, do not get in.
func TestListEntries(t *testing.T) {
	size := int64(-1)
	good := provider.Resource{URI: "docs://good", Name: "good"}
	tests := []struct {
		name string
		give provider.Resource
		want bool
		log  bool
	}{
		{name: "a good one", give: provider.Resource{URI: "docs://b", Name: "b"}, want: true},
		{name: "its URI is shown as it is", give: provider.Resource{URI: "docs://b%20c", Name: "b"}, want: true},
		{name: "a double", give: good},
		{name: "a double, spelled otherwise", give: provider.Resource{URI: "DOCS://g%6fod", Name: "x"}},
		{name: "a direct one", give: provider.Resource{URI: "docs://index", Name: "x"}},
		{name: "a scheme that is not its own", give: provider.Resource{URI: "other://a", Name: "x"}, log: true},
		{name: "nothing matches", give: provider.Resource{URI: "docs://a/b", Name: "x"}, log: true},
		{name: "no URI", give: provider.Resource{Name: "x"}, log: true},
		{name: "a traversal", give: provider.Resource{URI: "docs://..%2Fb", Name: "x"}, log: true},
		{name: "no name", give: provider.Resource{URI: "docs://b"}, log: true},
		{name: "a name that is not UTF-8", give: provider.Resource{URI: "docs://b", Name: "\xff"}, log: true},
		{name: "a negative size", give: provider.Resource{URI: "docs://b", Name: "b", Size: &size}, log: true},
		{name: "a bad media type", give: provider.Resource{URI: "docs://b", Name: "b", MIMEType: "x"}, log: true},
		{name: "an icon of http", give: provider.Resource{URI: "docs://b", Name: "b", Icons: []provider.Icon{{Src: "http://x"}}}, log: true},
		{name: "an icon of https", give: provider.Resource{URI: "docs://b", Name: "b", Icons: []provider.Icon{{Src: "https://x", Sizes: []string{"any"}, Theme: "dark"}}}, want: true},
		{name: "a strange audience", give: provider.Resource{URI: "docs://b", Name: "b", Annotations: &provider.Annotations{Audience: []string{"all"}}}, log: true},
		{name: "a year of five digits", give: provider.Resource{URI: "docs://b", Name: "b", Annotations: &provider.Annotations{LastModified: time.Unix(1<<40, 0)}}, log: true},
		{name: "a broken meta", give: provider.Resource{URI: "docs://b", Name: "b", Meta: provider.JSON(`{`)}, log: true},
		{name: "larger than a page", give: provider.Resource{URI: "docs://b", Name: "b", Description: strings.Repeat("\x01", 60<<10)}, log: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log logBuffer
			p := docs("docs")
			p.info.List = true
			p.list = func(context.Context, *provider.ListRequest) (*provider.ListResult, error) {
				return &provider.ListResult{Resources: []provider.Resource{good, tt.give, {URI: "docs://last", Name: "last"}}}, nil
			}
			h := newHost(t, &host.Options{Logger: log.logger(), Limits: host.Limits{PageBytes: 100 << 10}}, p)
			want := []string{"docs://index", "docs://good"}
			if tt.want {
				want = append(want, tt.give.URI)
			}
			want = append(want, "docs://last")
			if diff := cmp.Diff(want, walk(t, h, nil)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got := strings.Contains(log.String(), "left out of a list"); got != tt.log {
				t.Errorf("logged: %v, want %v: %s", got, tt.log, log.String())
			}
		})
	}
}

func TestListPageBytes(t *testing.T) {
	f := &fake{info: provider.Info{Name: "a", Schemes: []string{"a"}, List: true, Templates: []provider.Template{template("a://{id}", "id")}}}
	names := numbered("a://", 40)
	f.list = func(_ context.Context, req *provider.ListRequest) (*provider.ListResult, error) { // more than was asked for, too
		res := &provider.ListResult{}
		for _, n := range names {
			res.Resources = append(res.Resources, provider.Resource{URI: n, Name: n, Description: strings.Repeat("d", 10<<10)})
		}
		return res, nil
	}
	h := newHost(t, &host.Options{Limits: host.Limits{PageBytes: 100 << 10}}, f)
	got, pages := walkPages(t, h, nil)
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if pages != 5 { // nine entries of 10 KiB and something a page
		t.Errorf("%d pages, want 5", pages)
	}
	h2 := newHost(t, &host.Options{PageSize: 7}, f)
	if got, pages := walkPages(t, h2, nil); !cmp.Equal(names, got) || pages != 6 {
		t.Errorf("a provider that ignores PageSize: %d entries in %d pages, want 40 in 6", len(got), pages)
	}
}

// A provider that fails is left out, with a line and ttl 0; the others' entries are all there.
func TestListFailingProvider(t *testing.T) {
	var log logBuffer
	bad := lister("bad", 10)
	works := bad.list
	var fail error
	bad.list = func(ctx context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
		if fail != nil {
			return nil, fail
		}
		return works(ctx, req)
	}
	bad.info.Resources = []provider.Resource{{URI: "bad://direct", Name: "direct"}}
	h := newHost(t, &host.Options{Logger: log.logger(), PageSize: 4}, lister("a", 5), bad, lister("z", 5))
	if got := len(walk(t, h, nil)); got != 21 {
		t.Fatalf("%d entries, want 21", got)
	}
	for _, fail = range []error{
		errors.New("x"), provider.Errorf(provider.Unavailable, "x"), provider.Errorf(provider.Denied, "x"),
		provider.Errorf(provider.Invalid, "x"), provider.Errorf(provider.NotFound, "x"),
	} {
		log.buf.Reset()
		if got := walk(t, h, nil); len(got) != 11 {
			t.Errorf("%v: %d entries, want 11: %v", fail, len(got), got)
		}
		if !strings.Contains(log.String(), "left out of a list") {
			t.Errorf("%v: no line says so", fail)
		}
	}
	h2 := newHost(t, &host.Options{Cache: host.CacheRules{TTL: time.Minute}}, lister("a", 5), bad)
	page, err := h2.List(t.Context(), nil, "")
	if err != nil || page.Cache.TTL != 0 {
		t.Errorf("ttl %v, want 0 (%v)", page.Cache.TTL, err)
	}
	if diff := cmp.Diff([]string{"bad"}, page.LeftOut); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
	fail = nil
	if page, err = h2.List(t.Context(), nil, ""); err != nil || page.Cache.TTL.Round(time.Second) != time.Minute {
		t.Errorf("ttl %v, want 1m (%v)", page.Cache.TTL, err)
	}
}

// LST-03, as a client of a provider: one that never ends, or says the same cursor again, ends all the same.
func TestListEndless(t *testing.T) {
	tests := []struct {
		name  string
		list  func(calls int, req *provider.ListRequest) *provider.ListResult
		items int
		log   string
	}{
		{
			name: "the empty cursor continues", items: 2,
			list: func(_ int, req *provider.ListRequest) *provider.ListResult {
				if req.Cursor == nil {
					return &provider.ListResult{Resources: []provider.Resource{{URI: "a://1", Name: "1"}}, Next: []byte{}}
				}
				return &provider.ListResult{Resources: []provider.Resource{{URI: "a://2", Name: "2"}}}
			},
		},
		{
			name: "the same cursor", items: 2, log: "the same page again",
			list: func(calls int, _ *provider.ListRequest) *provider.ListResult {
				uri := fmt.Sprintf("a://%d", calls)
				return &provider.ListResult{Resources: []provider.Resource{{URI: uri, Name: uri}}, Next: []byte("x")}
			},
		},
		{
			name: "empty pages for ever", log: "pages were empty",
			list: func(calls int, _ *provider.ListRequest) *provider.ListResult {
				return &provider.ListResult{Next: fmt.Appendf(nil, "%d", calls)}
			},
		},
		{
			name: "a huge cursor", items: 1, log: "16384 bytes",
			list: func(calls int, _ *provider.ListRequest) *provider.ListResult {
				return &provider.ListResult{Resources: []provider.Resource{{URI: "a://1", Name: "1"}}, Next: make([]byte, 20<<10)}
			},
		},
		{name: "nothing at all", list: func(int, *provider.ListRequest) *provider.ListResult { return nil }, log: "it returned nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log logBuffer
			calls := 0
			f := &fake{info: provider.Info{Name: "a", Schemes: []string{"a"}, List: true, Templates: []provider.Template{template("a://{id}", "id")}}}
			f.list = func(_ context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
				calls++
				return tt.list(calls, req), nil
			}
			h := newHost(t, &host.Options{Logger: log.logger()}, f, lister("z", 3))
			if got := walk(t, h, nil); len(got) != tt.items+3 {
				t.Errorf("%d entries, want %d: %v", len(got), tt.items+3, got)
			}
			if calls > 101 {
				t.Errorf("%d calls", calls)
			}
			if !strings.Contains(log.String(), tt.log) {
				t.Errorf("the log lacks %q: %s", tt.log, log.String())
			}
		})
	}
}

// One client page costs at most 100 calls, even of a provider that gives a new cursor each time.
func TestListCallsAreBounded(t *testing.T) {
	calls := 0
	f := &fake{info: provider.Info{Name: "a", Schemes: []string{"a"}, List: true, Templates: []provider.Template{template("a://{id}", "id")}}}
	f.list = func(context.Context, *provider.ListRequest) (*provider.ListResult, error) {
		calls++
		uri := fmt.Sprintf("a://%d", calls)
		return &provider.ListResult{Resources: []provider.Resource{{URI: uri, Name: uri}}, Next: []byte(uri)}, nil
	}
	h := newHost(t, nil, f)
	page, err := h.List(t.Context(), nil, "")
	if err != nil || len(page.Resources) != 100 || calls != 100 || page.Next == "" {
		t.Errorf("%d entries, %d calls, next %q, %v", len(page.Resources), calls, page.Next, err)
	}
}

// LST-03: what is not a cursor of this list for this caller is Invalid, and never page one.
func TestCursorsRefused(t *testing.T) {
	key := bytes.Repeat([]byte("k"), 32)
	opts := &host.Options{PageSize: 1, Keys: [][]byte{key}}
	p := listing(docs("docs"), numbered("docs://", 9)...)
	p.info.Templates = append(p.info.Templates, template("docs://x/{y}", "y"))
	h := newHost(t, opts, p)
	ann := &host.Principal{Issuer: "i", Subject: "ann", Tenant: "t"}
	page := func(p *host.Principal) string {
		t.Helper()
		res, err := h.List(t.Context(), p, "")
		if err != nil || res.Next == "" {
			t.Fatalf("%v, %v", res, err)
		}
		return res.Next
	}
	good, anns := page(nil), page(ann)
	templates, err := h.Templates(t.Context(), nil, "")
	if err != nil || templates.Next == "" {
		t.Fatalf("%v, %v", templates, err)
	}
	flip := []byte(good)
	flip[len(flip)/2] ^= 1
	tests := []struct {
		name, cursor string
		who          *host.Principal
		want         string
	}{
		{name: "good", cursor: good, want: "ok"},
		{name: "good, of a principal", cursor: anns, who: ann, want: "ok"},
		{name: "good, groups and scopes do not count", cursor: anns, who: &host.Principal{Issuer: "i", Subject: "ann", Tenant: "t", Scopes: []string{"x"}}, want: "ok"},
		{name: "minted for templates", cursor: templates.Next, want: "invalid"},
		{name: "one bit flipped", cursor: string(flip), want: "invalid"},
		{name: "cut", cursor: good[:len(good)-1], want: "invalid"},
		{name: "lengthened", cursor: good + "A", want: "invalid"},
		{name: "short", cursor: "AAAA", want: "invalid"},
		{name: "not base64", cursor: "?!", want: "invalid"},
		{name: "with padding", cursor: good + "=", want: "invalid"},
		{name: "1 MB", cursor: strings.Repeat("A", 1<<20), want: "invalid"},
		{name: "anonymous with a principal's", cursor: anns, want: "invalid"},
		{name: "a principal with the anonymous one", cursor: good, who: ann, want: "invalid"},
		{name: "another tenant", cursor: anns, who: &host.Principal{Issuer: "i", Subject: "ann", Tenant: "u"}, want: "invalid"},
		{name: "another issuer", cursor: anns, who: &host.Principal{Issuer: "j", Subject: "ann", Tenant: "t"}, want: "invalid"},
		{name: "the same bytes, cut elsewhere", cursor: anns, who: &host.Principal{Issuer: "ia", Subject: "nn", Tenant: "t"}, want: "invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := h.List(t.Context(), tt.who, tt.cursor)
			if got := codeOf(err); got != tt.want {
				t.Fatalf("code %s, want %s (%v)", got, tt.want, err)
			}
			if err == nil && res.Resources[0].URI == "docs://index" {
				t.Error("page one again")
			}
		})
	}

	t.Run("survives a restart with the key, rotated", func(t *testing.T) {
		again := newHost(t, &host.Options{PageSize: 1, Keys: [][]byte{bytes.Repeat([]byte("n"), 32), key}}, listing(docs("docs"), numbered("docs://", 9)...))
		if res, err := again.List(t.Context(), nil, good); err != nil || res.Resources[0].URI != "docs://0000" {
			t.Errorf("%v, %v", res, err)
		}
	})
	t.Run("another host's", func(t *testing.T) {
		other := newHost(t, &host.Options{PageSize: 1}, listing(docs("docs"), numbered("docs://", 9)...))
		if _, err := other.List(t.Context(), nil, good); codeOf(err) != "invalid" {
			t.Errorf("code %s, want invalid", codeOf(err))
		}
	})
	t.Run("survives a reload", func(t *testing.T) {
		if err := h.Replace(t.Context(), listing(docs("docs"), numbered("docs://", 9)...), nil); err != nil {
			t.Fatal(err)
		}
		if res, err := h.List(t.Context(), nil, good); err != nil || res.Resources[0].URI != "docs://0000" {
			t.Errorf("%v, %v", res, err)
		}
	})
	t.Run("the provider refuses its own cursor", func(t *testing.T) {
		q := listing(docs("docs"), numbered("docs://", 9)...)
		ok := q.list
		q.list = func(ctx context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
			if req.Cursor != nil {
				return nil, provider.Errorf(provider.Invalid, "too old")
			}
			return ok(ctx, req)
		}
		if err := h.Replace(t.Context(), q, nil); err != nil {
			t.Fatal(err)
		}
		first, err := h.List(t.Context(), nil, good) // still within Info and the first page
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.List(t.Context(), nil, first.Next); codeOf(err) != "invalid" {
			t.Errorf("code %s, want invalid", codeOf(err))
		}
	})
}

// A walk goes on while providers come and go: those that stay are listed once each (LST-01).
func TestListWhileProvidersChange(t *testing.T) {
	tests := []struct {
		name   string
		change func(*testing.T, *host.Host)
		want   string // the providers of the rest of the walk, which began in the middle of b
		code   string
	}{
		{name: "nothing", change: func(*testing.T, *host.Host) {}, want: "b c"},
		{name: "one before goes", change: func(t *testing.T, h *host.Host) { remove(t, h, "a") }, want: "b c"},
		{name: "one behind goes", change: func(t *testing.T, h *host.Host) { remove(t, h, "c") }, want: "b"},
		{name: "the present one goes", change: func(t *testing.T, h *host.Host) { remove(t, h, "b") }, want: "c"},
		{name: "the present one goes and comes back", change: func(t *testing.T, h *host.Host) { remove(t, h, "b"); add(t, h, "b") }, want: "c b b"},
		{name: "one before goes and comes back", change: func(t *testing.T, h *host.Host) { remove(t, h, "a"); add(t, h, "a") }, want: "b c a"},
		{name: "another comes", change: func(t *testing.T, h *host.Host) { add(t, h, "d") }, want: "b c d"},
		{name: "nothing tells the place", change: func(t *testing.T, h *host.Host) { remove(t, h, "a"); remove(t, h, "b") }, code: "invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, &host.Options{PageSize: 2})
			for _, name := range []string{"a", "b", "c"} {
				add(t, h, name)
			}
			page, err := h.List(t.Context(), nil, "")
			if err != nil || len(page.Resources) != 2 {
				t.Fatalf("%v, %v", page, err)
			}
			tt.change(t, h)
			var got []string
			for page.Next != "" {
				if page, err = h.List(t.Context(), nil, page.Next); err != nil {
					break
				}
				for i := range page.Resources {
					if name, _, _ := strings.Cut(page.Resources[i].URI, ":"); len(got) == 0 || got[len(got)-1] != name || name == "b" {
						got = append(got, name)
					}
				}
			}
			if tt.code != "" {
				if codeOf(err) != tt.code {
					t.Errorf("code %s, want %s", codeOf(err), tt.code)
				}
				return
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// add adds a provider of one entry; b has two.
func add(t *testing.T, h *host.Host, name string) {
	t.Helper()
	n := 1
	if name == "b" {
		n = 2
	}
	if err := h.Add(lister(name, n), nil); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, h *host.Host, name string) {
	t.Helper()
	if err := h.Remove(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

// P6: all pages of a list have one scope, fixed before page one.
func TestListScope(t *testing.T) {
	public := host.CacheRules{Public: []string{"a", "b"}}
	a, b := lister("a", 3), lister("b", 3)
	said := map[string]*bool{"a": new(bool), "b": new(bool)}
	for _, f := range []*fake{a, b} {
		list := f.list
		f.list = func(ctx context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
			res, err := list(ctx, req)
			if err == nil {
				res.Cache.Public = *said[f.info.Name]
			}
			return res, err
		}
	}
	h := newHost(t, &host.Options{PageSize: 2, Cache: public}, a, b)
	scopes := func() (out []bool) {
		for cursor := ""; ; {
			page, err := h.List(t.Context(), nil, cursor)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, page.Cache.Public)
			if cursor = page.Next; cursor == "" {
				return out
			}
		}
	}
	steps := []struct {
		name string
		a, b bool
		want []bool
	}{
		{name: "nobody said public", want: []bool{false, false, false}},
		{name: "not known before it is asked", a: true, b: true, want: []bool{false, false, false}},
		{name: "both said public", a: true, b: true, want: []bool{true, true, true}},
		{name: "one stops; its bytes are never sent as public", a: true, want: []bool{true, false, false}},
		{name: "one says private", a: true, want: []bool{false, false, false}},
	}
	for _, s := range steps {
		*said["a"], *said["b"] = s.a, s.b
		if diff := cmp.Diff(s.want, scopes()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", s.name, diff)
		}
	}
}

func TestTemplatesPages(t *testing.T) {
	var ps []provider.Provider
	var want []string
	for i := range 4 {
		f := &fake{info: provider.Info{Name: fmt.Sprintf("p%d", i), Schemes: []string{fmt.Sprintf("s%d", i)}}}
		for j := range i * 2 {
			u := fmt.Sprintf("s%d://t%d/{x}", i, 9-j)
			f.info.Templates = append(f.info.Templates, template(u, "x"))
			want = append(want, u)
		}
		ps = append(ps, f)
	}
	deny := policyFunc(func(r *host.PolicyRequest) bool { return r.Op != host.OpTemplates || r.Template != want[3] })
	for _, tt := range []struct {
		name   string
		policy host.Policy
		want   []string
		pages  int
	}{
		{name: "all", want: want, pages: 4},
		{name: "one denied", policy: deny, want: slices.Delete(slices.Clone(want), 3, 4), pages: 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, &host.Options{PageSize: 3, Policy: tt.policy}, ps...)
			var got []string
			pages := 0
			for cursor := ""; ; {
				page, err := h.Templates(t.Context(), nil, cursor)
				if err != nil {
					t.Fatal(err)
				}
				pages++
				for i := range page.Templates {
					got = append(got, page.Templates[i].URITemplate)
				}
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if pages != tt.pages {
				t.Errorf("%d pages, want %d", pages, tt.pages)
			}
			if _, err := h.Templates(t.Context(), nil, "AAAA"); codeOf(err) != "invalid" {
				t.Errorf("a bad cursor: %s", codeOf(err))
			}
		})
	}
}
