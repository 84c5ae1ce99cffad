package uritemplate

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
)

// values are the variables of one match, percent-encoded.
type values struct {
	raw      [maxVars]string
	defined  uint32 // a bit for each
	count    int
	shuffled bool // query variables stand in another order than the template's
}

// set takes the value s.vals[i] when it is well formed.
func (v *values) set(s *sequence, i int, raw string) bool {
	val := &s.vals[i]
	if raw == "" && !s.query {
		return false
	}
	for j := 0; j < len(raw); j++ {
		switch c := raw[j]; {
		case c == '%':
			// A literal may have cut a triplet in two.
			if j+2 >= len(raw) {
				return false
			}
			if (val.multi || val.op == opSegment) && (raw[j+1:j+3] == "2F" || raw[j+1:j+3] == "5C") {
				return false
			}
			j += 2
		case val.multi:
			if c == '?' {
				return false
			}
		case c == '/' && !s.query, c == '&' && s.query:
			return false
		case val.exclude != "" && strings.IndexByte(val.exclude, c) >= 0:
			return false
		}
	}
	v.put(val.index, raw)
	return true
}

func (v *values) put(index int, raw string) {
	v.raw[index] = raw
	v.defined |= 1 << index
	v.count++
}

// Match reports whether u is a URI of the template and returns its variables in the template's order, each decoded once.
// Absent query variables are left out. slash says which variables may hold "/", "\\", dot segments and control characters
// where their operator does not admit them (provider.TemplateVar.Slash); nil is none.
//
// u is given as it was sent: where the template's authority is literal, Match folds u's itself.
func (t *Template) Match(u uri.URI, slash func(name string) bool) ([]provider.Var, bool) {
	vars, _, ok := t.Resolve(u, slash)
	return vars, ok
}

// Resolve is [Template.Match], and returns the canonical spelling of u too: the same for all URIs that give the template the
// same variables. Access rules, caches and watches go by it, so that "R%26D" is no way around a rule about "R&D".
func (t *Template) Resolve(u uri.URI, slash func(name string) bool) ([]provider.Var, uri.URI, bool) {
	if u.HasQuery && !t.hasQuery && t.params == nil || !u.HasQuery && t.hasQuery ||
		u.HasAuthority != t.authority || !strings.HasPrefix(u.String(), t.scheme) {
		return nil, uri.URI{}, false
	}
	if t.foldAuthority {
		u = u.FoldAuthority()
	}
	path := u.String()
	if u.HasQuery {
		path = path[:len(path)-len(u.Query)-len("?")]
	}
	var found values
	if !t.path.match(path, &found) || u.HasQuery && !t.matchQuery(u.Query, &found) {
		return nil, uri.URI{}, false
	}
	vars, ok := t.decode(&found, slash)
	if !ok {
		return nil, uri.URI{}, false
	}
	u, ok = t.canonical(u, &found)
	return vars, u, ok
}

func (t *Template) matchQuery(query string, found *values) bool {
	if !t.hasQuery {
		return t.matchParams(query, found)
	}
	if t.params == nil {
		return t.query.match(query, found)
	}
	fixed, params, more := t.query.cutParams(query)
	return t.query.match(fixed, found) && (!more || t.matchParams(params, found))
}

// cutParams returns where the parameters of {&…} begin: behind as many "&" as the literal query has itself.
func (s *sequence) cutParams(query string) (fixed, params string, more bool) {
	own := 0
	for _, lit := range s.lits {
		own += strings.Count(lit, "&")
	}
	at := 0
	for ; ; own-- {
		next := strings.IndexByte(query[at:], '&')
		if next < 0 {
			return query, "", false
		}
		if own == 0 {
			return query[:at+next], query[at+next+1:], true
		}
		at += next + 1
	}
}

// matchParams takes "a=1&b=2" in any order. Each variable stands once at most, and nothing else stands there.
func (t *Template) matchParams(query string, found *values) bool {
	for pair := range strings.SplitSeq(query, "&") {
		name, raw, ok := strings.Cut(pair, "=")
		if !ok {
			return false
		}
		i := slices.Index(t.params, name)
		if i < 0 || found.defined&(1<<(t.fromParams+i)) != 0 {
			return false
		}
		found.shuffled = found.shuffled || found.defined>>(t.fromParams+i) != 0
		found.put(t.fromParams+i, raw)
	}
	return true
}

// decode turns percent-encoded values into those that a provider gets, and refuses those that it must not get.
func (t *Template) decode(found *values, slash func(string) bool) ([]provider.Var, bool) {
	if found.count == 0 {
		return nil, true
	}
	vars := make([]provider.Var, 0, found.count)
	for i, name := range t.vars {
		if found.defined&(1<<i) == 0 {
			continue
		}
		v := uri.Decode(found.raw[i])
		if !safe(v, t.kinds[i], func() bool { return slash != nil && slash(name) }) {
			return nil, false
		}
		vars = append(vars, provider.Var{Name: name, Value: v})
	}
	return vars, true
}

// kind is what the place of a variable in the template admits.
type kind uint8

const (
	kindMulti kind = 1 << iota // several segments
	kindQuery                  // a value in a query
)

// safe reports whether a decoded value may reach a provider. Only slash lets through what is found suspect.
func safe(v string, k kind, slash func() bool) bool {
	if strings.IndexByte(v, 0) >= 0 || !utf8.ValidString(v) {
		return false
	}
	if k&kindMulti == 0 && strings.ContainsAny(v, `/\`) || strings.ContainsFunc(v, unicode.IsControl) || dotSegment(v, k) {
		return slash()
	}
	return true
}

// dotSegment reports whether a segment of v is ".." or, outside a query, ".".
func dotSegment(v string, k kind) bool {
	if strings.IndexByte(v, '.') < 0 {
		return false
	}
	for v != "" {
		seg := v
		if at := strings.IndexAny(v, `/\`); at >= 0 {
			seg, v = v[:at], v[at+1:]
		} else {
			v = ""
		}
		if seg == ".." || seg == "." && k&kindQuery == 0 {
			return true
		}
	}
	return false
}
