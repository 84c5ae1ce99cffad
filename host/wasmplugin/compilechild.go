package wasmplugin

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

const (
	// maxMetered bounds what a child reads: a module, and what metering adds.
	maxMetered = 8 * meter.MaxModule
	// memoryLook is how often a child looks at the memory that it has.
	memoryLook = 5 * time.Millisecond
)

// CompileChild is what the program of a [ChildCompiler] runs: it compiles the module on stdin and returns the code to exit
// with. args are those after the program's own. It bounds the whole process (its memory, the files it writes), so nothing
// else may run there, and the program must exit when it returns: where a bound is met the engine is still at work.
func CompileChild(args []string, stdin io.Reader, stdout io.Writer) int {
	if len(args) != 2 {
		return childUsage
	}
	dir := args[0]
	memory, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return childUsage
	}
	boundChild(memory)
	wasm, err := readJob(stdin)
	if err != nil {
		return childUsage
	}
	ended := make(chan int, 3)
	go func() { ended <- compileForParent(dir, wasm, stdout) }()
	go func() {
		// Nothing more is sent: the pipe's end is the parent's.
		_, _ = io.Copy(io.Discard, stdin)
		ended <- childOrphan
	}()
	if memory >= 0 {
		debug.SetMemoryLimit(memory / 8 * 7) // rather collect than pass the bound
		look := time.NewTicker(memoryLook)
		defer look.Stop()
		for {
			select {
			case code := <-ended:
				return code
			case <-look.C:
				if heldMemory() > memory {
					return childMemory
				}
			}
		}
	}
	return <-ended
}

// readJob reads what writeJob wrote.
func readJob(r io.Reader) ([]byte, error) {
	var size [8]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(size[:])
	if n > maxMetered {
		return nil, fmt.Errorf("a module of %d bytes", n)
	}
	wasm := make([]byte, n)
	_, err := io.ReadFull(r, wasm)
	return wasm, err
}

// compileForParent compiles and says how that went.
func compileForParent(dir string, wasm []byte, stdout io.Writer) int {
	err := CompileModule(context.Background(), dir, wasm)
	if err == nil {
		return childDone
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	if _, err := io.WriteString(stdout, first); err != nil {
		return childOrphan
	}
	if isDiskError(err) {
		return childDisk
	}
	return childRefused
}

// heldMemory is what the Go runtime has from the system, in bytes.
func heldMemory() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}
