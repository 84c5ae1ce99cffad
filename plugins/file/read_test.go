package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

func TestRead(t *testing.T) {
	long := strings.Repeat("0123456789abcdé\n", 40_000) // longer than the buffer, and a character across its end
	g := start(t, tree(map[string]string{
		"a.txt": "A", "empty.txt": "", "empty.png": "", "bom.json": "\ufeff{}", "crlf.txt": "a\r\nb\rc\n",
		"ends.txt": "x\ufeff", "u16.txt": "\xff\xfea\x00", "nul.txt": "a\x00b", "ls.txt": "\u2028\u2029\u0085\x01",
		"app.ts": "export const a = 1;\n", "README": "hi", "y.JSON": "{}", "fake.txt": "\x89PNG\r\n", "unknown": "?",
		"long.txt": long, "late.txt": long + "\xff", "cut.txt": long + "\xc3", "bytes.bin": "\xff" + long,
		"dir/a.txt": "", ".env": "secret", ".git/x": "secret", "a b.txt": "space", "n\nl.txt": "line",
	}), nil)
	tests := []struct {
		name, path, want, mime string
		blob                   bool
	}{
		{"plain", "a.txt", "A", "text/plain", false},
		{"FS-09 an empty text", "empty.txt", "", "text/plain", false},
		{"FS-09 an empty image", "empty.png", "", "image/png", false},
		{"FS-13 byte order mark", "bom.json", "\ufeff{}", "application/json", false},
		{"FS-13 line ends", "crlf.txt", "a\r\nb\rc\n", "text/plain", false},
		{"FS-13 a mark at the end", "ends.txt", "x\ufeff", "text/plain", false},
		{"FS-13 UTF-16", "u16.txt", "\xff\xfea\x00", "text/plain", true},
		{"FS-13 NUL", "nul.txt", "a\x00b", "text/plain", false},
		{"FS-13 odd separators", "ls.txt", "\u2028\u2029\u0085\x01", "text/plain", false},
		{"FS-08 a script", "app.ts", "export const a = 1;\n", "text/typescript", false},
		{"FS-08 no extension", "README", "hi", "text/plain", false},
		{"FS-08 capitals", "y.JSON", "{}", "application/json", false},
		{"FS-08 the content decides about text", "fake.txt", "\x89PNG\r\n", "text/plain", true},
		{"FS-08 an unknown name has no type", "unknown", "?", "", false},
		{"long text", "long.txt", long, "text/plain", false},
		{"a long text that is none at its end", "late.txt", long + "\xff", "text/plain", true},
		{"a long text that is cut in a character", "cut.txt", long + "\xc3", "text/plain", true},
		{"long bytes", "bytes.bin", "\xff" + long, "application/octet-stream", true},
		{"a space", "a%20b.txt", "space", "text/plain", false},
		{"a control character", "n%0Al.txt", "line", "text/plain", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := g.Read("file:///srv/docs/" + tt.path)
			if err != nil {
				t.Fatal(err)
			}
			p := got.Parts[0]
			if len(got.Parts) != 1 || string(p.Body) != tt.want || p.Text == tt.blob || p.MIMEType != tt.mime || p.URI != "" || p.ETag == "" {
				t.Errorf("read %s: %d parts, text %t, %q, etag %q, %d bytes; want %d bytes",
					tt.path, len(got.Parts), p.Text, p.MIMEType, p.ETag, len(p.Body), len(tt.want))
			}
		})
	}
}

func TestReadMissing(t *testing.T) {
	g := start(t, tree(map[string]string{"a.txt": "A", "dir/b": "B", ".env": "secret", ".git/x": "secret", `b\c`: ""}), nil)
	for name, uri := range map[string]string{
		"missing":                     "file:///srv/docs/b.txt",
		"in a file":                   "file:///srv/docs/a.txt/x",
		"a file with a slash":         "file:///srv/docs/a.txt/",
		"hidden":                      "file:///srv/docs/.env",
		"in a hidden folder":          "file:///srv/docs/.git/x",
		"above the roots":             "file:///srv",
		"above the roots, with slash": "file:///srv/",
		"beside the root":             "file:///srv/docs2/a.txt",
		"elsewhere":                   "file:///etc/passwd",
		"by the root's name":          "file:///docs/a.txt",
		"URI-09 up":                   "file:///srv/docs/../docs/a.txt",
		"URI-09 up, encoded":          "file:///srv/docs/%2e%2e/docs/a.txt",
		"URI-09 up, half encoded":     "file:///srv/docs/.%2e/docs/a.txt",
		"URI-09 an encoded slash":     "file:///srv/docs/..%2fdocs/a.txt",
		"URI-09 a backslash":          "file:///srv/docs/dir%5Cb",
		"URI-09 backslash in a name":  "file:///srv/docs/b%5Cc",
		"URI-09 dot":                  "file:///srv/docs/./a.txt",
		"URI-09 empty segment":        "file:///srv/docs//a.txt",
		"URI-09 two slashes":          "file:///srv/docs/dir//",
		"URI-09 semicolon":            "file:///srv/docs/..;/docs/a.txt",
		"URI-09 a two dot leader":     "file:///srv/docs/%E2%80%A5/docs/a.txt",
		"URI-09 a dot at the end":     "file:///srv/docs/a.txt.",
		"URI-09 a stream":             "file:///srv/docs/a.txt::$DATA",
		"URI-06 NUL":                  "file:///srv/docs/a.txt%00",
		"URI-06 NUL alone":            "file:///srv/docs/%00",
		"URI-07 NUL in a name":        "file:///srv/docs/a.txt%00.js",
		"URI-02 other case":           "file:///srv/Docs/a.txt",
		"encoded twice":               "file:///srv/docs/%2561.txt",
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := g.Read(uri); codeOf(err) != reshost.CodeNotFound {
				t.Errorf("read %s: %+v, %v; want not found", uri, got, err)
			}
		})
	}
}

// FS-02: a link inside leads to what it names, one that leads out to nothing.
func TestReadLinks(t *testing.T) {
	g := start(t, onDisk(t, map[string]string{"a.txt": "A", "sub/b.txt": "B"}, map[string]string{
		"in": "a.txt", "self": ".", "folder": "sub", "out": "../../secret", "abs": "/etc/hostname", "loop": "loop", "etc": "/etc",
		"chain1": "chain2", "chain2": "/etc/hostname",
	}), nil)
	for path, want := range map[string]string{"in": "A", "self/a.txt": "A", "folder/b.txt": "B"} {
		if got, err := g.Read("file:///srv/docs/" + path); err != nil || got.Text() != want {
			t.Errorf("read %s: %q, %v", path, got.Text(), err)
		}
	}
	for _, path := range []string{"out", "abs", "loop", "etc/hostname", "chain1", "self/../../secret"} {
		if got, err := g.Read("file:///srv/docs/" + path); err == nil {
			t.Errorf("read %s: %+v, want an error", path, got)
		}
	}
}

// FS-04, FS-05: over the limit is an error that names it, never a part of the file.
func TestReadTooLarge(t *testing.T) {
	files := map[string]string{"ten": "0123456789", "eleven": "0123456789a", "big": strings.Repeat("x", 1_000_000)}
	for i := range 20 {
		files[fmt.Sprintf("many/%02d", i)] = ""
	}
	g := start(t, tree(files), func(o *reshosttest.Options) { o.MaxBytes = 10 })
	if got, err := g.Read("file:///srv/docs/ten"); err != nil || got.Text() != "0123456789" {
		t.Errorf("a file of the limit's size: %v", err)
	}
	for _, path := range []string{"eleven", "big", "many"} {
		_, err := g.Read("file:///srv/docs/" + path)
		if codeOf(err) != reshost.CodeTooLarge || !strings.Contains(err.Error(), "limit of 10 bytes") {
			t.Errorf("read %s: %v, want too large, naming the limit", path, err)
		}
	}
}

func TestReadNotModified(t *testing.T) {
	g := start(t, tree(map[string]string{"a": "A"}), nil)
	first, err := g.Read("file:///srv/docs/a")
	if err != nil {
		t.Fatal(err)
	}
	again, err := g.ReadWith("file:///srv/docs/a", reshosttest.ReadOptions{IfETag: first.Parts[0].ETag})
	if err != nil || !again.NotModified {
		t.Errorf("read with the etag: %+v, %v", again, err)
	}
}

func TestReadFolder(t *testing.T) {
	folder := tree(map[string]string{
		"a b.txt": "A", "b.bin": "\xff", "sub/c.txt": "C", "sub/d/e": "", "void/": "", ".hidden": "", "only/x/y": "", `a\b`: "",
	})
	listing := func(text string) []reshosttest.Part {
		return []reshosttest.Part{{MIMEType: mimeFolder, Text: true, Body: []byte(text), TTLMillis: -1, SizeHint: int64(len(text))}}
	}
	top := listing("file:///srv/docs/a%20b.txt\nfile:///srv/docs/b.bin\nfile:///srv/docs/only/\nfile:///srv/docs/sub/\nfile:///srv/docs/void/")
	files := []reshosttest.Part{
		{URI: "file:///srv/docs/a%20b.txt", MIMEType: "text/plain", Text: true, Body: []byte("A"), TTLMillis: -1, SizeHint: 1},
		{URI: "file:///srv/docs/b.bin", MIMEType: "application/octet-stream", Body: []byte("\xff"), TTLMillis: -1, SizeHint: 1},
	}
	tests := []struct {
		name, config, path string
		want               []reshosttest.Part
	}{
		{"listing by default", ``, "", top},
		{"listing", `{"folder":"listing"}`, "", top},
		{"with a slash", ``, "/", top},
		{"deeper", ``, "/sub", listing("file:///srv/docs/sub/c.txt\nfile:///srv/docs/sub/d/")},
		{"deeper with a slash", ``, "/sub/", listing("file:///srv/docs/sub/c.txt\nfile:///srv/docs/sub/d/")},
		{"empty", ``, "/void", listing("")},
		{"contents", `{"folder":"contents"}`, "", files},
		{"contents of an empty folder", `{"folder":"contents"}`, "/void", listing("")},
		{"contents of a folder of folders", `{"folder":"contents"}`, "/only", listing("file:///srv/docs/only/x/")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := start(t, folder, func(o *reshosttest.Options) { o.Config = tt.config })
			got, err := g.Read("file:///srv/docs" + tt.path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got.Parts {
				got.Parts[i].ETag = ""
				if got.Parts[i].Body == nil {
					got.Parts[i].Body = []byte{}
				}
			}
			if diff := cmp.Diff(tt.want, got.Parts); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadFolderContentsTooLarge(t *testing.T) {
	files := map[string]string{"sizes/a": "0123456", "sizes/b": "0123456"}
	for i := range 4 {
		files[fmt.Sprintf("many/%d", i)] = ""
	}
	g := start(t, tree(files), func(o *reshosttest.Options) {
		o.Config, o.MaxBytes = `{"folder":"contents","max_files":3}`, 10
	})
	for path, limit := range map[string]string{"sizes": "limit of 10 bytes", "many": "limit of 3 files"} {
		_, err := g.Read("file:///srv/docs/" + path)
		if codeOf(err) != reshost.CodeTooLarge || !strings.Contains(err.Error(), limit) {
			t.Errorf("read %s: %v, want too large, naming the %s", path, err, limit)
		}
	}
}
