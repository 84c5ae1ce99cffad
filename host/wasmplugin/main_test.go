package wasmplugin

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/reshost/reshost/host/provider"
)

// TestMain runs the tests, or plays the part of a compiler's child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childArg {
		os.Exit(CompileChild(os.Args[2:], os.Stdin, os.Stdout))
	}
	if len(os.Args) > 1 && os.Args[1] == lookArg {
		boundChild(-1)
		files, _ := filepath.Glob("/proc/self/fd/*")
		fmt.Printf("%q; %d", os.Environ(), len(files))
		os.Exit(childRefused)
	}
	goleak.VerifyTestMain(m)
}

// childArg makes this program a compiler's child.
const childArg = "compile-child"

// lookArg makes it tell what such a child finds: its environment, and how many files are open.
const lookArg = "look"

// testCompiler returns a compiler that is this program.
func testCompiler(t testing.TB) Compiler {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return ChildCompiler(exe, childArg)
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// testRuntime returns a runtime that ends with the test, and its log.
func testRuntime(t testing.TB, opts *Options) (*Runtime, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{}
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	if o.CacheDir == "" {
		o.CacheDir = sharedCache(t)
	}
	r, err := NewRuntime(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r, log
}

// sharedCache is the folder of compiled code that tests share: RESHOST_TEST_CACHE, else one below the system's.
func sharedCache(t testing.TB) string {
	dir := os.Getenv("RESHOST_TEST_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			base = os.TempDir()
		}
		dir = filepath.Join(base, "reshost-test")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Logf("no shared cache: %v", err)
		return ""
	}
	return dir
}

// load loads a module with a configuration.
func load(t testing.TB, r *Runtime, wasm []byte, cfg Config) *Plugin {
	t.Helper()
	cfg.Wasm = wasm
	p, err := r.Load(t.Context(), &cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// loadGuest loads a guest in a runtime of its own.
func loadGuest(t testing.TB, g *guest, cfg Config) (*Plugin, *lockedBuffer) {
	t.Helper()
	r, log := testRuntime(t, nil)
	return load(t, r, g.bytes(), cfg), log
}

// readURI reads a URI that matches the template of the manifest letters.
func readURI(ctx context.Context, p *Plugin, uri string) (*provider.ReadResult, error) {
	return p.Read(ctx, &provider.ReadRequest{
		URI: uri, Template: "letters://{name}", TemplateIndex: 0,
		Vars: []provider.Var{{Name: "name", Value: strings.TrimPrefix(uri, "letters://")}},
	})
}

// wantCode fails unless err has the code.
func wantCode(t testing.TB, err error, want provider.Code) *provider.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", want)
	}
	if got := provider.CodeOf(err); got != want {
		t.Fatalf("code %s (%v), want %s", got, err, want)
	}
	e, _ := err.(*provider.Error)
	return e
}

// buildGuest builds one of the repository's plugins in Go.
func buildGuest(t testing.TB, pkg string) []byte {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles a Go guest")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command(goTool, "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-w", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

// settle waits until nothing is being started or restored.
func settle(t testing.TB, p *Plugin) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		p.pool.mu.Lock()
		done := p.pool.starting == 0 && p.pool.restoring == 0 && len(p.pool.ready) > 0
		p.pool.mu.Unlock()
		if done {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the pool does not come to rest")
		}
	}
}
