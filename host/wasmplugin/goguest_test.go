package wasmplugin_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/providertest"
	"github.com/reshost/reshost/host/wasmplugin"
)

// TestGoGuest packs and serves the plugin file, built with the Go SDK, and holds it to the contract of providers.
func TestGoGuest(t *testing.T) {
	wasm := wasmplugin.BuildGuest(t, "github.com/reshost/reshost/plugins/file")
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
