package uritemplate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/reshost/reshost/host/internal/uri"
)

// maxVars is how many variables a template may have.
const maxVars = 32

// Template is a parsed template. It is safe for concurrent use.
type Template struct {
	text  string
	parts []part
	vars  []string // in order of appearance
	kinds []kind   // of vars

	prefix   string // what every match begins with, operators not counted
	literals int    // literal characters, percent-encoded ones counted once

	scheme        string // with ":"
	authority     bool   // there is one
	foldAuthority bool   // it is literal

	path       sequence
	hasQuery   bool     // a literal "?" stands in the template
	query      sequence // after that "?"
	params     []string // keys of {?…} or {&…}
	fromParams int      // index in vars of the first of them
}

// Parse compiles a template. It fails when text is not RFC 6570, when no URI could match, and when a match could not tell
// what the values were; the error says which.
func Parse(text string) (*Template, error) {
	parts, err := parseSyntax(text)
	if err == nil {
		t := &Template{text: text, parts: parts}
		if err = t.compile(); err == nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("URI template %s: %w", quote(text), err)
}

// quote keeps errors short.
func quote(text string) string {
	const limit = 200
	if len(text) > limit {
		return fmt.Sprintf("%q…", text[:limit])
	}
	return fmt.Sprintf("%q", text)
}

// String returns the template as its author wrote it.
func (t *Template) String() string { return t.text }

// Vars returns the names of the variables in the order in which they stand in the template.
func (t *Template) Vars() []string { return slices.Clone(t.vars) }

// Scheme returns the scheme of every URI that matches, in lower case.
func (t *Template) Scheme() string { return strings.TrimSuffix(t.scheme, ":") }

// LiteralAuthority reports whether the authority of every URI that matches is the template's own text, so that its case
// does not matter: such URIs are compared after [uri.URI.FoldAuthority].
func (t *Template) LiteralAuthority() bool { return t.foldAuthority }

// LiteralPrefix returns the literal characters before the first variable, normalised as the URIs are that match: every
// one of them begins with it.
func (t *Template) LiteralPrefix() string { return t.prefix }

// Compare orders templates by how specific they are: negative when a goes before b. More literal characters before the
// first variable win, then more literal characters in all. Templates that compare equal keep the order of their owners:
// use a stable sort.
func Compare(a, b *Template) int {
	return cmp.Or(
		cmp.Compare(literalLen(b.prefix), literalLen(a.prefix)),
		cmp.Compare(b.literals, a.literals),
	)
}

// literalLen counts the characters of a normalised literal; a percent-encoded byte is one.
func literalLen(lit string) int { return len(uri.Decode(lit)) }
