package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// What the policy refuses and what does not exist are one error to the caller and two lines in the log (rules R2, A4).
func TestDeniedLooksLikeMissing(t *testing.T) {
	var log logBuffer
	p := docs("docs")
	called := 0
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		called++
		return nil, provider.Errorf(provider.NotFound, "gone")
	}
	deny := policyFunc(func(r *host.PolicyRequest) bool { return r.URI != "docs://secret" })
	h := newHost(t, &host.Options{Logger: log.logger(), Policy: deny}, p)

	_, denied := h.Read(t.Context(), nil, "docs://secret")
	if called != 0 {
		t.Error("the provider was asked before the policy")
	}
	_, missing := h.Read(t.Context(), nil, "docs://missing")
	_, unrouted := h.Read(t.Context(), nil, "nobody://x")
	for _, err := range []error{denied, unrouted} {
		if diff := cmp.Diff(missing, err); diff != "" {
			t.Errorf("the caller can tell them apart (-missing +denied)\n%s", diff)
		}
	}
	lines := log.lines()
	if len(lines) != 3 {
		t.Fatalf("%d log lines, want 3", len(lines))
	}
	for i, want := range []string{"code=denied", "code=not_found", "code=not_found"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("line %d lacks %q: %s", i, want, lines[i])
		}
	}
}

// The policy sees the normalised URI, whichever way the client spells it.
func TestPolicyRequest(t *testing.T) {
	var got []host.PolicyRequest
	policy := policyFunc(func(r *host.PolicyRequest) bool {
		got = append(got, *r)
		return true
	})
	h := newHost(t, &host.Options{Policy: policy}, docs("docs"))
	who := &host.Principal{Subject: "ann"}
	for _, uri := range []string{"Docs://s%65cret", "docs://INDEX"} {
		if _, err := h.Read(t.Context(), who, uri); err != nil {
			t.Fatal(err)
		}
	}
	want := []host.PolicyRequest{
		{
			Op: host.OpRead, Principal: who, URI: "docs://secret", Template: "docs://{name}",
			Vars: []provider.Var{{Name: "name", Value: "secret"}}, Provider: "docs",
		},
		{Op: host.OpRead, Principal: who, URI: "docs://index", Provider: "docs"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPolicyPanicRefuses(t *testing.T) {
	var log logBuffer
	h := newHost(t, &host.Options{
		Logger: log.logger(), Policy: policyFunc(func(*host.PolicyRequest) bool { panic("no") }),
	}, docs("docs"))
	if _, err := h.Read(t.Context(), nil, "docs://a"); codeOf(err) != "not_found" {
		t.Errorf("code %s, want not_found", codeOf(err))
	}
	if !strings.Contains(log.String(), "panic in Policy.Allow") {
		t.Errorf("the log does not say so: %s", log.String())
	}
}

// Each part of a read and each entry of a folder is asked about (rule A4).
func TestPolicyOnParts(t *testing.T) {
	p := docs("docs")
	var answer *provider.ReadResult
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) { return answer, nil }
	policy := policyFunc(func(r *host.PolicyRequest) bool {
		return !strings.HasPrefix(r.URI, "docs://secret") && !(r.Op == host.OpList && r.URI == "docs://unlisted")
	})
	h := newHost(t, &host.Options{Policy: policy}, p)
	folder := func(body string) provider.Content {
		return provider.Content{MIMEType: "inode/directory", Text: true, Body: []byte(body)}
	}
	tests := []struct {
		name string
		give []provider.Content
		code string
		uris []string
		body string
	}{
		{name: "all", give: []provider.Content{{URI: "docs://a"}, {URI: "docs://b"}}, code: "ok", uris: []string{"docs://a", "docs://b"}},
		{name: "a denied one is left out", give: []provider.Content{{URI: "docs://secret1"}, {URI: "docs://b"}, {URI: "docs://s%65cret2"}}, code: "ok", uris: []string{"docs://b"}},
		{name: "none left", give: []provider.Content{{URI: "docs://secret1"}}, code: "not_found"},
		{
			name: "a folder's lines", code: "ok", uris: []string{"docs://folder"}, body: "docs://a\ndocs://b%20c\n",
			give: []provider.Content{folder("docs://a\ndocs://secret\ndocs://s%65cret\ndocs://unlisted\ndocs://b%20c\nnonsense\nhttps://x.test/\n")},
		},
		{
			name: "a folder by another name", code: "ok", uris: []string{"docs://folder"}, body: "docs://a\n",
			give: []provider.Content{{MIMEType: "Inode/Directory; charset=utf-8", Body: []byte("docs://a\ndocs://secret\n")}},
		},
		{name: "a folder without a line left is an empty one", give: []provider.Content{folder("docs://secret")}, code: "ok", uris: []string{"docs://folder"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer = &provider.ReadResult{Contents: tt.give}
			res, err := h.Read(t.Context(), nil, "docs://folder")
			if got := codeOf(err); got != tt.code {
				t.Fatalf("code %s, want %s", got, tt.code)
			}
			if err != nil {
				return
			}
			var uris []string
			for _, c := range res.Contents {
				uris = append(uris, c.URI)
			}
			if diff := cmp.Diff(tt.uris, uris); diff != "" {
				t.Errorf("URIs (-want +got)\n%s", diff)
			}
			if got := string(res.Contents[0].Body); got != tt.body {
				t.Errorf("body %q, want %q", got, tt.body)
			}
		})
	}
}

// Two principals with different rights never meet: not in reads, lists, templates or completions (case CCH-02).
func TestPrincipalsNeverMeet(t *testing.T) {
	p := listing(docs("docs"), "docs://ann-1", "docs://bob-1", "docs://ann-2", "docs://bob-2")
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		return text(req.Principal.Subject), nil
	}
	p.complete = func(context.Context, *provider.CompleteRequest) (*provider.CompleteResult, error) {
		return &provider.CompleteResult{Values: []string{"ann-1", "bob-1", "ann-2"}}, nil
	}
	own := policyFunc(func(r *host.PolicyRequest) bool {
		switch r.Op {
		case host.OpTemplates, host.OpComplete:
			return true
		default:
			return strings.HasPrefix(r.URI, "docs://"+r.Principal.Subject+"-")
		}
	})
	h := newHost(t, &host.Options{Policy: own, PageSize: 1}, p)
	ann, bob := &host.Principal{Issuer: "i", Subject: "ann"}, &host.Principal{Issuer: "i", Subject: "bob"}
	for range 2 { // whoever comes first
		for _, who := range []*host.Principal{ann, bob} {
			res, err := h.Read(t.Context(), who, "docs://"+who.Subject+"-1")
			if err != nil || string(res.Contents[0].Body) != who.Subject {
				t.Errorf("%s reads %v, %v", who.Subject, res, err)
			}
			other := "docs://ann-1"
			if who == ann {
				other = "docs://bob-1"
			}
			if _, err := h.Read(t.Context(), who, other); codeOf(err) != "not_found" {
				t.Errorf("%s reads %s: %v", who.Subject, other, err)
			}
			if got, want := walk(t, h, who), []string{"docs://" + who.Subject + "-1", "docs://" + who.Subject + "-2"}; !cmp.Equal(got, want) {
				t.Errorf("%s lists %v, want %v", who.Subject, got, want)
			}
			c, err := h.Complete(t.Context(), who, &host.CompleteRequest{Template: "docs://{name}", Argument: "name"})
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range c.Values {
				if !strings.HasPrefix(v, who.Subject) {
					t.Errorf("%s is proposed %q", who.Subject, v)
				}
			}
		}
	}
}

// walk lists all pages and returns the URIs.
func walk(t testing.TB, h *host.Host, who *host.Principal) []string {
	t.Helper()
	uris, _ := walkPages(t, h, who)
	return uris
}

func walkPages(t testing.TB, h *host.Host, who *host.Principal) (uris []string, pages int) {
	t.Helper()
	for cursor := ""; ; {
		page, err := h.List(t.Context(), who, cursor)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for i := range page.Resources {
			uris = append(uris, page.Resources[i].URI)
		}
		if cursor = page.Next; cursor == "" {
			return uris, pages
		}
		if pages > 10000 {
			t.Fatal("the list does not end")
		}
	}
}
