package wasmplugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

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
		s, err := newCodeStore(dir, -1, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return s.path(digestOf(metered.Wasm))
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
			if left, _ := filepath.Glob(filepath.Join(dir, scratchPrefix+"*")); len(left) > 0 {
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

// TestCacheFull is part of WSM-07: where the folder takes no more, code is compiled elsewhere and not kept.
func TestCacheFull(t *testing.T) {
	privateTemp(t)
	dir := filepath.Join(t.TempDir(), "cache")
	r, log := testRuntime(t, &Options{CacheDir: dir, Compiler: compilerFunc(func(ctx context.Context, job *CompileJob) error {
		if strings.HasPrefix(job.Dir, dir) {
			return &os.PathError{Op: "write", Path: job.Dir, Err: syscall.ENOSPC}
		}
		return here(ctx, job)
	})})
	mustRead(t, load(t, r, plain(), Config{}))
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

// guestNamed is a module whose code differs from those of other numbers.
func guestNamed(n int64) []byte {
	g := newGuest(letters)
	return g.read(i32c(n), opDrop, g.text("good"), ok()).bytes()
}

// TestCacheBound: what was used longest ago goes first.
func TestCacheBound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	stored := func() int {
		found, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	size := int64(0)
	use := func(n int64, limit int64) (compiled bool) {
		compiler := testCompiler(t)
		r, _ := testRuntime(t, &Options{CacheDir: dir, CacheBytes: limit, Compiler: compilerFunc(func(ctx context.Context, job *CompileJob) error {
			compiled = true
			return compiler.Compile(ctx, job)
		})})
		mustRead(t, load(t, r, guestNamed(n), Config{}))
		return compiled
	}
	use(1, -1)
	if _, s, err := folderSize(dir); err == nil {
		size = s
	}
	old := time.Now().Add(-time.Hour)
	left := filepath.Join(dir, scratchPrefix+"left")
	if err := errors.Join(os.Mkdir(left, 0o700), os.Chtimes(left, old.Add(-maxScratchAge), old.Add(-maxScratchAge))); err != nil {
		t.Fatal(err)
	}
	for i, step := range []struct {
		n        int64
		compiled bool
	}{{2, true}, {1, false}, {3, true}, {1, false}, {2, true}} { // the third pushes the second out
		if got := use(step.n, size*5/2); got != step.compiled {
			t.Errorf("step %d: guest %d compiled: %v", i, step.n, got)
		}
		if n := stored(); n > 2 {
			t.Errorf("step %d: %d entries", i, n)
		}
		time.Sleep(10 * time.Millisecond) // times of files are no finer than that everywhere
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that a process left: %v", err)
	}
	if use(4, 1); stored() > 2 {
		t.Errorf("%d entries", stored())
	}
}

// TestCacheOfManyProcesses: runtimes that share a folder too small for what they load evict from under each other, and all
// the same load.
func TestCacheOfManyProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	first, _ := testRuntime(t, &Options{CacheDir: dir})
	load(t, first, guestNamed(0), Config{})
	_, size, err := folderSize(dir)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		r, log := testRuntime(t, &Options{CacheDir: dir, CacheBytes: size * 3})
		wg.Go(func() {
			for k := range int64(20) {
				p, err := r.Load(t.Context(), &Config{Wasm: guestNamed((k + int64(i)) % 5)})
				if err != nil {
					t.Error(err)
					return
				}
				mustRead(t, p)
				if err := p.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}
			if strings.Contains(log.String(), "discarded") {
				t.Errorf("an entry was thought to be bad:\n%s", log)
			}
		})
	}
	wg.Wait()
	if left, _ := filepath.Glob(filepath.Join(dir, scratchPrefix+"*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestCacheReadOnly: a folder that was filled ahead of time need not be writable.
func TestCacheReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	first, _ := testRuntime(t, &Options{CacheDir: dir})
	load(t, first, plain(), Config{})
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) })
	r, _ := testRuntime(t, &Options{CacheDir: dir, Compiler: compilerFunc(func(context.Context, *CompileJob) error {
		return errors.New("there is nothing to compile")
	})})
	mustRead(t, load(t, r, plain(), Config{}))
}
