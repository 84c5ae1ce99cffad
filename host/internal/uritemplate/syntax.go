package uritemplate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/reshost/reshost/host/internal/uri"
	rfc6570 "github.com/yosida95/uritemplate/v3"
)

// Operators of expressions (RFC 6570 section 2.2). A part without one is literal.
const (
	opLiteral  = 0
	opSimple   = 's'
	opReserved = '+'
	opFragment = '#'
	opLabel    = '.'
	opSegment  = '/'
	opParam    = ';'
	opQuery    = '?'
	opContinue = '&'
)

// part is a literal or an expression.
type part struct {
	op   byte
	lit  string // normalised
	vars []variable
}

type variable struct {
	name    string
	key     string // name, normalised, as it stands in URIs
	explode bool
}

// source returns the expression as it was written.
func (p *part) source() string {
	var b strings.Builder
	b.WriteByte('{')
	if p.op != opSimple {
		b.WriteByte(p.op)
	}
	for i, v := range p.vars {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(v.name)
		if v.explode {
			b.WriteByte('*')
		}
	}
	b.WriteByte('}')
	return b.String()
}

// parseSyntax cuts a template into its parts. It takes all of RFC 6570 but prefix modifiers.
func parseSyntax(text string) ([]part, error) {
	if len(text) > uri.MaxLen {
		return nil, fmt.Errorf("longer than %d bytes", uri.MaxLen)
	}
	encoded, err := encodeLiterals(text)
	if err != nil {
		return nil, err
	}
	if _, err := rfc6570.New(encoded); err != nil {
		return nil, fmt.Errorf("not an RFC 6570 template: %w", err)
	}
	// From here on the syntax is known to be valid.
	var parts []part
	for rest := encoded; rest != ""; {
		lit, expr, found := strings.Cut(rest, "{")
		if lit != "" {
			norm, err := uri.Literal(lit, parts == nil)
			if err != nil {
				return nil, fmt.Errorf("no URI matches: %w", err)
			}
			parts = append(parts, part{lit: norm})
		}
		if !found {
			break
		}
		body, after, _ := strings.Cut(expr, "}")
		p, err := parseExpression(body)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
		rest = after
	}
	return parts, nil
}

// encodeLiterals percent-encodes what RFC 6570 section 2.1 does not allow in a literal, and what lies beyond ASCII.
func encodeLiterals(text string) (string, error) {
	b := make([]byte, 0, len(text))
	inside := false
	for i := range len(text) {
		c := text[i]
		switch {
		case c < ' ' || c == 0x7f:
			return "", errors.New("holds a control character")
		case c == '{' && !inside:
			inside = true
		case c == '}' && inside:
			inside = false
		case !inside && (c >= 0x80 || strings.IndexByte(" \"<>\\^`|", c) >= 0):
			b = uri.AppendEscape(b, c)
			continue
		}
		b = append(b, c)
	}
	return string(b), nil
}

func parseExpression(body string) (part, error) {
	p := part{op: opSimple}
	if strings.IndexByte("+#./;?&", body[0]) >= 0 {
		p.op, body = body[0], body[1:]
	}
	for spec := range strings.SplitSeq(body, ",") {
		name, _, prefix := strings.Cut(spec, ":")
		if prefix {
			return part{}, fmt.Errorf("{%s}: a prefix modifier cuts the value, so that no match can give it back", body)
		}
		name, explode := strings.CutSuffix(name, "*")
		p.vars = append(p.vars, variable{name: name, explode: explode})
	}
	return p, nil
}
