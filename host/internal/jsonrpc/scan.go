package jsonrpc

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// scanner checks JSON (RFC 8259) in one pass.
type scanner struct {
	data  []byte
	pos   int
	depth int
	// maxDepth bounds depth; 0 means MaxDepth.
	maxDepth int
	// names is a stack of the names seen in the objects that are open; side holds those that were written with escapes,
	// decoded.
	names []name
	side  []byte
}

// name is a member's name: a range of data, or of side.
type name struct {
	start, end int32
	side       bool
}

// fewNames is up to how many members an object's names are compared one by one; above, they are sorted when it ends, so
// that the cost stays below quadratic and needs no memory but the names' places.
const fewNames = 16

var bom = []byte("\xef\xbb\xbf")

// message scans a whole message and nothing after it.
func (s *scanner) message(e *envelope) *Error {
	if bytes.HasPrefix(s.data, bom) {
		s.pos = len(bom)
	}
	s.space()
	switch s.peek() {
	case '{':
		if err := s.object(e); err != nil {
			return err
		}
		return s.end()
	case '[':
		return invalid(errBatch)
	}
	if err := s.value(); err != nil {
		return err
	}
	if err := s.end(); err != nil {
		return err
	}
	return invalid("a message must be an object")
}

func (s *scanner) end() *Error {
	s.space()
	if s.pos < len(s.data) {
		return s.fail("data after the message")
	}
	return nil
}

// peek returns the next byte; 0 at the end, where no token starts either.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) {
		return s.data[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) fail(what string) *Error {
	if s.pos >= len(s.data) {
		what = "unexpected end"
	}
	return &Error{Code: CodeParse, Message: fmt.Sprintf("invalid JSON at byte %d: %s", s.pos, what)}
}

func (s *scanner) value() *Error {
	switch c := s.peek(); {
	case c == '"':
		_, err := s.string()
		return err
	case c == '{':
		return s.object(nil)
	case c == '[':
		return s.array()
	case c == '-' || ('0' <= c && c <= '9'):
		return s.number()
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	}
	return s.fail("a value was expected")
}

func (s *scanner) literal(word string) *Error {
	for i := range len(word) {
		if s.peek() != word[i] {
			return s.fail("a value was expected")
		}
		s.pos++
	}
	return nil
}

func (s *scanner) enter() *Error {
	s.depth++
	if limit := cmp.Or(s.maxDepth, MaxDepth); s.depth > limit {
		return invalid(fmt.Sprintf("nested deeper than %d", limit))
	}
	s.pos++
	s.space()
	return nil
}

// object scans an object, from its brace on. Where e is not nil, it takes the members' values.
func (s *scanner) object(e *envelope) *Error {
	if err := s.enter(); err != nil {
		return err
	}
	base := len(s.names)
	if s.peek() != '}' {
		for {
			if err := s.member(e, base); err != nil {
				return err
			}
			s.space()
			if s.peek() != ',' {
				break
			}
			s.pos++
			s.space()
		}
	}
	if s.peek() != '}' {
		return s.fail("a comma or the end of an object was expected")
	}
	s.pos++
	s.depth--
	if names := s.names[base:]; len(names) > fewNames {
		if err := duplicateOfMany(s.data, s.side, names); err != nil {
			return err
		}
	}
	s.names = s.names[:base]
	if base == 0 {
		s.side = s.side[:0]
	}
	return nil
}

func (s *scanner) member(e *envelope, base int) *Error {
	if s.peek() != '"' {
		return s.fail("a name was expected")
	}
	start := s.pos
	escaped, err := s.string()
	if err != nil {
		return err
	}
	n := name{start: int32(start + 1), end: int32(s.pos - 1)}
	if escaped {
		n.side, n.start = true, int32(len(s.side))
		s.side = AppendUnquoted(s.side, s.data[start:s.pos])
		n.end = int32(len(s.side))
	}
	text := nameText(s.data, s.side, n)
	if seen := s.names[base:]; len(seen) < fewNames {
		for _, other := range seen {
			if bytes.Equal(text, nameText(s.data, s.side, other)) {
				return duplicate(text)
			}
		}
	}
	s.names = append(s.names, n)
	s.space()
	if s.peek() != ':' {
		return s.fail("a colon was expected")
	}
	s.pos++
	s.space()
	start = s.pos
	if err := s.value(); err != nil {
		return err
	}
	if e != nil {
		if f := e.field(text); f != nil {
			*f = s.data[start:s.pos:s.pos]
		}
	}
	return nil
}

func nameText(data, side []byte, n name) []byte {
	if n.side {
		data = side
	}
	return data[n.start:n.end]
}

func duplicateOfMany(data, side []byte, names []name) *Error {
	slices.SortFunc(names, func(a, b name) int {
		return bytes.Compare(nameText(data, side, a), nameText(data, side, b))
	})
	for i := range names[1:] {
		if text := nameText(data, side, names[i]); bytes.Equal(text, nameText(data, side, names[i+1])) {
			return duplicate(text)
		}
	}
	return nil
}

func duplicate(text []byte) *Error {
	if len(text) > 64 {
		text = text[:64]
	}
	return invalid(fmt.Sprintf("the name %q occurs twice in one object", text))
}

func (s *scanner) array() *Error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.peek() != ']' {
		for {
			if err := s.value(); err != nil {
				return err
			}
			s.space()
			if s.peek() != ',' {
				break
			}
			s.pos++
			s.space()
		}
	}
	if s.peek() != ']' {
		return s.fail("a comma or the end of an array was expected")
	}
	s.pos++
	s.depth--
	return nil
}

func (s *scanner) number() *Error {
	if s.peek() == '-' {
		s.pos++
	}
	if s.peek() == '0' {
		s.pos++
	} else if !s.digits() {
		return s.fail("a digit was expected")
	}
	if s.peek() == '.' {
		s.pos++
		if !s.digits() {
			return s.fail("a digit was expected")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.peek(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.fail("a digit was expected")
		}
	}
	return nil
}

// digits skips decimal digits and reports whether there were any.
func (s *scanner) digits() bool {
	start := s.pos
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.pos++
	}
	return s.pos > start
}

// string scans a string, from its quote on, and reports whether it has escapes.
func (s *scanner) string() (escaped bool, err *Error) {
	s.pos++
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return escaped, nil
		case c == '\\':
			escaped = true
			if err := s.escape(); err != nil {
				return escaped, err
			}
		case c < ' ':
			return escaped, s.fail("a control character in a string")
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, n := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && n <= 1 {
				return escaped, s.fail("invalid UTF-8")
			}
			s.pos += n
		}
	}
	return escaped, s.fail("")
}

// escape scans one escape, and both halves of a surrogate pair.
func (s *scanner) escape() *Error {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return nil
	case 'u':
	default:
		return s.fail("an unknown escape")
	}
	high, ok := s.hex()
	if !ok {
		return s.fail("an unknown escape")
	}
	if high < 0xd800 || high > 0xdfff {
		return nil
	}
	if high > 0xdbff || s.peek() != '\\' {
		return s.fail("half a surrogate pair")
	}
	s.pos++
	if low, ok := s.hex(); !ok || low < 0xdc00 || low > 0xdfff {
		return s.fail("half a surrogate pair")
	}
	return nil
}

// hex scans the u of an escape and its four digits.
func (s *scanner) hex() (rune, bool) {
	if len(s.data)-s.pos < 5 || s.data[s.pos] != 'u' {
		return 0, false
	}
	r, ok := hex4(s.data[s.pos+1:])
	if ok {
		s.pos += 5
	}
	return r, ok
}

// hex4 decodes the four hexadecimal digits that data begins with.
func hex4(data []byte) (r rune, ok bool) {
	for _, c := range data[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
