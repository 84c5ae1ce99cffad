package fetch

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// blanks are the texts that are blanked out of an answer: each secret as it is, in the encodings that echoing servers give
// back (percent, JSON, hexadecimal, base64 at any offset).
type blanks struct {
	texts   [][]byte
	longest int
}

// blank stands for each byte of a secret, so that no length changes.
const blank = '*'

func newBlanks(secrets []string) *blanks {
	b := &blanks{}
	for _, s := range secrets {
		if s == "" {
			continue
		}
		b.add(s)
		b.add(url.QueryEscape(s))
		b.add(url.PathEscape(s))
		quoted := strconv.Quote(s)
		b.add(quoted[1 : len(quoted)-1])
		b.add(hex.EncodeToString([]byte(s)))
		b.add(strings.ToUpper(hex.EncodeToString([]byte(s))))
		for offset := range 3 {
			b.add(base64Core(base64.RawStdEncoding, s, offset))
			b.add(base64Core(base64.RawURLEncoding, s, offset))
		}
	}
	// The longest first: a secret may begin with another.
	slices.SortFunc(b.texts, func(x, y []byte) int { return len(y) - len(x) })
	return b
}

// basic returns what the credentials of the scheme Basic say (RFC 7617).
func basic(value string) (string, bool) {
	scheme, rest, _ := strings.Cut(value, " ")
	text, err := base64.StdEncoding.DecodeString(rest)
	return string(text), err == nil && strings.EqualFold(scheme, "basic")
}

// base64Core is what stands for s in the encoding of any text in which s is offset bytes after a group of three: the
// characters that depend on s alone. Fewer than six say too little to be blanked.
func base64Core(e *base64.Encoding, s string, offset int) string {
	whole := (len(s) + offset) / 3 * 3
	text := e.EncodeToString([]byte(strings.Repeat("\x00", offset) + s)[:whole])
	skip := []int{0, 2, 3}[offset]
	if len(text) < skip+6 {
		return ""
	}
	return text[skip:]
}

func (b *blanks) add(s string) {
	if s != "" && !slices.ContainsFunc(b.texts, func(t []byte) bool { return string(t) == s }) {
		b.texts = append(b.texts, []byte(s))
		b.longest = max(b.longest, len(s))
	}
}

// mark sets mask where p holds a text that is to be blanked; texts may overlap.
func (b *blanks) mark(p []byte, mask []bool) {
	for _, t := range b.texts {
		marked := 0
		for from := 0; ; from++ {
			i := bytes.Index(p[from:], t)
			if i < 0 {
				break
			}
			from += i
			for k := max(from, marked); k < from+len(t); k++ {
				mask[k] = true
			}
			marked = from + len(t)
		}
	}
}

func (b *blanks) text(s string) string {
	p, mask := []byte(s), make([]bool, len(s))
	b.mark(p, mask)
	cover(p, mask)
	return string(p)
}

// cover writes blanks where mask says.
func cover(p []byte, mask []bool) {
	for i, m := range mask[:len(p)] {
		if m {
			p[i] = blank
		}
	}
}
