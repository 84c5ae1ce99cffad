package reshost

import "unicode/utf8"

// Readers of JSON text that the host has checked by strict rules: no name twice, valid UTF-8. Of other text they make what they can,
// and they stay within it.

// member returns the value of an object's member.
func member(object, name string) (value string, ok bool) {
	s := skipSpace(object)
	if s == "" || s[0] != '{' {
		return "", false
	}
	for s = skipSpace(s[1:]); s != "" && s[0] == '"'; {
		n := valueLen(s)
		key, valid := unquote(s[:n])
		s = skipSpace(s[n:])
		if s == "" || s[0] != ':' {
			return "", false
		}
		s = skipSpace(s[1:])
		n = valueLen(s)
		if valid && key == name {
			return s[:n], n > 0
		}
		s = skipSpace(s[n:])
		if s != "" && s[0] == ',' {
			s = skipSpace(s[1:])
		}
	}
	return "", false
}

// unquoteAll returns the strings of an array of nothing else.
func unquoteAll(array string) ([]string, bool) {
	s := skipSpace(array)
	if s == "" || s[0] != '[' {
		return nil, false
	}
	list := []string{}
	for s = skipSpace(s[1:]); s != "" && s[0] != ']'; {
		n := valueLen(s)
		text, ok := unquote(s[:n])
		if !ok {
			return nil, false
		}
		list = append(list, text)
		s = skipSpace(s[n:])
		if s != "" && s[0] == ',' {
			s = skipSpace(s[1:])
		}
	}
	return list, s == "]"
}

func skipSpace(s string) string {
	for s != "" && (s[0] == ' ' || s[0] == '\t' || s[0] == '\r' || s[0] == '\n') {
		s = s[1:]
	}
	return s
}

// valueLen returns the length of the value that s begins with; 0 for none.
func valueLen(s string) int {
	depth := 0
	for i := 0; i < len(s); {
		switch s[i] {
		case '"':
			i += stringLen(s[i:])
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			i++
			if depth == 0 {
				continue // a number or a word goes on
			}
		}
		if depth == 0 {
			return i
		}
	}
	return len(s)
}

// stringLen returns the length of the string that s begins with, quotes included, or of s when it does not end.
func stringLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

// unquote returns the text of a JSON string, and whether it is one.
func unquote(s string) (string, bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return "", false
	}
	s = s[1 : len(s)-1]
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			out = append(out, s[i])
			continue
		}
		if i++; i == len(s) {
			return "", false
		}
		switch c := s[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, n := unescape(s[i-1:])
			if n == 0 {
				return "", false
			}
			out = utf8.AppendRune(out, r)
			i += n - 2
		default:
			out = append(out, c)
		}
	}
	return string(out), true
}

// unescape returns the character of the \u escape that s begins with, and the length of it: both halves of a surrogate pair.
func unescape(s string) (r rune, n int) {
	r, ok := hex4(s)
	if !ok {
		return 0, 0
	}
	if r < 0xd800 || r > 0xdfff {
		return r, 6
	}
	if low, ok := hex4(s[6:]); ok && r < 0xdc00 && low >= 0xdc00 && low <= 0xdfff {
		return (r-0xd800)<<10 + (low - 0xdc00) + 0x10000, 12
	}
	return utf8.RuneError, 6
}

// hex4 reads the \uXXXX that s begins with.
func hex4(s string) (r rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for i := 2; i < 6; i++ {
		c := s[i]
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

// parseInt reads a JSON number that is whole, within 64 bits. Some languages write a fraction of zeros to it.
func parseInt(s string) (int64, bool) {
	const most = 1<<63 - 1
	i, negative := 0, s != "" && s[0] == '-'
	if negative {
		i = 1
	}
	first := i
	var u uint64
	for ; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		digit := uint64(s[i] - '0')
		if u > (most-digit)/10 {
			return 0, false
		}
		u = u*10 + digit
	}
	if i == first {
		return 0, false
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i] == '0'; i++ {
		}
	}
	if i < len(s) {
		return 0, false
	}
	if negative {
		return -int64(u), true
	}
	return int64(u), true
}
