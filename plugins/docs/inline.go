package main

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain returns text, the inside of a Markdown block, without its inline markup: links become their text, images
// vanish, runs of white space and control characters become one space, invalid UTF-8 becomes U+FFFD. Links nested deeper than depth
// are taken literally.
func plain(text []byte, depth int) string {
	w := inlineWriter{out: make([]byte, 0, len(text))}
	w.inline(text, depth)
	return string(bytes.TrimRight(w.out, " "))
}

type inlineWriter struct{ out []byte }

func (w *inlineWriter) inline(text []byte, depth int) {
	for i := 0; i < len(text); {
		n := w.markup(text, i, depth)
		if n == 0 {
			n = w.rune(text[i:])
		}
		i += n
	}
}

// rune writes the first character of s and returns its length in s.
func (w *inlineWriter) rune(s []byte) int {
	r, n := utf8.DecodeRune(s)
	if unicode.IsSpace(r) || unicode.IsControl(r) {
		if len(w.out) > 0 && w.out[len(w.out)-1] != ' ' {
			w.out = append(w.out, ' ')
		}
		return n
	}
	w.out = utf8.AppendRune(w.out, r)
	return n
}

func (w *inlineWriter) literal(s []byte) {
	for len(s) > 0 {
		s = s[w.rune(s):]
	}
}

// markup handles the markup that begins at text[i] and returns its length; 0: there is none.
func (w *inlineWriter) markup(text []byte, i, depth int) int {
	rest := text[i:]
	switch c := rest[0]; c {
	case '\\':
		if len(rest) > 1 && isPunct(rest[1]) {
			w.out = append(w.out, rest[1])
			return 2
		}
	case '`':
		return w.code(rest)
	case '!':
		if len(rest) > 1 && rest[1] == '[' && depth > 0 {
			if _, n := link(rest[1:]); n > 0 {
				return 1 + n
			}
		}
	case '[':
		if depth > 0 {
			if inner, n := link(rest); n > 0 {
				w.inline(inner, depth-1)
				return n
			}
		}
	case '*', '_', '~':
		return emphasis(text, i)
	case '<':
		return w.angle(rest)
	case '&':
		return w.entity(rest)
	}
	return 0
}

// code writes the inside of a code span and returns its length.
func (w *inlineWriter) code(s []byte) int {
	n := run(s)
	for i := n; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		m := run(s[i:])
		if m == n {
			inner := s[n:i]
			if len(inner) > 2 && inner[0] == ' ' && inner[len(inner)-1] == ' ' {
				inner = inner[1 : len(inner)-1]
			}
			w.literal(inner)
			return i + n
		}
		i += m
	}
	w.literal(s[:n])
	return n
}

// angle handles an autolink, whose address is its text, and an HTML tag, which has none.
func (w *inlineWriter) angle(s []byte) int {
	end := bytes.IndexByte(s, '>')
	if end < 2 || !(isAlnum(s[1]) || s[1] == '/' || s[1] == '!') {
		return 0
	}
	inner := s[1:end]
	if bytes.IndexByte(inner, ' ') < 0 && (bytes.IndexByte(inner, ':') > 1 || bytes.IndexByte(inner, '@') > 0) {
		w.literal(inner)
	}
	return end + 1
}

func (w *inlineWriter) entity(s []byte) int {
	for _, e := range [...][2]string{{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", `"`}, {"&nbsp;", " "}} {
		if strings.HasPrefix(string(s[:min(len(s), len(e[0]))]), e[0]) {
			w.literal([]byte(e[1]))
			return len(e[0])
		}
	}
	return 0
}

// link returns the text of the link that s begins with, "[text](target)" or "[text][name]", and its length; 0: none.
func link(s []byte) (text []byte, n int) {
	end := closing(s, '[', ']')
	if end < 0 || end+1 >= len(s) {
		return nil, 0
	}
	tail := s[end+1:]
	stop := -1
	switch tail[0] {
	case '(':
		stop = closing(tail, '(', ')')
	case '[':
		stop = closing(tail, '[', ']')
	}
	if stop < 0 {
		return nil, 0
	}
	return s[1:end], end + 1 + stop + 1
}

// closing returns where the bracket that s begins with is closed, or -1.
func closing(s []byte, open, end byte) int {
	level := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case open:
			level++
		case end:
			level--
			if level == 0 {
				return i
			}
		}
	}
	return -1
}

// emphasis returns the length of the run of markers at text[i], or 0 where it stands for itself: alone between
// spaces, an underscore inside a word, a single tilde.
func emphasis(text []byte, i int) int {
	n := run(text[i:])
	before, _ := utf8.DecodeLastRune(text[:i])
	after, _ := utf8.DecodeRune(text[i+n:])
	spaceBefore := i == 0 || unicode.IsSpace(before)
	spaceAfter := i+n == len(text) || unicode.IsSpace(after)
	switch {
	case spaceBefore && spaceAfter, text[i] == '~' && n != 2:
		return 0
	case text[i] == '_' && isWord(before) && isWord(after):
		return 0
	}
	return n
}

// run counts the bytes at the start of s that equal the first.
func run(s []byte) int {
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return n
}

func isWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

func isPunct(c byte) bool {
	return c > ' ' && c < 0x7f && !isAlnum(c)
}
