package uritemplate

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reshost/reshost/host/internal/uri"
)

// reserved are the delimiters of RFC 3986 section 2.2. An encoded value holds none of them.
const reserved = ":/?#[]@!$&'()*+,;="

var errNoScheme = errors.New("must begin with a literal scheme and its colon, such as docs://")

// compile checks that matches can be undone and builds the matcher.
func (t *Template) compile() error {
	for _, check := range []func() error{t.checkExpressions, t.checkAdjacent, t.checkVars, t.normalise} {
		if err := check(); err != nil {
			return err
		}
	}
	for i := range t.parts {
		t.literals += literalLen(t.parts[i].lit)
	}
	if len(t.parts) > 0 {
		t.prefix = t.parts[0].lit
	}
	b := builder{t: t, seq: &t.path, host: t.authority && !t.foldAuthority}
	for i := range t.parts {
		if err := b.add(&t.parts[i]); err != nil {
			return err
		}
	}
	return errors.Join(t.path.finish(), t.query.finish())
}

func (t *Template) checkExpressions() error {
	query := false // a query has begun
	for i := range t.parts {
		p := &t.parts[i]
		last := i == len(t.parts)-1
		switch {
		case p.op == opLiteral:
			query = query || strings.Contains(p.lit, "?")
			continue
		case p.op == opFragment:
			return fmt.Errorf("%s: a fragment never reaches a server", p.source())
		case p.op == opQuery && query:
			return fmt.Errorf("%s: a query has begun already: name all its variables in one {?…}, or continue a literal one with {&…}", p.source())
		case p.op == opParam && query:
			return fmt.Errorf("%s: path parameters have no place in a query", p.source())
		case p.op == opContinue && !query:
			return fmt.Errorf("%s: there is no query to continue: use {?…}", p.source())
		case (p.op == opQuery || p.op == opContinue) && !last:
			return fmt.Errorf("%s: nothing can follow query variables, whose number and order vary", p.source())
		}
		for _, v := range p.vars {
			if v.explode && p.op != opSegment {
				return fmt.Errorf("%s: a list can be told apart only in {/%s*}", p.source(), v.name)
			}
		}
	}
	return nil
}

// checkAdjacent refuses expressions that meet, save where the second one's operator cannot stand in the first one's value.
func (t *Template) checkAdjacent() error {
	for i := 1; i < len(t.parts); i++ {
		a, b := &t.parts[i-1], &t.parts[i]
		if a.op == opLiteral || b.op == opLiteral || b.op == opQuery || a.op == opSimple && b.op == opSegment {
			continue
		}
		return fmt.Errorf("%s%s: nothing tells where one ends and the other begins", a.source(), b.source())
	}
	return nil
}

func (t *Template) checkVars() error {
	var keys []string
	for i := range t.parts {
		for j := range t.parts[i].vars {
			v := &t.parts[i].vars[j]
			key, err := uri.Literal(v.name, false)
			if err != nil {
				return fmt.Errorf("variable %q: %w", v.name, err)
			}
			if slices.Contains(keys, key) {
				return fmt.Errorf("variable %q stands twice", v.name)
			}
			v.key = key
			keys = append(keys, key)
			t.vars = append(t.vars, v.name)
		}
	}
	if len(t.vars) > maxVars {
		return fmt.Errorf("more than %d variables", maxVars)
	}
	return nil
}

// normalise gives the first literal the form that package uri gives URIs, with the help of one URI that matches.
func (t *Template) normalise() error {
	sample := t.expand(func(string) (string, bool) { return "x", true })
	u, err := uri.Parse(sample)
	if err != nil {
		if errors.Is(err, uri.ErrRelative) {
			return errNoScheme
		}
		return fmt.Errorf("no URI matches: %w", err)
	}
	if len(t.parts) == 0 || t.parts[0].op != opLiteral {
		return errNoScheme
	}
	first := &t.parts[0]
	_, rest, ok := strings.Cut(first.lit, ":")
	if !ok {
		return errNoScheme
	}
	t.scheme = u.Scheme + ":"
	t.authority = u.HasAuthority
	if u.HasAuthority != strings.HasPrefix(rest, "//") {
		return errors.New("the \"//\" before an authority must be literal")
	}
	if authority, found := strings.CutPrefix(rest, "//"); found {
		end := strings.IndexAny(authority, "/?")
		if end < 0 && (len(t.parts) == 1 || t.parts[1].op == opSegment || t.parts[1].op == opQuery) {
			end = len(authority)
		}
		if end >= 0 {
			t.foldAuthority = true
			rest = "//" + u.FoldAuthority().Authority + authority[end:]
		}
	}
	first.lit = t.scheme + rest
	return nil
}

// builder lowers parts to literals and values.
type builder struct {
	t    *Template
	seq  *sequence
	next int  // index of the next variable
	host bool // the authority has not ended
}

func (b *builder) add(p *part) error {
	switch p.op {
	case opLiteral:
		lit := p.lit
		if before, after, found := strings.Cut(lit, "?"); found && !b.t.hasQuery {
			b.seq.literal(before)
			b.t.hasQuery = true
			b.seq = &b.t.query
			b.seq.query = true
			b.host = false
			lit = after
		}
		if b.next > 0 && strings.Contains(lit, "/") { // the first literal's is the "//"
			b.host = false
		}
		b.seq.literal(lit)
		return nil
	case opQuery, opContinue:
		b.t.fromParams = b.next
		for _, v := range p.vars {
			b.t.params = append(b.t.params, v.key)
			b.t.kinds = append(b.t.kinds, kindQuery)
		}
		if p.op == opContinue && b.seq.multi() >= 0 {
			return fmt.Errorf("%s: the value before it may hold \"&\"", p.source())
		}
		return nil
	}
	for i, v := range p.vars {
		val := value{index: b.next, name: v.name, op: p.op, multi: p.op == opReserved || v.explode}
		if len(p.vars) > 1 && p.op == opSimple {
			val.exclude = ","
		}
		switch p.op {
		case opSimple, opReserved:
			if i > 0 {
				b.seq.literal(",")
			}
		case opParam:
			b.seq.literal(";" + v.key + "=")
			val.exclude = ";"
		default:
			b.seq.literal(string(p.op))
		}
		b.host = b.host && p.op != opSegment
		val.host = b.host
		b.seq.vals = append(b.seq.vals, val)
		b.t.kinds = append(b.t.kinds, b.kindOf(val))
		b.next++
	}
	return nil
}

func (b *builder) kindOf(v value) kind {
	var k kind
	if v.multi {
		k |= kindMulti
	}
	if b.seq.query {
		k |= kindQuery
	}
	return k
}
