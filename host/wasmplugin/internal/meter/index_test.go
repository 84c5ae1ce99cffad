package meter_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// parts are what an index test changes in a module that has two of everything:
// types () -> () and (i32) -> i32, functions (one imported), tables, mutable
// i32 globals, element segments, data segments; and one memory.
type parts struct {
	code    []byte
	export  []byte
	start   []byte
	elem    []byte
	global  []byte
	typ     []byte // of the second function
	imp     []byte // type of the import
	data    []byte
	noMem   bool
	noCount bool
}

func (p parts) module() []byte {
	def := func(b, otherwise []byte) []byte {
		if b == nil {
			return otherwise
		}
		return b
	}
	exports := [][]byte{expFunc("run", 1)}
	if p.export != nil {
		exports = append(exports, cat(str("x"), p.export))
	}
	global := cat(tI32, 1, 0x41, 0, 0x0b)
	s := [][]byte{
		sec(1, typ("", ""), typ(tI32, tI32)),
		sec(2, cat(str("env"), str("f"), 0, def(p.imp, []byte{0}))),
		sec(3, def(p.typ, []byte{0})),
		sec(4, cat(0x70, 0, 1), cat(0x70, 0, 1)),
	}
	if !p.noMem {
		s = append(s, sec(5, cat(0, 1)))
	}
	globals := [][]byte{global, global}
	if p.global != nil {
		globals = append(globals, p.global)
	}
	s = append(s, sec(6, globals...), sec(7, exports...))
	if p.start != nil {
		s = append(s, raw(8, p.start))
	}
	elem := cat(1, 0, 1, 0) // passive, function 0
	s = append(s, sec(9, elem, def(p.elem, elem)))
	if !p.noCount {
		s = append(s, raw(12, []byte{2}))
	}
	s = append(s, sec(10, body(nil, p.code)), sec(11, cat(1, str("a")), def(p.data, cat(1, str("b")))))
	return mod(s...)
}

// TestIndexes takes every place where a module names something by index, with
// the last index there is, one past the end, and the ones where the pass puts
// its own things: the globals with the fuel and the stack counter, its types
// and functions.
func TestIndexes(t *testing.T) {
	drop3 := cat(0x41, 0, 0x41, 0, 0x41, 0)
	for _, c := range []struct {
		name string
		have int // how many there are: have-1 passes
		want string
		make func(i byte) parts
	}{
		{"call", 2, "function index", func(i byte) parts { return parts{code: cat(0x10, int(i))} }},
		{"ref.func", 2, "function index", func(i byte) parts { return parts{code: cat(0xd2, int(i), 0x1a)} }},
		{"exported function", 2, "function index", func(i byte) parts { return parts{export: cat(0, int(i))} }},
		{"start", 2, "function index", func(i byte) parts { return parts{start: []byte{i}} }},
		{"element function", 2, "function index", func(i byte) parts { return parts{elem: cat(1, 0, 1, int(i))} }},
		{"element expression", 2, "function index", func(i byte) parts { return parts{elem: cat(5, 0x70, 1, []byte{0xd2}, int(i), 0x0b)} }},
		{"active element", 2, "function index", func(i byte) parts { return parts{elem: cat(0, 0x41, 0, 0x0b, 1, int(i))} }},
		{"global's ref.func", 2, "function index", func(i byte) parts { return parts{global: cat(0x70, 0, []byte{0xd2}, int(i), 0x0b)} }},

		{"function's type", 2, "type index", func(i byte) parts {
			if i == 1 {
				return parts{typ: []byte{1}, code: cat(0x41, 0)}
			}
			return parts{typ: []byte{i}}
		}},
		{"import's type", 2, "type index", func(i byte) parts { return parts{imp: []byte{i}} }},
		{"block type", 2, "type index", func(i byte) parts { return parts{code: cat(0x41, 0, 0x02, int(i), 0x0b, 0x1a)} }},
		{"loop type", 2, "type index", func(i byte) parts { return parts{code: cat(0x41, 0, 0x03, int(i), 0x0b, 0x1a)} }},
		{"if type", 2, "type index", func(i byte) parts { return parts{code: cat(0x41, 0, 0x41, 0, 0x04, int(i), 0x0b, 0x1a)} }},
		{"call_indirect type", 2, "type index", func(i byte) parts { return parts{code: cat(0x41, 0, 0x41, 0, 0x11, int(i), 0, 0x1a)} }},

		{"global.get", 2, "global index", func(i byte) parts { return parts{code: cat(0x23, int(i), 0x1a)} }},
		{"global.set", 2, "global index", func(i byte) parts { return parts{code: cat(0x41, 0x7f, 0x24, int(i))} }},
		{"exported global", 2, "global index", func(i byte) parts { return parts{export: cat(3, int(i))} }},

		{"call_indirect table", 2, "table index", func(i byte) parts { return parts{code: cat(0x41, 0, 0x11, 0, int(i))} }},
		{"table.get", 2, "table index", func(i byte) parts { return parts{code: cat(0x41, 0, 0x25, int(i), 0x1a)} }},
		{"table.set", 2, "table index", func(i byte) parts { return parts{code: cat(0x41, 0, []byte{0xd0}, 0x70, 0x26, int(i))} }},
		{"table.size", 2, "table index", func(i byte) parts { return parts{code: cat([]byte{0xfc}, 16, int(i), 0x1a)} }},
		{"table.grow", 2, "table index", func(i byte) parts {
			return parts{code: cat([]byte{0xd0}, 0x70, 0x41, 0, []byte{0xfc}, 15, int(i), 0x1a)}
		}},
		{"table.fill", 2, "table index", func(i byte) parts {
			return parts{code: cat(0x41, 0, []byte{0xd0}, 0x70, 0x41, 0, []byte{0xfc}, 17, int(i))}
		}},
		{"table.copy to", 2, "table index", func(i byte) parts { return parts{code: cat(drop3, []byte{0xfc}, 14, int(i), 0)} }},
		{"table.copy from", 2, "table index", func(i byte) parts { return parts{code: cat(drop3, []byte{0xfc}, 14, 0, int(i))} }},
		{"table.init table", 2, "table index", func(i byte) parts { return parts{code: cat(drop3, []byte{0xfc}, 12, 0, int(i))} }},
		{"active element's table", 2, "table index", func(i byte) parts { return parts{elem: cat(2, int(i), 0x41, 0, 0x0b, 0, 1, 0)} }},
		{"exported table", 2, "table index", func(i byte) parts { return parts{export: cat(1, int(i))} }},

		{"exported memory", 1, "memory index", func(i byte) parts { return parts{export: cat(2, int(i))} }},
		{"data segment's memory", 1, "memory index", func(i byte) parts { return parts{data: cat(2, int(i), 0x41, 0, 0x0b, str("x"))} }},
		{"memory.size", 1, "memory index", func(i byte) parts { return parts{code: cat(0x3f, int(i), 0x1a)} }},
		{"memory.grow", 1, "memory index", func(i byte) parts { return parts{code: cat(0x41, 0, 0x40, int(i), 0x1a)} }},
		{"memory.fill", 1, "memory index", func(i byte) parts { return parts{code: cat(drop3, []byte{0xfc}, 11, int(i))} }},
		{"memory.copy to", 1, "memory index", func(i byte) parts { return parts{code: cat(drop3, []byte{0xfc}, 10, int(i), 0)} }},
		{"memory.copy from", 1, "memory index", func(i byte) parts { return parts{code: cat(drop3, []byte{0xfc}, 10, 0, int(i))} }},
		{"memory.init memory", 1, "memory index", func(i byte) parts { return parts{code: cat(drop3, []byte{0xfc}, 8, 0, int(i))} }},

		{"memory.init", 2, "data index", func(i byte) parts { return parts{code: cat(drop3, []byte{0xfc}, 8, int(i), 0)} }},
		{"data.drop", 2, "data index", func(i byte) parts { return parts{code: cat([]byte{0xfc}, 9, int(i))} }},
		{"table.init", 2, "element index", func(i byte) parts { return parts{code: cat(drop3, []byte{0xfc}, 12, int(i), 0)} }},
		{"elem.drop", 2, "element index", func(i byte) parts { return parts{code: cat([]byte{0xfc}, 13, int(i))} }},

		{"br", 2, "label index", func(i byte) parts { return parts{code: cat(0x02, 0x40, 0x0c, int(i), 0x0b)} }},
		{"br_if", 2, "label index", func(i byte) parts { return parts{code: cat(0x02, 0x40, 0x41, 0, 0x0d, int(i), 0x0b)} }},
		{"br_table", 2, "label index", func(i byte) parts { return parts{code: cat(0x02, 0x40, 0x41, 0, 0x0e, 1, int(i), 0, 0x0b)} }},
		{"br_table default", 2, "label index", func(i byte) parts { return parts{code: cat(0x02, 0x40, 0x41, 0, 0x0e, 1, 0, int(i), 0x0b)} }},

		{"data without a count", 0, "of 0 counted", func(i byte) parts { return parts{code: cat([]byte{0xfc}, 9, int(i)), noCount: true} }},
		{"load without memory", 0, "memory index 0 of 0", func(i byte) parts { return parts{code: cat(0x41, 0, 0x28, 2, 0, 0x1a), noMem: true} }},
		{"size without memory", 0, "memory index 0 of 0", func(i byte) parts { return parts{code: cat(0x3f, 0, 0x1a), noMem: true} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			rt := newRuntime(t)
			for i := 0; i < 10; i++ {
				p := c.make(byte(i))
				res, err := meter.Instrument(p.module(), nil)
				if i < c.have {
					if err != nil {
						t.Errorf("index %d of %d: %v", i, c.have, err)
						continue
					}
					if _, err := rt.CompileModule(context.Background(), res.Wasm); err != nil {
						t.Errorf("index %d of %d: the result does not compile: %v", i, c.have, err)
					}
					continue
				}
				var e *meter.Error
				if !errors.As(err, &e) || e.Offset == 0 {
					t.Errorf("index %d of %d: error %v, want a *meter.Error with an offset", i, c.have, err)
					continue
				}
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("index %d of %d: %v, want %q", i, c.have, err, c.want)
				}
			}
		})
	}
}

// TestLocalIndex stands apart: locals are a function's own.
func TestLocalIndex(t *testing.T) {
	for i, want := range []string{"", "", "", "local index 3 of 3", "local index 4 of 3"} {
		w := mod(sec(1, typ(tI32, "")), sec(3, []byte{0}), sec(10, body([]byte{1, 2, 0x7f}, 0x20, i, 0x1a)))
		_, err := meter.Instrument(w, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("local %d: %v, want %q", i, err, want)
		}
	}
}
