package uri

import (
	"strings"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// Classes of bytes outside the scheme.
const (
	bad       = iota // stands in no URI
	plain            // a delimiter, or unreserved
	escape           // '%'
	bracket          // delimits an IP literal in an authority, is data elsewhere
	space            // ' ' and everything beyond ASCII: percent-encoded
	control          //
	nul              //
	fragment         // '#'
	alpha            // 'plain', and may start a scheme
	schemeRun        // 'plain', and may continue a scheme
)

// Unreserved reports whether c is unreserved (RFC 3986 section 2.3): its percent-encoding and itself are one.
func Unreserved(c byte) bool {
	return class[c] == alpha || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

var class = func() (t [256]uint8) {
	for c := range t {
		switch {
		case c == 0:
			t[c] = nul
		case c < 0x20 || c == 0x7f:
			t[c] = control
		case c == ' ' || c >= utf8.RuneSelf:
			t[c] = space
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
			t[c] = alpha
		case '0' <= c && c <= '9' || c == '+' || c == '-' || c == '.':
			t[c] = schemeRun
		case strings.IndexByte("_~!$&'()*,;=:@/?", byte(c)) >= 0:
			t[c] = plain
		case c == '%':
			t[c] = escape
		case c == '[' || c == ']':
			t[c] = bracket
		case c == '#':
			t[c] = fragment
		}
	}
	return t
}()

// normalise returns s in normal form: s itself when it has it. It looks at characters only; [Parse] judges components.
func normalise(s string) (string, error) {
	if len(s) > MaxLen {
		return "", ErrTooLong
	}
	colon, folded, err := scheme(s)
	if err != nil {
		return "", err
	}
	lit := ipLiteral(s, colon+1)
	clean, err := scan(s, lit)
	if err != nil {
		return "", err
	}
	if folded && clean == len(s) {
		return s, nil
	}
	b := make([]byte, clean, len(s)+len(s)/4+16)
	copy(b, s)
	for i := range colon {
		b[i] = lower(b[i])
	}
	b = appendNormal(b, s, clean, lit)
	if len(b) > MaxLen {
		return "", ErrTooLong
	}
	return string(b), nil
}

// scheme returns where the scheme ends and whether it is lower case.
func scheme(s string) (end int, folded bool, err error) {
	folded = true
	for i := range len(s) {
		switch c := s[i]; {
		case c == ':' && i > 0:
			return i, folded, nil
		case class[c] == alpha:
			folded = folded && c >= 'a'
		case class[c] == schemeRun && i > 0:
		default:
			return 0, false, ErrRelative
		}
	}
	return 0, false, ErrRelative
}

// ipLiteral returns the end of an authority's IP literal (RFC 3986 section 3.2.2), and 0 when it has none. Brackets before
// that end are delimiters.
func ipLiteral(s string, from int) int {
	if !strings.HasPrefix(s[from:], "//[") {
		return 0
	}
	end := authorityEnd(s, from+2)
	for i := from + 3; i < end; i++ {
		switch c := s[i]; {
		case c == ']':
			if i > from+3 && (i+1 == end || s[i+1] == ':') {
				return i + 1
			}
			return 0
		case isHex(c) || c == ':' || c == '.' || c == 'v':
		default:
			return 0
		}
	}
	return 0
}

// scan returns how many leading bytes of s are in normal form, or why s is no URI.
func scan(s string, lit int) (int, error) {
	clean := len(s)
	wide := false
	for i := 0; i < len(s); i++ {
		dirty := false
		switch class[s[i]] {
		case alpha, plain, schemeRun:
			continue
		case escape:
			if i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
				return 0, ErrEscape
			}
			c := unhex(s[i+1])<<4 | unhex(s[i+2])
			if c == 0 {
				return 0, ErrNUL
			}
			dirty = Unreserved(c) || s[i+1] >= 'a' || s[i+2] >= 'a'
		case bracket:
			dirty = i >= lit
		case space:
			dirty, wide = true, true
		case control:
			return 0, ErrControl
		case nul:
			return 0, ErrNUL
		case fragment:
			return 0, ErrFragment
		default:
			return 0, ErrCharacter
		}
		if dirty && clean == len(s) {
			clean = i
		}
		if s[i] == '%' {
			i += 2
		}
	}
	if wide && !utf8.ValidString(s) {
		return 0, ErrUTF8
	}
	return clean, nil
}

// appendNormal appends s[from:], which scan accepted.
func appendNormal(b []byte, s string, from, lit int) []byte {
	for i := from; i < len(s); i++ {
		c := s[i]
		switch class[c] {
		case escape:
			d := unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if Unreserved(d) {
				b = append(b, d)
			} else {
				b = AppendEscape(b, d)
			}
		case bracket:
			if i < lit {
				b = append(b, c)
			} else {
				b = AppendEscape(b, c)
			}
		case space:
			b = AppendEscape(b, c)
		default:
			b = append(b, c)
		}
	}
	return b
}

// AppendEscape appends the percent-encoding of c.
func AppendEscape(b []byte, c byte) []byte {
	return append(b, '%', upperHex[c>>4], upperHex[c&15])
}

// Literal normalises a part of a URI that an author wrote, such as the fixed text of a template. Characters that [Parse]
// refuses because a URI cannot hold them are percent-encoded too. start says that s is where the URI starts, so that its
// brackets may be those of an IP literal.
func Literal(s string, start bool) (string, error) {
	b := make([]byte, 0, len(s))
	for i := range len(s) {
		if class[s[i]] == bad {
			b = AppendEscape(b, s[i])
		} else {
			b = append(b, s[i])
		}
	}
	s = string(b)
	lit := 0
	if colon, _, err := scheme(s); start && err == nil {
		lit = ipLiteral(s, colon+1)
	}
	clean, err := scan(s, lit)
	if err != nil {
		return "", err
	}
	if clean == len(s) {
		return s, nil
	}
	return string(appendNormal(b[:clean], s, clean, lit)), nil
}

// Unescape returns the byte that the percent-encoding at the beginning of s stands for.
func Unescape(s string) byte { return unhex(s[1])<<4 | unhex(s[2]) }

// Decode decodes every percent-encoding of a component of a normalised URI, once. It returns s itself when there is none.
func Decode(s string) string {
	first := strings.IndexByte(s, '%')
	if first < 0 {
		return s
	}
	b := make([]byte, first, len(s))
	copy(b, s)
	for i := first; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
		}
		b = append(b, c)
	}
	return string(b)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return lower(c) - 'a' + 10
}
