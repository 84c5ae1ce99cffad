package abi

import "errors"

var (
	// ErrMalformed says that the input is not the wire format, or that a known field has the other wire type.
	ErrMalformed = errors.New("abi: malformed message")
	// ErrPairs says that two paired lists differ in length.
	ErrPairs = errors.New("abi: paired lists of different length")
	// ErrTooMany says that a repeated field appears more than MaxRepeated times.
	ErrTooMany = errors.New("abi: too many values of a repeated field")
)

// Wire types of the Protocol Buffers encoding. No message has any other.
const (
	wireVarint = 0
	wireBytes  = 2
)

// maxField is the greatest field number of the encoding.
const maxField = 1<<29 - 1

// Var is a name with its value: a template's variable, a header. Both are decoded text.
type Var struct{ Name, Value string }

// The functions that every field of every message goes through are not inlined: a guest would carry a copy for each field.
//
//go:noinline
func appendVarint(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendUint appends a varint field; zero is the default and is not written.
//
//go:noinline
func appendUint(b []byte, field int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return appendVarint(appendVarint(b, uint64(field)<<3|wireVarint), v)
}

func appendBool(b []byte, field int, v bool) []byte {
	if !v {
		return b
	}
	return appendUint(b, field, 1)
}

// appendString appends a bytes field; the empty string is the default and is not written.
//
//go:noinline
func appendString(b []byte, field int, s string) []byte {
	if s == "" {
		return b
	}
	return appendElement(b, field, s)
}

// appendElement appends a bytes field even if it is empty: an element of a list.
//
//go:noinline
func appendElement(b []byte, field int, s string) []byte {
	b = appendVarint(b, uint64(field)<<3|wireBytes)
	b = appendVarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendList(b []byte, field int, list []string) []byte {
	for _, s := range list {
		b = appendElement(b, field, s)
	}
	return b
}

// appendPairs appends two paired lists, pair by pair.
func appendPairs(b []byte, name, value int, vars []Var) []byte {
	for i := range vars {
		b = appendElement(b, name, vars[i].Name)
		b = appendElement(b, value, vars[i].Value)
	}
	return b
}

// takeVarint reads a varint of at most 64 bits from the front of s.
//
//go:noinline
func takeVarint(s string) (v uint64, rest string, ok bool) {
	for i := 0; i < len(s) && i < 10; i++ {
		c := s[i]
		if i == 9 && c > 1 {
			return 0, s, false
		}
		v |= uint64(c&0x7f) << (7 * uint(i))
		if c < 0x80 {
			return v, s[i+1:], true
		}
	}
	return 0, s, false
}

// reader takes a message apart, field by field. After next it holds the field's number and, by its wire type, num or str.
// The first fault sticks in err and ends the message.
type reader struct {
	rest  string
	err   error
	field int
	bytes bool
	v     uint64
	s     string
}

// next moves to the next field, and reports false at the end and after a fault.
func (r *reader) next() bool {
	if r.err != nil || r.rest == "" {
		return false
	}
	tag, rest, ok := takeVarint(r.rest)
	if !ok || tag>>3 == 0 || tag>>3 > maxField {
		return r.fail(ErrMalformed)
	}
	r.field = int(tag >> 3)
	switch tag & 7 {
	case wireVarint:
		r.bytes = false
		if r.v, r.rest, ok = takeVarint(rest); !ok {
			return r.fail(ErrMalformed)
		}
	case wireBytes:
		n, rest, ok := takeVarint(rest)
		if !ok || n > uint64(len(rest)) {
			return r.fail(ErrMalformed)
		}
		r.bytes = true
		r.s, r.rest = rest[:n], rest[n:]
	default:
		return r.fail(ErrMalformed)
	}
	return true
}

//go:noinline
func (r *reader) fail(err error) bool {
	if r.err == nil {
		r.err = err
	}
	return false
}

// str returns the field's bytes.
//
//go:noinline
func (r *reader) str() string {
	if !r.bytes {
		r.fail(ErrMalformed)
		return ""
	}
	return r.s
}

// uint returns the field's number.
//
//go:noinline
func (r *reader) uint() uint64 {
	if r.bytes {
		r.fail(ErrMalformed)
		return 0
	}
	return r.v
}

func (r *reader) bool() bool { return r.uint() != 0 }

// element appends the field's bytes to a list.
//
//go:noinline
func (r *reader) element(list []string) []string {
	if len(list) >= MaxRepeated {
		r.fail(ErrTooMany)
		return list
	}
	return append(list, r.str())
}

// pairs collects two paired lists: the first n.names of vars have their names, the first n.values their values.
type pairs struct{ names, values int }

func (n *pairs) name(r *reader, vars []Var) []Var {
	vars = n.room(r, vars, n.names)
	if r.err == nil {
		vars[n.names].Name = r.str()
		n.names++
	}
	return vars
}

func (n *pairs) value(r *reader, vars []Var) []Var {
	vars = n.room(r, vars, n.values)
	if r.err == nil {
		vars[n.values].Value = r.str()
		n.values++
	}
	return vars
}

// room makes sure that vars[i] exists.
func (n *pairs) room(r *reader, vars []Var, i int) []Var {
	if i >= MaxRepeated {
		r.fail(ErrTooMany)
		return vars
	}
	if i < len(vars) {
		return vars
	}
	return append(vars, Var{})
}

func (n *pairs) done(r *reader) {
	if n.names != n.values {
		r.fail(ErrPairs)
	}
}
