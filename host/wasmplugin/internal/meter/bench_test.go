package meter_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

func BenchmarkInstrument(b *testing.B) {
	for _, g := range []struct {
		name  string
		build func(testing.TB) []byte
	}{{"go", goGuest}, {"c", func(tb testing.TB) []byte { return cGuest(tb, "guest.c") }}} {
		b.Run(g.name, func(b *testing.B) {
			wasm := g.build(b)
			b.SetBytes(int64(len(wasm)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := meter.Instrument(wasm, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRatio compares metered with plain in one run: the median of nine
// alternating pairs, as times plain.
func BenchmarkRatio(b *testing.B) {
	for _, g := range []struct {
		name  string
		build func(testing.TB) []byte
		work  []work
	}{
		{"go", goGuest, goWork},
		{"c", func(tb testing.TB) []byte { return cGuest(tb, "guest.c") }, cWork},
	} {
		b.Run(g.name, func(b *testing.B) {
			wasm := g.build(b)
			rt := newRuntime(b)
			plain, metered := plainModule(b, rt, wasm), newInstance(b, rt, wasm)
			for _, w := range g.work {
				b.Run(w.export, func(b *testing.B) {
					fn := plain.ExportedFunction(w.export)
					var ratios []float64
					for b.Loop() {
						ratios = ratios[:0]
						for range 9 {
							p := clock(func() { fn.Call(context.Background(), w.arg) })
							m := clock(func() { metered.call(&callState{}, w.export, w.arg) })
							ratios = append(ratios, float64(m)/float64(p))
						}
					}
					slices.Sort(ratios)
					b.ReportMetric(ratios[len(ratios)/2], "×plain")
					b.ReportMetric(0, "ns/op")
				})
			}
		})
	}
}

// BenchmarkCall is what it costs to call a guest that does nothing: metered, plain, and plain with the engine's own means
// of interruption.
func BenchmarkCall(b *testing.B) {
	wasm := one(nil)
	b.Run("metered", func(b *testing.B) {
		i := newInstance(b, newRuntime(b), wasm)
		fn, fuel, stack := i.mod.ExportedFunction("run"), i.global(meter.FuelExport), i.global(meter.StackExport)
		ctx := context.WithValue(context.Background(), callKey{}, &callState{})
		for b.Loop() {
			fuel.Set(0)
			stack.Set(meter.StackBudget)
			if _, err := fn.Call(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, interruptible := range map[string]bool{"plain": false, "WithCloseOnContextDone": true} {
		b.Run(name, func(b *testing.B) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(interruptible))
			defer rt.Close(ctx)
			mod, err := rt.Instantiate(ctx, wasm)
			if err != nil {
				b.Fatal(err)
			}
			fn := mod.ExportedFunction("run")
			for b.Loop() {
				if _, err := fn.Call(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// clock is the shortest of a few runs, so that a neighbour's work on the same
// core does not count.
func clock(f func()) time.Duration {
	best := time.Duration(1 << 62)
	for range 5 {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}
