package meter_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// FuzzInstrument: what is accepted here, the engine accepts, as it was and
// rewritten; what is refused gets an *Error that points into the module; a
// rewritten module is never taken for an original.
func FuzzInstrument(f *testing.F) {
	for _, wasm := range seeds(f) {
		f.Add(wasm)
	}
	ctx := context.Background()
	// The interpreter checks as the compiler does and is faster at it.
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	f.Cleanup(func() { rt.Close(ctx) })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		res, err := meter.Instrument(wasm, nil)
		if err != nil {
			var e *meter.Error
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(wasm) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		// The engine refuses an empty custom section at the end of a file, by an
		// oversight; the pass leaves it out. So another section follows.
		original := append(slices.Clone(wasm), raw(0, cat(str("end"), 1))...)
		for i, w := range [][]byte{original, res.Wasm} {
			c, err := rt.CompileModule(ctx, w)
			if err != nil {
				t.Fatalf("accepted, but the engine refuses it (rewritten %v): %v", i == 1, err)
			}
			c.Close(ctx)
		}
		if _, err := meter.Instrument(res.Wasm, nil); err == nil {
			t.Fatal("took its own result for an original")
		}
	})
}

// seeds are the modules of the other tests and some of the specification's.
func seeds(tb testing.TB) [][]byte {
	out := [][]byte{
		bulkModule(), callTree(3), manySpills(2), one(loopForever), parts{}.module(),
		parts{elem: cat(6, 1, 0x41, 0, 0x0b, 0x70, 2, []byte{0xd2}, 1, 0x0b, []byte{0xd0}, 0x70, 0x0b)}.module(),
		parts{code: cat(0x02, 0x40, 0x41, 0, 0x0e, 1, 0, 1, 0x0b)}.module(),
		parts{code: cat([]byte{0xd0}, 0x70, 0x41, 0, []byte{0xfc}, 15, 1, 0x1a)}.module(),
		parts{code: cat(0x23, 0, 0x04, 0x7f, 0x41, 1, 0x05, 0x41, 2, 0x0b, 0x24, 1)}.module(),
		parts{code: cat([]byte{0xfd}, 12, make([]byte, 16), []byte{0xfd, 0x80, 1}, 0x1a)}.module(),
	}
	files, err := filepath.Glob(filepath.Join(specDir(tb), "*.wasm"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no modules of the specification: %v", err)
	}
	for i, f := range files {
		if i%9 != 0 {
			continue
		}
		b, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		if len(b) < 4096 {
			out = append(out, b)
		}
	}
	return out
}
