package reshosttest

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/reshost/reshost/abi"
)

// template matches URIs against one template.
type template struct {
	text string
	re   *regexp.Regexp
	// names are the variables of the pattern's groups; plus says which came from a {+…}.
	names []string
	plus  map[string]bool
	query map[string]bool
	slash map[string]bool
}

var expression = regexp.MustCompile(`\{([+/?]?)([^{}]*)\}`)

// compile turns a template into a pattern: {x}, {/x}, {+x} and {?x,y}.
func compile(text string, slash map[string]bool) (template, error) {
	t := template{text: text, slash: slash, plus: make(map[string]bool)}
	pattern := "^"
	rest := text
	for rest != "" {
		m := expression.FindStringSubmatchIndex(rest)
		if m == nil {
			pattern += regexp.QuoteMeta(rest)
			break
		}
		pattern += regexp.QuoteMeta(rest[:m[0]])
		names := strings.Split(rest[m[4]:m[5]], ",")
		switch op := rest[m[2]:m[3]]; {
		case op == "?":
			t.query = make(map[string]bool)
			for _, n := range names {
				t.query[strings.TrimSuffix(n, "*")] = true
			}
		case len(names) > 1:
			return t, fmt.Errorf("template %s: several variables in one expression are for the host to match", text)
		case op == "/" && strings.HasSuffix(names[0], "*"):
			pattern += "/([^?#]+)"
			t.names = append(t.names, strings.TrimSuffix(names[0], "*"))
		case op == "/":
			pattern += "/([^/?#]+)"
			t.names = append(t.names, names[0])
		case op == "+":
			pattern += "([^?#]+)"
			t.names = append(t.names, names[0])
			t.plus[names[0]] = true
		default:
			pattern += "([^/?#]+)"
			t.names = append(t.names, names[0])
		}
		rest = rest[m[1]:]
	}
	var err error
	t.re, err = regexp.Compile(pattern + "$")
	return t, err
}

// match returns the decoded variables of a URI.
func (t *template) match(uri string) ([]abi.Var, bool) {
	query := ""
	if t.query != nil {
		uri, query, _ = strings.Cut(uri, "?")
	}
	m := t.re.FindStringSubmatch(uri)
	if m == nil {
		return nil, false
	}
	var vars []abi.Var
	for i, name := range t.names {
		v, err := url.PathUnescape(m[i+1])
		if err != nil || !t.plus[name] && !t.slash[name] && strings.ContainsAny(v, `/\`) {
			return nil, false
		}
		vars = append(vars, abi.Var{Name: name, Value: v})
	}
	if query == "" {
		return vars, true
	}
	for _, pair := range strings.Split(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		v, err := url.PathUnescape(value)
		if err != nil || !t.query[name] {
			return nil, false
		}
		vars = append(vars, abi.Var{Name: name, Value: v})
	}
	return vars, true
}

// match finds the first template that matches.
func (g *Guest) match(uri string) (int, []abi.Var, bool) {
	for i := range g.templates {
		if vars, ok := g.templates[i].match(uri); ok {
			return i, vars, true
		}
	}
	return 0, nil, false
}

// direct reports whether the manifest has uri as a direct resource.
func (g *Guest) direct(uri string) bool {
	var m struct {
		Resources []struct {
			URI string `json:"uri"`
		} `json:"resources"`
	}
	if err := json.Unmarshal(g.manifest, &m); err != nil {
		return false
	}
	for _, r := range m.Resources {
		if g.rename(r.URI) == uri {
			return true
		}
	}
	return false
}
