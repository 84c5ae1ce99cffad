package host_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/memprovider"
	"github.com/reshost/reshost/host/provider"
)

// recording is a provider that answers for everything and keeps what it was asked.
type recording struct {
	fake
	muAsked sync.Mutex // guards asked
	asked   []string
}

func newRecording(name, scheme string, templates ...provider.Template) *recording {
	r := &recording{fake: fake{info: provider.Info{Name: name, Schemes: []string{scheme}, Templates: templates}}}
	r.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		r.muAsked.Lock()
		defer r.muAsked.Unlock()
		r.asked = append(r.asked, fmt.Sprintf("%s %v", req.URI, req.Vars))
		return text("SECRET of " + name), nil
	}
	return r
}

// take returns what was asked since the last time.
func (r *recording) take() []string {
	r.muAsked.Lock()
	defer r.muAsked.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// TestTraversalReachesNoProvider runs every way out of a folder that is known to us against templates of every kind: none is
// handed to the provider (cases URI-06, URI-07, URI-09, TPL-09, TPL-10; rule R3).
func TestTraversalReachesNoProvider(t *testing.T) {
	r := newRecording("files", "file",
		template("file:///srv/docs/{+path}", "path"), template("file:///one/{name}", "name"), template("file:///seg{/dir*}", "dir"),
		template("file:///q{?path}", "path"), template("file:///pair/{a}/{b}", "a", "b"))
	names := newRecording("names", "docs", template("docs://{name}", "name"))
	trees := newRecording("trees", "tree", template("tree://{+path}", "path"))
	h := newHost(t, nil, r, names, trees)
	up := []string{
		"..", ".", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%2e",
		"..%2f..%2fetc%2fpasswd", "..%2Fx", "%2e%2e%2fx", "%2e%2e%2Fx", "..%5cx", "..%5Cx", "%2e%2e%5cx", "..\\x", "..%00", "..%00/x", "%00", "a%00.txt",
		"../x", "../../x", "%2e%2e/x", ".%2e/x", "./x", "./x/../../y", "a/../../x", "a/..", "a/.", "/../../x", "//../x", "a//../x",
		"..%c0%afx", "%c0%ae%c0%ae/x", "%c0%ae%c0%ae%c0%afx", "..%e0%80%afx", "..%f0%80%80%afx", "..%c1%9cx", "%uff0e%uff0e/x", "%u002e%u002e/x",
		"..%0a", "..%0d%0a", "a%0ab", "a%1b", "a%7f", "a%c2%85", "\x00", "a\nb", "\u0085", "a\x7f",
		"a%2fb", "a%2Fb", "a%5cb", "a%5Cb", `a\b`, `C:\x`, `\\server\share`, "%5c%5cserver%5cshare",
		"a%ff", "\xff", "a%zz", "%", "a%2", "a%", "a#b", "a%2e%2e#", "<x>", "{x}", `"`, "a|b", "^",
	}
	for _, base := range []string{"file:///srv/docs/", "file:///one/", "file:///seg/", "file:///q?path=", "file:///pair/x/", "docs://", "tree://", "tree://a/"} {
		for _, tail := range up {
			if base == "file:///q?path=" && (tail == "." || tail == "%2e") {
				continue // in a query a dot is a value like another
			}
			_, err := h.Read(t.Context(), nil, base+tail)
			if code := codeOf(err); code != "invalid" && code != "not_found" {
				t.Errorf("%q: %s", base+tail, code)
			}
			asked := slices.Concat(r.take(), names.take(), trees.take())
			for _, a := range asked {
				t.Errorf("%q reached the provider as %s", base+tail, a)
			}
		}
	}
	for _, in := range []string{ // all of URI-09 but what only a file system can judge
		"file:///srv/docs/../server.ini", "file:///srv/docs/%2e%2e/server.ini", "file:///srv/docs/.%2e/server.ini", "file:///srv/docs/..%5cserver.ini",
		"file:///srv/docs/..%2fserver.ini", "file:///srv/docs/./x/../../server.ini", "file:///srv/docs//../../docs/server.ini",
		"file://localhost/srv/docs/../x", "file://evil/srv/docs/x", "file://evil%2f/srv/docs/x", "file://u@/srv/docs/x", "file:/srv/docs/x", "FILE:///srv/docs/%2e%2e/x",
		"file:///srv/docs", "file:///srv/docsx/y", "file:///srv/%64ocs/../x", "file:///srv%2fdocs/x", "//srv/docs/x", "/srv/docs/x", "srv/docs/x",
	} {
		if _, err := h.Read(t.Context(), nil, in); err == nil {
			t.Errorf("%q succeeds", in)
		}
		if asked := r.take(); asked != nil {
			t.Errorf("%q reached the provider as %s", in, asked)
		}
	}
}

// TestHarmlessSpellingsPass is the other side: what only looks like traversal reaches the provider, decoded once.
func TestHarmlessSpellingsPass(t *testing.T) {
	r := newRecording("files", "file", template("file:///{+path}", "path"), template("file:///log/{range}", "range"))
	h := newHost(t, nil, r)
	for _, tt := range []struct{ in, want string }{
		{"file:///log/HEAD~3..HEAD", "file:///log/HEAD~3..HEAD [{range HEAD~3..HEAD}]"},
		{"file:///log/.env", "file:///log/.env [{range .env}]"},
		{"file:///log/a...b", "file:///log/a...b [{range a...b}]"},
		{"file:///log/%2e%2e%2e", "file:///log/... [{range ...}]"},
		{"file:///www/..;/x", "file:///www/..;/x [{path www/..;/x}]"},
		{"file:///www/..%3b/x", "file:///www/..;/x [{path www/..;/x}]"},
		{"file:///www/‥/x", "file:///www/%E2%80%A5/x [{path www/‥/x}]"},
		{"file:///%252e%252e%252fx", "file:///%252e%252e%252fx [{path %2e%2e%2fx}]"}, // decoded once
		{"file:///%25252e", "file:///%25252e [{path %252e}]"},
		{"file:///e%CC%81.txt", "file:///e%CC%81.txt [{path e\u0301.txt}]"}, // URI-11: composed and decomposed stay apart
		{"file:///%c3%a9.txt", "file:///%C3%A9.txt [{path \u00e9.txt}]"},
		{"file:///shot%E2%80%AFAM.png", "file:///shot%E2%80%AFAM.png [{path shot\u202fAM.png}]"},
		{"file://LOCALHOST/a", "file:///a [{path a}]"},
		{"FILE:///%7Ea/[x].ts", "file:///~a/%5Bx%5D.ts [{path ~a/[x].ts}]"},
		{"file:///C:/docs/a.txt", "file:///C:/docs/a.txt [{path C:/docs/a.txt}]"}, // URI-02: the file system judges
	} {
		res, err := h.Read(t.Context(), nil, tt.in)
		if err != nil {
			t.Errorf("%q: %v", tt.in, err)
			continue
		}
		if got := r.take(); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%q reached the provider as %q, want %q", tt.in, got, tt.want)
		}
		if got := res.Contents[0].URI; got != tt.in {
			t.Errorf("%q is echoed as %q", tt.in, got)
		}
	}
}

// TestPolicyMeetsEverySpelling: a rule about one URI holds for all that lead to the same resource.
func TestPolicyMeetsEverySpelling(t *testing.T) {
	r := newRecording("files", "file", template("file:///{+path}", "path"))
	r.info.Resources = []provider.Resource{{URI: "file:///top(secret)", Name: "x"}}
	names := newRecording("names", "docs", template("docs://{name}", "name"), template("docs://Acme/{a}:{b}", "a", "b"))
	names.info.Resources = []provider.Resource{{URI: "docs://Secret:1", Name: "s"}}
	denied := []string{"file:///R&D/", "file:///private (old)/", "file:///top(secret)", "docs://a:b", "docs://acme/", "docs://secret:1"}
	policy := policyFunc(func(q *host.PolicyRequest) bool {
		for _, prefix := range denied {
			if strings.HasPrefix(q.URI, strings.ReplaceAll(prefix, " ", "%20")) {
				return false
			}
		}
		return true
	})
	h := newHost(t, &host.Options{Policy: policy}, r, names)
	for _, in := range []string{
		"file:///R&D/x", "file:///R%26D/x", "FILE:///%52%26%44/x", "file://localhost/R%26D/x",
		"file:///private (old)/x", "file:///private%20%28old%29/x", "file:///private%20(old%29/x", "file:///%70rivate%20%28old)/x",
		"file:///top(secret)", "file:///top%28secret%29", "file:///%74op%28secret)",
		"docs://a:b", "docs://a%3Ab", "docs://a%3ab", "docs://%61%3a%62", "DOCS://a%3Ab",
		"docs://Acme/x:y", "docs://ACME/x:y", "docs://%41cme/x:y",
		"docs://Secret:1", "docs://SECRET:1", "docs://secret%3A1", "docs://s%65cret%3a1",
	} {
		_, err := h.Read(t.Context(), nil, in)
		asked := slices.Concat(r.take(), names.take())
		if code := codeOf(err); code != "not_found" {
			t.Errorf("%q: %s", in, code)
		}
		if asked != nil {
			t.Errorf("%q reached the provider as %q", in, asked)
		}
	}
	// The rules are not so wide that they deny all.
	for _, in := range []string{"file:///R/x", "docs://a", "file:///top"} {
		if _, err := h.Read(t.Context(), nil, in); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
}

// TestNarrowClaimMeetsEverySpelling: what belongs to one provider is not answered by another that claims the rest of the scheme.
func TestNarrowClaimMeetsEverySpelling(t *testing.T) {
	wide := newRecording("wide", "file", template("file:///{+path}", "path"))
	narrow := newRecording("narrow", "file", template("file:///R&D/{+path}", "path"))
	narrow.info.Only = []string{"file:///R&D/"}
	h := newHost(t, nil, wide, narrow)
	for _, in := range []string{"file:///R&D/x", "file:///R%26D/x", "file:///%52%26D/x", "file://localhost/R%26D/x", "FILE:///R&D/%78"} {
		if _, err := h.Read(t.Context(), nil, in); err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if diff := cmp.Diff([]string{"file:///R&D/x [{path x}]"}, narrow.take()); diff != "" {
			t.Errorf("%q: the owner was asked (-want +got):\n%s", in, diff)
		}
		if got := wide.take(); got != nil {
			t.Errorf("%q reached the other provider as %q", in, got)
		}
	}
}

// TestTemplateChoice shows TPL-11 and TPL-17: each URI goes to the template that matches it, in every order of registration.
func TestTemplateChoice(t *testing.T) {
	all := []provider.Template{
		template("docs://schemas/entity/{type}", "type"),
		template("docs://entities/get/{type}{?where,max}", "type", "where", "max"),
		template("docs://item/{id}{?fields}", "id", "fields"),
		template("docs://item/{id}/raw", "id"),
		template("docs://{+any}", "any"),
	}
	cases := map[string]string{
		"docs://entities/get/user?max=5":  "docs://entities/get/{type}{?where,max}",
		"docs://schemas/entity/user":      "docs://schemas/entity/{type}",
		"docs://item/7?fields=a":          "docs://item/{id}{?fields}",
		"docs://item/7":                   "docs://item/{id}{?fields}",
		"docs://item/7/raw":               "docs://item/{id}/raw",
		"docs://item/7/other":             "docs://{+any}",
		"docs://item/7?other=1":           "",
		"docs://item/7?fields=a&fields=b": "",
		"docs://item/?fields=a":           "",
		"docs://entities/get/user?":       "",
	}
	for shift := range all {
		templates := append(slices.Clone(all[shift:]), all[:shift]...)
		if shift%2 == 1 {
			slices.Reverse(templates)
		}
		f := &fake{info: provider.Info{Name: "docs", Schemes: []string{"docs"}, Templates: templates}}
		f.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
			if templates[req.TemplateIndex].URITemplate != req.Template {
				return nil, provider.Errorf(provider.Internal, "index %d is not %s", req.TemplateIndex, req.Template)
			}
			return text(req.Template), nil
		}
		h := newHost(t, nil, f)
		for in, want := range cases {
			res, err := h.Read(t.Context(), nil, in)
			if want == "" {
				if code := codeOf(err); code != "not_found" {
					t.Errorf("order %d: %q: %s", shift, in, code)
				}
				continue
			}
			if err != nil {
				t.Errorf("order %d: %q: %v", shift, in, err)
			} else if got := string(res.Contents[0].Body); got != want {
				t.Errorf("order %d: %q went to %s, want %s", shift, in, got, want)
			}
		}
	}
}

// TestSlashIsByVariable: only what the manifest opens holds a slash, and a NUL never passes.
func TestSlashIsByVariable(t *testing.T) {
	open := template("git://repo/{ref}/{file}", "ref", "file")
	open.Vars[0].Slash = true
	r := newRecording("git", "git", open)
	h := newHost(t, nil, r)
	if _, err := h.Read(t.Context(), nil, "git://repo/feature%2Fx/a"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"git://repo/feature%2Fx/a [{ref feature/x} {file a}]"}, r.take()); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	for _, in := range []string{"git://repo/x/a%2Fb", "git://repo/x%00/a", "git://repo/x%2F%00/a", "git://repo/x/a%0A"} {
		if _, err := h.Read(t.Context(), nil, in); err == nil {
			t.Errorf("%q succeeds", in)
		}
	}
	if got := r.take(); got != nil {
		t.Errorf("asked %q", got)
	}
}

// TestRefusedTemplates shows TPL-03 and TPL-20 at the host's door: the provider is refused with the reason, or its template is
// listed as it was written.
func TestRefusedTemplates(t *testing.T) {
	for _, tt := range []struct{ name, template, reason string }{
		{"TPL-20", "docs://s{?a}{?b}", "{?a}"},
		{"adjacent", "docs://{a}{b}", "nothing tells where"},
		{"ambiguous", "docs://{a}.{b}", "matches two ways"},
		{"not a template", "docs://{a", "RFC 6570"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, nil)
			err := h.Add(newRecording("p", "docs", template(tt.template, "a", "b")), nil)
			if err == nil || !strings.Contains(err.Error(), tt.reason) || !strings.Contains(err.Error(), `"p"`) {
				t.Errorf("Add: %v, want a reason with %q and the provider's name", err, tt.reason)
			}
		})
	}
	t.Run("TPL-03", func(t *testing.T) {
		h := newHost(t, nil, newRecording("p", "docs", template("docs://report{?lang}", "lang"), template("docs://café bar/{x}", "x")))
		page, err := h.Templates(t.Context(), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tmpl := range page.Templates {
			got = append(got, tmpl.URITemplate)
		}
		if diff := cmp.Diff([]string{"docs://report{?lang}", "docs://café bar/{x}"}, got); diff != "" {
			t.Errorf("templates (-want +got):\n%s", diff)
		}
	})
}

// TestMemProviderThroughHost reads by all spellings what Go code set: lists, reads and completions agree.
func TestMemProviderThroughHost(t *testing.T) {
	p, err := memprovider.New("notes", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, path := range []string{"README.md", "a b/é.txt", "100%41.md", "a?b#c", "[slug].ts", "a:b@c", "/abs", "dir/", "Ä/..x", "e\u0301", "R&D/(x)", "%2F", "a+b;c=d,e"} {
		if err := p.SetText(path, "text/plain", "text of "+path); err != nil {
			t.Fatal(err)
		}
		want["text of "+path] = true
	}
	h := newHost(t, nil, p)
	page, err := h.List(t.Context(), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Resources {
		res, err := h.Read(t.Context(), nil, r.URI)
		if err != nil {
			t.Errorf("%s is listed, and reading it: %v", r.URI, err)
			continue
		}
		delete(want, string(res.Contents[0].Body))
	}
	if len(want) > 0 {
		t.Errorf("not listed or not read: %v", want)
	}
	for _, in := range []string{"notes://R&D/(x)", "notes://R%26D/%28x%29", "notes://a+b;c=d,e", "NOTES://README.md", "notes://[slug].ts", "notes://a b/é.txt"} {
		if _, err := h.Read(t.Context(), nil, in); err != nil {
			t.Errorf("%q: %v", in, err)
		}
	}
	for _, in := range []string{"notes://readme.md", "notes://\u00e9", "notes://dir", "notes://abs", "notes://a%2Fb", "notes://..x"} {
		if _, err := h.Read(t.Context(), nil, in); codeOf(err) != "not_found" {
			t.Errorf("%q: %s", in, codeOf(err))
		}
	}
}

// TestCompleteRefusesNUL shows URI-06, request 4.
func TestCompleteRefusesNUL(t *testing.T) {
	f := newRecording("files", "file", template("file:///docs/{name}", "name"))
	called := false
	f.complete = func(context.Context, *provider.CompleteRequest) (*provider.CompleteResult, error) {
		called = true
		return &provider.CompleteResult{}, nil
	}
	h := newHost(t, nil, f)
	_, err := h.Complete(t.Context(), nil, &host.CompleteRequest{Template: "file:///docs/{name}", Argument: "name", Value: "a\x00"})
	if codeOf(err) != "invalid" || called {
		t.Errorf("code %s, provider called: %v", codeOf(err), called)
	}
}

// FuzzRead sends anything through the host: no value that a provider gets leaves its folder.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"file:///srv/a", "file:///srv/%2e%2e/x", "file:///one/..%2fx", "file:///q?path=../x", "FILE://localhost/srv/a%26b", "file:///srv//..;/%c0%ae",
	} {
		f.Add(s)
	}
	r := newRecording("files", "file",
		template("file:///srv/{+path}", "path"), template("file:///one/{name}", "name"), template("file:///seg{/dir*}", "dir"), template("file:///q{?path}", "path"))
	r.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		for _, v := range req.Vars {
			if strings.ContainsAny(v.Value, "\\\x00\n") || slices.Contains(strings.Split(v.Value, "/"), "..") {
				panic("unsafe value " + v.Value)
			}
		}
		return text("x"), nil
	}
	h, err := host.New(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = h.Close(context.Background()) })
	if err := h.Add(r, nil); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if _, err := h.Read(t.Context(), nil, in); err != nil && codeOf(err) != "invalid" && codeOf(err) != "not_found" {
			t.Errorf("%q: %v", in, err)
		}
	})
}
