package uritemplate

import (
	"fmt"
	"strings"
)

// sequence is the path of a template, with scheme and authority, or its literal query: values between literals.
//
//	lits[0] vals[0] lits[1] vals[1] … lits[n]
//
// At most one value may hold several segments. What stands before it is matched forwards, what stands behind it
// backwards, and it takes what is left; so a match looks at each byte a bounded number of times.
type sequence struct {
	query bool
	lits  []string
	vals  []value
	delim []int // where in lits[i] the delimiter stands that its neighbours' values do not hold
}

// value is one variable.
type value struct {
	index   int // in Template.vars
	name    string
	op      byte
	multi   bool   // may hold "/"
	exclude string // delimiters that the value holds only percent-encoded
	host    bool   // begins in the authority
}

// literal appends to the literal at the end of the sequence.
func (s *sequence) literal(lit string) {
	for len(s.lits) <= len(s.vals) {
		s.lits = append(s.lits, "")
	}
	s.lits[len(s.vals)] += lit
}

// multi returns the index of the first value that may hold several segments, or -1.
func (s *sequence) multi() int {
	for i := range s.vals {
		if s.vals[i].multi {
			return i
		}
	}
	return -1
}

// finish checks that the sequence can be matched one way only.
func (s *sequence) finish() error {
	s.literal("")
	s.delim = make([]int, len(s.lits))
	multi := false
	for i := range s.vals {
		v := &s.vals[i]
		if v.multi && multi {
			return fmt.Errorf("%q is the second variable that can hold several segments, so that many splits would match", v.name)
		}
		multi = multi || v.multi
		if i == 0 {
			continue
		}
		prev := &s.vals[i-1]
		lit := s.lits[i]
		at := strings.IndexAny(lit, reserved)
		if multi && !v.multi { // matched backwards
			at = strings.LastIndexAny(lit, reserved)
		}
		if at < 0 {
			return fmt.Errorf("%q between %q and %q may stand in a value too, so that a URI matches two ways: separate them by a reserved character such as \"/\", \":\" or \",\"",
				lit, prev.name, v.name)
		}
		s.delim[i] = at
		prev.exclude += lit[at : at+1]
		v.exclude += lit[at : at+1]
	}
	return nil
}

// match splits text into values, into out by index. What it reports depends on text alone: no value is decoded.
func (s *sequence) match(text string, out *values) bool {
	text, ok := strings.CutPrefix(text, s.lits[0])
	if !ok {
		return false
	}
	last := len(s.vals) - 1
	if last < 0 {
		return text == ""
	}
	i := 0
	for ; i < last && !s.vals[i].multi; i++ {
		lit := s.lits[i+1]
		delim := s.delim[i+1]
		at := strings.IndexByte(text, lit[delim])
		if at < delim || text[at-delim:at] != lit[:delim] || !strings.HasPrefix(text[at:], lit[delim:]) {
			return false
		}
		if !out.set(s, i, text[:at-delim]) {
			return false
		}
		text = text[at+len(lit)-delim:]
	}
	for j := last; j > i; j-- {
		if text, ok = strings.CutSuffix(text, s.lits[j+1]); !ok {
			return false
		}
		lit := s.lits[j]
		delim := s.delim[j]
		at := strings.LastIndexByte(text, lit[delim])
		if at < 0 || !strings.HasPrefix(text[at+1:], lit[delim+1:]) {
			return false
		}
		end := at + len(lit) - delim
		if !out.set(s, j, text[end:]) {
			return false
		}
		text = text[:end]
	}
	text, ok = strings.CutSuffix(text, s.lits[i+1])
	return ok && out.set(s, i, text)
}
