package meter_test

import (
	"context"
	"slices"
	"testing"
	"time"

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
