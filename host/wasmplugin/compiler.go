package wasmplugin

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Compiler compiles modules outside of this process. The engine cannot be interrupted while it compiles, and a module of
// 37 KB can keep it busy for half a minute with 600 MB: only another process can be ended. See [ChildCompiler].
type Compiler interface {
	// Compile leaves the code of job.Wasm in job.Dir, by [CompileModule]. It is called concurrently, for different modules.
	// It ends when ctx is done, and holds to job.Memory; whatever it writes outside of job.Dir it removes. An error is one
	// line, to which the plugin's name is added.
	Compile(ctx context.Context, job *CompileJob) error
}

// CompileJob is one module to compile.
type CompileJob struct {
	// Plugin is the plugin's name, for messages.
	Plugin string
	// Wasm is what to compile: not the plugin's own module, but what metering made of it.
	Wasm []byte
	// Dir is an empty folder of this job's own.
	Dir string
	// Memory is the most that the process may take, in bytes; negative: no bound. The time is bounded by the context.
	Memory int64
}

// CompileModule compiles a module and leaves the code in dir, for a [Compiler]. It takes as long and as much memory as the engine
// takes, and ctx does not end it.
func CompileModule(ctx context.Context, dir string, wasm []byte) error {
	probe, err := os.MkdirTemp(dir, "probe-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(probe)
	engine, err := engineName(probe)
	if err != nil {
		return err
	}
	cc, code, err := compileWithDir(ctx, filepath.Join(dir, engine), wasm)
	if err != nil {
		return err
	}
	return errors.Join(code.runtime.Close(ctx), cc.Close(ctx))
}

// childCompiler is [ChildCompiler].
type childCompiler struct {
	path string
	args []string
}

// ChildCompiler returns a [Compiler] that runs a program for each module: with the arguments given, and those that
// [CompileChild], which that program must call, takes. It is usually this program itself, with an argument that says so.
//
// The process gets no environment and none of this program's files, is killed when its time is over or the plugin is closed, and ends by
// itself when this process does, however that comes. README.md says what bounds its memory on each system.
func ChildCompiler(path string, args ...string) Compiler {
	return &childCompiler{path: path, args: args}
}

// How a child ends. No other program's exit codes should look like these.
const (
	childDone = 0
	// childRefused: the engine refused the module; the reason is on stdout.
	childRefused = iota + 64
	// childMemory: it came to its bound of memory.
	childMemory
	// childDisk: the folder cannot be written to; the reason is on stdout.
	childDisk
	// childUsage: it was not called by childCompiler.
	childUsage
	// childOrphan: the process that started it is gone.
	childOrphan
)

const (
	// maxChildText bounds what is kept of a child's output.
	maxChildText = 4 << 10
	// childGrace is how long a killed child may take to be gone.
	childGrace = 5 * time.Second
)

// Compile implements Compiler.
func (c *childCompiler) Compile(ctx context.Context, job *CompileJob) error {
	args := append(append([]string(nil), c.args...), job.Dir, strconv.FormatInt(job.Memory, 10))
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Env = []string{} // secrets stand in the environment
	cmd.Dir = job.Dir
	cmd.SysProcAttr = childAttributes()
	cmd.WaitDelay = childGrace
	var said, failed boundedText
	cmd.Stdout, cmd.Stderr = &said, &failed
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("compiling it needs a child process: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("compiling it needs a child process, which cannot be started: %w", err)
	}
	// The pipe stays open while the child works: its end tells the child that nobody waits any more. What cannot be
	// written shows in how the child ends.
	_ = writeJob(stdin, job.Wasm)
	err = cmd.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return childError(cmd.ProcessState.ExitCode(), err, job, said.String(), failed.String())
}

func writeJob(w io.Writer, wasm []byte) error {
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(wasm)))); err != nil {
		return err
	}
	_, err := w.Write(wasm)
	return err
}

// childError says in one line how a child failed.
func childError(code int, err error, job *CompileJob, said, failed string) error {
	if err == nil {
		return nil
	}
	outOfMemory := strings.Contains(failed, "out of memory") || strings.Contains(failed, "cannot allocate memory")
	switch {
	case code == childRefused && said != "":
		return errors.New(safeText(said, maxEngineText))
	case code == childDisk && said != "":
		return &diskError{errors.New(safeText(said, maxEngineText))}
	case code == childMemory || outOfMemory:
		return fmt.Errorf("compiling it takes more than %s of memory: the module is too large or too intricate, or limits.compile_memory too small", bytesText(job.Memory))
	case failed != "":
		first, _, _ := strings.Cut(failed, "\n")
		return fmt.Errorf("the process that compiled it failed (%w): %s", err, safeText(first, maxEngineText))
	}
	return fmt.Errorf("the process that compiled it failed: %w", err)
}

// diskError is a folder that code cannot be written to.
type diskError struct{ err error }

func (e *diskError) Error() string { return e.err.Error() }
func (e *diskError) Unwrap() error { return e.err }

// bytesText writes a number of bytes for people.
func bytesText(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if size := int64(1) << (30 - 10*i); n >= size && n%size == 0 {
			return fmt.Sprintf("%d %s", n/size, unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// boundedText keeps the beginning of what is written to it.
type boundedText struct{ bytes.Buffer }

func (t *boundedText) Write(b []byte) (int, error) {
	t.Buffer.Write(b[:min(len(b), maxChildText-t.Len())])
	return len(b), nil
}
