package meter_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// errInterrupted is what the harness's yield panics with.
var errInterrupted = errors.New("interrupted")

// callState travels in a call's context and says how yield answers.
type callState struct {
	yields int
	until  func(s *callState, left int32) error // nil: never ends the call
	units  int64                                // fuel that was given
	slice  int32                                // 0: meter.Refill
}

type callKey struct{}

// newRuntime is a wazero runtime that serves yield and, inert, WASI.
func newRuntime(tb testing.TB) wazero.Runtime {
	tb.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithMemoryLimitPages(1024))
	tb.Cleanup(func() { rt.Close(ctx) })
	_, err := rt.NewHostModuleBuilder(meter.YieldModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(yield), []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI32}).
		Export(meter.YieldName).Instantiate(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	return rt
}

func yield(ctx context.Context, _ api.Module, stack []uint64) {
	left := int32(uint32(stack[0]))
	next := meter.Refill(left)
	if s, _ := ctx.Value(callKey{}).(*callState); s != nil {
		s.yields++
		if s.slice > 0 {
			next = s.slice
		}
		s.units += int64(next) - int64(left)
		if s.until != nil {
			if err := s.until(s, left); err != nil {
				panic(err)
			}
		}
	}
	stack[0] = uint64(uint32(next))
}

// instance is a metered guest that can be put back to a snapshot, as the pool
// of host/wasmplugin does it.
type instance struct {
	mod     api.Module
	res     *meter.Result
	memory  []byte // the snapshot
	globals []uint64
}

func newInstance(tb testing.TB, rt wazero.Runtime, wasm []byte) *instance {
	tb.Helper()
	res, err := meter.Instrument(wasm, nil)
	if err != nil {
		tb.Fatal(err)
	}
	ctx := experimental.WithMemoryAllocator(context.Background(), experimental.MemoryAllocatorFunc(reserve))
	mod, err := rt.InstantiateWithConfig(ctx, res.Wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { mod.Close(context.Background()) })
	i := &instance{mod: mod, res: res}
	i.snapshot()
	return i
}

// reserve allocates a memory that grows in place: the engine's own would be
// copied at each growth, and nothing can interrupt that.
func reserve(_, most uint64) experimental.LinearMemory {
	return &reserved{make([]byte, min(most, 64<<20))}
}

type reserved struct{ all []byte }

func (r *reserved) Reallocate(size uint64) []byte {
	if size > uint64(len(r.all)) {
		return nil
	}
	return r.all[:size:size]
}

func (r *reserved) Free() { r.all = nil }

func (i *instance) snapshot() {
	if m := i.mod.Memory(); i.res.Memory {
		view, _ := m.Read(0, m.Size())
		i.memory = append([]byte(nil), view...)
	}
	for _, g := range i.res.Globals {
		i.globals = append(i.globals, i.mod.ExportedGlobal(g).Get())
	}
}

// reset puts memory and globals back. The engine's memory cannot shrink: what it
// grew by is cleared, and the size that the guest sees is one of the globals.
func (i *instance) reset() {
	if m := i.mod.Memory(); i.res.Memory {
		view, _ := m.Read(0, m.Size())
		clear(view[copy(view, i.memory):])
	}
	for k, g := range i.res.Globals {
		i.global(g).Set(i.globals[k])
	}
}

func (i *instance) global(name string) api.MutableGlobal {
	return i.mod.ExportedGlobal(name).(api.MutableGlobal)
}

// call runs an export with a full stack budget and no fuel.
func (i *instance) call(s *callState, name string, args ...uint64) ([]uint64, error) {
	i.global(meter.FuelExport).Set(0)
	i.global(meter.StackExport).Set(meter.StackBudget)
	fn := i.mod.ExportedFunction(name)
	if fn == nil {
		return nil, fmt.Errorf("no export %s", name)
	}
	return fn.Call(context.WithValue(context.Background(), callKey{}, s), args...)
}

// stackLeft is the stack counter; below zero it explains a trap.
func (i *instance) stackLeft() int32 { return int32(uint32(i.global(meter.StackExport).Get())) }

// after ends a call at its nth yield.
func after(n int) func(*callState, int32) error {
	return func(s *callState, _ int32) error {
		if s.yields >= n {
			return errInterrupted
		}
		return nil
	}
}

// isTrap says that a call ended by the guest's own fault.
func isTrap(err error) bool { return strings.Contains(err.Error(), "wasm error:") }
