package wasmplugin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

func TestCacheFolderOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	if _, err := NewRuntime(t.Context(), &Options{CacheDir: dir}); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("made with mode %v, %v", st.Mode(), err)
	}
	for _, mode := range []os.FileMode{0o770, 0o707, 0o722} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := NewRuntime(t.Context(), &Options{CacheDir: dir}); err == nil || !strings.Contains(err.Error(), "can be written by others") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

// TestCacheEntries is part of WSM-07: whatever stands in the cache's folder, the plugin loads, and a bad entry is built
// anew.
func TestCacheEntries(t *testing.T) {
	wasm := newGuest(letters).read(ok()).bytes()
	metered, err := meter.Instrument(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	entry := func(dir string) string {
		engine, err := engineFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, engine, digestOf(metered.Wasm))
	}
	codeFile := func(t *testing.T, dir string) string {
		var file string
		filepath.Walk(entry(dir), func(p string, st os.FileInfo, err error) error {
			if err == nil && st.Mode().IsRegular() && filepath.Base(p) != sumFile {
				file = p
			}
			return nil
		})
		if file == "" {
			t.Fatal("no code in the cache")
		}
		return file
	}
	change := func(t *testing.T, f string, do func(b []byte) []byte) {
		b, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(f, do(b), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name   string
		spoil  func(t *testing.T, dir string)
		warned bool
	}{
		{"good", func(*testing.T, string) {}, false},
		{"garbage", func(t *testing.T, d string) {
			change(t, codeFile(t, d), func([]byte) []byte { return []byte("garbage") })
		}, true},
		{"cut", func(t *testing.T, d string) { change(t, codeFile(t, d), func(b []byte) []byte { return b[:len(b)/2] }) }, true},
		{"empty", func(t *testing.T, d string) { change(t, codeFile(t, d), func([]byte) []byte { return nil }) }, true},
		{"a wrong offset", func(t *testing.T, d string) {
			change(t, codeFile(t, d), func(b []byte) []byte { b[24] ^= 0xff; return b })
		}, true},
		{"no checksums", func(t *testing.T, d string) { os.Remove(filepath.Join(entry(d), sumFile)) }, true},
		{"code gone", func(t *testing.T, d string) { os.Remove(codeFile(t, d)) }, true},
		{"a file in its place", func(t *testing.T, d string) {
			os.RemoveAll(entry(d))
			os.WriteFile(entry(d), []byte("x"), 0o600)
		}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			r, _ := testRuntime(t, &Options{CacheDir: dir})
			load(t, r, wasm, Config{})
			tt.spoil(t, dir)
			again, log := testRuntime(t, &Options{CacheDir: dir})
			load(t, again, wasm, Config{})
			if got := strings.Contains(log.String(), "discarded"); got != tt.warned {
				t.Errorf("discarded: %v, want %v\n%s", got, tt.warned, log)
			}
			if err := verifySums(entry(dir)); err != nil {
				t.Errorf("afterwards: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(entry(dir)), "new-*")); len(left) > 0 {
				t.Errorf("left over: %v", left)
			}
		})
	}
}

func TestCacheUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	r, log := testRuntime(t, &Options{CacheDir: dir})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	load(t, r, newGuest(letters).read(ok()).bytes(), Config{})
	if !strings.Contains(log.String(), "cannot be kept on disk") {
		t.Errorf("log: %s", log)
	}
}

// TestSameBytes is part of WSM-07: plugins with equal bytes, loaded and closed at once, share code and never lose it.
func TestSameBytes(t *testing.T) {
	wasm := newGuest(letters).read(ok()).bytes()
	r, _ := testRuntime(t, &Options{CacheDir: filepath.Join(t.TempDir(), "cache")})
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			p, err := r.Load(t.Context(), &Config{Name: fmt.Sprint("p", i), Wasm: wasm})
			if err != nil {
				t.Error(err)
				return
			}
			for range 5 {
				if _, err := readURI(t.Context(), p, "letters://a"); err == nil {
					t.Error("no error from a guest without content")
				}
			}
			if i%2 == 0 {
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, p := range r.snapshot() {
		if _, err := readURI(t.Context(), p, "letters://a"); err == nil || strings.Contains(err.Error(), "compiled") {
			t.Errorf("error %v", err)
		}
	}
}
