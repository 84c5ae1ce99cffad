package uritemplate

import (
	"strings"

	"github.com/reshost/reshost/host/internal/uri"
)

// canonical returns the one spelling of u, which matched with these values: a reserved character stands as it is wherever the
// template and the syntax of URIs let it, and query variables stand in the template's order. It fails when that makes the URI
// longer than one may be.
//
// Package uri cannot do it: whether "%3A" and ":" are the same is known only where the template tells data from delimiters.
func (t *Template) canonical(u uri.URI, found *values) (uri.URI, bool) {
	changed := found.shuffled
	beyond := false // the authority has ended within a value
	for i := range t.path.vals {
		val := &t.path.vals[i]
		host := val.host && !beyond
		beyond = beyond || strings.IndexByte(found.raw[val.index], '/') >= 0
		changed = found.canonicalise(val, host, false) || changed
	}
	for i := range t.query.vals {
		changed = found.canonicalise(&t.query.vals[i], false, true) || changed
	}
	for i := range t.params {
		changed = found.canonicalise(&value{index: t.fromParams + i}, false, true) || changed
	}
	if !changed {
		return u, true
	}
	b := t.path.appendURI(nil, found)
	if u.HasQuery {
		b = append(b, '?')
		b = t.query.appendURI(b, found)
		first := !t.hasQuery
		for i, name := range t.params {
			if found.defined&(1<<(t.fromParams+i)) == 0 {
				continue
			}
			if !first {
				b = append(b, '&')
			}
			first = false
			b = append(append(append(b, name...), '='), found.raw[t.fromParams+i]...)
		}
	}
	u, err := uri.Parse(string(b))
	return u, err == nil
}

func (s *sequence) appendURI(b []byte, found *values) []byte {
	b = append(b, s.lits[0]...)
	for i := range s.vals {
		b = append(append(b, found.raw[s.vals[i].index]...), s.lits[i+1]...)
	}
	return b
}

// canonicalise rewrites a value and reports whether that changed it. host says that it begins in the authority.
func (v *values) canonicalise(val *value, host, query bool) bool {
	raw := v.raw[val.index]
	if !strings.ContainsAny(raw, "%[]") {
		return false
	}
	b := make([]byte, 0, 3*len(raw))
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '[' || c == ']': // those of an IP literal: elsewhere package uri encodes them
			b = uri.AppendEscape(b, c)
		case c != '%':
			host = host && c != '/'
			b = append(b, c)
		default:
			if d := uri.Unescape(raw[i:]); val.bare(d, host, query) {
				b = append(b, d)
			} else {
				b = append(b, raw[i:i+3]...)
			}
			i += 2
		}
	}
	if string(b) == raw {
		return false
	}
	v.raw[val.index] = string(b)
	return true
}

// bare reports whether c stands unencoded in a value of which it is data.
func (val *value) bare(c byte, host, query bool) bool {
	if !val.multi && strings.IndexByte(val.exclude, c) >= 0 {
		return false
	}
	switch c {
	case '!', '$', '\'', '(', ')', '*', '+', ',', ';', '=', ':':
		return true
	case '&':
		return !query
	case '@':
		return !host
	case '/', '?':
		return query && !val.multi
	}
	return false
}
