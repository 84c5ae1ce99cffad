package wasmplugin

import (
	"bytes"
	"slices"
	"strings"
)

// bomb is a module that is small, valid and within the limits of metering, and hard on a compiler.
type bomb struct {
	name string
	make func() *guest
}

// bombs are the compile bombs of the tests.
func bombs() []bomb {
	locals := func(n int) string { return strings.Repeat(i32, n) }
	many := func(n int, locals string, code []byte) *guest {
		g := newGuest(letters)
		for range n {
			g.fn("", i32, "", locals, code)
		}
		return g.read(ok())
	}
	return []bomb{
		// Each block may define each local: the engine looks for what is live where.
		{"locals × blocks", func() *guest {
			set := slices.Concat(get(0), op(0x04, 0x40), get(1), set(999), op(0x0b))
			return many(20, locals(999), bytes.Repeat(set, 990))
		}},
		// Each loop changes many locals: a phi for each at each header, and each phi is another's argument.
		{"phi webs", func() *guest {
			var code []byte
			for i := range 490 {
				code = append(code, 0x03, 0x40)
				for k := range 200 {
					code = append(code, slices.Concat(get((i+k)%998+1), get((i+k*7)%998+1), opAdd, set((i+k*13)%998+1))...)
				}
				code = append(code, slices.Concat(get(0), op(0x0d, 0, 0x0b))...)
			}
			return many(20, locals(999), code)
		}},
		// Nested loops whose locals all meet.
		{"nested loops", func() *guest {
			const depth = 900
			code := bytes.Repeat(slices.Concat(op(0x03, 0x40), get(1), get(2), opAdd, set(3), get(3), set(1)), depth)
			code = append(code, bytes.Repeat(slices.Concat(get(0), op(0x0d, 0, 0x0b)), depth)...)
			return many(20, locals(1000), code)
		}},
		// Bodies as large as may be.
		{"huge bodies", func() *guest {
			code := bytes.Repeat(slices.Concat(get(0), get(1), opAdd, set(1)), 130_000)
			return many(25, locals(2), code)
		}},
		// Values that all live until the end.
		{"deep operand stacks", func() *guest {
			const n = 100_000
			code := append(bytes.Repeat(get(0), n), bytes.Repeat(opAdd, n-1)...)
			return many(20, locals(2), append(code, set(0)...))
		}},
		// A branch table to everywhere.
		{"branch tables", func() *guest {
			const depth = 300
			code := bytes.Repeat(op(0x02, 0x40), depth)
			table := append([]byte{0x0e}, uleb(depth-1)...)
			for i := range depth {
				table = append(table, uleb(uint64(i))...)
			}
			for range 100 {
				code = append(code, slices.Concat(op(0x02, 0x40), get(0), op(0x04, 0x40), get(0), table, op(0x0b, 0x0b))...)
			}
			return many(50, locals(50), append(code, bytes.Repeat(op(0x0b), depth)...))
		}},
	}
}
