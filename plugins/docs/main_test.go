package main

import (
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

var modified = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func file(content string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(content), Mode: 0o644, ModTime: modified}
}

func folderOf(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, content := range files {
		m[name] = file(content)
	}
	return m
}

func start(t *testing.T, files map[string]string, edit func(*reshosttest.Options)) *reshosttest.Guest {
	t.Helper()
	opts := &reshosttest.Options{Roots: map[string]fs.FS{"main": folderOf(files)}}
	if edit != nil {
		edit(opts)
	}
	return reshosttest.New(t, newPlugin(), opts)
}

func TestRead(t *testing.T) {
	g := start(t, map[string]string{
		"README.md": "# Hello\n", "a b.md": "space", "a:b.md": "colon", "Übung.md": "umlaut", "日本.markdown": "two",
		"LOUD.MD": "loud", "empty.md": "", "bad.md": "\xff\xfe", "bom.md": "\ufeffx\r\ny\x00", "note.txt": "no",
		".hidden.md": "no", "sub.md/x.md": "no", "index.md": "a document",
	}, nil)
	tests := []struct {
		name, uri, want string
		blob, missing   bool
	}{
		{name: "plain", uri: "docs://README.md", want: "# Hello\n"},
		{name: "space", uri: "docs://a%20b.md", want: "space"},
		{name: "colon", uri: "docs://a:b.md", want: "colon"},
		{name: "colon, encoded", uri: "docs://a%3Ab.md", want: "colon"},
		{name: "non-ASCII", uri: "docs://%C3%9Cbung.md", want: "umlaut"},
		{name: "the longer extension", uri: "docs://%E6%97%A5%E6%9C%AC.markdown", want: "two"},
		{name: "extension in capitals", uri: "docs://LOUD.MD", want: "loud"},
		{name: "FS-09 empty", uri: "docs://empty.md", want: ""},
		{name: "FS-13 bytes are kept", uri: "docs://bom.md", want: "\ufeffx\r\ny\x00"},
		{name: "not UTF-8", uri: "docs://bad.md", want: "\xff\xfe", blob: true},
		{name: "a document that is called like the index", uri: "docs://index.md", want: "a document"},
		{name: "missing", uri: "docs://nothing.md", missing: true},
		{name: "not Markdown", uri: "docs://note.txt", missing: true},
		{name: "hidden", uri: "docs://.hidden.md", missing: true},
		{name: "a folder", uri: "docs://sub.md", missing: true},
		{name: "TPL-09 a path in a name", uri: "docs://sub.md%2Fx.md", missing: true},
		{name: "TPL-09 up", uri: "docs://..%2Fmain%2FREADME.md", missing: true},
		{name: "TPL-09 backslash", uri: "docs://..%5Cx.md", missing: true},
		{name: "URI-06 NUL", uri: "docs://README.md%00.md", missing: true},
		{name: "only an extension", uri: "docs://.md", missing: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := g.Read(tt.uri)
			if tt.missing {
				if codeOf(err) != reshost.CodeNotFound {
					t.Fatalf("read %s: %v, want not found", tt.uri, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p := got.Parts[0]
			if len(got.Parts) != 1 || string(p.Body) != tt.want || p.Text == tt.blob || p.MIMEType != mimeMarkdown || p.URI != "" {
				t.Errorf("read %s: %+v", tt.uri, got.Parts)
			}
		})
	}
}

func TestReadNotModified(t *testing.T) {
	g := start(t, map[string]string{"a.md": "x"}, nil)
	first, err := g.Read("docs://a.md")
	if err != nil || first.Parts[0].ETag == "" {
		t.Fatalf("no etag: %+v, %v", first, err)
	}
	again, err := g.ReadWith("docs://a.md", reshosttest.ReadOptions{IfETag: first.Parts[0].ETag})
	if err != nil || !again.NotModified {
		t.Errorf("with the etag: %+v, %v", again, err)
	}
	other, err := g.ReadWith("docs://a.md", reshosttest.ReadOptions{IfETag: "old"})
	if err != nil || other.NotModified {
		t.Errorf("with another etag: %+v, %v", other, err)
	}
}

func TestReadTooLarge(t *testing.T) {
	g := start(t, map[string]string{"a.md": "0123456789ab"}, func(o *reshosttest.Options) { o.MaxBytes = 10 })
	for _, uri := range []string{"docs://a.md", "docs://index"} {
		_, err := g.Read(uri)
		if codeOf(err) != reshost.CodeTooLarge || !strings.Contains(err.Error(), "10 bytes") {
			t.Errorf("FS-05 read %s: %v, want too large, naming 10 bytes", uri, err)
		}
	}
}

type indexEntry struct {
	URI, Name, Title, Description, MIMEType, LastModified string
	Size                                                  int64
}

func TestIndex(t *testing.T) {
	g := start(t, map[string]string{
		"b.md": "# Second\n\nIts text.", "a b.md": "# First *one*", "c.txt": "no", "d.md": "", "sub/e.md": "no",
	}, nil)
	got, err := g.Read("docs://index")
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Parts[0]; !p.Text || p.MIMEType != "application/json" {
		t.Errorf("the index is %s, text = %t", p.MIMEType, p.Text)
	}
	var entries []indexEntry
	if err := json.Unmarshal(got.Parts[0].Body, &entries); err != nil {
		t.Fatal(err)
	}
	want := []indexEntry{
		{"docs://a%20b.md", "a b.md", "First one", "", mimeMarkdown, "2026-03-04T05:06:07Z", 13},
		{"docs://b.md", "b.md", "Second", "Its text.", mimeMarkdown, "2026-03-04T05:06:07Z", 19},
		{"docs://d.md", "d.md", "", "", mimeMarkdown, "2026-03-04T05:06:07Z", 0},
	}
	if diff := cmp.Diff(want, entries); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
}

func TestIndexOfNothing(t *testing.T) {
	got, err := start(t, nil, func(o *reshosttest.Options) { o.Roots["main"] = fstest.MapFS{"x.txt": file("")} }).Read("docs://index")
	if err != nil || got.Text() != "[]" {
		t.Errorf("index without documents: %q, %v", got.Text(), err)
	}
}

func TestList(t *testing.T) {
	g := start(t, map[string]string{"b.md": "# B\n\nText.", "a?b.md": "", "c.MARKDOWN": "x", "no.txt": ""},
		func(o *reshosttest.Options) { o.Config = `{"title":"Handbook"}` })
	got, err := g.ListAll()
	if err != nil {
		t.Fatal(err)
	}
	annotations := `{"lastModified":"2026-03-04T05:06:07Z"}`
	want := []reshosttest.ListedResource{
		{URI: "docs://index", Name: "index", Title: "Handbook", MIMEType: "application/json", Size: -1, Description: got[0].Description},
		{URI: "docs://a%3Fb.md", Name: "a?b.md", MIMEType: mimeMarkdown, Annotations: annotations},
		{URI: "docs://b.md", Name: "b.md", Title: "B", Description: "Text.", MIMEType: mimeMarkdown, Size: 10, Annotations: annotations},
		{URI: "docs://c.MARKDOWN", Name: "c.MARKDOWN", Description: "x", MIMEType: mimeMarkdown, Size: 1, Annotations: annotations},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for _, r := range got {
		if _, err := g.Read(r.URI); err != nil {
			t.Errorf("a listed URI does not read: %v", err)
		}
	}
}

// LST-01: the pages together are the list, each of its full size, and the last has no cursor.
func TestListPages(t *testing.T) {
	files := map[string]string{}
	for _, c := range "abcdefghi" {
		files[string(c)+".md"] = "x"
	}
	g := start(t, files, func(o *reshosttest.Options) { o.PageSize = 5 })
	first, err := g.List("")
	if err != nil || len(first.Resources) != 5 || first.Next == "" {
		t.Fatalf("first page: %+v, %v", first, err)
	}
	second, err := g.List(first.Next)
	if err != nil || len(second.Resources) != 5 || second.Next != "" {
		t.Fatalf("second page: %+v, %v", second, err)
	}
	if first.Resources[0].URI != "docs://index" || second.Resources[4].URI != "docs://i.md" || second.Resources[0].URI != "docs://e.md" {
		t.Errorf("pages %+v and %+v", first.Resources, second.Resources)
	}
}

func TestComplete(t *testing.T) {
	g := start(t, map[string]string{"intro.md": "", "in depth.md": "", "other.md": "", "in.txt": ""}, nil)
	tests := []struct {
		name, typed string
		want        []string
	}{
		{"all", "", []string{"index", "in depth.md", "intro.md", "other.md"}},
		{"prefix", "in", []string{"index", "in depth.md", "intro.md"}},
		{"values are raw", "in ", []string{"in depth.md"}},
		{"none", "x", nil},
		{"CMP NUL", "in\x00", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := g.Complete("docs://{name}", "name", tt.typed, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Values); diff != "" || got.HasMore || got.Total != int64(len(tt.want)) {
				t.Errorf("completing %q: total %d, more %t (-want +got):\n%s", tt.typed, got.Total, got.HasMore, diff)
			}
		})
	}
}

// The operator may rename the scheme; lists, the index and completion follow.
func TestRenamedScheme(t *testing.T) {
	g := start(t, map[string]string{"a.md": "x"}, func(o *reshosttest.Options) { o.Schemes = map[string]string{"docs": "handbook"} })
	got, err := g.ListAll()
	if err != nil || len(got) != 2 || got[0].URI != "handbook://index" || got[1].URI != "handbook://a.md" {
		t.Fatalf("list: %+v, %v", got, err)
	}
	index, err := g.Read("handbook://index")
	if err != nil || !strings.Contains(index.Text(), `"handbook://a.md"`) {
		t.Errorf("index: %q, %v", index.Text(), err)
	}
}

func TestRoot(t *testing.T) {
	two := map[string]fs.FS{"x": folderOf(map[string]string{"a.md": "x"}), "y": folderOf(map[string]string{"a.md": "y"})}
	tests := []struct {
		name, config, want, err string
		roots                   map[string]fs.FS
	}{
		{"the only one", `{}`, "x", "", map[string]fs.FS{"any": two["x"]}},
		{"named", `{"root":"y"}`, "y", "", two},
		{"several and none named", `{}`, "", "must name one of: x y", two},
		{"named and not granted", `{"root":"z"}`, "", "z is not granted; granted are: x y", two},
		{"none granted", `{}`, "", "no folder is granted", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := reshosttest.Start(t, newPlugin(), &reshosttest.Options{Config: tt.config, Roots: tt.roots})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("load: %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := g.Read("docs://a.md"); err != nil || got.Text() != tt.want {
				t.Errorf("read: %q, %v", got.Text(), err)
			}
		})
	}
}

func TestIsDocument(t *testing.T) {
	yes := []string{"a.md", "a.MD", "a.Markdown", "a b.md", "ü.md", "..md", ".x.md"}
	no := []string{"", ".md", ".markdown", "a.txt", "amd", "a.md.bak", "a\xff.md", "a/b.md", `a\b.md`, "a\n.md", "a\x7f.md"}
	for _, name := range slices.Concat(yes, no) {
		if got, want := isDocument(name), slices.Contains(yes, name); got != want {
			t.Errorf("isDocument(%q) = %t", name, got)
		}
	}
}

// codeOf returns the code that a call of the guest failed with; 0: it did not fail.
func codeOf(err error) reshost.Code {
	if f, ok := err.(*reshosttest.Failure); ok {
		return f.Code
	}
	return 0
}
