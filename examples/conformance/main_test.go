package main

import (
	"bytes"
	"image/png"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

func TestStatic(t *testing.T) {
	g := reshosttest.New(t, newPlugin(), nil)
	text, err := g.Read("test://static-text")
	if err != nil {
		t.Fatal(err)
	}
	if text.Text() == "" || text.Parts[0].MIMEType != "text/plain" {
		t.Errorf("static-text: %+v", text.Parts)
	}
	image, err := g.Read("test://static-binary")
	if err != nil {
		t.Fatal(err)
	}
	if image.Parts[0].Text || image.Parts[0].MIMEType != "image/png" {
		t.Errorf("static-binary: %+v", image.Parts)
	}
	if _, err := png.Decode(bytes.NewReader(image.Parts[0].Body)); err != nil {
		t.Errorf("static-binary: %v", err)
	}
	if _, err := g.Read("test://nonexistent-resource-for-conformance-testing"); err == nil {
		t.Error("a resource that must not exist was read")
	}
}

func TestTemplate(t *testing.T) {
	g := reshosttest.New(t, newPlugin(), nil)
	got, err := g.Read("test://template/123/data")
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"id":"123","data":"Data for id 123"}`; got.Text() != want || got.Parts[0].MIMEType != "application/json" {
		t.Errorf("got %s of %s, want %s", got.Text(), got.Parts[0].MIMEType, want)
	}
}

func TestComplete(t *testing.T) {
	g := reshosttest.New(t, newPlugin(), nil)
	for typed, want := range map[string][]string{"": {"1", "12", "123"}, "12": {"12", "123"}, "2": nil} {
		got, err := g.Complete("test://template/{id}/data", "id", typed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Values); diff != "" || got.HasMore {
			t.Errorf("completing %q (-want +got):\n%s", typed, diff)
		}
	}
}

// The watched resource is the same for two seconds, and its poll reports each change once.
func TestWatched(t *testing.T) {
	at := func(millis int64) *reshosttest.Guest {
		return reshosttest.New(t, newPlugin(), &reshosttest.Options{NowMillis: millis})
	}
	read := func(millis int64) string {
		r, err := at(millis).Read(watchedURI)
		if err != nil {
			t.Fatal(err)
		}
		return r.Text()
	}
	if a, b := read(10_000), read(11_999); a == "" || a != b {
		t.Errorf("within two seconds: %q, then %q", a, b)
	}
	if a, b := read(10_000), read(12_000); a == b {
		t.Errorf("after two seconds still %q", a)
	}

	var state []byte
	for _, step := range []struct {
		millis  int64
		updated []string
	}{{10_000, nil}, {11_000, nil}, {12_000, []string{watchedURI}}, {13_000, nil}, {18_000, []string{watchedURI}}} {
		got, err := at(step.millis).Poll(reshosttest.PollOptions{Watched: []string{watchedURI}, State: state})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.updated, got.Updated); diff != "" {
			t.Errorf("poll at %d (-want +got):\n%s", step.millis, diff)
		}
		state = got.State
	}
}
