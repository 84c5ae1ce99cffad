package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/providertest"
	"github.com/reshost/reshost/host/wasmplugin"
)

func TestDocsProvider(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"README.md": "# Read me\n\nFirst.", "a b.md": "", "Übung.markdown": "x", "no.txt": ""})
	providertest.Run(t, func(t *testing.T) provider.Provider {
		return plugin(t, "docs", func(c *wasmplugin.Config) { c.Grants.FS = grant("main", dir, "") })
	}, &providertest.Options{
		URIs:    []string{"docs://index", "docs://README.md", "docs://a%20b.md", "docs://%C3%9Cbung.markdown"},
		Missing: []string{"docs://nothing.md", "docs://no.txt", "docs://..%2Fx.md", "docs://x"},
	})
}

func TestDocs(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"README.md": "# Read *me*\n\nFirst.\n", "a b.md": "space", "a:b.md": "colon", "日本.md": "letters", "note.txt": "no",
		"sub/x.md": "no", ".hidden.md": "no", "at@home.md": "at",
	})
	h := serve(t, nil, plugin(t, "docs", func(c *wasmplugin.Config) {
		c.Grants.FS = grant("main", dir, "")
		c.Schemes = map[string]string{"docs": "handbook"}
		c.Config = []byte(`{"title":"Handbook"}`)
	}))
	for uri, want := range map[string]string{
		"handbook://README.md":             "# Read *me*\n\nFirst.\n",
		"handbook://a%20b.md":              "space",
		"handbook://a b.md":                "space",
		"handbook://a:b.md":                "colon",
		"handbook://a%3Ab.md":              "colon",
		"handbook://%E6%97%A5%E6%9C%AC.md": "letters",
		"handbook://日本.md":                 "letters",
		"handbook://at%40home.md":          "at",
	} {
		got, err := read(t, h, uri)
		if body(got) != want {
			t.Errorf("read %s: %q, %v; want %q", uri, body(got), err, want)
			continue
		}
		if c := got.Contents[0]; c.URI != uri || c.MIMEType != "text/markdown" || !c.Text {
			t.Errorf("read %s: %+v", uri, c)
		}
	}
	for _, uri := range []string{
		"handbook://note.txt", "handbook://.hidden.md", "handbook://sub%2Fx.md", "handbook://..%2Fx.md", "handbook://sub/x.md",
		"handbook://README.md%00", "handbook://..", "docs://README.md", "handbook://readme.md",
	} {
		wantMissing(t, h, uri)
	}

	all, _ := listAll(t, h)
	var got [][3]string
	for _, r := range all {
		got = append(got, [3]string{r.URI, r.Title, r.Description})
		if _, err := read(t, h, r.URI); err != nil {
			t.Errorf("a listed URI does not read: %v", err)
		}
	}
	want := [][3]string{
		{"handbook://index", "Handbook", all[0].Description},
		{"handbook://README.md", "Read me", "First."},
		{"handbook://a%20b.md", "", "space"},
		{"handbook://a%3Ab.md", "", "colon"},
		{"handbook://at%40home.md", "", "at"},
		{"handbook://%E6%97%A5%E6%9C%AC.md", "", "letters"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	index, err := read(t, h, "handbook://index")
	if err != nil || !strings.HasPrefix(body(index), `[{"uri":"handbook://README.md","name":"README.md","title":"Read me"`) {
		t.Errorf("index: %q, %v", body(index), err)
	}
	values, err := h.Complete(t.Context(), nil, &host.CompleteRequest{Template: "handbook://{name}", Argument: "name", Value: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a b.md", "a:b.md", "at@home.md"}, values.Values); diff != "" {
		t.Errorf("completion (-want +got):\n%s", diff)
	}
}

func TestConformancePlugin(t *testing.T) {
	providertest.Run(t, func(t *testing.T) provider.Provider { return plugin(t, "conformance", nil) }, &providertest.Options{
		URIs: []string{"test://template/123/data"},
		Open: []string{"test://template/{id}/data"},
	})
}
