package wasmplugin

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// compilerFunc is a Compiler of the tests.
type compilerFunc func(context.Context, *CompileJob) error

func (f compilerFunc) Compile(ctx context.Context, job *CompileJob) error { return f(ctx, job) }

// privateTemp gives the test a folder of its own for temporary files, and looks at the end that it is empty.
func privateTemp(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Setenv("TMP", dir)
	t.Cleanup(func() {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	})
}

// plain is a guest that answers "good".
func plain() []byte {
	g := newGuest(letters)
	return g.read(g.text("good"), ok()).bytes()
}

func mustRead(t *testing.T, p *Plugin) {
	t.Helper()
	res, err := readURI(t.Context(), p, "letters://a")
	if err != nil || string(res.Contents[0].Body) != "good" {
		t.Errorf("read: %v, %v", res, err)
	}
}

// TestChildCompiler compiles in a child, with and without a cache folder. What is in the cache needs no child.
func TestChildCompiler(t *testing.T) {
	privateTemp(t)
	var jobs atomic.Int32
	child := testCompiler(t)
	counting := compilerFunc(func(ctx context.Context, job *CompileJob) error {
		jobs.Add(1)
		return child.Compile(ctx, job)
	})
	dir := filepath.Join(t.TempDir(), "cache")
	for _, tt := range []struct {
		name, dir string
		want      int32
	}{
		{"no folder", "", 1},
		{"an empty folder", dir, 1},
		{"from the folder", dir, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			jobs.Store(0)
			r, err := NewRuntime(t.Context(), &Options{CacheDir: tt.dir, Compiler: counting})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close(context.Background())
			wasm := plain()
			for _, name := range []string{"a", "b"} {
				mustRead(t, load(t, r, wasm, Config{Name: name}))
			}
			if got := jobs.Load(); got != tt.want {
				t.Errorf("%d compilations, want %d", got, tt.want)
			}
		})
	}
}

// TestCompileBounds: a module that passes a bound costs its own plugin alone, in one line that says which bound.
func TestCompileBounds(t *testing.T) {
	web := bombs()[2].make().bytes()
	for _, tt := range []struct {
		name string
		opts Options
		want string
	}{
		{"time", Options{CompileTimeout: 300 * time.Millisecond}, "compiling it takes longer than 300ms: the module is too large or too intricate"},
		{"memory", Options{CompileMemory: 24 << 20}, "compiling it takes more than 24 MiB of memory: the module is too large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			privateTemp(t)
			tt.opts.Compiler, tt.opts.CompileJobs = testCompiler(t), 2
			tt.opts.CacheDir = filepath.Join(t.TempDir(), "cache")
			warm, _ := testRuntime(t, &Options{CacheDir: tt.opts.CacheDir})
			load(t, warm, plain(), Config{})
			r, _ := testRuntime(t, &tt.opts)
			neighbour := load(t, r, plain(), Config{Name: "neighbour"})
			failed := make(chan error, 1)
			go func() {
				_, err := r.Load(t.Context(), &Config{Name: "bomb", Source: "file:bomb.wasm", Wasm: web})
				failed <- err
			}()
			for {
				mustRead(t, neighbour)
				select {
				case err := <-failed:
					if err == nil || !strings.HasPrefix(err.Error(), "plugin bomb (file:bomb.wasm): "+tt.want) || strings.Contains(err.Error(), "\n") {
						t.Errorf("error %v, want %q", err, tt.want)
					}
					if left, _ := filepath.Glob(filepath.Join(tt.opts.CacheDir, scratchPrefix+"*")); len(left) > 0 {
						t.Errorf("left over: %v", left)
					}
					if n := len(r.code.entries); n != 1 {
						t.Errorf("%d entries of code, want the neighbour's", n)
					}
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		})
	}
}

// TestKernelRefusal: what the kernel refuses, past the child's own looks, is told as the bound that it is.
func TestKernelRefusal(t *testing.T) {
	err := childError(2, &exec.ExitError{}, &CompileJob{Memory: 1 << 30}, "", "fatal error: runtime: cannot allocate memory\n\ngoroutine 1")
	if err == nil || !strings.Contains(err.Error(), "more than 1 GiB of memory") {
		t.Errorf("error %v", err)
	}
}

// TestBombs: each is refused or compiled, within bounds ten times lower than the defaults' and this process's memory.
func TestBombs(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles for seconds")
	}
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			r, _ := testRuntime(t, &Options{Compiler: testCompiler(t), CompileTimeout: 6 * time.Second, CompileMemory: 100 << 20})
			wasm := b.make().bytes()
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := r.Load(t.Context(), &Config{Wasm: wasm})
			runtime.ReadMemStats(&after)
			if err != nil && !strings.Contains(err.Error(), "compiling it takes ") {
				t.Errorf("error %v", err)
			}
			// The check, the metering and the engine's decoding are linear in the module.
			if got, most := int64(after.HeapSys-after.HeapReleased)-int64(before.HeapSys-before.HeapReleased), int64(64<<20+16*len(wasm)); got > most {
				t.Errorf("the heap grew by %d MiB, more than %d", got>>20, most>>20)
			}
			t.Logf("%d bytes: %v", len(wasm), err)
		})
	}
}

// TestCompileFailures are those that are nobody's bound: each is one line that says what to do.
func TestCompileFailures(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no shell")
	}
	for _, tt := range []struct {
		name     string
		compiler Compiler
		want     string
	}{
		{"no such program", ChildCompiler(filepath.Join(t.TempDir(), "none"), childArg), "which cannot be started: "},
		{"another program", ChildCompiler(sh, "-c", "exit 0"), "another engine than this one"},
		{"wrong arguments", ChildCompiler(exe, childArg, "more"), "the process that compiled it failed: exit status"},
		{"a crash", ChildCompiler(sh, "-c", "echo boom >&2; exit 2"), "exit status 2): boom"},
		{"a refusal", ChildCompiler(sh, "-c", "printf 'no \\033[31mred\\nsecond'; exit "+strconv.Itoa(childRefused)), "no "},
		{"a full disk", ChildCompiler(sh, "-c", "echo full; exit "+strconv.Itoa(childDisk)), "full"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			privateTemp(t)
			r, _ := testRuntime(t, &Options{Compiler: tt.compiler, CacheDir: filepath.Join(t.TempDir(), "cache")})
			_, err := r.Load(t.Context(), &Config{Name: "p", Wasm: plain()})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestChildDiesWithItsParent: the end of its pipe ends a child in the midst of its work.
func TestChildDiesWithItsParent(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	metered, err := meter.Instrument(bombs()[2].make().bytes(), nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, childArg, t.TempDir(), "-1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := writeJob(stdin, metered.Wasm); err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != childOrphan {
		t.Errorf("it ended with %v, want code %d", err, childOrphan)
	}
}

// TestCompileCancelled: who does not wait any more ends the child.
func TestCompileCancelled(t *testing.T) {
	privateTemp(t)
	r, _ := testRuntime(t, &Options{Compiler: testCompiler(t), CacheDir: filepath.Join(t.TempDir(), "cache")})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := r.Load(ctx, &Config{Wasm: bombs()[2].make().bytes()})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	r.wg.Wait() // returns at once, or the test's time is over
}

func TestCompileChildUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"x"}, {"x", "y"}, {"x", "1", "z"}} {
		if got := CompileChild(args, bytes.NewReader(nil), &bytes.Buffer{}); got != childUsage {
			t.Errorf("%q: %d", args, got)
		}
	}
}

// TestEngineIsOurs: code that another engine made, or none at all, is no code.
func TestEngineIsOurs(t *testing.T) {
	foreign := compilerFunc(func(_ context.Context, job *CompileJob) error {
		return os.MkdirAll(filepath.Join(job.Dir, "wazero-v9-amd64-plan9-0123456789ab", "x"), 0o700)
	})
	r, _ := testRuntime(t, &Options{Compiler: foreign, CacheDir: filepath.Join(t.TempDir(), "cache")})
	if _, err := r.Load(t.Context(), &Config{Wasm: plain()}); err == nil || !strings.Contains(err.Error(), "another engine") {
		t.Errorf("error %v", err)
	}
}

// TestCompileAhead: what Compile leaves needs no compiling later; what it refuses it refuses in one line.
func TestCompileAhead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	r, _ := testRuntime(t, &Options{CacheDir: dir, Compiler: testCompiler(t)})
	for i, want := range []bool{false, true} {
		if stored, err := r.Compile(t.Context(), &Config{Wasm: plain()}); err != nil || stored != want {
			t.Errorf("%d: %v, %v", i, stored, err)
		}
	}
	if n := len(r.code.entries); n != 0 {
		t.Errorf("%d entries of code are in use", n)
	}
	later, _ := testRuntime(t, &Options{CacheDir: dir, Compiler: compilerFunc(func(context.Context, *CompileJob) error {
		return errors.New("there is nothing to compile")
	})})
	mustRead(t, load(t, later, plain(), Config{}))
	if _, err := r.Compile(t.Context(), &Config{Name: "p", Wasm: []byte("text")}); err == nil || !strings.HasPrefix(err.Error(), "plugin p: this is not") {
		t.Errorf("error %v", err)
	}
	if _, err := r.Compile(t.Context(), nil); err == nil {
		t.Error("no error without a configuration")
	}
	none, err := NewRuntime(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Compile(t.Context(), &Config{Wasm: plain()}); err == nil || !strings.Contains(err.Error(), "no folder") {
		t.Errorf("error %v", err)
	}
}
