package reshost

const hexUpper = "0123456789ABCDEF"

// EscapeSegment percent-encodes s for one segment of a URI, as a template's {name} does: everything but letters, digits and
// "-._~". No escaping makes a segment of "." or "..", since those always mean a step.
func EscapeSegment(s string) string { return escape(s, false) }

// EscapePath percent-encodes s for a path of several segments, to be matched by a template's {+name}: '/' and the other
// characters that a path may hold stay as they are; '?', '#', '%', spaces and so on do not.
func EscapePath(s string) string { return escape(s, true) }

func escape(s string, path bool) string {
	n := 0
	for i := range len(s) {
		if !plain(s[i], path) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; plain(c, path) {
			b = append(b, c)
		} else {
			b = append(b, '%', hexUpper[c>>4], hexUpper[c&15])
		}
	}
	return string(b)
}

// Unescape decodes percent-encodings once. A '%' that begins none makes it report false.
func Unescape(s string) (decoded string, ok bool) {
	n := 0
	for i := range len(s) {
		if s[i] == '%' {
			n++
		}
	}
	if n == 0 {
		return s, true
	}
	b := make([]byte, 0, len(s)-2*min(n, len(s)/3))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			if i+2 >= len(s) {
				return "", false
			}
			high, low := hexValue(s[i+1]), hexValue(s[i+2])
			if high < 0 || low < 0 {
				return "", false
			}
			c = byte(high<<4 | low)
			i += 2
		}
		b = append(b, c)
	}
	return string(b), true
}

func hexValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// plain reports whether c stands for itself: in a segment the unreserved characters (RFC 3986 section 2.3), in a path those
// of pchar (section 3.3) and '/'.
func plain(c byte, path bool) bool {
	if unreserved(c) {
		return true
	}
	if !path {
		return false
	}
	switch c {
	case '!', '$', '&', '\'', '(', ')', '*', '+', ',', ';', '=', ':', '@', '/':
		return true
	}
	return false
}

func unreserved(c byte) bool {
	return letter(c) || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
