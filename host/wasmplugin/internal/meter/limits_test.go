package meter_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// TestLimits: what is at a limit passes, one more is refused and says which
// limit it was.
func TestLimits(t *testing.T) {
	fn := func(locals []byte, code ...any) []byte {
		return mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(10, body(locals, code...)))
	}
	blocks := func(locals, n int) []byte {
		return fn(cat(1, leb(uint32(locals)), 0x7f), repeat(n, 0x02, 0x40, 0x0b))
	}
	for _, c := range []struct {
		name string
		make func(n int) []byte // with n of it
		at   int
		want string
	}{
		{"locals", func(n int) []byte { return fn(cat(1, leb(uint32(n)), 0x7f)) }, meter.MaxLocals, "locals: 4097, over the limit of 4096"},
		{"locals in groups", func(n int) []byte { return fn(cat(2, leb(uint32(n-1)), 0x7f, 1, 0x7e)) }, meter.MaxLocals, "over the limit of 4096"},
		{"locals × blocks", func(n int) []byte { return blocks(1000, n) }, 1000, "locals × blocks: 1001000, over the limit of 1000000"},
		{"body", func(n int) []byte { return fn(nil, repeat(n-2, 0x01)) }, meter.MaxBody, "bytes of the body: 1048577, over the limit of 1048576"},
		{"table", func(n int) []byte { return mod(sec(4, cat(0x70, 0, leb(uint32(n-10))), cat(0x70, 0, 10))) }, meter.MaxTable, "elements of all tables: 100001, over the limit"},
		{"tables", func(n int) []byte { return mod(raw(4, cat(leb(uint32(n)), repeat(n, 0x70, 0, 0)))) }, meter.MaxTables, "tables: 101, over the limit"},
		{"parameters", func(n int) []byte { return mod(sec(1, typ(strings.Repeat(tI32, n), ""))) }, meter.MaxTypeValues, "parameters of a type: 1001"},
		{"types", func(n int) []byte { return mod(raw(1, cat(leb(uint32(n)), repeat(n, typ("", ""))))) }, meter.MaxTypes, "types: 100001, over the limit"},
		{"imports", func(n int) []byte {
			return mod(sec(1, typ("", "")), raw(2, cat(leb(uint32(n)), repeat(n, str("m"), str("f"), 0, 0))))
		}, meter.MaxImports, "imports: 1001"},
		{"globals", func(n int) []byte { return mod(raw(6, cat(leb(uint32(n)), repeat(n, 0x7f, 0, 0x41, 0, 0x0b)))) }, meter.MaxGlobals, "globals: 10001"},
		{"nesting", func(n int) []byte { return fn(nil, repeat(n, 0x02, 0x40), repeat(n, 0x0b)) }, meter.MaxNesting, "blocks open at once: 10001"},
		{"memory", func(n int) []byte { return mod(sec(5, cat(0, leb(uint32(n))))) }, meter.MaxPages, "pages of memory: 65537"},
		{"values moved", func(n int) []byte { // each block carries 100 values in and out
			t := strings.Repeat(tI32, 100)
			return mod(sec(1, typ(t, t)), sec(3, []byte{0}), sec(10, body(nil, repeat(100, 0x20, 0), repeat(n-1, 0x10, 0))))
		}, meter.MaxMoves / 200, "values moved by calls and branches: 2000200"},
		{"element entries", func(n int) []byte {
			return mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(9, cat(1, 0, leb(uint32(n-1)), make([]byte, n-1)), cat(1, 0, 1, 0)), sec(10, body(nil)))
		}, meter.MaxElementItems, "entries of all element segments: 500001"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := meter.Instrument(c.make(c.at), nil); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			_, err := meter.Instrument(c.make(c.at+1), nil)
			var e *meter.Error
			if !errors.As(err, &e) || e.Limit == 0 || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("one over: %v, want %q", err, c.want)
			}
		})
	}
}

// TestModuleLimits: sums over a module.
func TestModuleLimits(t *testing.T) {
	many := func(n int, b []byte) []byte {
		return mod(sec(1, typ("", "")), raw(3, cat(leb(uint32(n)), make([]byte, n))), raw(10, cat(leb(uint32(n)), repeat(n, b))))
	}
	joins := body(cat(1, leb(1000), 0x7f), repeat(1000, 0x02, 0x40, 0x0b))
	if _, err := meter.Instrument(many(20, joins), nil); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := meter.Instrument(many(21, joins), nil); err == nil || !strings.Contains(err.Error(), "locals × blocks of all functions so far: 21000000") {
		t.Errorf("one function over: %v", err)
	}
	if _, err := meter.Instrument(make([]byte, meter.MaxModule+1), nil); err == nil || !strings.Contains(err.Error(), "bytes of a module: 33554433, over the limit of 33554432") {
		t.Errorf("too large a module: %v", err)
	}
}

// TestRefused names what is wrong, and where, for what people will try.
func TestRefused(t *testing.T) {
	imp := func(desc ...any) []byte {
		return mod(sec(1, typ("", "")), sec(2, cat(str("env"), str("x"), cat(desc...))))
	}
	code := func(c ...any) []byte { return parts{code: cat(c...)}.module() }
	for _, c := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"empty", nil, "offset 0x0: not a WebAssembly module"},
		{"text", []byte("(module)"), "offset 0x0: not a WebAssembly module"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "offset 0x4: a WebAssembly component, not a core module"},
		{"version", []byte("\x00asm\x02\x00\x00\x00"), "unknown version"},
		{"cut short", []byte("\x00asm\x01"), "4 bytes announced, 1 left"},
		{"imported memory", imp(2, 0, 1), `import "env"."x" is a memory: only functions`},
		{"imported table", imp(1, 0x70, 0, 1), `is a table: only functions`},
		{"imported global", imp(3, 0x7f, 0), `is a global: only functions`},
		{"imported yield", mod(sec(1, typ("", "")), sec(2, cat(str(meter.YieldModule), str("yield"), 0, 0))), "the host's own"},
		{"exported fuel", parts{export: cat(3, 0)}.module()[:0], "not a WebAssembly module"},
		{"export with the prefix", mod(sec(6, cat(tI32, 1, 0x41, 0, 0x0b)), sec(7, cat(str(meter.FuelExport), 3, 0))), "the host's own"},
		{"two memories", mod(sec(5, cat(0, 1), cat(0, 1))), "2 memories: only one"},
		{"shared memory", mod(sec(5, cat(3, 1, 1))), "shared memory (threads)"},
		{"64-bit memory", mod(sec(5, cat(4, 1))), "limits flag 0x4"},
		{"tag section", mod(raw(13, []byte{0})), "unknown section 13"},
		{"section twice", mod(sec(1), sec(1)), "section 1 twice or out of order"},
		{"sections out of order", mod(sec(3), sec(1)), "section 1 twice or out of order"},
		{"section too long", mod([]byte{1, 5, 0}), "5 bytes announced, 1 left"},
		{"section too short", mod(raw(1, []byte{0, 0})), "1 bytes left over in section"},
		{"return_call", code(0x12, 0), "tail calls (instruction 0x12) are not supported"},
		{"return_call_indirect", code(0x13, 0, 0), "tail calls"},
		{"atomic", code([]byte{0xfe}, 3, 0), "threads (instruction 0xfe) are not supported"},
		{"throw", code(0x08, 0), "exception handling"},
		{"garbage collection", code([]byte{0xfb}, 1), "garbage collection"},
		{"unknown instruction", code(0x27), "unknown instruction 0x27"},
		{"relaxed simd", code([]byte{0xfd, 0x80, 2}), "unknown vector instruction 0x100"},
		// The engine reads this as i16x8.shr_s and an unreachable.
		{"vector instruction in a longer encoding", code([]byte{0xfd, 0x8c, 0}, make([]byte, 16), 0x1a), "unknown vector instruction 0xc"},
		{"unknown misc instruction", code([]byte{0xfc}, 18), "unknown instruction 0xfc 0x12"},
		{"recursive type", mod(sec(1, cat(0x4e, 0, 0))), "form 0x4e"},
		{"type", code(0x41, 1, 0x42, 1, 0x6a, 0x1a), "i32.add: i32 wanted, i64 on the stack"},
		{"underflow", code(0x1a), "drop: a value wanted, the stack is empty"},
		{"left over", code(0x41, 1), "end: 1 values too many on the stack"},
		{"code after the end", mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(10, body(nil, 0x0b))), "1 bytes left over in the body"},
		{"no end", mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(10, cat(2, 0, 0x01))), "unexpected end"},
		{"bodies missing", mod(sec(1, typ("", "")), sec(3, []byte{0})), "1 functions declared, 0 bodies"},
		{"data count", mod(sec(5, cat(0, 1)), raw(12, []byte{2}), sec(11, cat(1, str("")))), "2 data segments counted, 1 there"},
		{"name twice", mod(raw(0, str("name")), raw(0, str("name"))), "name section twice"},
		{"name section cut short", mod(raw(0, cat(str("name"), 1, 9, 0))), "name section: 9 bytes announced"},
		{"export twice", mod(sec(6, cat(tI32, 0, 0x41, 0, 0x0b)), sec(7, cat(str("a"), 3, 0), cat(str("a"), 3, 0))), `export "a" twice`},
		{"not UTF-8", mod(sec(6, cat(tI32, 0, 0x41, 0, 0x0b)), sec(7, cat(str("\xff"), 3, 0))), "export name is not UTF-8"},
		{"global in a constant", parts{global: cat(tI32, 0, 0x23, 0, 0x0b)}.module(), "not imported"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := meter.Instrument(c.wasm, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "offset 0x") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestFresh: what a call can change besides memory and number globals.
func TestFresh(t *testing.T) {
	idx := cat(0x41, 0, 0x41, 0, 0x41, 0)
	null := cat([]byte{0xd0}, 0x70)
	for _, c := range []struct {
		name string
		p    parts
	}{
		{"table.set", parts{code: cat(0x41, 0, null, 0x26, 0)}},
		{"table.grow", parts{code: cat(null, 0x41, 0, []byte{0xfc}, 15, 0, 0x1a)}},
		{"table.fill", parts{code: cat(0x41, 0, null, 0x41, 0, []byte{0xfc}, 17, 0)}},
		{"table.copy", parts{code: cat(idx, []byte{0xfc}, 14, 0, 0)}},
		{"table.init", parts{code: cat(idx, []byte{0xfc}, 12, 0, 0)}},
		{"elem.drop", parts{code: cat([]byte{0xfc}, 13, 0)}},
		{"data.drop", parts{code: cat([]byte{0xfc}, 9, 0)}},
		{"mutable v128 global", parts{global: cat(tV128, 1, []byte{0xfd}, 12, make([]byte, 16), 0x0b)}},
		{"mutable reference global", parts{global: cat(0x70, 1, []byte{0xd0}, 0x70, 0x0b)}},
		{"", parts{code: cat(idx, []byte{0xfc}, 8, 0, 0, 0x41, 0, 0x25, 0, 0x1a, []byte{0xfc}, 16, 0, 0x1a)}},
		{"", parts{global: cat(tV128, 0, []byte{0xfd}, 12, make([]byte, 16), 0x0b)}},
	} {
		res, err := meter.Instrument(c.p.module(), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if c.name == "" {
			if len(res.Fresh) != 0 {
				t.Errorf("needs fresh instances for %v, want a reset to do", res.Fresh)
			}
		} else if len(res.Fresh) != 1 || res.Fresh[0].Name != c.name || res.Fresh[0].Offset == 0 {
			t.Errorf("needs fresh instances for %v, want %s", res.Fresh, c.name)
		}
		if len(res.Globals) != 3 { // and the size of the memory
			t.Errorf("%s: globals to restore %v, want three", c.name, res.Globals)
		}
	}
}
