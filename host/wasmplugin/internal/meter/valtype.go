package meter

// valType is the type of a value, as a letter: strings of them are the
// signatures in the instruction tables.
type valType byte

const (
	i32       valType = 'i'
	i64       valType = 'l'
	f32       valType = 'f'
	f64       valType = 'd'
	v128      valType = 'v'
	funcref   valType = 'r'
	externref valType = 'x'
	unknown   valType = '?' // a value in code that cannot be reached
)

// letter is the type as the only one of a list.
func (t valType) letter() string { return string(rune(t)) }

func (t valType) isRef() bool { return t == funcref || t == externref }

// encode is the type's byte in the binary format.
func (t valType) encode() byte {
	switch t {
	case i32:
		return 0x7f
	case i64:
		return 0x7e
	case f32:
		return 0x7d
	case f64:
		return 0x7c
	case v128:
		return 0x7b
	case funcref:
		return 0x70
	}
	return 0x6f
}

func (t valType) String() string {
	switch t {
	case i32:
		return "i32"
	case i64:
		return "i64"
	case f32:
		return "f32"
	case f64:
		return "f64"
	case v128:
		return "v128"
	case funcref:
		return "funcref"
	case externref:
		return "externref"
	}
	return "a value"
}

// decodeValType answers 0 for a byte that is no type.
func decodeValType(b byte) valType {
	switch b {
	case 0x7f:
		return i32
	case 0x7e:
		return i64
	case 0x7d:
		return f32
	case 0x7c:
		return f64
	case 0x7b:
		return v128
	case 0x70:
		return funcref
	case 0x6f:
		return externref
	}
	return 0
}

func readValType(r *reader) valType {
	b := r.byte()
	t := decodeValType(b)
	if r.ok() && t == 0 {
		r.fail(r.pos-1, "unknown value type %#x", b)
	}
	return t
}

func readRefType(r *reader) valType {
	b := r.byte()
	t := decodeValType(b)
	if r.ok() && !t.isRef() {
		r.fail(r.pos-1, "unknown reference type %#x", b)
	}
	return t
}
