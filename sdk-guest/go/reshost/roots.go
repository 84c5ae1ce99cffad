package reshost

import (
	"sort"
	"strconv"

	"github.com/reshost/reshost/abi"
)

// Root is a folder that the operator granted.
type Root struct {
	// Name is the operator's, and the first element of its files' paths in [FS].
	Name string
	// Prefix is what the path of its files' URIs begins with, such as "/srv/docs": percent-encoded, and without a slash at the
	// end unless it is "/".
	Prefix string
}

// Roots returns the granted folders in the order of their names. It works in [Plugin.Init] too.
func (c Config) Roots() []Root {
	text, ok := c.Raw(abi.ConfigAllRoots)
	if !ok {
		return nil
	}
	var roots []Root
	s := objectScanner{rest: text}
	for s.next() {
		roots = append(roots, Root{Name: s.key, Prefix: s.value})
	}
	sort.Slice(roots, func(i, j int) bool { return roots[i].Name < roots[j].Name })
	return roots
}

// objectScanner reads an object whose values are strings, as the host writes it. It stops at what is not one.
type objectScanner struct{ rest, key, value string }

func (s *objectScanner) next() (ok bool) {
	s.space()
	if s.rest == "" || s.rest[0] != '{' && s.rest[0] != ',' {
		return false
	}
	s.rest = s.rest[1:]
	if s.key, ok = s.text(); !ok {
		return false
	}
	s.space()
	if s.rest == "" || s.rest[0] != ':' {
		return false
	}
	s.rest = s.rest[1:]
	s.value, ok = s.text()
	return ok
}

func (s *objectScanner) space() {
	for s.rest != "" && (s.rest[0] == ' ' || s.rest[0] == '\t' || s.rest[0] == '\n' || s.rest[0] == '\r') {
		s.rest = s.rest[1:]
	}
}

// text reads a string.
func (s *objectScanner) text() (string, bool) {
	s.space()
	if s.rest == "" || s.rest[0] != '"' {
		return "", false
	}
	var b []byte
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; c {
		case '"':
			s.rest = s.rest[i+1:]
			return string(b), true
		case '\\':
			n := 0
			if b, n = appendEscape(b, s.rest[i+1:]); n == 0 {
				return "", false
			}
			i += n
		default:
			b = append(b, c)
		}
	}
	return "", false
}

// appendEscape appends what the escape at the start of s, behind its backslash, stands for, and returns its length; 0: it
// is none (RFC 8259 section 7).
func appendEscape(b []byte, s string) ([]byte, int) {
	if s == "" {
		return b, 0
	}
	switch s[0] {
	case '"', '\\', '/':
		return append(b, s[0]), 1
	case 'b':
		return append(b, '\b'), 1
	case 'f':
		return append(b, '\f'), 1
	case 'n':
		return append(b, '\n'), 1
	case 'r':
		return append(b, '\r'), 1
	case 't':
		return append(b, '\t'), 1
	case 'u':
		return appendUnicodeEscape(b, s)
	}
	return b, 0
}

func appendUnicodeEscape(b []byte, s string) ([]byte, int) {
	r, ok := hexRune(s)
	if !ok {
		return b, 0
	}
	n := len("u0000")
	if r >= 0xD800 && r < 0xDC00 && len(s) > n && s[n] == '\\' {
		if low, ok := hexRune(s[n+1:]); ok && low >= 0xDC00 && low < 0xE000 {
			r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
			n += 1 + len("u0000")
		}
	}
	return append(b, string(r)...), n
}

// hexRune reads "uXXXX".
func hexRune(s string) (rune, bool) {
	if len(s) < len("u0000") || s[0] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[1:5], 16, 16)
	return rune(v), err == nil
}
