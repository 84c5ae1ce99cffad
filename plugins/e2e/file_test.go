package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/providertest"
	"github.com/reshost/reshost/host/wasmplugin"
)

// serveFolder serves a folder as file:///srv/docs.
func serveFolder(t testing.TB, dir string, edit func(*wasmplugin.Config)) *host.Host {
	t.Helper()
	return serve(t, nil, plugin(t, "file", func(c *wasmplugin.Config) {
		c.Grants.FS = grant("docs", dir, "/srv/docs")
		if edit != nil {
			edit(c)
		}
	}))
}

func TestFileProvider(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"a.txt": "A", "sub/b c.md": "# B", "sub/d/e.bin": "\xff\xfe", "empty": "", "void/": ""}
	for i := range 30 {
		files[fmt.Sprintf("many/%03d.go", i)] = "package x"
	}
	write(t, dir, files)
	providertest.Run(t, func(t *testing.T) provider.Provider {
		return plugin(t, "file", func(c *wasmplugin.Config) { c.Grants.FS = grant("docs", dir, "/srv/docs") })
	}, &providertest.Options{
		URIs:    []string{"file:///srv/docs", "file:///srv/docs/", "file:///srv/docs/sub", "file:///srv/docs/void/"},
		Missing: []string{"file:///srv/docs/nothing", "file:///srv/other", "file:///srv/docs/a.txt/", "file:///srv"},
	})
}

// URI-02 to URI-11: no spelling of a path leads out of its root, and none crashes the host.
func TestFileTraversal(t *testing.T) {
	top := t.TempDir()
	write(t, top, map[string]string{
		"docs/server.ini": "SECRET", "docs/www/i.txt": "I", "docs/www/style.css": "x", "docs/www/x/": "", "docs/www/.env": "SECRET",
		"docs/www/.git/config": "SECRET",
	})
	h := serve(t, nil, plugin(t, "file", func(c *wasmplugin.Config) {
		c.Grants.FS = grant("www", filepath.Join(top, "docs", "www"), "/srv/docs/www")
	}))
	if got, err := read(t, h, "file:///srv/docs/www/i.txt"); body(got) != "I" {
		t.Fatalf("the file itself: %v", err)
	}
	for name, uri := range map[string]string{
		"URI-09 up":                     "file:///srv/docs/www/../server.ini",
		"URI-09 up, encoded":            "file:///srv/docs/www/%2e%2e/server.ini",
		"URI-09 up, half encoded":       "file:///srv/docs/www/.%2e/server.ini",
		"URI-09 backslash":              "file:///srv/docs/www/..%5cserver.ini",
		"URI-09 encoded slash":          "file:///srv/docs/www/..%2fserver.ini",
		"URI-09 up and down":            "file:///srv/docs/www/./x/../../server.ini",
		"URI-09 empty segments":         "file:///srv/docs/www//../../docs/server.ini",
		"URI-09 semicolon":              "file:///srv/docs/www/..;/server.ini",
		"URI-09 two dot leader":         "file:///srv/docs/www/‥/server.ini",
		"URI-09 two dot leader encoded": "file:///srv/docs/www/%E2%80%A5/server.ini",
		"URI-09 dot at the end":         "file:///srv/docs/www/i.txt.",
		"URI-09 stream":                 "file:///srv/docs/www/i.txt::$DATA",
		"URI-09 encoded twice":          "file:///srv/docs/www/%252e%252e/server.ini",
		"TPL-09 one segment up":         "file:///srv/docs/www/x/..%2F..%2Fserver.ini",
		"URI-06 NUL at the end":         "file:///srv/docs/www/i.txt%00",
		"URI-06 NUL alone":              "file:///srv/docs/www/%00",
		"URI-06 NUL as it is":           "file:///srv/docs/www/i.txt\x00",
		"URI-07 NUL and extension":      "file:///srv/docs/www/style.css%00.js",
		"URI-02 another case":           "file:///srv/DOCS/www/i.txt",
		"the real path":                 "file://" + filepath.ToSlash(top) + "/docs/www/i.txt",
		"outside of it all":             "file:///etc/passwd",
		"another authority":             "file://example.com/srv/docs/www/i.txt",
		"userinfo":                      "file://u:p@localhost/srv/docs/www/i.txt",
		"a fragment":                    "file:///srv/docs/www/i.txt#x",
		"a query":                       "file:///srv/docs/www/i.txt?x",
		"no path":                       "file://",
		"relative":                      "srv/docs/www/i.txt",
		"too long":                      "file:///srv/docs/www/" + strings.Repeat("a", 9<<10),
		"as long as may be":             "file:///srv/docs/www/" + strings.Repeat("a/", 4000),
		"a name longer than any":        "file:///srv/docs/www/" + strings.Repeat("a", 300),
		"hidden":                        "file:///srv/docs/www/.env",
		"in a hidden folder":            "file:///srv/docs/www/.git/config",
		"a file as a folder":            "file:///srv/docs/www/i.txt/",
		"below a file":                  "file:///srv/docs/www/i.txt/x",
	} {
		t.Run(name, func(t *testing.T) { wantMissing(t, h, uri) })
	}
	for _, uri := range []string{"file:///srv/docs/www/i.txt", "file://localhost/srv/docs/www/i.txt", "FILE:///srv/docs/www/%69.txt"} {
		if got, err := read(t, h, uri); body(got) != "I" {
			t.Errorf("read %s: %v", uri, err)
		}
	}
}

// URI-11: what is listed is readable byte for byte, whatever the names are made of.
func TestFileNames(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"e\u0301.txt": "NFD", "shot\u202fAM.png": "x", "a b": "", "100%.txt": "%", "%41": "", "a?b": "", "a#b": "", "[x]": "", "a:b": "",
		"-": "", "~": "", "'\"<>|*": "", "new\nline": "", "日本/語": "", "😀": "",
	}
	if runtime.GOOS == "linux" {
		files["bad\xff\xfe.txt"] = "has no URI"
		files[strings.Repeat("\xe6\x97\xa5", 85)] = "as long as a name can be"
		files[`back\slash`] = "has no URI"
	}
	for name := range files {
		if runtime.GOOS == "windows" && strings.ContainsAny(name, "?:\"<>|*\n") {
			delete(files, name)
		}
	}
	write(t, dir, files)
	h := serveFolder(t, dir, nil)
	all, _ := listAll(t, h)
	delete(files, `back\slash`)
	delete(files, "bad\xff\xfe.txt")
	if len(all) != len(files) {
		t.Errorf("%d files are listed, want %d", len(all), len(files))
	}
	for _, r := range all {
		got, err := read(t, h, r.URI)
		if err != nil {
			t.Errorf("a listed URI does not read: %s: %v", r.URI, err)
			continue
		}
		if c := got.Contents[0]; c.MIMEType != r.MIMEType || int64(len(c.Body)) != *r.Size || c.URI != r.URI {
			t.Errorf("%s is listed as %q of %d bytes and read as %q of %d (%s)", r.URI, r.MIMEType, *r.Size, c.MIMEType, len(c.Body), c.URI)
		}
	}
	if runtime.GOOS == "linux" {
		if got, err := read(t, h, "file:///srv/docs/e%CC%81.txt"); body(got) != "NFD" {
			t.Errorf("the decomposed name: %v", err)
		}
		wantMissing(t, h, "file:///srv/docs/%C3%A9.txt")
	}
}

// FS-08, FS-09, FS-13: the bytes of a file arrive as they are, as text exactly if they are UTF-8.
func TestFileContent(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("0123456789abcdé\n", 50_000)
	tests := []struct {
		name, content, mime string
		blob                bool
	}{
		{"FS-09 empty.txt", "", "text/plain", false},
		{"FS-09 empty.png", "", "image/png", false},
		{"FS-13 bom.json", "\ufeff{}", "application/json", false},
		{"FS-13 crlf.txt", "a\r\nb\rc\n", "text/plain", false},
		{"FS-13 ends.txt", "x\ufeff", "text/plain", false},
		{"FS-13 u16.txt", "\xff\xfea\x00", "text/plain", true},
		{"FS-13 nul.txt", "a\x00b", "text/plain", false},
		{"FS-13 ls.txt", "\u2028\u2029\u0085\x01", "text/plain", false},
		{"FS-08 app.ts", "export const a = 1;\n", "text/typescript", false},
		{"FS-08 README", "hi", "", false},
		{"FS-08 y.JSON", "{}", "application/json", false},
		{"FS-08 z.tar.gz", "\x1f\x8b\x08", "application/gzip", true},
		{"FS-08 fake.txt", "\x89PNG\r\n", "text/plain", true},
		{"long.txt", long, "text/plain", false},
		{"late.txt", long + "\xff", "text/plain", true},
	}
	files := map[string]string{}
	for _, tt := range tests {
		files[tt.name] = tt.content
	}
	write(t, dir, files)
	h := serveFolder(t, dir, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t, h, "file:///srv/docs/"+strings.ReplaceAll(tt.name, " ", "%20"))
			if err != nil {
				t.Fatal(err)
			}
			c := got.Contents[0]
			if len(got.Contents) != 1 || string(c.Body) != tt.content || c.Text == tt.blob || c.MIMEType != tt.mime {
				t.Errorf("%d parts, %d bytes, text %t, %q; want %d bytes of %q", len(got.Contents), len(c.Body), c.Text, c.MIMEType, len(tt.content), tt.mime)
			}
		})
	}
}

func TestFileFolders(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a b.txt": "A", "sub/c": "C", "void/": "", ".hidden": "x"})
	h := serveFolder(t, dir, nil)
	for uri, want := range map[string]string{
		"file:///srv/docs":       "file:///srv/docs/a%20b.txt\nfile:///srv/docs/sub/\nfile:///srv/docs/void/",
		"file:///srv/docs/sub/":  "file:///srv/docs/sub/c",
		"file:///srv/docs/void":  "",
		"file:///srv/docs/void/": "",
	} {
		got, err := read(t, h, uri)
		if err != nil {
			t.Errorf("read %s: %v", uri, err)
			continue
		}
		if c := got.Contents[0]; string(c.Body) != want || !c.Text || c.MIMEType != "inode/directory" || c.URI != uri {
			t.Errorf("read %s: %q of %s at %s, want %q", uri, c.Body, c.MIMEType, c.URI, want)
		}
	}

	h = serveFolder(t, dir, func(c *wasmplugin.Config) { c.Config = []byte(`{"folder":"contents"}`) })
	got, err := read(t, h, "file:///srv/docs")
	if err != nil || len(got.Contents) != 1 || got.Contents[0].URI != "file:///srv/docs/a%20b.txt" || body(got) != "A" {
		t.Errorf("a folder as its contents: %+v, %v", got, err)
	}
}

func TestFileRealPaths(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my docs")
	write(t, dir, map[string]string{"a.txt": "A"})
	h := serve(t, nil, plugin(t, "file", func(c *wasmplugin.Config) { c.Grants.FS = grant("main", dir, "") }))
	all, _ := listAll(t, h)
	if len(all) != 1 || !strings.HasSuffix(all[0].URI, "/my%20docs/a.txt") || !strings.HasPrefix(all[0].URI, "file:///") {
		t.Fatalf("list: %+v", all)
	}
	if got, err := read(t, h, all[0].URI); body(got) != "A" {
		t.Errorf("read %s: %v", all[0].URI, err)
	}
	if runtime.GOOS != "windows" && all[0].URI != "file://"+strings.ReplaceAll(dir, " ", "%20")+"/a.txt" {
		t.Errorf("the URI is %s, the folder %s", all[0].URI, dir)
	}
}

func TestFileCompletion(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"guide/a b.md": "", "guide.md": "", "other": "", ".guide": ""})
	h := serveFolder(t, dir, nil)
	for typed, want := range map[string][]string{
		"":                   {"srv/docs/"},
		"srv/docs/gu":        {"srv/docs/guide/", "srv/docs/guide.md"},
		"srv/docs/guide/":    {"srv/docs/guide/a b.md"},
		"srv/docs/.":         nil,
		"srv/docs/../":       nil,
		"srv/docs/nothing/x": nil,
	} {
		got, err := h.Complete(t.Context(), nil, &host.CompleteRequest{Template: "file:///{+path}", Argument: "path", Value: typed})
		if err != nil {
			if want != nil || provider.CodeOf(err) != provider.NotFound {
				t.Errorf("completing %q: %v", typed, err)
			}
			continue
		}
		if diff := cmp.Diff(want, got.Values); diff != "" && len(want)+len(got.Values) > 0 {
			t.Errorf("completing %q (-want +got):\n%s", typed, diff)
		}
	}
}

// FS-04, FS-05: over the limit is refused before it is read, and never cut.
func TestFileTooLarge(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.json": `{"k":"0123456789"}`, "ok": "0123456789", "big.bin": ""})
	if err := os.Truncate(filepath.Join(dir, "big.bin"), 8<<30); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	h := serveFolder(t, dir, func(c *wasmplugin.Config) { c.Limits.ReadBytes = 10 })
	if got, err := read(t, h, "file:///srv/docs/ok"); body(got) != "0123456789" {
		t.Errorf("a file of the limit's size: %v", err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, name := range []string{"a.json", "big.bin"} {
		got, err := read(t, h, "file:///srv/docs/"+name)
		if provider.CodeOf(err) != provider.TooLarge || err == nil {
			t.Errorf("read %s: %+v, %v; want too large", name, got, err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("refusing cost %d MiB", grown>>20)
	}
}

// A page costs what is on it: the last page of a large tree is no dearer than the first, and pages have no gap.
func TestFileManyPages(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 40 {
		for j := range 25 {
			files[fmt.Sprintf("d%02d/f%02d.txt", i, j)] = "x"
		}
	}
	write(t, dir, files)
	h := serve(t, &host.Options{PageSize: 70}, plugin(t, "file", func(c *wasmplugin.Config) { c.Grants.FS = grant("docs", dir, "/srv/docs") }))
	all, pages := listAll(t, h)
	if len(all) != 1000 || pages != 15 {
		t.Errorf("%d files on %d pages, want 1000 on 15", len(all), pages)
	}
	if !slices.IsSortedFunc(all, func(a, b provider.Resource) int { return strings.Compare(a.URI, b.URI) }) {
		t.Error("the list is out of order")
	}
	if n := len(slices.CompactFunc(all, func(a, b provider.Resource) bool { return a.URI == b.URI })); n != 1000 {
		t.Errorf("%d different files, want 1000", n)
	}
}
