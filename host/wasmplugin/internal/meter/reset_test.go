package meter_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/api"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// TestResetAfterInterruption ends calls of real guests at every one of their
// first yields and wants the next call, after a reset, to give what a new
// instance gives.
func TestResetAfterInterruption(t *testing.T) {
	for _, g := range []struct {
		name  string
		build func(testing.TB) []byte
		work  []work
	}{
		{"go", goGuest, goWork},
		{"c", func(tb testing.TB) []byte { return cGuest(tb, "guest.c") }, cWork},
	} {
		t.Run(g.name, func(t *testing.T) {
			wasm := g.build(t)
			rt := newRuntime(t)
			i, fresh := newInstance(t, rt, wasm), newInstance(t, rt, wasm)
			for _, w := range g.work {
				want, err := fresh.call(nil, w.export, w.arg)
				if err != nil {
					t.Fatal(err)
				}
				fresh.reset()
				for _, n := range []int{1, 2, 3, 5, 8} {
					_, err := i.call(&callState{until: after(n), slice: 5000}, w.export, w.arg)
					if err != nil && !errors.Is(err, errInterrupted) {
						t.Fatalf("%s: ended with %v", w.export, err)
					}
					i.reset()
					got, err := i.call(nil, w.export, w.arg)
					if err != nil {
						t.Fatalf("%s after a call ended at yield %d: %v", w.export, n, err)
					}
					if d := cmp.Diff(got, want); d != "" {
						t.Errorf("%s after a call ended at yield %d:\n%s", w.export, n, d)
					}
					i.reset()
				}
			}
		})
	}
}

// growModule grows its memory by a page, fills all of it with its argument,
// and runs on for ever when that is 0; other exports tell size and sum.
func growModule() []byte {
	run := cat(0x41, 1, 0x40, 0, 0x1a, 0x41, 0, 0x20, 0, 0x3f, 0, 0x41, 16, 0x74, []byte{0xfc}, 11, 0,
		0x20, 0, 0x45, 0x04, 0x40, loopForever, 0x0b, 0x20, 0, 0x24, 0)
	return mod(sec(1, typ(tI32, ""), typ("", tI32), typ(tI32, tI32)), sec(3, []byte{0}, []byte{1}, []byte{2}, []byte{1}), sec(5, cat(1, 1, 5)),
		sec(6, cat(tI32, 1, 0x41, 42, 0x0b)),
		sec(7, expFunc("run", 0), expFunc("size", 1), expFunc("grow", 2), expFunc("global", 3)),
		sec(10, body(nil, run), body(nil, 0x3f, 0), body(nil, 0x20, 0, 0x40, 0), body(nil, 0x23, 0)))
}

// TestResetAfterGrowth: the engine's memory stays large, the guest's is as
// small as it was, holds nothing of the call before, and grows again.
func TestResetAfterGrowth(t *testing.T) {
	i := newInstance(t, newRuntime(t), growModule())
	size := func() uint64 {
		r, err := i.call(nil, "size")
		if err != nil {
			t.Fatal(err)
		}
		return r[0]
	}
	for round := range 20 { // more often than the memory could really grow
		if n := size(); n != 1 {
			t.Fatalf("round %d: %d pages after a reset, want 1", round, n)
		}
		if r, _ := i.call(nil, "global"); r[0] != 42 {
			t.Fatalf("round %d: global is %d after a reset, want 42", round, r[0])
		}
		_, err := i.call(&callState{until: after(3)}, "run", uint64(round%2)*255)
		if (round%2 == 0) != errors.Is(err, errInterrupted) {
			t.Fatalf("round %d: ended with %v", round, err)
		}
		if n := size(); n != 2 {
			t.Fatalf("round %d: grew to %d pages, want 2", round, n)
		}
		i.reset()
		all, _ := i.mod.Memory().Read(0, i.mod.Memory().Size())
		if n := bytes.Count(all, []byte{0}); n != len(all) {
			t.Fatalf("round %d: %d bytes of the call before are left", round, len(all)-n)
		}
	}
	// The maximum holds, over the pages that were there already and the rest.
	for _, c := range []struct{ delta, want uint64 }{
		{0, 1}, {3, 1}, {2, 0xffffffff}, {1, 4}, {0, 5}, {1, 0xffffffff}, {0xffffffff, 0xffffffff}, {0x80000000, 0xffffffff}, {0, 5},
	} {
		r, err := i.call(nil, "grow", c.delta)
		if err != nil || r[0] != c.want {
			t.Errorf("growth by %d answers %d (%v), want %d", c.delta, int32(r[0]), err, int32(c.want))
		}
	}
}

// TestTrapNames: a trap names the guest's own functions, although the pass
// moved them.
func TestTrapNames(t *testing.T) {
	names := func(fs ...string) []byte {
		b := cat(len(fs))
		for i, f := range fs {
			b = cat(b, i, str(f))
		}
		return raw(0, cat(str("name"), 0, leb(6), str("guest"), 1, leb(uint32(len(b))), b, 2, 1, 0))
	}
	w := mod(sec(1, typ("", "")),
		sec(3, []byte{0}, []byte{0}, []byte{0}), sec(7, expFunc("run", 2)),
		sec(10, body(nil, 0x00), body(nil, 0x10, 0), body(nil, 0x10, 1)), names("the_culprit", "its_caller", "entry"))
	i := newInstance(t, newRuntime(t), w)
	_, err := i.call(nil, "run")
	if err == nil {
		t.Fatal("no trap")
	}
	for _, name := range []string{"guest.the_culprit()", "guest.its_caller()", "guest.entry()"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%s is missing in the trap:\n%v", name, err)
		}
	}
}

// TestFuel is the arithmetic of the host's side.
func TestFuel(t *testing.T) {
	for _, c := range []struct{ left, want int32 }{
		{0, meter.Slice}, {-1, meter.Slice - 1}, {-meter.Slice, 0}, {-meter.Slice - 1, 0}, {-1 << 31, 0}, {5, meter.Slice},
	} {
		if got := meter.Refill(c.left); got != c.want {
			t.Errorf("Refill(%d) = %d, want %d", c.left, got, c.want)
		}
	}
	for _, c := range []struct {
		left  int32
		units int64
		want  int32
	}{{100, 30, 70}, {100, 101, -1}, {100, -5, 100}, {0, 1 << 62, -1 << 30}, {-1 << 30, 1, -1 << 30}} {
		if got := meter.Charge(c.left, c.units); got != c.want {
			t.Errorf("Charge(%d, %d) = %d, want %d", c.left, c.units, got, c.want)
		}
	}
}

// TestConcurrent: passes share nothing.
func TestConcurrent(t *testing.T) {
	wasm := bulkModule()
	want, err := meter.Instrument(wasm, nil)
	if err != nil {
		t.Fatal(err)
	}
	original := bytes.Clone(wasm)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				got, err := meter.Instrument(wasm, nil)
				if err != nil || !bytes.Equal(got.Wasm, want.Wasm) {
					t.Errorf("another result: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if !bytes.Equal(wasm, original) {
		t.Error("the original was changed")
	}
}

// TestNoMemory: a module without one is metered too, and says so.
func TestNoMemory(t *testing.T) {
	res, err := meter.Instrument(one(nil), nil)
	if err != nil || res.Memory || len(res.Globals) != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if _, err := newRuntime(t).Instantiate(context.Background(), res.Wasm); err != nil {
		t.Error(err)
	}
}

// TestHostCharge: what a host function takes of the fuel brings the next yield
// forward, up to the most that it can take.
func TestHostCharge(t *testing.T) {
	// run calls work a hundred times.
	w := mod(sec(1, typ("", "")), sec(2, cat(str("env"), str("work"), 0, 0)), sec(3, []byte{0}), sec(7, expFunc("run", 1)),
		sec(10, body(cat(1, 1, 0x7f), 0x03, 0x40, 0x10, 0, 0x20, 0, 0x41, 1, 0x6a, 0x22, 0, 0x41, sleb(100), 0x49, 0x0d, 0, 0x0b)))
	for _, c := range []struct {
		units       int64
		least, most int
	}{{0, 1, 1}, {10_000, 10, 12}, {meter.Slice, 99, 102}, {1 << 40, 99, 202}} {
		ctx := context.Background()
		rt := newRuntime(t)
		_, err := rt.NewHostModuleBuilder("env").NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, _ []uint64) {
			fuel := m.ExportedGlobal(meter.FuelExport).(api.MutableGlobal)
			fuel.Set(uint64(uint32(meter.Charge(int32(uint32(fuel.Get())), c.units))))
		}), nil, nil).Export("work").Instantiate(ctx)
		if err != nil {
			t.Fatal(err)
		}
		s := &callState{}
		if _, err := newInstance(t, rt, w).call(s, "run"); err != nil {
			t.Fatal(err)
		}
		if s.yields < c.least || s.yields > c.most {
			t.Errorf("%d units a host call: %d yields, want %d to %d", c.units, s.yields, c.least, c.most)
		}
	}
}
