package meter_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"pgregory.net/rapid"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// TestGenerated writes modules at random, valid and ending soon, and compares
// what they compute metered and plain: results, traps, memory and globals.
func TestGenerated(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := &generator{t: rt}
		wasm := g.module()
		compareGenerated(rt, t, wasm, rapid.Uint32().Draw(rt, "argument"))
	})
}

func compareGenerated(rt *rapid.T, t *testing.T, wasm []byte, arg uint32) {
	ctx := context.Background()
	run := newQuietRuntime(t, ctx)
	defer run.Close(ctx)
	res, err := meter.Instrument(wasm, nil)
	if err != nil {
		rt.Fatalf("refused: %v", err)
	}
	var mods [2]api.Module
	for i, w := range [][]byte{wasm, res.Wasm} {
		mods[i], err = run.InstantiateWithConfig(ctx, w, wazero.NewModuleConfig().WithName("").WithStartFunctions())
		if err != nil {
			rt.Fatalf("metered %v: %v", i == 1, err)
		}
	}
	inst := &instance{mod: mods[1], res: res}
	for range 2 { // the second call starts from what the first one left
		want, wantErr := mods[0].ExportedFunction("run").Call(ctx, uint64(arg))
		got, gotErr := inst.call(nil, "run", uint64(arg))
		if d := cmp.Diff(trap(gotErr), trap(wantErr)); d != "" {
			rt.Fatalf("traps differ:\n%s", d)
		}
		if d := cmp.Diff(got, want); d != "" {
			rt.Fatalf("results differ:\n%s", d)
		}
		if left := inst.stackLeft(); gotErr == nil && left != meter.StackBudget {
			rt.Fatalf("%d bytes of the stack budget left", left)
		}
		a, _ := mods[0].Memory().Read(0, mods[0].Memory().Size())
		b, _ := mods[1].Memory().Read(0, mods[1].Memory().Size())
		if string(a) != string(b) {
			rt.Fatalf("memories differ")
		}
		for _, name := range []string{"g0", "g1", "g2", "g3"} {
			if a, b := mods[0].ExportedGlobal(name).Get(), mods[1].ExportedGlobal(name).Get(); a != b {
				rt.Fatalf("%s: %#x metered, %#x plain", name, b, a)
			}
		}
	}
}

func newQuietRuntime(t *testing.T, ctx context.Context) wazero.Runtime {
	rt := wazero.NewRuntime(ctx)
	_, err := rt.NewHostModuleBuilder(meter.YieldModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(yield), []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI32}).
		Export(meter.YieldName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

// generator writes code that validates: an expression of a type, or statements
// that leave nothing. Loops count down local 1, and calls go to functions with
// a higher index only, so that everything ends.
type generator struct {
	t      *rapid.T
	fn     int // being written
	depth  int
	size   int
	labels []string // types that a branch to each open block carries; loops carry none
	loops  int
}

const (
	genFuncs  = 5
	genLocals = "\x7f\x7f\x7e\x7d\x7c\x7f" // parameter, loop counter, one of each type, and one more
)

// genSig are the functions' types: parameters and results.
var genSig = [genFuncs][2]string{
	{tI32, tI32}, {tI32 + tI64, tI64}, {"\x7d", "\x7d"}, {tI32, tI32 + tI64 + "\x7c"}, {"", ""},
}

func (g *generator) pick(n int, what string) int { return rapid.IntRange(0, n-1).Draw(g.t, what) }

func (g *generator) module() []byte {
	var types, funcs, bodies [][]byte
	for i, s := range genSig {
		types = append(types, typ(s[0], s[1]))
		funcs = append(funcs, []byte{byte(i)})
		bodies = append(bodies, g.function(i))
	}
	types = append(types, typ(tI32+tI64, tI64+tI32)) // for blocks
	glob := func(t string, init []byte) []byte { return cat(t, 1, init, 0x0b) }
	exports := [][]byte{expFunc("run", 0)}
	for i := range 4 {
		exports = append(exports, cat(str("g"+string(rune('0'+i))), 3, i))
	}
	return mod(sec(1, types...), sec(3, funcs...), sec(4, cat(0x70, 0, 4)), sec(5, cat(1, 1, 3)),
		sec(6, glob(tI32, cat(0x41, 3)), glob(tI64, cat(0x42, 5)), glob("\x7d", cat(0x43, "\x00\x00\x80\x3f")), glob("\x7c", cat(0x44, "\x00\x00\x00\x00\x00\x00\xf0\x3f"))),
		sec(7, exports...), sec(9, cat(0, 0x41, 0, 0x0b, 4, 1, 2, 3, 4)), sec(10, bodies...),
		sec(11, cat(0, 0x41, 8, 0x0b, str("some bytes to begin with"))))
}

func (g *generator) function(i int) []byte {
	g.fn, g.size, g.depth, g.loops = i, 0, 0, 0
	g.labels = []string{genSig[i][1]}
	params := len(genSig[i][0])
	// Locals: an i32, an i32 counter, one of each type, after the parameters.
	locals := cat(len(genLocals))
	for _, l := range genLocals {
		locals = append(locals, 1, byte(l))
	}
	code := cat(0x41, sleb(int64(g.pick(40, "iterations"))), 0x21, params+1)
	code = append(code, g.statements()...)
	for _, t := range genSig[i][1] {
		code = append(code, g.expr(byte(t))...)
	}
	return body(locals, code)
}

// local is the index of a local of a type.
func (g *generator) local(t byte) int {
	params := len(genSig[g.fn][0])
	for i := range params {
		if genSig[g.fn][0][i] == t && g.pick(2, "parameter") == 0 {
			return i
		}
	}
	switch t {
	case 0x7f:
		return params + 5*g.pick(2, "local") // never the counter
	case 0x7e:
		return params + 2
	case 0x7d:
		return params + 3
	}
	return params + 4
}

func (g *generator) statements() []byte {
	var code []byte
	for range g.pick(5, "statements") {
		code = append(code, g.statement()...)
	}
	return code
}

func (g *generator) statement() []byte {
	g.depth++
	defer func() { g.depth-- }()
	g.size++
	if g.depth > 5 || g.size > 120 {
		return []byte{0x01}
	}
	t := "\x7f\x7e\x7d\x7c"[g.pick(4, "type")]
	switch g.pick(14, "statement") {
	case 0:
		return cat(g.expr(t), 0x21, g.local(t))
	case 1:
		return cat(g.expr(t), 0x24, strIndex("\x7f\x7e\x7d\x7c", t))
	case 2:
		return g.block(0x02, 0x40)
	case 3:
		return g.loop()
	case 4:
		return cat(g.expr(0x7f), g.block(0x04, 0x40))
	case 5:
		c := g.expr(0x7f)
		inside := g.inBlock("", g.statements)
		return cat(c, 0x04, 0x40, inside, 0x05, g.inBlock("", g.statements), 0x0b)
	case 6:
		return cat(g.address(), g.expr(t), 0x36+strIndex("\x7f\x7e\x7d\x7c", t), 0, leb(uint32(g.pick(100, "offset"))))
	case 7:
		return cat(g.address(), g.expr(0x7f), 0x41, sleb(int64(g.pick(300, "length"))), []byte{0xfc}, 11, 0)
	case 8:
		return cat(g.address(), g.address(), g.address(), []byte{0xfc}, 10, 0, 0)
	case 9:
		return cat(0x41, g.pick(3, "pages"), 0x40, 0, 0x1a)
	case 10:
		return g.branch()
	case 11:
		// A block with two parameters and results.
		return cat(g.expr(0x7f), g.expr(0x7e), 0x02, genFuncs, 0x21, g.local(0x7e), 0x21, g.local(0x7f),
			g.expr(0x7e), g.expr(0x7f), 0x0b, 0x1a, 0x1a)
	case 12:
		return g.callStatement()
	}
	return cat(g.expr(t), 0x1a)
}

func strIndex(s string, b byte) int {
	for i := range len(s) {
		if s[i] == b {
			return i
		}
	}
	panic("no such type")
}

// inBlock writes what stands inside of a block whose label carries types.
func (g *generator) inBlock(types string, f func() []byte) []byte {
	g.labels = append(g.labels, types)
	defer func() { g.labels = g.labels[:len(g.labels)-1] }()
	return f()
}

func (g *generator) block(op, typ int) []byte {
	return cat(op, typ, g.inBlock("", g.statements), 0x0b)
}

// loop runs its body while the function's counter lasts; all loops share it.
func (g *generator) loop() []byte {
	counter := len(genSig[g.fn][0]) + 1
	inside := g.inBlock("\x00", g.statements) // not a target for others
	return cat(0x03, 0x40, inside, 0x20, counter, 0x41, 1, 0x6b, 0x22, counter, 0x41, 0, 0x4a, 0x0d, 0, 0x0b)
}

// branch leaves a block, sometimes: behind a condition, a table or a return.
func (g *generator) branch() []byte {
	var to []int
	for i := range g.labels {
		l := g.labels[len(g.labels)-1-i]
		if l == "" || (i == len(g.labels)-1 && l != "\x00") {
			to = append(to, i)
		}
	}
	if len(to) == 0 {
		return nil
	}
	label := to[g.pick(len(to), "label")]
	var values []byte
	for _, t := range g.labels[len(g.labels)-1-label] {
		values = append(values, g.expr(byte(t))...)
	}
	drops := repeat(len(g.labels[len(g.labels)-1-label]), 0x1a)
	switch g.pick(4, "branch") {
	case 0:
		return cat(values, g.expr(0x7f), 0x0d, leb(uint32(label)), drops)
	case 1: // if c { br }
		inside := g.inBlock("", func() []byte { return cat(values, 0x0c, leb(uint32(label+1))) })
		return cat(g.expr(0x7f), 0x04, 0x40, inside, 0x0b)
	case 2: // if c { return }
		var results []byte
		for _, t := range genSig[g.fn][1] {
			results = append(results, g.expr(byte(t))...)
		}
		return cat(g.expr(0x7f), 0x04, 0x40, results, 0x0f, 0x0b)
	}
	if values != nil {
		return nil
	}
	return cat(0x02, 0x40, g.expr(0x7f), 0x0e, 2, 0, leb(uint32(label+1)), 0, 0x0b)
}

func (g *generator) callStatement() []byte {
	callee := g.fn + 1 + g.pick(genFuncs, "callee")
	if callee >= genFuncs {
		return nil
	}
	var args []byte
	for _, t := range genSig[callee][0] {
		args = append(args, g.expr(byte(t))...)
	}
	drops := repeat(len(genSig[callee][1]), 0x1a)
	if g.pick(2, "indirect") == 0 {
		return cat(args, 0x41, callee-1, 0x11, callee, 0, drops)
	}
	return cat(args, 0x10, callee, drops)
}

// address is an i32 that mostly lies in the memory.
func (g *generator) address() []byte { return cat(g.expr(0x7f), 0x41, sleb(0x7fff), 0x71) }

// expr leaves one value of type t.
func (g *generator) expr(t byte) []byte {
	g.depth++
	defer func() { g.depth-- }()
	g.size++
	if g.depth > 7 || g.size > 150 {
		return g.leaf(t)
	}
	k := strIndex("\x7f\x7e\x7d\x7c", t)
	switch g.pick(9, "expression") {
	case 0, 1:
		return g.leaf(t)
	case 2: // binary
		op := [4][2]int{{0x6a, 15}, {0x7c, 15}, {0x92, 7}, {0xa0, 7}}[k]
		return cat(g.expr(t), g.expr(t), []byte{byte(op[0] + g.pick(op[1], "operator"))})
	case 3: // unary
		op := [4][2]int{{0x67, 3}, {0x79, 3}, {0x8b, 7}, {0x99, 7}}[k]
		return cat(g.expr(t), []byte{byte(op[0] + g.pick(op[1], "operator"))})
	case 4: // load
		return cat(g.address(), 0x28+k, 0, leb(uint32(g.pick(100, "offset"))))
	case 5: // if with a result
		c := g.expr(0x7f)
		a := g.inBlock("\x00", func() []byte { return g.expr(t) })
		return cat(c, 0x04, []byte{t}, a, 0x05, g.inBlock("\x00", func() []byte { return g.expr(t) }), 0x0b)
	case 6: // conversion
		from, op := byte(0x7e), byte(0xa7)
		switch t {
		case 0x7e:
			from, op = 0x7f, 0xac
		case 0x7d:
			from, op = 0x7f, 0xb2
		case 0x7c:
			from, op = 0x7e, 0xb9
		}
		return cat(g.expr(from), []byte{op})
	case 7: // select
		return cat(g.expr(t), g.expr(t), g.expr(0x7f), 0x1b)
	}
	return cat(g.expr(t), 0x22, g.local(t))
}

func (g *generator) leaf(t byte) []byte {
	k := strIndex("\x7f\x7e\x7d\x7c", t)
	switch g.pick(4, "leaf") {
	case 0:
		return cat(0x20, g.local(t))
	case 1:
		return cat(0x23, k)
	}
	switch t {
	case 0x7f:
		return cat(0x41, sleb(int64(rapid.Int32().Draw(g.t, "i32"))))
	case 0x7e:
		return cat(0x42, sleb(rapid.Int64().Draw(g.t, "i64")))
	case 0x7d:
		return cat(0x43, binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(rapid.Int16().Draw(g.t, "f32")))))
	}
	return cat(0x44, binary.LittleEndian.AppendUint64(nil, math.Float64bits(float64(rapid.Int32().Draw(g.t, "f64")))))
}

// TestInterruptGenerated ends generated guests at a random yield, resets them
// and compares a whole call with one of a new instance.
func TestInterruptGenerated(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := &generator{t: rt}
		wasm := g.module()
		arg := uint64(rapid.Uint32().Draw(rt, "argument"))
		ctx := context.Background()
		run := newQuietRuntime(t, ctx)
		defer run.Close(ctx)
		res, err := meter.Instrument(wasm, nil)
		if err != nil {
			rt.Fatalf("refused: %v", err)
		}
		var inst [2]*instance
		for i := range inst {
			mod, err := run.InstantiateWithConfig(ctx, res.Wasm, wazero.NewModuleConfig().WithName("").WithStartFunctions())
			if err != nil {
				rt.Fatal(err)
			}
			inst[i] = &instance{mod: mod, res: res}
			inst[i].snapshot()
		}
		// One unit of fuel at a time makes every charge a yield.
		stingy := &callState{until: after(rapid.IntRange(1, 40).Draw(rt, "yield")), slice: 1}
		if _, err := inst[0].call(stingy, "run", arg); err != nil && !errors.Is(err, errInterrupted) && !isTrap(err) {
			rt.Fatalf("ended with %v", err)
		}
		inst[0].reset()
		got, gotErr := inst[0].call(nil, "run", arg)
		want, wantErr := inst[1].call(nil, "run", arg)
		size := inst[0].global(meter.PagesExport).Get() << 16
		a, _ := inst[0].mod.Memory().Read(0, uint32(size))
		b, _ := inst[1].mod.Memory().Read(0, inst[1].mod.Memory().Size())
		if string(a) != string(b) {
			rt.Fatalf("memories of %d and %d bytes differ", len(a), len(b))
		}
		if d := cmp.Diff(got, want); d != "" || trap(gotErr) != trap(wantErr) {
			rt.Fatalf("after a reset %v (%v), new %v (%v)", got, gotErr, want, wantErr)
		}
	})
}
