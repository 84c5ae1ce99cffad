package meter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// bulkModule has four pages of memory, each byte another than its neighbours,
// and an export for each bulk operation on given operands.
func bulkModule() []byte {
	args := cat(0x20, 0, 0x20, 1, 0x20, 2)
	var data []byte
	for i := range 64 << 10 {
		data = append(data, byte(i*7+i>>8))
	}
	seg := cat(0, 0x41, 0, 0x0b, leb(uint32(len(data))), data)
	return mod(sec(1, typ(tI32+tI32+tI32, ""), typ(tI32, tI32), typ(tI32+tI32, "")), sec(3, []byte{0}, []byte{0}, []byte{0}, []byte{1}, []byte{2}, []byte{2}),
		sec(5, cat(1, leb(40), leb(64))), sec(7, expFunc("fill", 0), expFunc("copy", 1), expFunc("init", 2), expFunc("grow", 3),
			expFunc("fill100", 4), expFunc("copy100", 5), cat(str("memory"), 2, 0)),
		raw(12, []byte{2}),
		sec(10, body(nil, args, []byte{0xfc}, 11, 0), body(nil, args, []byte{0xfc}, 10, 0, 0), body(nil, args, []byte{0xfc}, 8, 1, 0),
			body(nil, 0x20, 0, 0x40, 0), body(nil, 0x20, 0, 0x20, 1, 0x41, sleb(100), []byte{0xfc}, 11, 0),
			body(nil, 0x20, 0, 0x20, 1, 0x41, sleb(100), []byte{0xfc}, 10, 0, 0)),
		sec(11, seg, cat(1, leb(uint32(len(data))), data)))
}

// TestBulk: cut into chunks or not, bulk operations do what they did: the same
// bytes, the same traps, nothing written before a trap.
func TestBulk(t *testing.T) {
	wasm := bulkModule()
	rt := newRuntime(t)
	plain, metered := plainModule(t, rt, wasm), newInstance(t, rt, wasm)
	const size = 40 << 16
	for _, c := range []struct {
		op      string
		a, b, n uint32
	}{
		{"fill", 10, 7, 100},
		{"fill", 0, 7, size},
		{"fill", 1, 9, size},
		{"fill", 5, 3, 1 << 20},
		{"fill", 5, 3, 512<<10 + 1},
		{"fill", size, 1, 0},
		{"fill", size + 1, 1, 0},
		{"fill", 0xffffffff, 1, 0xffffffff},
		{"fill", 100, 1, 0xffffffff},
		{"copy", 1000, 0, 1 << 20},
		{"copy", 0, 1000, 1 << 20},
		{"copy", 700_000, 0, 1 << 20},
		{"copy", 0, 700_000, 1 << 20},
		{"copy", 3, 2, size - 3},
		{"copy", 2, 3, size - 3},
		{"copy", 2, 3, size - 2},
		{"copy", 3, 2, size - 2},
		{"copy", 9, 9, 2 << 20},
		{"copy", 0xffffff00, 0, 1 << 20},
		{"copy", 0, 0xffffff00, 1 << 20},
		{"copy", 64, 65536, 0},
		{"copy", size + 1, 0, 0},
		{"init", 100, 5, 60_000},
		{"init", 100, 5, 65_536},
		{"init", size - 1, 0, 2},
		{"fill100", 500, 0xabc, 0},
		{"fill100", size - 99, 0xabc, 0},
		{"copy100", 500, 550, 0},
		{"copy100", 500, size - 99, 0},
	} {
		t.Run(fmt.Sprintf("%s %d %d %d", c.op, c.a, c.b, c.n), func(t *testing.T) {
			args := []uint64{uint64(c.a), uint64(c.b), uint64(c.n)}
			if c.op == "fill100" || c.op == "copy100" {
				args = args[:2]
			}
			_, wantErr := plain.ExportedFunction(c.op).Call(context.Background(), args...)
			_, gotErr := metered.call(nil, c.op, args...)
			if d := cmp.Diff(trap(gotErr), trap(wantErr)); d != "" {
				t.Errorf("traps differ:\n%s", d)
			}
			want, _ := plain.Memory().Read(0, plain.Memory().Size())
			got, _ := metered.mod.Memory().Read(0, metered.mod.Memory().Size())
			if !bytes.Equal(got, want) {
				t.Error("memories differ")
			}
		})
	}
}

// TestBulkCharges: the length of a bulk operation is paid for before it runs,
// in pieces of at most a slice where it can be cut.
func TestBulkCharges(t *testing.T) {
	i := newInstance(t, newRuntime(t), bulkModule())
	for _, c := range []struct {
		name   string
		op     string
		args   []uint64
		least  int64 // units
		yields int
	}{
		{"fill of 2 MiB", "fill", []uint64{0, 1, 2 << 20}, 2 << 20 / 8, 3},
		{"copy of 2 MiB", "copy", []uint64{0, 100, 2 << 20}, 2 << 20 / 8, 3},
		{"init of 64 KiB", "init", []uint64{0, 0, 64 << 10}, 8 << 10, 1},
		{"growth by ten pages", "grow", []uint64{10}, 50 << 13, 2},
		{"growth that fails", "grow", []uint64{1000}, 1050 << 13, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &callState{}
			if _, err := i.call(s, c.op, c.args...); err != nil {
				t.Fatal(err)
			}
			units := s.units - int64(int32(uint32(i.global(meter.FuelExport).Get())))
			if units < c.least || s.yields < c.yields {
				t.Errorf("%d units in %d yields, want at least %d in %d", units, s.yields, c.least, c.yields)
			}
		})
	}
	// Ended in the middle: only what was paid for is written.
	i.mod.Memory().Write(0, make([]byte, i.mod.Memory().Size()))
	if _, err := i.call(&callState{until: after(2)}, "fill", 0, 1, 2<<20); !errors.Is(err, errInterrupted) {
		t.Fatalf("ended with %v", err)
	}
	all, _ := i.mod.Memory().Read(0, 2<<20)
	if n := bytes.Count(all, []byte{1}); n == 0 || n >= 2<<20 || n%(512<<10) != 0 {
		t.Errorf("%d bytes were written before the interruption", n)
	}
}
