package wasmplugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
)

// codeCache holds compiled code: one entry per digest, shared by the plugins with equal bytes, and on disk where there is
// a folder. An entry on disk is a folder named by the digest, below one named by the engine's version, with what the engine
// wrote and a file of checksums over it: the engine's own checksum does not cover all of it, and a wrong byte there is a
// jump to anywhere.
type codeCache struct {
	dir  string // the engine's folder; "" without a disk cache
	log  *slog.Logger
	jobs chan struct{} // one token per compilation that may run

	mu      sync.Mutex // guards entries and each entry's refs
	entries map[string]*codeEntry
}

// codeEntry is the code of one digest. The engine has to be asked by one goroutine at a time for one module: the lock of
// the entry sees to that.
type codeEntry struct {
	digest string
	refs   int // guarded by codeCache.mu

	mu    sync.Mutex // held while compiling; guards cache
	cache wazero.CompilationCache
}

// sumFile is the file of checksums in an entry's folder. It is written last.
const sumFile = "SHA256SUMS"

func newCodeCache(dir string, jobs int, log *slog.Logger) (*codeCache, error) {
	c := &codeCache{log: log, jobs: make(chan struct{}, jobs), entries: map[string]*codeEntry{}}
	if dir == "" {
		return c, nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("cache folder %q: %w", dir, err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	if err := checkPrivate(abs); err != nil {
		return nil, err
	}
	engine, err := engineFolder(abs)
	if err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	c.dir = filepath.Join(abs, engine)
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("cache folder: %w", err)
	}
	return c, nil
}

// engineFolder returns the name that the engine gives to a folder of its compiled code: its version and the machine's kind.
// Programs that share a cache folder can hold other versions, and a test binary may not know its own.
func engineFolder(dir string) (string, error) {
	probe, err := os.MkdirTemp(dir, "new-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(probe)
	cc, err := wazero.NewCompilationCacheWithDir(probe)
	if err != nil {
		return "", err
	}
	if err := cc.Close(context.Background()); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(probe)
	if err != nil {
		return "", err
	}
	if len(entries) != 1 {
		return "", fmt.Errorf("the engine made %d folders, not one", len(entries))
	}
	return entries[0].Name(), nil
}

// acquire returns the entry of a digest and counts the caller as a user of it.
func (c *codeCache) acquire(digest string) *codeEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[digest]
	if e == nil {
		e = &codeEntry{digest: digest}
		c.entries[digest] = e
	}
	e.refs++
	return e
}

// release ends a use. The last user's release drops the code; its instances must be gone by then.
func (c *codeCache) release(ctx context.Context, e *codeEntry) error {
	c.mu.Lock()
	e.refs--
	last := e.refs == 0
	if last && c.entries[e.digest] == e {
		delete(c.entries, e.digest)
	}
	c.mu.Unlock()
	if !last {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cache == nil {
		return nil
	}
	return e.cache.Close(ctx)
}

// compiled is a module's code together with the engine it lives in.
type compiled struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
}

// compile returns an engine that shares the entry's code. config gives the engine its settings, which must be the same
// for all users of an entry.
func (c *codeCache) compile(ctx context.Context, e *codeEntry, wasm []byte, config func() wazero.RuntimeConfig) (*compiled, error) {
	select {
	case c.jobs <- struct{}{}:
		defer func() { <-c.jobs }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cache != nil {
		return compileIn(ctx, e.cache, wasm, config())
	}
	if c.dir != "" {
		cc, code, err := c.compileOnDisk(ctx, e.digest, wasm, config)
		if err == nil {
			e.cache = cc
			return code, nil
		}
		if !isDiskError(err) {
			return nil, err
		}
		c.log.Warn("compiled code cannot be kept on disk", "error", err)
	}
	cc := wazero.NewCompilationCache()
	code, err := compileIn(ctx, cc, wasm, config())
	if err != nil {
		return nil, errors.Join(err, cc.Close(ctx))
	}
	e.cache = cc
	return code, nil
}

// compileOnDisk takes an entry from disk, or compiles into a new folder and moves it in place.
func (c *codeCache) compileOnDisk(ctx context.Context, digest string, wasm []byte, config func() wazero.RuntimeConfig) (wazero.CompilationCache, *compiled, error) {
	final := filepath.Join(c.dir, digest)
	if err := verifySums(final); err == nil {
		cc, code, err := compileWithDir(ctx, final, wasm, config())
		if err == nil {
			return cc, code, nil
		}
		c.log.Warn("a cache entry is discarded", "entry", final, "error", err)
	} else if !errors.Is(err, fs.ErrNotExist) {
		c.log.Warn("a cache entry is discarded", "entry", final, "error", err)
	}
	tmp, err := os.MkdirTemp(c.dir, "new-*")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(tmp)
	cc, code, err := compileWithDir(ctx, tmp, wasm, config())
	if err != nil {
		return nil, nil, err
	}
	if err := c.publish(tmp, final); err != nil {
		c.log.Warn("compiled code cannot be kept on disk", "error", err)
	}
	return cc, code, nil
}

// publish moves a finished entry in place. Another process may have put one there meanwhile: either is good.
func (c *codeCache) publish(tmp, final string) error {
	sums, err := folderSums(tmp)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, sumFile), sums, 0o600); err != nil {
		return err
	}
	if verifySums(final) == nil {
		return nil
	}
	if err := os.RemoveAll(final); err != nil {
		return err
	}
	if err := os.Rename(tmp, final); err != nil && verifySums(final) != nil {
		return err
	}
	return nil
}

func compileWithDir(ctx context.Context, dir string, wasm []byte, config wazero.RuntimeConfig) (wazero.CompilationCache, *compiled, error) {
	cc, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	code, err := compileIn(ctx, cc, wasm, config)
	if err != nil {
		return nil, nil, errors.Join(err, cc.Close(ctx))
	}
	return cc, code, nil
}

// compileIn compiles within a cache. A module that makes the engine panic is an error like any other.
func compileIn(ctx context.Context, cc wazero.CompilationCache, wasm []byte, config wazero.RuntimeConfig) (code *compiled, err error) {
	rt := wazero.NewRuntimeWithConfig(ctx, config.WithCompilationCache(cc))
	defer func() {
		if v := recover(); v != nil {
			code, err = nil, errors.Join(fmt.Errorf("the engine panicked: %v", v), rt.Close(ctx))
		}
	}()
	m, err := rt.CompileModule(ctx, wasm)
	if err != nil {
		return nil, errors.Join(err, rt.Close(ctx))
	}
	return &compiled{runtime: rt, module: m}, nil
}

// isDiskError reports whether compiling failed for the folder's sake.
func isDiskError(err error) bool {
	var pe *fs.PathError
	var le *os.LinkError
	return errors.As(err, &pe) || errors.As(err, &le)
}

// verifySums compares an entry's files with its checksums. A missing entry is fs.ErrNotExist.
func verifySums(dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return err
	}
	want, err := readBounded(filepath.Join(dir, sumFile), 64<<10)
	if err != nil {
		return fmt.Errorf("unreadable checksums: %v", err)
	}
	got, err := folderSums(dir)
	if err != nil {
		return fmt.Errorf("unreadable entry: %v", err)
	}
	if !bytes.Equal(got, want) {
		return errors.New("its checksums do not match")
	}
	return nil
}

// folderSums returns a line "digest  path" for each file below dir but the file of checksums, in order of the paths.
func folderSums(dir string) ([]byte, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == sumFile {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", rel)
		}
		sum, err := fileSum(path)
		if err != nil {
			return err
		}
		lines = append(lines, hex.EncodeToString(sum)+"  "+filepath.ToSlash(rel)+"\n")
		return nil
	})
	slices.Sort(lines)
	return []byte(strings.Join(lines, "")), err
}

func fileSum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return b, err
}
