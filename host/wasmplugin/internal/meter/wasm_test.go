package meter_test

// A small assembler for modules that no compiler writes.

func leb(v uint32) []byte {
	var b []byte
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func sleb(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if (v == 0 && c&0x40 == 0) || (v == -1 && c&0x40 != 0) {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func str(s string) []byte { return append(leb(uint32(len(s))), s...) }

// cat joins bytes, byte slices, strings of raw bytes and ints below 128.
func cat(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case []byte:
			b = append(b, p...)
		case string:
			b = append(b, p...)
		default:
			panic("cat: unknown part")
		}
	}
	return b
}

// sec is a section that holds a vector.
func sec(id byte, items ...[]byte) []byte {
	body := leb(uint32(len(items)))
	for _, i := range items {
		body = append(body, i...)
	}
	return raw(id, body)
}

func raw(id byte, body []byte) []byte {
	return cat([]byte{id}, leb(uint32(len(body))), body)
}

func mod(sections ...[]byte) []byte {
	b := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range sections {
		b = append(b, s...)
	}
	return b
}

// typ is a function type, written as in the binary format.
func typ(params, results string) []byte {
	return cat(0x60, str(params), str(results))
}

const (
	tI32  = "\x7f"
	tI64  = "\x7e"
	tV128 = "\x7b"
)

func expFunc(name string, idx int) []byte { return cat(str(name), 0, leb(uint32(idx))) }

// body is a function's code: groups of locals (count, type), then instructions
// with the last end left out.
func body(locals []byte, code ...any) []byte {
	if locals == nil {
		locals = []byte{0}
	}
	b := append(cat(locals, cat(code...)), 0x0b)
	return append(leb(uint32(len(b))), b...)
}

func repeat(n int, code ...any) []byte {
	one := cat(code...)
	b := make([]byte, 0, n*len(one))
	for range n {
		b = append(b, one...)
	}
	return b
}
