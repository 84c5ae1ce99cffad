package conformance_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/reshost/reshost/host/wasmplugin"
)

// language builds the conformance guest in one language.
type language struct {
	name string
	// tool is the command without which there is nothing to build with, and install says how to get it.
	tool, install string
	build         func(t *testing.T, out string) *exec.Cmd
}

// languages has a line for each SDK.
func languages() []language {
	return []language{
		{
			name: "go", tool: "go", install: "install Go",
			build: func(_ *testing.T, out string) *exec.Cmd {
				cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-w", "-o", out, "./go")
				cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
				return cmd
			},
		},
		{
			name: "c", tool: "clang", install: "install clang and lld",
			build: func(_ *testing.T, out string) *exec.Cmd {
				return exec.Command("clang", "--target=wasm32", "-mbulk-memory", "-Oz", "-Wall", "-Wextra", "-Werror", "-nostdlib",
					"-Wl,--no-entry", "-Wl,--stack-first", "-I../c", "-o", out, "c/guest.c")
			},
		},
		{name: "rust", tool: rustc(), install: "install rustc and libstd-rust-dev-wasm32", build: buildRust},
	}
}

// rustc is the compiler with a library for WebAssembly: Debian's, which other ones may hide, else the first on the path.
func rustc() string {
	if _, err := os.Stat("/usr/lib/rustlib/wasm32-unknown-unknown"); err == nil {
		return "/usr/bin/rustc"
	}
	return "rustc"
}

// buildRust builds the SDK, then the guest, as cargo would, without what cargo wants to download.
func buildRust(t *testing.T, out string) *exec.Cmd {
	t.Helper()
	flags := []string{"--edition", "2021", "--target", "wasm32-unknown-unknown", "-C", "opt-level=s", "-D", "warnings"}
	lib := filepath.Join(t.TempDir(), "libreshost.rlib")
	sdk := append(flags, "--crate-type", "rlib", "--crate-name", "reshost", "--cfg", `feature="std"`, "-o", lib, "../rust/src/lib.rs")
	if text, err := exec.Command(rustc(), sdk...).CombinedOutput(); err != nil {
		t.Fatalf("rustc: %v\n%s", err, text)
	}
	return exec.Command(rustc(), append(flags, "--crate-type", "cdylib", "--crate-name", "guest", "--extern", "reshost="+lib, "-C", "lto",
		"-C", "panic=abort", "-C", "strip=debuginfo", "-o", out, "rust/guest.rs")...)
}

// missing skips a language whose compiler is not here, and says so; in the continuous build it fails.
func missing(t *testing.T, l *language) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("no %s: %s", l.tool, l.install)
	}
	t.Skipf("no %s, so the SDK of %s is not tested: %s", l.tool, l.name, l.install)
}

// guest builds and packs the guest of a language.
func guest(t *testing.T, r *wasmplugin.Runtime, l *language) []byte {
	t.Helper()
	if _, err := exec.LookPath(l.tool); err != nil {
		missing(t, l)
	}
	out := filepath.Join(t.TempDir(), "guest.wasm")
	if text, err := l.build(t, out).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", l.tool, err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := r.Pack(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(packed))
	return packed
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

// newRuntime returns a runtime that ends with the test, and its log. Compiled code is kept where RESHOST_TEST_CACHE says.
func newRuntime(t *testing.T) (*wasmplugin.Runtime, *lockedBuffer) {
	t.Helper()
	log := &lockedBuffer{}
	dir := os.Getenv("RESHOST_TEST_CACHE")
	if dir != "" {
		dir = filepath.Join(dir, "compiled")
	}
	r, err := wasmplugin.NewRuntime(t.Context(), &wasmplugin.Options{
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), CacheDir: dir,
	})
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
