// Package e2e_test runs the shipped plugins as what they ship as: WebAssembly in the real runtime, behind the real host,
// over real folders.
package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/wasmplugin"
)

// packages are built once a run, and each only when a test asks for it.
var packages = map[string]*module{
	"docs":        {pkg: "../docs"},
	"file":        {pkg: "../file"},
	"conformance": {pkg: "../../examples/conformance"},
	"ask":         {pkg: "../../examples/ask"},
}

// engine is shared by all tests, so that a module is compiled once.
var engine = sync.OnceValues(func() (*wasmplugin.Runtime, error) {
	return wasmplugin.NewRuntime(context.Background(), &wasmplugin.Options{CacheDir: cacheDir()})
})

func TestMain(m *testing.M) {
	code := m.Run()
	if rt, err := engine(); err == nil {
		if err := rt.Close(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "close:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// cacheDir is the folder of compiled code that the project's tests share; "" is none.
func cacheDir() string {
	dir := os.Getenv("RESHOST_TEST_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(base, "reshost-test")
	}
	dir = filepath.Join(dir, "compiled")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	return dir
}

// module is a plugin's package and what it was built to.
type module struct {
	pkg  string
	once sync.Once
	wasm []byte
	err  error
}

// build compiles a plugin's package and packs its manifest.
func (m *module) build() ([]byte, error) {
	m.once.Do(func() {
		rt, err := engine()
		if err != nil {
			m.err = err
			return
		}
		dir, err := os.MkdirTemp("", "reshost-e2e-")
		if err != nil {
			m.err = err
			return
		}
		defer os.RemoveAll(dir)
		out := filepath.Join(dir, "plugin.wasm")
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-w", "-o", out, m.pkg)
		cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
		if text, err := cmd.CombinedOutput(); err != nil {
			m.err = fmt.Errorf("%s: %w: %s", m.pkg, err, text)
			return
		}
		raw, err := os.ReadFile(out)
		if err != nil {
			m.err = err
			return
		}
		m.wasm, m.err = rt.Pack(context.Background(), raw)
	})
	return m.wasm, m.err
}

// plugin loads a plugin. Roots are given as in a config file.
func plugin(t testing.TB, name string, edit func(*wasmplugin.Config)) *wasmplugin.Plugin {
	t.Helper()
	wasm, err := packages[name].build()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no go command: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	rt, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	cfg := &wasmplugin.Config{Wasm: wasm, Source: "builtin:" + name}
	if edit != nil {
		edit(cfg)
	}
	p, err := rt.Load(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serve puts a plugin behind a host.
func serve(t testing.TB, opts *host.Options, p provider.Provider) *host.Host {
	t.Helper()
	h, err := host.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := h.Add(p, nil); err != nil {
		t.Fatal(err)
	}
	return h
}

// grant is read access to folders: name, path and "as", one after the other.
func grant(roots ...string) *wasmplugin.FSGrant {
	g := &wasmplugin.FSGrant{Roots: map[string]wasmplugin.FSRoot{}}
	for i := 0; i < len(roots); i += 3 {
		g.Roots[roots[i]] = wasmplugin.FSRoot{Path: roots[i+1], As: roots[i+2]}
	}
	return g
}

// write fills a folder with files; a path with a slash at its end is a folder.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if name[len(name)-1] == '/' {
			p += string(filepath.Separator)
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if name[len(name)-1] == '/' {
			continue
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// read reads a URI and fails the test if it takes as long as a second more than it should.
func read(t testing.TB, h *host.Host, uri string) (*host.ReadResult, error) {
	t.Helper()
	start := time.Now()
	got, err := h.Read(t.Context(), nil, uri)
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("reading %s took %v", uri, d)
	}
	return got, err
}

// body is the body of a result with one part.
func body(got *host.ReadResult) string {
	if got == nil || len(got.Contents) != 1 {
		return ""
	}
	return string(got.Contents[0].Body)
}

// wantMissing fails unless a URI reads as what does not exist, or is refused before anybody looks.
func wantMissing(t testing.TB, h *host.Host, uri string) {
	t.Helper()
	got, err := read(t, h, uri)
	if code := provider.CodeOf(err); err == nil || code != provider.NotFound && code != provider.Invalid {
		t.Errorf("read %q: %+v, %v; want not found", uri, got, err)
	}
}

// listAll walks a host's list.
func listAll(t testing.TB, h *host.Host) (all []provider.Resource, pages int) {
	t.Helper()
	for cursor := ""; ; {
		page, err := h.List(t.Context(), nil, cursor)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Resources...)
		pages++
		if cursor = page.Next; cursor == "" {
			return all, pages
		}
	}
}
