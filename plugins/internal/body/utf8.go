package body

import "unicode/utf8"

// textCheck tells whether bytes that come in pieces are valid UTF-8 as a whole. The zero value is ready.
type textCheck struct {
	// tail holds the first bytes of a character that the last piece cut.
	tail [utf8.UTFMax]byte
	n    int
}

// feed takes the next piece and reports whether all so far can be the beginning of valid UTF-8.
func (c *textCheck) feed(b []byte) bool {
	for c.n > 0 {
		if utf8.FullRune(c.tail[:c.n]) {
			if r, size := utf8.DecodeRune(c.tail[:c.n]); r == utf8.RuneError && size == 1 {
				return false
			}
			c.n = 0
			break
		}
		if len(b) == 0 {
			return true
		}
		c.tail[c.n] = b[0]
		c.n++
		b = b[1:]
	}
	whole := len(b) - partialRune(b)
	c.n = copy(c.tail[:], b[whole:])
	return utf8.Valid(b[:whole])
}

// complete reports whether the end is not in the middle of a character.
func (c *textCheck) complete() bool { return c.n == 0 }

// partialRune returns how many bytes at the end of b begin a character that b does not finish.
func partialRune(b []byte) int {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		tail := b[len(b)-i:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return i
		}
	}
	return 0
}
