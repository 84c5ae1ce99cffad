package meter_test

import (
	"strings"
	"testing"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// TestMalformed: what no compiler writes is refused in one line that says where and what. TestRefused has what people will try,
// TestIndexes and TestLimits the rest.
func TestMalformed(t *testing.T) {
	fn := func(code ...any) []byte {
		return mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(5, cat(0, 1)), sec(10, body(nil, code...)))
	}
	glob := func(desc ...any) []byte { return mod(sec(6, cat(desc...))) }
	table := func(elem ...any) []byte { return mod(sec(4, cat(0x70, 0, 1)), sec(9, cat(elem...))) }
	for _, c := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"too many bodies", mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(10, body(nil), body(nil))), "1 functions declared, 2 bodies"},
		{"else without if", fn(0x05), "no if is open"},
		{"if that yields without else", fn(0x41, 1, 0x04, 0x7f, 0x41, 1, 0x0b, 0x1a), "without else"},
		{"lane of a load", fn(0x41, 0, []byte{0xfd}, 12, make([]byte, 16), []byte{0xfd}, 84, 0, 0, 16, 0x1a), "lane 16 of 16"},
		{"alignment", fn(0x41, 0, 0x28, 3, 0, 0x1a), "alignment 2^3 over its size"},
		{"select of two types", fn(0x41, 1, 0x41, 1, 0x41, 1, 0x1c, 2, 0x7f, 0x7f, 0x1a), "2 types in place of one"},
		{"select of references", fn([]byte{0xd0}, 0x70, []byte{0xd0}, 0x70, 0x41, 1, 0x1b, 0x1a), "needs the select that names its type"},
		{"select of unlike values", fn(0x41, 1, 0x42, 1, 0x41, 1, 0x1b, 0x1a), "i32"},
		{"is_null of a number", fn(0x41, 1, []byte{0xd1}, 0x1a), "is no reference"},
		{"ref.func that nothing names", fn([]byte{0xd2}, 0, 0x1a), "named nowhere outside of bodies"},
		{"constant changed", mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(6, cat(tI32, 0, 0x41, 0, 0x0b)), sec(10, body(nil, 0x41, 0, 0x24, 0))), "cannot be changed"},
		{"import without a module's name", mod(sec(1, typ("", "")), sec(2, cat(str(""), str("f"), 0, 0))), "a module without a name"},
		{"minimum over maximum", mod(sec(5, cat(1, 2, 1))), "minimum 2 over maximum 1"},
		{"mutability", glob(tI32, 2, 0x41, 0, 0x0b), "mutability 0x2"},
		{"export's kind", mod(sec(7, cat(str("x"), 4, 0))), "of kind 0x4"},
		{"start function with a parameter", mod(sec(1, typ(tI32, "")), sec(3, []byte{0}), raw(8, []byte{0}), sec(10, body(nil))), "start function 0 takes or returns values"},
		{"integer too long", mod([]byte{1, 0x80, 0x80, 0x80, 0x80, 0x70}), "does not fit 32 bits"},
		{"constant too long", glob(tI32, 0, 0x41, []byte{0x80, 0x80, 0x80, 0x80, 0x70}, 0x0b), "does not fit 32 bits"},
		{"count over the file", mod(raw(1, leb(90_000))), "90000 types announced"},
		{"vector arithmetic in a constant", glob(0x7b, 0, []byte{0xfd}, 14, 0x0b), "in a constant expression"},
		{"constant of another type", glob(tI32, 0, 0x42, 0, 0x0b), "constant expression of type i64, wanted i32"},
		{"constant that goes on", glob(tI32, 0, 0x41, 0, 0x41, 0, 0x0b), "goes on after its value"},
		{"element flags", table(8, 0, 0x41, 0, 0x0b, 0), "element segment flags 0x8"},
		{"element without a table", mod(sec(9, cat(0, 0x41, 0, 0x0b, 0))), "table 0 of 0 tables"},
		{"element kind", table(1, 1, 0), "element kind 0x1"},
		{"element of another type", table(6, 0, 0x41, 0, 0x0b, 0x6f, 0), "for a table of"},
		{"data without a memory", mod(sec(11, cat(0, 0x41, 0, 0x0b, str("x")))), "memory 0 of 0 memories"},
		{"data flags", mod(sec(5, cat(0, 1)), sec(11, cat(3, str("x")))), "data segment flags 0x3"},
		{"value type", glob(0x7a, 0, 0x41, 0, 0x0b), "unknown value type 0x7a"},
		{"reference type", mod(sec(4, cat(0x7f, 0, 1))), "unknown reference type 0x7f"},
		{"indirect call through references", mod(sec(1, typ("", "")), sec(3, []byte{0}), sec(4, cat(0x6f, 0, 1)),
			sec(10, body(nil, 0x41, 0, 0x11, 0, 0))), "call_indirect: table 0 holds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := meter.Instrument(c.wasm, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "offset 0x") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
