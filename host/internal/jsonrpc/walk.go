package jsonrpc

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is what a JSON value is.
type Kind byte

// The kinds of JSON values. True and False stay apart, since their first bytes do.
const (
	Invalid Kind = iota
	Null
	True
	False
	Number
	Text
	Array
	Map
)

// KindOf returns the kind of a value that [Decode] has checked; Invalid for none.
func KindOf(v []byte) Kind {
	if len(v) == 0 {
		return Invalid
	}
	switch v[0] {
	case 'n':
		return Null
	case 't':
		return True
	case 'f':
		return False
	case '"':
		return Text
	case '[':
		return Array
	case '{':
		return Map
	}
	return Number
}

// Object is a walk over the members of a JSON object:
//
//	for o := jsonrpc.Members(m.Params); o.Next(); {
//		if o.Is("uri") {
//			uri = jsonrpc.String(o.Value)
//		}
//	}
type Object struct {
	rest []byte
	// name is the current member's name with its quotes.
	name []byte
	// Value is the current member's value.
	Value []byte
}

// Members returns a walk over an object that [Decode] has checked. Anything but an object has no members.
func Members(v []byte) Object {
	if KindOf(v) != Map {
		return Object{}
	}
	return Object{rest: v[1:]}
}

// Next goes to the next member and reports whether there is one.
func (o *Object) Next() bool {
	rest := skipTo(o.rest, '"')
	if len(rest) == 0 {
		return false
	}
	n := valueLen(rest)
	o.name, rest = rest[:n], skipTo(rest[n:], ':')
	if len(rest) == 0 {
		return false
	}
	rest = trim(rest[1:])
	n = valueLen(rest)
	o.Value, o.rest = rest[:n:n], rest[n:]
	return true
}

// Is reports whether the current member has that name.
func (o *Object) Is(name string) bool { return stringIs(o.name, name) }

// Name returns the current member's name.
func (o *Object) Name() string { return String(o.name) }

// List is a walk over the elements of a JSON array, like [Object].
type List struct {
	rest  []byte
	Value []byte
}

// Elements returns a walk over an array that [Decode] has checked. Anything but an array has no elements.
func Elements(v []byte) List {
	if KindOf(v) != Array {
		return List{}
	}
	return List{rest: v[1:]}
}

// Next goes to the next element and reports whether there is one.
func (l *List) Next() bool {
	rest := trim(l.rest)
	if len(rest) > 0 && rest[0] == ',' {
		rest = trim(rest[1:])
	}
	if len(rest) == 0 || rest[0] == ']' {
		return false
	}
	n := valueLen(rest)
	l.Value, l.rest = rest[:n:n], rest[n:]
	return true
}

// String returns the text of a JSON string that [Decode] has checked; empty for any other value.
func String(v []byte) string {
	if !isString(v) {
		return ""
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	return string(AppendUnquoted(nil, v))
}

// AppendUnquoted appends the text of a JSON string that [Decode] has checked.
func AppendUnquoted(dst, v []byte) []byte {
	v = v[1 : len(v)-1]
	for {
		i := bytes.IndexByte(v, '\\')
		if i < 0 {
			return append(dst, v...)
		}
		dst = append(dst, v[:i]...)
		c := v[i+1]
		v = v[i+2:]
		switch c {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, _ := hex4(v)
			v = v[4:]
			if utf16.IsSurrogate(r) {
				low, _ := hex4(v[2:])
				v = v[6:]
				r = utf16.DecodeRune(r, low)
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
}

func isString(v []byte) bool { return len(v) >= 2 && v[0] == '"' }

// stringIs reports whether a JSON string has that text.
func stringIs(v []byte, text string) bool {
	if !isString(v) {
		return false
	}
	inner := v[1 : len(v)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == text
	}
	return String(v) == text
}

func trim(v []byte) []byte {
	for len(v) > 0 && (v[0] == ' ' || v[0] == '\t' || v[0] == '\r' || v[0] == '\n') {
		v = v[1:]
	}
	return v
}

// skipTo returns v from the next c on, which only white space and a comma precede; nil where an object ends first.
func skipTo(v []byte, c byte) []byte {
	v = trim(v)
	if len(v) > 0 && v[0] == ',' {
		v = trim(v[1:])
	}
	if len(v) == 0 || v[0] != c {
		return nil
	}
	return v
}

// valueLen returns the length of the value that checked JSON begins with.
func valueLen(v []byte) int {
	if len(v) == 0 {
		return 0
	}
	switch v[0] {
	case '"':
		return stringLen(v)
	case '{', '[':
		depth := 0
		for i := 0; i < len(v); i++ {
			switch v[i] {
			case '"':
				i += stringLen(v[i:]) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return len(v)
	}
	for i, c := range v {
		switch c {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return i
		}
	}
	return len(v)
}

// stringLen returns the length of the string that v begins with, quotes included, or of v when it does not end.
func stringLen(v []byte) int {
	for i := 1; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(v)
}
