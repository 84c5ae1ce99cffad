package meter_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// block types and instructions of the hostile modules
var (
	loopForever = cat(0x03, 0x40, 0x0c, 0, 0x0b)
	one         = func(code []byte) []byte { // one exported function without memory
		return mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(7, expFunc("run", 0)), sec(10, body(nil, code)))
	}
	oneMem = func(locals, code []byte) []byte { // and with 2 to 1024 pages of memory
		return mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(5, cat(1, 2, leb(1024))), sec(7, expFunc("run", 0)), sec(10, body(locals, code)))
	}
)

// callTree is functions without a loop, each of which calls the next twice.
func callTree(n int) []byte {
	var types, bodies [][]byte
	for i := range n {
		types = append(types, []byte{0})
		if i == n-1 {
			bodies = append(bodies, body(nil))
		} else {
			bodies = append(bodies, body(nil, 0x10, leb(uint32(i+1)), 0x10, leb(uint32(i+1))))
		}
	}
	return mod(sec(1, typ("", "")), sec(3, types...), sec(7, expFunc("run", 0)), sec(10, bodies...))
}

// TestHostile runs what no guest should do until a deadline ends it. Yields
// come close together whatever the guest does: the longest time from one to
// the next is what a call overruns its deadline by.
func TestHostile(t *testing.T) {
	divisions := repeat(50_000, 0x41, 7, 0x6e) // x = x / 7, 150 KB without a branch
	fill := func(n int64) []byte { return cat(0x41, 0, 0x41, 0, 0x41, sleb(n), []byte{0xfc}, 11, 0) }
	for _, c := range []struct {
		name string
		wasm []byte
	}{
		{"loop", one(loopForever)},
		{"loop in a block in a loop", one(cat(0x03, 0x40, 0x02, 0x40, 0x03, 0x40, 0x0c, 2, 0x0b, 0x0b, 0x0b))},
		{"call tree without a loop", callTree(60)},
		{"straight line in a loop", one(cat(0x03, 0x40, 0x41, 1, divisions, 0x1a, 0x0c, 0, 0x0b))},
		{"long straight line in a loop", one(cat(0x03, 0x40, 0x41, 1, repeat(100_000, 0x41, 3, 0x6c), 0x1a, 0x0c, 0, 0x0b))},
		{"square roots", one(cat(0x03, 0x40, 0x43, "\x00\x00\x80\x3f", repeat(50_000, []byte{0x91}), 0x1a, 0x0c, 0, 0x0b))},
		{"bulk fill in a loop", oneMem(nil, cat(0x03, 0x40, fill(128<<10), 0x0c, 0, 0x0b))},
		{"bulk fill of all memory", oneMem(nil, cat(0x41, sleb(1022), 0x40, 0, 0x1a, 0x03, 0x40, fill(64<<20), 0x0c, 0, 0x0b))},
		{"copies of small blocks", oneMem(nil, cat(0x03, 0x40, repeat(1000, 0x41, 0, 0x41, 32, 0x41, 24, []byte{0xfc}, 10, 0, 0), 0x0c, 0, 0x0b))},
		{"memory grown page by page", oneMem(nil, cat(0x03, 0x40, 0x41, 1, 0x40, 0, 0x1a, 0x0c, 0, 0x0b))},
		{"ref.func", mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(7, expFunc("run", 0)), sec(10, body(nil, 0x03, 0x40, repeat(1000, []byte{0xd2}, 0, 0x1a), 0x0c, 0, 0x0b)))},
		{"table fill", mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(4, cat(0x70, 0, leb(100_000))), sec(7, expFunc("run", 0)),
			sec(10, body(nil, 0x03, 0x40, 0x41, 0, []byte{0xd0}, 0x70, 0x41, sleb(100_000), []byte{0xfc}, 17, 0, 0x0c, 0, 0x0b)))},
		{"start function", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.wasm == nil {
				hostileStart(t)
				return
			}
			i := newInstance(t, newRuntime(t), c.wasm)
			var longest time.Duration
			start := time.Now()
			last := start
			s := &callState{until: func(s *callState, _ int32) error {
				now := time.Now()
				if s.yields > 1 {
					longest = max(longest, now.Sub(last))
				}
				last = now
				if now.Sub(start) > 100*time.Millisecond {
					return errInterrupted
				}
				return nil
			}}
			_, err := i.call(s, "run")
			if !errors.Is(err, errInterrupted) {
				t.Fatalf("ended with %v, not by yield", err)
			}
			t.Logf("%d yields, longest gap %v", s.yields, longest)
			if longest > time.Second { // ten times the 100 ms that are allowed
				t.Errorf("%v between two yields", longest)
			}
			if s.yields < 3 {
				t.Errorf("%d yields in 100 ms", s.yields)
			}
		})
	}
}

// hostileStart: a start function that never ends is interrupted too, on the
// fuel that an instance starts with.
func hostileStart(t *testing.T) {
	rt := newRuntime(t)
	w := mod(sec(1, typ("", "")), sec(3, []byte{0}), raw(8, []byte{0}), sec(10, body(nil, loopForever)))
	res, err := meter.Instrument(w, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &callState{until: after(10)}
	if _, err := rt.Instantiate(context.WithValue(t.Context(), callKey{}, s), res.Wasm); !errors.Is(err, errInterrupted) {
		t.Errorf("start ended with %v, not by yield", err)
	}
}

// TestYieldInterval: no more than Slice units of work are done from one yield
// to the next, counted by a guest whose loop has a known weight.
func TestYieldInterval(t *testing.T) {
	// local 0 counts iterations of ten instructions into memory-less state.
	code := cat(0x03, 0x40, 0x23, 0, 0x41, 1, 0x6a, 0x24, 0, 0x01, 0x01, 0x01, 0x01, 0x01, 0x0c, 0, 0x0b)
	w := mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(6, cat(tI32, 1, 0x41, 0, 0x0b)), sec(7, expFunc("run", 0)), sec(10, body(nil, code)))
	i := newInstance(t, newRuntime(t), w)
	count := i.global(i.res.Globals[0])
	var last, most uint64
	s := &callState{until: func(s *callState, left int32) error {
		n := count.Get()
		most, last = max(most, n-last), n
		if s.yields > 20 {
			return errInterrupted
		}
		return nil
	}}
	if _, err := i.call(s, "run"); !errors.Is(err, errInterrupted) {
		t.Fatal(err)
	}
	if units := most * 10; units > meter.Slice {
		t.Errorf("%d units from one yield to the next, over %d", units, meter.Slice)
	}
	if most*10 < meter.Slice/2 {
		t.Errorf("only %d iterations from one yield to the next", most)
	}
}

// TestDeepRecursion: the budget ends recursion of small and of large frames,
// and what the engine's stack takes stays near it.
func TestDeepRecursion(t *testing.T) {
	recurse := func(locals []byte, before ...any) []byte { // f(x) = before; f(x) + x
		return mod(sec(1, typ(tI64, tI64)), sec(3, []byte{0}), sec(7, expFunc("run", 0)),
			sec(10, body(locals, cat(before...), 0x20, 0, 0x10, 0, 0x20, 0, 0x7c)))
	}
	var live []byte // a hundred values that stay on the stack across the call
	for range 100 {
		live = append(live, cat(0x20, 0, 0x42, 1, 0x7c)...)
	}
	for _, c := range []struct {
		name string
		wasm []byte
	}{
		{"small frames", recurse(nil)},
		{"4000 locals", recurse(cat(1, leb(4000), 0x7e))},
		{"100 operands", mod(sec(1, typ(tI64, tI64)), sec(3, []byte{0}), sec(7, expFunc("run", 0)),
			sec(10, body(nil, live, 0x20, 0, 0x10, 0, repeat(100, 0x7c))))},
		{"indirect", mod(sec(1, typ(tI64, tI64)), sec(3, []byte{0}), sec(4, cat(0x70, 0, 1)), sec(7, expFunc("run", 0)),
			sec(9, cat(0, 0x41, 0, 0x0b, 1, 0)), sec(10, body(nil, 0x20, 0, 0x41, 0, 0x11, 0, 0, 0x20, 0, 0x7c)))},
		{"many values across calls", manySpills(100)},
		{"very many values across calls", manySpills(400)},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := newInstance(t, newRuntime(t), c.wasm)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := i.call(nil, "run", 1)
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), "unreachable") || i.stackLeft() >= 0 {
				t.Fatalf("ended with %v and %d bytes left, not by the budget", err, i.stackLeft())
			}
			// The engine doubles its stack, so that all its stacks together
			// come to less than four times what was needed.
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 4*8 {
				t.Errorf("%d MiB allocated for a stack of 8", mib)
			}
			// The instance is as good as new.
			if _, err := i.call(nil, "run", 1); err == nil || i.stackLeft() >= 0 {
				t.Errorf("second call: %v, %d left", err, i.stackLeft())
			}
		})
	}
}

// manySpills is a recursive function that keeps thirty values across every one
// of steps × 30 calls, each time other ones.
func manySpills(steps int) []byte {
	var step, sum []byte
	for i := 1; i <= 30; i++ {
		step = append(step, cat(0x20, i, 0x10, 1, 0x7c, 0x21, i)...)
		sum = append(sum, cat(0x20, i, 0x7c)...)
	}
	return mod(sec(1, typ(tI64, tI64), typ("", tI64)), sec(3, []byte{0}, []byte{1}), sec(7, expFunc("run", 0)),
		sec(10, body(cat(1, 30, 0x7e), repeat(steps, step), 0x20, 0, 0x10, 0, sum), body(nil, 0x42, 1)))
}

// TestTableGrowth: tables together stay within their limit.
func TestTableGrowth(t *testing.T) {
	grow := func(tab int) []byte {
		return cat(0x03, 0x40, []byte{0xd0}, 0x70, 0x41, sleb(1000), []byte{0xfc}, 15, tab, 0x41, 0x7f, 0x47, 0x0d, 0, 0x0b)
	}
	w := mod(sec(1, typ("", ""), typ("", tI32)), sec(3, []byte{0}, []byte{1}, []byte{1}), sec(4, cat(0x70, 0, 10), cat(0x70, 1, 10, leb(5_000_000)), cat(0x70, 1, 5, 5)),
		sec(7, expFunc("run", 0), expFunc("a", 1), expFunc("b", 2)),
		sec(10, body(nil, grow(0), grow(1)), body(nil, []byte{0xfc}, 16, 0), body(nil, []byte{0xfc}, 16, 1)))
	i := newInstance(t, newRuntime(t), w)
	if _, err := i.call(nil, "run"); err != nil {
		t.Fatal(err)
	}
	a, _ := i.call(nil, "a")
	b, _ := i.call(nil, "b")
	if sum := api.DecodeU32(a[0]) + api.DecodeU32(b[0]) + 5; sum > meter.MaxTable || sum < meter.MaxTable-3000 {
		t.Errorf("tables grew to %d elements, want just below %d", sum, meter.MaxTable)
	}
	if len(i.res.Fresh) != 1 || i.res.Fresh[0].Name != "table.grow" {
		t.Errorf("needs fresh instances for %v", i.res.Fresh)
	}
}
