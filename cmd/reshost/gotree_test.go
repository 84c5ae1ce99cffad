package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// readLimit is the default bound on the bytes of one read.
const readLimit = 16 << 20

// TestGoTree serves the Go distribution's own sources with the file plugin and reads all of them through the official Go
// SDK's client, over both transports: every file listed once, every byte right, what is too large refused as such.
func TestGoTree(t *testing.T) {
	root := goTree(t)
	want := walkTree(t, root)
	if len(want) == 0 {
		t.Fatal("no files below", root)
	}
	config := writeConfig(t, fmt.Sprintf(`version: 1
server: { name: gotree, listen: "127.0.0.1:0" }
plugins:
  - name: files
    source: builtin:file
    grants:
      fs: { root: %s }
`, root))
	eachTransport(t, config, func(t *testing.T, cs *sdk.ClientSession) {
		listTree(t, cs, want)
		if !t.Failed() {
			readTree(t, cs, want)
			completeTree(t, cs, root)
		}
	})
}

// goTree is GOROOT, or its src/net alone with -short.
func goTree(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatalf("go env GOROOT: %v", err)
	}
	root, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		root = filepath.Join(root, "src", "net")
	}
	return root
}

// walkTree maps the URI of every regular file below root that has no dot name on its way to its size.
func walkTree(t *testing.T, root string) map[string]int64 {
	t.Helper()
	want := map[string]int64{}
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case p != root && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular():
			info, err := d.Info()
			if err != nil {
				return err
			}
			want[fileURI(p)] = info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return want
}

func fileURI(path string) string {
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()
}

// canonical writes a URI as fileURI would, so that two spellings of one path compare equal.
func canonical(t *testing.T, uri string) string {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatalf("listed URI: %v", err)
	}
	return fileURI(u.Path)
}

func listTree(t *testing.T, cs *sdk.ClientSession, want map[string]int64) {
	t.Helper()
	seen := map[string]bool{}
	pages, cursor := 0, ""
	for {
		res, err := cs.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			t.Fatalf("page %d: %v", pages, err)
		}
		pages++
		for _, r := range res.Resources {
			key := canonical(t, r.URI)
			size, ok := want[key]
			switch {
			case seen[key]:
				t.Errorf("%s is listed twice", r.URI)
			case !ok:
				t.Errorf("%s is listed and is no file of the tree", r.URI)
			case r.Size != size:
				t.Errorf("%s: listed size %d, want %d", r.URI, r.Size, size)
			}
			seen[key] = true
		}
		if cursor = res.NextCursor; cursor == "" {
			break
		}
	}
	for uri := range want {
		if !seen[uri] {
			t.Errorf("%s is not listed", uri)
		}
	}
	t.Logf("%d files on %d pages", len(seen), pages)
}

// readers is how many reads are under way at once: enough to use what a small machine has.
const readers = 8

func readTree(t *testing.T, cs *sdk.ClientSession, want map[string]int64) {
	t.Helper()
	start := time.Now()
	uris := make(chan string)
	var tooLarge, done atomic.Int64
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() {
			for uri := range uris {
				if want[uri] > readLimit {
					tooLarge.Add(1)
				}
				if !readFile(t, cs, uri, want[uri]) {
					return
				}
				done.Add(1)
			}
		})
	}
	go func() {
		defer close(uris)
		for uri := range want {
			select {
			case uris <- uri:
			case <-t.Context().Done():
				return
			}
		}
	}()
	wg.Wait()
	if n := int(done.Load()); n != len(want) {
		t.Errorf("%d of %d files were read", n, len(want))
	}
	t.Logf("%d reads, %d of them too large, in %v", len(want), tooLarge.Load(), time.Since(start).Round(time.Millisecond))
}

// readFile checks one read. It returns false when there is no use in going on.
func readFile(t *testing.T, cs *sdk.ClientSession, uri string, size int64) bool {
	res, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
	switch {
	case errors.Is(err, sdk.ErrConnectionClosed):
		t.Errorf("%s: %v", uri, err)
		return false
	case size > readLimit:
		if err == nil || !strings.Contains(err.Error(), "large") {
			t.Errorf("%s: %d bytes: got %v, want an error that says too large", uri, size, err)
		}
	case err != nil:
		t.Errorf("%s: %v", uri, err)
	default:
		checkContents(t, uri, res)
	}
	return true
}

// checkContents compares a read with the file's own bytes.
func checkContents(t *testing.T, uri string, res *sdk.ReadResourceResult) {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Error(err)
		return
	}
	content, err := os.ReadFile(u.Path)
	if err != nil {
		t.Error(err)
		return
	}
	if len(res.Contents) != 1 {
		t.Errorf("%s: %d items, want 1", uri, len(res.Contents))
		return
	}
	got := res.Contents[0]
	if text := got.Blob == nil; text != utf8.Valid(content) {
		t.Errorf("%s: text is %t, want %t", uri, text, !text)
	} else if text && got.Text != string(content) || !text && !bytes.Equal(got.Blob, content) {
		t.Errorf("%s: the contents differ from the file's", uri)
	}
	if got.URI != uri {
		t.Errorf("%s: the contents name %s", uri, got.URI)
	}
}

func completeTree(t *testing.T, cs *sdk.ClientSession, root string) {
	t.Helper()
	templates, err := cs.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(templates.ResourceTemplates, func(rt *sdk.ResourceTemplate) bool { return strings.HasSuffix(rt.URITemplate, "{+path}") })
	if i < 0 {
		t.Fatalf("no {+path} template in %v", templates.ResourceTemplates)
	}
	tmpl := templates.ResourceTemplates[i].URITemplate
	prefix := "src/net/ht"
	if testing.Short() {
		prefix = "ht"
	}
	value := strings.TrimPrefix(fileURI(filepath.Join(root, prefix)), strings.TrimSuffix(tmpl, "{+path}"))
	res, err := cs.Complete(t.Context(), &sdk.CompleteParams{
		Ref:      &sdk.CompleteReference{Type: "ref/resource", URI: tmpl},
		Argument: sdk.CompleteParamsArgument{Name: "path", Value: value},
	})
	if err != nil {
		t.Fatalf("complete %q: %v", value, err)
	}
	if !slices.Contains(res.Completion.Values, strings.TrimSuffix(value, "ht")+"http/") {
		t.Errorf("completing %q gives %q, want the folder http/ among them", value, res.Completion.Values)
	}
}

// TestDocsNames reads documents whose names need care through the docs plugin: the authority of docs://{name} keeps its
// case, a colon is no port, and spaces and other letters travel percent-encoded.
func TestDocsNames(t *testing.T) {
	dir := t.TempDir()
	// A listed URI is the template's expansion, which encodes a colon (RFC 6570 section 3.2.2); a client may send it bare.
	docs := []struct{ name, listed, read string }{
		{"README.md", "docs://README.md", "docs://README.md"},
		{"a b.md", "docs://a%20b.md", "docs://a%20b.md"},
		{"a:b.md", "docs://a%3Ab.md", "docs://a:b.md"},
		{"café.md", "docs://caf%C3%A9.md", "docs://café.md"},
	}
	for _, d := range docs {
		writeFile(t, filepath.Join(dir, d.name), []byte("# "+d.name+"\n\nAbout it.\n"))
	}
	config := writeConfig(t, fmt.Sprintf(`version: 1
server: { name: docs, listen: "127.0.0.1:0" }
plugins:
  - name: docs
    source: builtin:docs
    grants:
      fs: { root: %s }
`, dir))
	eachTransport(t, config, func(t *testing.T, cs *sdk.ClientSession) {
		listed := map[string]bool{}
		for r, err := range cs.Resources(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			listed[r.URI] = true
		}
		for _, d := range docs {
			if !listed[d.listed] {
				t.Errorf("%s is not listed: %v", d.listed, listed)
			}
			for _, uri := range []string{d.listed, d.read} {
				res, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
				if err != nil {
					t.Errorf("read %s: %v", uri, err)
					continue
				}
				if got, want := res.Contents[0].Text, "# "+d.name+"\n\nAbout it.\n"; got != want {
					t.Errorf("read %s = %q, want %q", uri, got, want)
				}
			}
		}
		if !listed["docs://index"] {
			t.Error("docs://index is not listed")
		}
		if _, err := cs.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "docs://readme.md"}); err == nil {
			t.Error("docs://readme.md is read, though the file is README.md")
		}
	})
}

// eachTransport runs check with a client of the official SDK connected to "reshost serve" over HTTP and over stdio.
func eachTransport(t *testing.T, config string, check func(*testing.T, *sdk.ClientSession)) {
	t.Run("http", func(t *testing.T) {
		check(t, connect(t, &sdk.StreamableClientTransport{Endpoint: serveHTTP(t, config), DisableStandaloneSSE: true}))
	})
	t.Run("stdio", func(t *testing.T) {
		stdin, in := io.Pipe()
		out, stdout := io.Pipe()
		start(t, stdin, stdout, io.Discard, "serve", "--stdio", "--config", config)
		// The client's own bound on a line is below the host's on a read, encoded as base64.
		check(t, connect(t, &sdk.IOTransport{Reader: out, Writer: in, MaxLineLength: -1}))
	})
}

// start runs a command line until the test ends.
func start(t *testing.T, stdin io.Reader, stdout, stderr io.Writer, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan int, 1)
	a := newApp(t, true, stdin, stdout, stderr)
	go func() { done <- a.run(ctx, args) }()
	t.Cleanup(func() {
		cancel()
		if code := <-done; code != 0 {
			t.Errorf("reshost %v ended with %d", args, code)
		}
	})
}

// serveHTTP runs "reshost serve" until the test ends, and returns the endpoint that it names on stderr.
func serveHTTP(t *testing.T, config string) string {
	t.Helper()
	r, stderr := io.Pipe()
	start(t, strings.NewReader(""), io.Discard, stderr, "serve", "--config", config)
	endpoint := make(chan string, 1)
	go func() {
		defer close(endpoint)
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if _, url, ok := strings.Cut(lines.Text(), " at http"); ok {
				endpoint <- "http" + url
				break
			}
			t.Log(lines.Text())
		}
		io.Copy(io.Discard, r)
	}()
	t.Cleanup(func() { stderr.Close() })
	select {
	case url := <-endpoint:
		return url
	case <-time.After(2 * time.Minute):
		t.Fatal("serve names no endpoint")
		return ""
	}
}

func connect(t *testing.T, tr sdk.Transport) *sdk.ClientSession {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "gotree", Version: "1"}, nil)
	cs, err := client.Connect(t.Context(), tr, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { cs.Close() })
	if v := cs.InitializeResult().ProtocolVersion; v != "2026-07-28" {
		t.Fatalf("negotiated %s, want 2026-07-28", v)
	}
	return cs
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "reshost.yaml")
	writeFile(t, name, []byte(text))
	return name
}
