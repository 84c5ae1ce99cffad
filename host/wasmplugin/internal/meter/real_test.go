package meter_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// plainModule instantiates the original.
func plainModule(tb testing.TB, rt wazero.Runtime, wasm []byte) api.Module {
	tb.Helper()
	mod, err := rt.InstantiateWithConfig(context.Background(), wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if err != nil {
		tb.Fatal(err)
	}
	return mod
}

// work is a call of a guest's export, sized for a comparison and a benchmark.
type work struct {
	export string
	arg    uint64
}

var (
	goWork = []work{
		{"hot", 100_000}, {"fib", 18}, {"sorted", 500}, {"counted", 3000}, {"floats", 20_000}, {"text", 4000}, {"deep", 3000}, {"caught", 30},
	}
	cWork = []work{
		{"hot", 100_000}, {"fib", 20}, {"sieve", 50_000}, {"matrix", 2}, {"copies", 10_000}, {"indirect", 50_000}, {"deep", 4000}, {"parse", 500},
	}
)

func TestRealGuests(t *testing.T) {
	for _, g := range []struct {
		name  string
		build func(testing.TB) []byte
		work  []work
	}{
		{"go", goGuest, goWork},
		{"c", func(tb testing.TB) []byte { return cGuest(tb, "guest.c") }, cWork},
		{"c -O0", func(tb testing.TB) []byte { return cGuest(tb, "guest.c", "-O0") }, cWork},
		{"c simd", func(tb testing.TB) []byte { return cGuest(tb, "guest.c", "-O3", "-msimd128") }, cWork},
	} {
		t.Run(g.name, func(t *testing.T) {
			wasm := g.build(t)
			rt := newRuntime(t)
			plain, metered := plainModule(t, rt, wasm), newInstance(t, rt, wasm)
			if len(metered.res.Fresh) != 0 {
				t.Errorf("needs fresh instances: %v", metered.res.Fresh)
			}
			t.Logf("%d bytes, %+v", len(wasm), metered.res.Stats)
			for _, w := range g.work {
				compareCalls(t, plain, metered, w)
			}
		})
	}
}

func compareCalls(t *testing.T, plain api.Module, metered *instance, w work) {
	t.Helper()
	want, err := plain.ExportedFunction(w.export).Call(context.Background(), w.arg)
	if err != nil {
		t.Fatal(err)
	}
	s := &callState{}
	got, err := metered.call(s, w.export, w.arg)
	if err != nil {
		t.Fatalf("%s: %v", w.export, err)
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("%s: metered and plain differ:\n%s", w.export, d)
	}
	if left := metered.stackLeft(); left != meter.StackBudget {
		t.Errorf("%s: %d of %d bytes of the stack budget came back", w.export, left, meter.StackBudget)
	}
	if s.yields == 0 {
		t.Errorf("%s: no yield", w.export)
	}
}
