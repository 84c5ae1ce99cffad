package wasmplugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/tetratelabs/wazero"
)

// codeCache holds compiled code: one entry per digest, shared by the plugins with equal bytes, and on disk where there is
// a folder (see codeStore). What is not there is compiled, in another process where there is a compiler.
type codeCache struct {
	store    *codeStore
	compiler Compiler // nil: this process compiles
	memory   int64    // of one compilation by compiler, in bytes
	log      *slog.Logger
	jobs     chan struct{} // one token per compilation that may run

	mu      sync.Mutex // guards entries and each entry's refs
	entries map[string]*codeEntry
}

// codeEntry is the code of one digest. The engine has to be asked by one goroutine at a time for one module: the lock of
// the entry sees to that.
type codeEntry struct {
	digest string
	refs   int // guarded by codeCache.mu

	lock chan struct{} // holds one token while compiling; guards cache and users
	// cache is the engine's, nil while there are no users: the engine drops the code of which nobody has a use, and the next
	// would compile it again.
	cache wazero.CompilationCache
	users int
}

func newCodeCache(opts *Options) (*codeCache, error) {
	c := &codeCache{
		compiler: opts.Compiler, memory: opts.CompileMemory, log: opts.Logger,
		jobs: make(chan struct{}, opts.CompileJobs), entries: map[string]*codeEntry{},
	}
	if opts.CacheDir == "" && c.compiler == nil {
		return c, nil
	}
	var err error
	c.store, err = newCodeStore(opts.CacheDir, opts.CacheBytes, opts.Logger)
	return c, err
}

// acquire returns the entry of a digest and counts the caller as a user of it.
func (c *codeCache) acquire(digest string) *codeEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[digest]
	if e == nil {
		e = &codeEntry{digest: digest, lock: make(chan struct{}, 1)}
		c.entries[digest] = e
	}
	e.refs++
	return e
}

// release ends a use. code is what compile gave, if anything; its instances must be gone by then.
func (c *codeCache) release(ctx context.Context, e *codeEntry, code *compiled) error {
	var err error
	if code != nil {
		e.lock <- struct{}{}
		err = code.runtime.Close(ctx)
		if e.users--; e.users == 0 {
			err = errors.Join(err, e.cache.Close(ctx))
			e.cache = nil
		}
		<-e.lock
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.refs--; e.refs == 0 {
		delete(c.entries, e.digest)
	}
	return err
}

// compiled is a module's code together with the engine it lives in.
type compiled struct {
	runtime wazero.Runtime
	module  wazero.CompiledModule
}

// compileJob is what a codeCache is asked for.
type compileJob struct {
	name string // of the plugin
	wasm []byte // the rewritten module
	// begun, where it is set, is called when the work begins, after the wait for others'. It returns a context that bounds it.
	begun func(ctx context.Context) (context.Context, context.CancelFunc)
	// entered is told where the work is.
	entered func(State)
	// stored says that nothing had to be compiled.
	stored bool
}

// compile returns code of an entry that was acquired, in an engine of the caller's own that shares the code with others.
func (c *codeCache) compile(ctx context.Context, e *codeEntry, job *compileJob) (code *compiled, err error) {
	for _, turn := range []chan struct{}{e.lock, c.jobs} {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if job.begun != nil {
		var end context.CancelFunc
		ctx, end = job.begun(ctx)
		defer end()
	}
	job.entered(StateCompiling)
	if e.cache == nil {
		e.cache, code, err = c.obtain(ctx, e.digest, job)
	} else {
		job.stored = true
		code, err = compileIn(ctx, e.cache, job.wasm)
	}
	if err == nil {
		e.users++
	}
	return code, err
}

// obtain takes code from disk, or compiles it and puts it there.
func (c *codeCache) obtain(ctx context.Context, digest string, job *compileJob) (wazero.CompilationCache, *compiled, error) {
	if c.store == nil {
		return compileInMemory(ctx, job.wasm)
	}
	if cc, code := c.stored(ctx, digest, job.wasm); code != nil {
		job.stored = true
		return cc, code, nil
	}
	c.log.Info("compiling", "plugin", job.name)
	cc, code, err := c.compileToDisk(ctx, digest, job, c.store.scratch)
	if err == nil || !isDiskError(err) {
		return cc, code, err
	}
	c.log.Warn("compiled code cannot be kept on disk", "error", err)
	if c.compiler == nil {
		return compileInMemory(ctx, job.wasm)
	}
	return c.compileToDisk(ctx, digest, job, c.store.elsewhere)
}

// stored takes an entry from disk; nil where there is none that is good.
func (c *codeCache) stored(ctx context.Context, digest string, wasm []byte) (wazero.CompilationCache, *compiled) {
	dir, err := c.store.stage(digest)
	if err == nil {
		defer os.RemoveAll(dir)
		var cc wazero.CompilationCache
		var code *compiled
		if cc, code, err = compileWithDir(ctx, dir, wasm); err == nil {
			return cc, code
		}
	}
	if !errors.Is(err, os.ErrNotExist) {
		c.log.Warn("a cache entry is discarded", "entry", c.store.path(digest), "error", err)
		c.store.drop(digest)
	}
	return nil, nil
}

// compileToDisk compiles into a new folder, loads what is there, and moves it to its place.
func (c *codeCache) compileToDisk(ctx context.Context, digest string, job *compileJob, scratch func() (string, error)) (wazero.CompilationCache, *compiled, error) {
	tmp, err := scratch()
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(tmp)
	entry := filepath.Join(tmp, c.store.engine)
	if c.compiler != nil {
		err := c.compiler.Compile(ctx, &CompileJob{Plugin: job.name, Wasm: job.wasm, Dir: tmp, Memory: c.memory})
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		if err == nil {
			err = checkCode(entry)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	cc, code, err := compileWithDir(ctx, entry, job.wasm)
	if err != nil {
		return nil, nil, err
	}
	if err := c.store.publish(entry, digest); err != nil {
		c.log.Warn("compiled code cannot be kept on disk", "error", err)
	}
	return cc, code, nil
}

// checkCode looks for the code that another process left in a folder: without it, the engine would compile here.
func checkCode(entry string) error {
	files, size, err := folderSize(entry)
	switch {
	case errors.Is(err, os.ErrNotExist) || err == nil && files != 1:
		return errors.New("the compiler is a program with another engine than this one: give it the same version")
	case err != nil:
		return err
	case size > maxCode:
		return fmt.Errorf("its compiled code has %d bytes, more than the limit of %d", size, int64(maxCode))
	}
	return nil
}

func compileWithDir(ctx context.Context, dir string, wasm []byte) (wazero.CompilationCache, *compiled, error) {
	cc, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	return compileWith(ctx, cc, wasm)
}

func compileInMemory(ctx context.Context, wasm []byte) (wazero.CompilationCache, *compiled, error) {
	return compileWith(ctx, wazero.NewCompilationCache(), wasm)
}

func compileWith(ctx context.Context, cc wazero.CompilationCache, wasm []byte) (wazero.CompilationCache, *compiled, error) {
	code, err := compileIn(ctx, cc, wasm)
	if err != nil {
		return nil, nil, errors.Join(err, cc.Close(ctx))
	}
	return cc, code, nil
}

// compileIn compiles within a cache. A module that makes the engine panic is an error like any other.
func compileIn(ctx context.Context, cc wazero.CompilationCache, wasm []byte) (code *compiled, err error) {
	rt := wazero.NewRuntimeWithConfig(ctx, engineConfig().WithCompilationCache(cc))
	defer func() {
		if v := recover(); v != nil {
			code, err = nil, errors.Join(fmt.Errorf("the module does not compile: the engine panicked: %v", v), rt.Close(ctx))
		}
	}()
	m, err := rt.CompileModule(ctx, wasm)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the module does not compile: %w", err), rt.Close(ctx))
	}
	return &compiled{runtime: rt, module: m}, nil
}

// isDiskError reports whether compiling failed for the folder's sake.
func isDiskError(err error) bool {
	var pe *os.PathError
	var le *os.LinkError
	return errors.As(err, &pe) || errors.As(err, &le) || errors.As(err, new(*diskError))
}
