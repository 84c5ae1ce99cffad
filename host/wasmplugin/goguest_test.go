package wasmplugin_test

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/providertest"
	"github.com/reshost/reshost/host/wasmplugin"
)

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

// TestGoGuest packs and serves the plugin file, built with the Go SDK, and holds it to the contract of providers.
func TestGoGuest(t *testing.T) {
	wasm := buildGuest(t, "github.com/reshost/reshost/plugins/file")
	r, err := wasmplugin.NewRuntime(t.Context(), &wasmplugin.Options{CacheDir: wasmplugin.SharedCache(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	packed, err := r.Pack(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range 30 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file %d.md", i)), fmt.Appendf(nil, "# File %d\n", i), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	providertest.Run(t, func(t *testing.T) provider.Provider {
		p, err := r.Load(t.Context(), &wasmplugin.Config{Wasm: packed, Grants: wasmplugin.Grants{
			FS: &wasmplugin.FSGrant{Roots: map[string]wasmplugin.FSRoot{"main": {Path: dir, As: "/docs"}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}, nil)
}
