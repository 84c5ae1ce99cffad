package uritemplate

import (
	"fmt"
	"strings"

	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
)

// Expand returns the URI reference that RFC 6570 section 3 gives for vars. A {/name*} variable is a list whose elements
// stand between "/" in its value. It is an error when vars names a variable twice or one that the template does not have,
// or when one outside {?…} and {&…} is missing, or one outside a query is empty: no URI of the template would say so.
func (t *Template) Expand(vars []provider.Var) (string, error) {
	given := make(map[string]string, len(vars))
	for _, v := range vars {
		if _, twice := given[v.Name]; twice {
			return "", fmt.Errorf("expanding URI template %s: variable %q is given twice", quote(t.text), v.Name)
		}
		given[v.Name] = v.Value
	}
	known := 0
	for i, name := range t.vars {
		v, ok := given[name]
		if ok {
			known++
		}
		optional := t.params != nil && i >= t.fromParams
		if !ok && !optional || v == "" && t.kinds[i]&kindQuery == 0 {
			return "", fmt.Errorf("expanding URI template %s: variable %q has no value", quote(t.text), name)
		}
	}
	if known < len(given) {
		return "", fmt.Errorf("expanding URI template %s: a variable is given that it does not have", quote(t.text))
	}
	return t.expand(func(name string) (string, bool) {
		v, ok := given[name]
		return v, ok
	}), nil
}

func (t *Template) expand(get func(name string) (string, bool)) string {
	return string(appendExpansion(nil, t.parts, get))
}

// appendExpansion expands parts; get reports whether a variable is defined.
func appendExpansion(b []byte, parts []part, get func(name string) (string, bool)) []byte {
	for i := range parts {
		p := &parts[i]
		if p.op == opLiteral {
			b = append(b, p.lit...)
			continue
		}
		first := true
		for _, v := range p.vars {
			text, ok := get(v.name)
			if !ok {
				continue
			}
			b = appendSeparator(b, p.op, first)
			first = false
			switch p.op {
			case opParam:
				b = append(b, v.name...)
				if text != "" {
					b = append(b, '=')
				}
			case opQuery, opContinue:
				b = append(append(b, v.name...), '=')
			}
			b = appendValue(b, p.op, v.explode, text)
		}
	}
	return b
}

// appendSeparator appends what stands before a defined variable: the table of RFC 6570 appendix A.
func appendSeparator(b []byte, op byte, first bool) []byte {
	switch op {
	case opSimple, opReserved:
		if first {
			return b
		}
		return append(b, ',')
	case opFragment:
		if first {
			return append(b, '#')
		}
		return append(b, ',')
	case opQuery:
		if first {
			return append(b, '?')
		}
		return append(b, '&')
	}
	return append(b, op)
}

func appendValue(b []byte, op byte, explode bool, text string) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case uri.Unreserved(c), explode && op == opSegment && c == '/':
			b = append(b, c)
		case op != opReserved && op != opFragment:
			b = uri.AppendEscape(b, c)
		case strings.IndexByte(reserved, c) >= 0:
			b = append(b, c)
		case c == '%' && i+2 < len(text) && ishex(text[i+1]) && ishex(text[i+2]):
			b = append(b, text[i:i+3]...)
			i += 2
		default:
			b = uri.AppendEscape(b, c)
		}
	}
	return b
}

func ishex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}
