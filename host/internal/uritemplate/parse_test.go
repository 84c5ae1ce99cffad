package uritemplate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
)

func TestParseRefuses(t *testing.T) {
	tests := []struct{ name, template, reason string }{
		{"empty", "", "literal scheme"},
		{"not absolute", "/docs/{name}", "literal scheme"},
		{"a variable scheme", "{scheme}://x", "literal scheme"},
		{"a scheme in pieces", "do{x}cs://y", "literal scheme"},
		{"an open expression", "docs://{name", "not an RFC 6570 template"},
		{"a stray brace", "docs://name}", "not an RFC 6570 template"},
		{"an empty expression", "docs://{}", "not an RFC 6570 template"},
		{"a reserved operator", "docs://{=x}", "not an RFC 6570 template"},
		{"a bad name", "docs://{a b}", "not an RFC 6570 template"},
		{"a lone percent", "docs://100%/{x}", "not an RFC 6570 template"},
		{"invalid UTF-8 inside an expression", "docs://{\xff}", "not an RFC 6570 template"},
		{"a control character", "docs://a\n{x}", "control character"},
		{"a NUL", "docs://a%00/{x}", "NUL"},
		{"userinfo", "docs://me@{x}/", "userinfo"},
		{"a fragment", "docs://a/{x}#top", "fragment"},
		{"a dot segment", "docs://a/../{x}", "dot segment"},
		{"an encoded dot segment", "docs://a/%2e%2e/{x}", "dot segment"},
		{"adjacent", "docs://{a}{b}", "{a}{b}: nothing tells where"},
		{"adjacent to +", "docs://{+a}{/b}", "{+a}{/b}: nothing tells where"},
		{"adjacent segments", "docs://x{/a}{/b}", "{/a}{/b}: nothing tells where"},
		{"adjacent label", "docs://x/{a}{.b}", "{a}{.b}: nothing tells where"},
		{"adjacent parameters", "docs://x/{a}{;b}", "{a}{;b}: nothing tells where"},
		{"adjacent continuation", "docs://x?a={a}{&b}", "{a}{&b}: nothing tells where"},
		{"a prefix", "docs://{name:3}", "prefix modifier"},
		{"a fragment expression", "docs://r/{#id}", "{#id}: a fragment"},
		{"TPL-20 two queries", "docs://s{?a}{?b}", "{?a}"},
		{"two queries apart", "docs://s{?a}/x{?b}", "{?a}: nothing can follow"},
		{"a query after a literal one", "docs://s?x=1{?b}", "{?b}: a query has begun"},
		{"a query that goes on", "docs://s{?a}/x", "{?a}: nothing can follow"},
		{"a continuation of nothing", "docs://s/x{&a}", "{&a}: there is no query"},
		{"a label list", "docs://s/x{.list*}", "{.list*}: a list"},
		{"a query list", "docs://s/x{?list*}", "{?list*}: a list"},
		{"a simple list", "docs://s/{list*}", "{list*}: a list"},
		{"a reserved list", "docs://s/{+list*}", "{+list*}: a list"},
		{"an ambiguous dot", "docs://{schema}.{table}", `"." between "schema" and "table"`},
		{"an ambiguous word", "docs://x/{a}-v-{b}", `"-v-" between "a" and "b"`},
		{"an ambiguous triplet", "docs://x/{a}%20{b}", `"%20" between`},
		{"labels", "docs://x/y{.a,b}", `"." between`},
		{"an ambiguous dot after +", "docs://x/{+path}.{ext}", `"." between "path" and "ext"`},
		{"two reserved", "docs://x/{+a}/y/{+b}", `"b" is the second variable that can hold several segments`},
		{"two reserved in one", "docs://x/{+a,b}", `"b" is the second`},
		{"a reserved and a list", "docs://x/{+a}/y{/b*}", `"b" is the second`},
		{"reserved before a continuation", "docs://x?a={+a}&b=1{&c}", "{&c}: the value before it"},
		{"parameters in a query", "docs://x?a=1{;b}", "path parameters"},
		{"slashes from an operator", "docs:/{/a}", "must be literal"},
		{"a variable twice", "docs://{a}/{a}", `"a" stands twice`},
		{"a variable in two spellings", "docs://x{?a,%61}", `"%61" stands twice`},
		{"too many variables", "docs://x{?" + manyVars(33) + "}", "more than 32"},
		{"too long", "docs://" + strings.Repeat("x", uri.MaxLen), "longer than"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.template)
			if err == nil || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("Parse(%q): %v, want a reason with %q", tt.template, err, tt.reason)
			}
			if err != nil && len(err.Error()) > 1000 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}

func manyVars(n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = "v" + string(rune('A'+i/26)) + string(rune('a'+i%26))
	}
	return strings.Join(names, ",")
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, template, scheme, prefix string
		vars                           []string
		literalAuthority               bool
	}{
		{"TPL-03", "docs://report{?lang}", "docs", "docs://report", []string{"lang"}, true},
		{"a variable authority", "docs://{name}", "docs", "docs://", []string{"name"}, false},
		{"a partly variable authority", "docs://A-{name}/x", "docs", "docs://A-", []string{"name"}, false},
		{"a reserved one after it", "docs://A{+name}", "docs", "docs://A", []string{"name"}, false},
		{"folded", "DOCS://Acme/A/{name}", "docs", "docs://acme/A/", []string{"name"}, true},
		{"folded before a segment", "docs://ACME{/a*}", "docs", "docs://acme", []string{"a"}, true},
		{"folded before a query", "docs://ACME?q={a}", "docs", "docs://acme?q=", []string{"a"}, true},
		{"encoded", "file:///docs/café bar/[x]|%7e/{name}", "file", "file:///docs/caf%C3%A9%20bar/%5Bx%5D%7C~/", []string{"name"}, true},
		{"localhost", "file://localhost/{+p}", "file", "file:///", []string{"p"}, true},
		{"an IP literal", "docs://[::A]:8/{x}", "docs", "docs://[::a]:8/", []string{"x"}, true},
		{"no authority", "urn:ISBN:{n}", "urn", "urn:ISBN:", []string{"n"}, false},
		{"as many variables as there may be", "docs://x{?" + manyVars(32) + "}", "docs", "docs://x", strings.Split(manyVars(32), ","), true},
		{"no variables", "docs://x", "docs", "docs://x", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tmpl := mustParse(t, tt.template)
			if got := tmpl.String(); got != tt.template {
				t.Errorf("String() = %q, want it as written", got)
			}
			if tmpl.Scheme() != tt.scheme || tmpl.LiteralPrefix() != tt.prefix || tmpl.LiteralAuthority() != tt.literalAuthority {
				t.Errorf("got scheme %q, prefix %q, literal authority %v", tmpl.Scheme(), tmpl.LiteralPrefix(), tmpl.LiteralAuthority())
			}
			if diff := cmp.Diff(tt.vars, tmpl.Vars()); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCompare shows TPL-11: the more specific template goes first, whatever the order of registration.
func TestCompare(t *testing.T) {
	want := []string{
		"docs://schemas/entity/{type}",
		"docs://schemas/{a}/longer/{type}",
		"docs://schemas/{kind}/{type}",
		"docs://caf\u00e9/{x}/yz", // é is two characters, as it is in a URI
		"docs://cafeb/{x}/y",
		"docs://{name}{?lang}",
		"docs://{name}",
	}
	var shuffled []*Template
	for _, i := range []int{3, 5, 0, 6, 2, 1, 4} {
		shuffled = append(shuffled, mustParse(t, want[i]))
	}
	slices.SortStableFunc(shuffled, Compare)
	var got []string
	for _, tmpl := range shuffled {
		got = append(got, tmpl.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// TestExpandSyntax shows TPL-16: percent-encoded triplets pass in + and #, a lone % is %25, elsewhere % is always %25.
func TestExpandSyntax(t *testing.T) {
	tests := []struct {
		template string
		vars     []provider.Var
		want     string
	}{
		{"docs://r/{+id}", vars("id", "admin%2F"), "docs://r/admin%2F"},
		{"docs://r/{#id}", vars("id", "a%20b"), "docs://r/#a%20b"},
		{"docs://r/{id}", vars("id", "admin%2F"), "docs://r/admin%252F"},
		{"docs://r/{+id}", vars("id", "100%"), "docs://r/100%25"},
		{"docs://r/{+id}", vars("id", "a b/é?[x]#%4"), "docs://r/a%20b/%C3%A9?[x]#%254"},
		{"docs://r/{id}", vars("id", "a b/é?[x]~-._"), "docs://r/a%20b%2F%C3%A9%3F%5Bx%5D~-._"},
		{"docs://r/{a,b,c}", vars("a", "1", "c", "3"), "docs://r/1,3"},
		{"docs://r{/a,b*}", vars("a", "1/2", "b", "3/4:5"), "docs://r/1%2F2/3/4%3A5"},
		{"docs://r{.a,b}", vars("a", "1", "b", "2"), "docs://r.1.2"},
		{"docs://r{;a,b}", vars("a", "1", "b", ""), "docs://r;a=1;b"},
		{"docs://r{?a,b}", vars("a", "1&2", "b", ""), "docs://r?a=1%262&b="},
		{"docs://r?x{&a,b}", vars("b", "="), "docs://r?x&b=%3D"},
		{"docs://r{?a,b}", nil, "docs://r"},
	}
	for _, tt := range tests {
		t.Run(tt.template, func(t *testing.T) {
			parts, err := parseSyntax(tt.template)
			if err != nil {
				t.Fatal(err)
			}
			got := appendExpansion(nil, parts, func(name string) (string, bool) {
				i := slices.IndexFunc(tt.vars, func(v provider.Var) bool { return v.Name == name })
				if i < 0 {
					return "", false
				}
				return tt.vars[i].Value, true
			})
			if string(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExpandRefuses(t *testing.T) {
	tmpl := mustParse(t, "docs://x/{a}?b={b}&c=1{&d}")
	tests := []struct {
		name, reason string
		vars         []provider.Var
	}{
		{"missing", `"a" has no value`, vars("b", "1")},
		{"empty", `"a" has no value`, vars("a", "", "b", "1")},
		{"missing in a literal query", `"b" has no value`, vars("a", "1")},
		{"twice", `"a" is given twice`, vars("a", "1", "a", "1", "b", "1")},
		{"unknown", "does not have", vars("a", "1", "b", "1", "z", "1")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := tmpl.Expand(tt.vars); err == nil || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("Expand = %q, %v; want a reason with %q", got, err, tt.reason)
			}
		})
	}
	got, err := tmpl.Expand(vars("b", "", "a", "1"))
	if want := "docs://x/1?b=&c=1"; err != nil || got != want {
		t.Errorf("Expand = %q, %v; want %q", got, err, want)
	}
}
