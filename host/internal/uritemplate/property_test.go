package uritemplate

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
	"pgregory.net/rapid"
)

var triplet = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

// admissible is what the package documentation says, written down once more and independently of the matcher.
func admissible(op byte, explode, inQuery, slash bool, v string) bool {
	if !utf8.ValidString(v) || strings.Contains(v, "\x00") || v == "" && !inQuery {
		return false
	}
	suspect := strings.ContainsFunc(v, unicode.IsControl)
	for _, seg := range strings.FieldsFunc(v, func(r rune) bool { return r == '/' || r == '\\' }) {
		suspect = suspect || seg == ".." || seg == "." && !inQuery
	}
	switch {
	case op == '+':
		if strings.ContainsAny(v, `?#\`) || triplet.MatchString(v) {
			return false
		}
	case op == '/' && explode:
		if strings.Contains(v, `\`) {
			return false
		}
	case op == '/':
		if strings.ContainsAny(v, `/\`) {
			return false
		}
	default:
		suspect = suspect || strings.ContainsAny(v, `/\`)
	}
	return slash || !suspect
}

// TestMatchUndoesExpand is the property that the package promises: for every template that Parse accepts and every admissible
// assignment, match(expand(vars)) is vars.
func TestMatchUndoesExpand(t *testing.T) {
	literal := rapid.SampledFrom([]string{
		"/", "/x/", "x", ".", "-v", ":", ",", ";", "=", "%20", "0", "é", "/a:b", "A", "@", "(", "25", "?q=", "&r=", "&", "!x", "",
	})
	op := rapid.SampledFrom([]string{"", "", "", "+", "/", ".", ";", "?", "&"})
	start := rapid.SampledFrom([]string{"docs://", "docs:", "docs:/", "docs://Acme/", "Docs://Acme", "docs://x?", "docs://x?k=v&q="})
	piece := rapid.SampledFrom([]string{
		"a", "B", ".", "..", "/", `\`, ":", ",", ";", "=", "&", "?", "#", "%", "%41", "%2F", "25", " ", "é", "[", "]", "@", "\n", "\u0085", "-v", "0", "x", "+",
	})
	accepted, refused, matched := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := start.Draw(t, "start")
		names := "abcdefgh"
		for range rapid.IntRange(0, 4).Draw(t, "expressions") {
			n := rapid.IntRange(1, 2).Draw(t, "names")
			expr := strings.Join(strings.Split(names[:n], ""), ",")
			names = names[n:]
			o := op.Draw(t, "op")
			if o == "/" && rapid.Bool().Draw(t, "explode") {
				expr += "*"
			}
			text += "{" + o + expr + "}" + literal.Draw(t, "literal")
		}
		tmpl, err := Parse(text)
		if err != nil {
			refused++
			t.Skip(err)
		}
		accepted++
		slash := rapid.Bool().Draw(t, "slash")
		var want []provider.Var
		query := false
		for _, p := range tmpl.parts {
			query = query || strings.Contains(p.lit, "?") || p.op == '?'
			for _, v := range p.vars {
				if (p.op == '?' || p.op == '&') && rapid.Bool().Draw(t, "absent") {
					continue
				}
				ok := func(s string) bool { return admissible(p.op, v.explode, query, slash, s) }
				s := rapid.Map(rapid.SliceOfN(piece, 0, 5), func(p []string) string { return strings.Join(p, "") }).Draw(t, v.name)
				if !ok(s) {
					s = "y" + strings.Map(func(r rune) rune {
						if strings.ContainsRune(`/\?#%.`, r) || unicode.IsControl(r) {
							return -1
						}
						return r
					}, s)
				}
				if !ok(s) {
					t.Fatalf("%q should be admissible", s)
				}
				want = append(want, provider.Var{Name: v.name, Value: s})
			}
		}
		expanded, err := tmpl.Expand(want)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		u, err := uri.Parse(expanded)
		if err != nil {
			t.Skip(err) // such as a dot segment that a literal and a value make together
		}
		if u.HasAuthority != tmpl.authority {
			t.Skip("a value that begins with // makes an authority of itself")
		}
		got, ok := tmpl.Match(u, func(string) bool { return slash })
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Fatalf("%s expands to %s, match %v (-want +got):\n%s", text, u, ok, diff)
		}
		if !strings.HasPrefix(u.String(), tmpl.LiteralPrefix()) && !tmpl.LiteralAuthority() {
			t.Fatalf("%s does not begin with %s", u, tmpl.LiteralPrefix())
		}
		checkCanonical(t, tmpl, u, want, func(string) bool { return slash })
		matched++
	})
	if accepted == 0 || matched < accepted/4 {
		t.Errorf("the generator is too weak: %d refused, %d accepted, %d matched", refused, accepted, matched)
	}
	t.Logf("%d refused, %d accepted, %d matched", refused, accepted, matched)
}

// checkCanonical shows that spellings of u that mean the same to the template have one canonical form, which means the same.
func checkCanonical(t *rapid.T, tmpl *Template, u uri.URI, want []provider.Var, slash func(string) bool) {
	_, canon, ok := tmpl.Resolve(u, slash)
	if !ok {
		t.Fatalf("%s on %s: no canonical form", tmpl, u)
	}
	got, again, ok := tmpl.Resolve(canon, slash)
	if diff := cmp.Diff(want, got); !ok || again != canon || diff != "" {
		t.Fatalf("%s on %s: canonical %s, then %s, match %v (-want +got):\n%s", tmpl, u, canon, again, ok, diff)
	}
	var other strings.Builder
	for i := 0; i < len(u.String()); i++ {
		c := u.String()[i]
		switch {
		case c == '%' && rapid.Bool().Draw(t, "decode"):
			other.WriteByte(uri.Unescape(u.String()[i:]))
			i += 2
		case c != '%' && strings.IndexByte(reserved, c) >= 0 && rapid.Bool().Draw(t, "encode"):
			other.Write(uri.AppendEscape(nil, c))
		default:
			other.WriteByte(c)
		}
	}
	v, err := uri.Parse(other.String())
	if err != nil {
		return
	}
	if got, canon2, ok := tmpl.Resolve(v, slash); ok && cmp.Equal(got, want) && canon2 != canon {
		t.Fatalf("%s: %s and %s mean the same, but are %s and %s", tmpl, u, v, canon, canon2)
	}
}

// checkMatch holds for every match of every template.
func checkMatch(t *testing.T, tmpl *Template, u uri.URI) {
	got, ok := tmpl.Match(u, nil)
	withSlash, okSlash := tmpl.Match(u, admitAll)
	if ok && !okSlash || ok && !cmp.Equal(got, withSlash) {
		t.Errorf("%s on %s: %v without slash, %v with it", tmpl, u, got, withSlash)
	}
	if !ok {
		return
	}
	names := tmpl.Vars()
	for _, v := range got {
		for len(names) > 0 && names[0] != v.Name {
			names = names[1:]
		}
		if len(names) == 0 {
			t.Errorf("%s on %s: variables out of order: %v", tmpl, u, got)
			return
		}
		names = names[1:]
		if !utf8.ValidString(v.Value) || strings.ContainsFunc(v.Value, unicode.IsControl) || strings.Contains(v.Value, `\`) {
			t.Errorf("%s on %s: unsafe value %q", tmpl, u, v.Value)
		}
		for seg := range strings.SplitSeq(v.Value, "/") {
			if seg == ".." {
				t.Errorf("%s on %s: traversal in %q", tmpl, u, v.Value)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"docs://{name}", "file:///{+path}", "docs://catalog{?page,limit}", "docs://a?k=x&q={q}&z=1{&m,n}", "x:{a}-v:{b}/{+p}:{c},{d}",
		"docs://{schema}.{table}", "file:///docs/café bar/{name}", "git://{repo}{/path*}{?rev}", "docs://x{;v,w}{?q}", "docs://{name:3}", "docs://r/{#id}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := Parse(text)
		if err != nil {
			return
		}
		if tmpl.String() != text {
			t.Errorf("String of %q is %q", text, tmpl.String())
		}
		// A template that is accepted has a URI, and finds in it what it was made of.
		var want []provider.Var
		for _, name := range tmpl.Vars() {
			want = append(want, provider.Var{Name: name, Value: "y"})
		}
		expanded, err := tmpl.Expand(want)
		if err != nil {
			t.Fatal(err)
		}
		u, err := uri.Parse(expanded)
		if err != nil || u.HasAuthority != tmpl.authority {
			return // longer than the limit, or a port of "file://localhost"
		}
		got, ok := tmpl.Match(u, nil)
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("%q expands to %q, match %v (-want +got):\n%s", text, u, ok, diff)
		}
	})
}

func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{
		{"docs://{name}", "docs://a:b.md"},
		{"file:///{+path}", "file:///a/%2e%2e/b"},
		{"file:///{+path}", "file:///a%2Fb"},
		{"docs://catalog{?page,limit}", "docs://catalog?limit=5&page=2"},
		{"docs://a?k=x&q={q}&z=1{&m,n}", "docs://a?k=x&q=&z=1&n=2&m="},
		{"x:{a}-v:{b}/{+p}:{c},{d}", "x:1-v:2/3:4/:5,6"},
		{"x:{a}0", "x:%20"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, in string) {
		tmpl, err := Parse(text)
		if err != nil {
			return
		}
		if u, err := uri.Parse(in); err == nil {
			checkMatch(t, tmpl, u)
		}
	})
}
