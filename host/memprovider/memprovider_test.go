package memprovider_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reshost/reshost/host/memprovider"
	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/providertest"
)

func newNotes(t testing.TB, opts *memprovider.Options) *memprovider.Provider {
	t.Helper()
	p, err := memprovider.New("notes", opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestConformance(t *testing.T) {
	providertest.Run(t, func(t *testing.T) provider.Provider {
		p := newNotes(t, &memprovider.Options{Templates: []memprovider.Template{{
			Template: provider.Template{URITemplate: "notes://tagged/{tag}{?max}", Name: "tagged", Vars: []provider.TemplateVar{
				{Name: "tag", Complete: true}, {Name: "max"},
			}},
			Read: func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
				if tag, _ := req.Var("tag"); tag != "red" {
					return nil, provider.Errorf(provider.NotFound, "no such tag")
				}
				if req.MaxBytes < 2 {
					return nil, provider.Errorf(provider.TooLarge, "too large")
				}
				return &provider.ReadResult{Contents: []provider.Content{{Text: true, Body: []byte("[]")}}}, nil
			},
			Complete: func(_ context.Context, req *provider.CompleteRequest) (*provider.CompleteResult, error) {
				if req.Argument != "tag" {
					return nil, provider.Errorf(provider.Invalid, "%q is not completed", req.Argument)
				}
				return &provider.CompleteResult{Values: []string{"red"}}, nil
			},
		}}})
		for i := range 250 {
			if err := p.SetText(fmt.Sprintf("many/%03d.md", i), "text/markdown", "# note"); err != nil {
				t.Fatal(err)
			}
		}
		for _, path := range []string{"README.md", "a b/é.txt", "100%41.md", "a?b#c", "[slug].ts", "a:b@c", "/abs", "dir/", "Ä/..x", "tagged/blue/x"} {
			if err := p.SetText(path, "", "text of "+path); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Set("two", provider.Resource{Title: "Two", Meta: provider.JSON(`{"a":1}`)},
			provider.Content{MIMEType: "text/plain", Text: true, Body: []byte("one"), Meta: provider.JSON(`{"b":2}`)},
			provider.Content{MIMEType: "image/png", Body: []byte{0x89, 0xff}}); err != nil {
			t.Fatal(err)
		}
		if err := p.SetText("empty", "text/plain", ""); err != nil {
			t.Fatal(err)
		}
		return p
	}, &providertest.Options{
		URIs:    []string{"notes://tagged/red?max=1", "notes://README.md"},
		Missing: []string{"notes://readme.md", "notes://tagged/green", "notes://dir"},
	})
}

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, provider string
		opts           *memprovider.Options
	}{
		{"no scheme", "", nil},
		{"an upper-case scheme", "x", &memprovider.Options{Scheme: "Docs"}},
		{"a name that is no scheme", "my_notes", nil},
		{"a template without Read", "x", &memprovider.Options{Templates: []memprovider.Template{{}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := memprovider.New(tt.provider, tt.opts); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	p := newNotes(t, nil)
	body := provider.Content{Body: []byte("x")}
	for _, path := range []string{"", "..", "a/../b", "./a", `a\b`, "a\x00", "a\nb", "a\u0085", "\xff", strings.Repeat("é", 2000)} {
		if err := p.Set(path, provider.Resource{}, body); err == nil {
			t.Errorf("Set(%q) succeeds", path)
		}
	}
	if err := p.Set("a", provider.Resource{}); err == nil {
		t.Error("Set without contents succeeds")
	}
	if err := p.SetText("a", "", "\xff"); err == nil {
		t.Error("Set of a text that is not UTF-8 succeeds")
	}
}

// sink records events.
type sink struct {
	mu     sync.Mutex // guards what follows
	events []string
}

func (s *sink) add(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
}

func (s *sink) Updated(uri string) { s.add(uri) }
func (s *sink) ListChanged()       { s.add("list") }

func TestEvents(t *testing.T) {
	p := newNotes(t, nil)
	set := func(path, text string) {
		t.Helper()
		if err := p.SetText(path, "", text); err != nil {
			t.Fatal(err)
		}
	}
	set("early", "before Attach")
	s := &sink{}
	p.Attach(s)
	set("a b", "1")
	set("a b", "2") // what the list shows stays
	set("a b", "longer")
	if !p.Delete("a b") || p.Delete("a b") {
		t.Error("Delete is not true once")
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	set("late", "after Close")
	p.Delete("late")
	want := []string{"notes://a%20b", "list", "notes://a%20b", "notes://a%20b", "list", "notes://a%20b", "list"}
	if diff := cmp.Diff(want, s.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// TestWalkUnderChange shows that a list that changes under a walk neither repeats an item nor loses one that stays.
func TestWalkUnderChange(t *testing.T) {
	p := newNotes(t, nil)
	for _, path := range []string{"a", "b", "c", "d", "e"} {
		if err := p.SetText(path, "", path); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	var cursor []byte
	for {
		res, err := p.List(t.Context(), &provider.ListRequest{Cursor: cursor, PageSize: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range res.Resources {
			got = append(got, r.Name)
		}
		if res.Next == nil {
			break
		}
		cursor = res.Next
		p.Delete("b") // the cursor's own
		if err := p.SetText("aa", "", "before the cursor"); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"a", "b", "c", "d", "e"}; !slices.Equal(got, want) {
		t.Errorf("walk = %v, want %v", got, want)
	}
}

func TestNotModified(t *testing.T) {
	p := newNotes(t, nil)
	if err := p.SetText("a", "", "1"); err != nil {
		t.Fatal(err)
	}
	read := func(etag string) *provider.ReadResult {
		t.Helper()
		res, err := p.Read(t.Context(), &provider.ReadRequest{
			URI: "notes://a", Vars: []provider.Var{{Name: "path", Value: "a"}}, MaxBytes: 10, IfETag: etag,
		})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	etag := read("").Contents[0].ETag
	if !read(etag).NotModified {
		t.Error("an unchanged resource is not NotModified")
	}
	if err := p.SetText("a", "", "1"); err != nil {
		t.Fatal(err)
	}
	if read(etag).NotModified {
		t.Error("a resource that was set again is NotModified")
	}
}

// TestHammer is for the race detector.
func TestHammer(t *testing.T) {
	p := newNotes(t, nil)
	p.Attach(&sink{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 200 {
				path := fmt.Sprint((g + i) % 7)
				_ = p.SetText(path, "", path)
				_, _ = p.Read(t.Context(), &provider.ReadRequest{Vars: []provider.Var{{Name: "path", Value: path}}, MaxBytes: 9})
				_, _ = p.List(t.Context(), &provider.ListRequest{PageSize: 3})
				_, _ = p.Complete(t.Context(), &provider.CompleteRequest{Argument: "path"})
				p.Delete(path)
			}
		})
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	wg.Wait()
}
