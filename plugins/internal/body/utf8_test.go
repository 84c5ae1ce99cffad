package body

import (
	"testing"
	"unicode/utf8"
)

// The pieces must not matter, wherever they are cut.
func checkInPieces(t *testing.T, in []byte, first, size int) {
	t.Helper()
	var c textCheck
	ok := c.feed(in[:first])
	for rest := in[first:]; ok && len(rest) > 0; {
		n := min(size, len(rest))
		ok = c.feed(rest[:n])
		rest = rest[n:]
	}
	if got, want := ok && c.complete(), utf8.Valid(in); got != want {
		t.Errorf("%q in pieces of %d after one of %d: valid = %t, want %t", in, size, first, got, want)
	}
}

func TestTextCheck(t *testing.T) {
	for _, in := range []string{
		"", "a", "plain text", "\ufeffwith a mark", "é日本😀", "\xff\xfea\x00", "a\xc3", "\xc3", "\xe6\x97", "\xf0\x9f\x98",
		"\x80", "a\x80b", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3(", "\xe6(\xa5", "\xf0\x9f\x98a", "x\x00y",
	} {
		for first := 0; first <= len(in); first++ {
			for size := 1; size <= 4; size++ {
				checkInPieces(t, []byte(in), first, size)
			}
		}
	}
}

func FuzzTextCheck(f *testing.F) {
	f.Add([]byte("é日本😀"), 1, 2)
	f.Fuzz(func(t *testing.T, in []byte, first, size int) {
		if first < 0 || first > len(in) || size < 1 {
			return
		}
		checkInPieces(t, in, first, size)
	})
}
