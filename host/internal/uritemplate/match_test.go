package uritemplate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
)

func vars(kv ...string) []provider.Var {
	var out []provider.Var
	for i := 0; i < len(kv); i += 2 {
		out = append(out, provider.Var{Name: kv[i], Value: kv[i+1]})
	}
	return out
}

func mustParse(t testing.TB, text string) *Template {
	t.Helper()
	tmpl, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func admitAll(string) bool { return true }

func TestMatch(t *testing.T) {
	type uriCase struct {
		uri  string
		want []provider.Var
		no   bool // no match
	}
	tests := []struct {
		name, template string
		slash          bool
		cases          []uriCase
	}{
		{name: "TPL-01 any subset of the query in any order", template: "docs://catalog{?page,limit}", cases: []uriCase{
			{uri: "docs://catalog"},
			{uri: "docs://catalog?limit=5", want: vars("limit", "5")},
			{uri: "docs://catalog?page=2&limit=5", want: vars("page", "2", "limit", "5")},
			{uri: "docs://catalog?limit=5&page=2", want: vars("page", "2", "limit", "5")},
			{uri: "docs://catalog?page=", want: vars("page", "")},
			{uri: "docs://catalog/", no: true},
			{uri: "docs://catalog?Page=2", no: true},
		}},
		{name: "TPL-03 a query alone", template: "docs://report{?lang}", cases: []uriCase{
			{uri: "docs://report"}, {uri: "docs://report?lang=en", want: vars("lang", "en")},
		}},
		{name: "TPL-04 a literal question mark", template: "docs://people/search?q={q}", cases: []uriCase{
			{uri: "docs://people/search?q=abc", want: vars("q", "abc")},
			{uri: "docs://people/search?q=", want: vars("q", "")},
			{uri: "docs://people/search?q=what?", want: vars("q", "what?")},
			{uri: "docs://people/searc?q=abc", no: true},
			{uri: "docs://people/search", no: true},
			{uri: "docs://people/search?q=a&x=1", no: true},
			{uri: "docs://people/search?q", no: true},
		}},
		{name: "TPL-06 literals beyond ASCII", template: "file:///docs/café bar/{name}", cases: []uriCase{
			{uri: "file:///docs/caf%C3%A9%20bar/a.txt", want: vars("name", "a.txt")},
			{uri: "file:///docs/caf%c3%a9%20bar/a.txt", want: vars("name", "a.txt")},
			{uri: "file:///docs/café bar/a.txt", want: vars("name", "a.txt")},
		}},
		{name: "TPL-09 a decoded slash is no segment", template: "file:///docs/{name}", cases: []uriCase{
			{uri: "file:///docs/..%2Fsecret.txt", no: true},
			{uri: "file:///docs/..%2f..%2fetc%2fpasswd", no: true},
			{uri: "file:///docs/%2E%2E%2Fsecret.txt", no: true},
			{uri: "file:///docs/..%5Csecret.txt", no: true},
			{uri: "file:///docs/a%2Fb", no: true},
			{uri: "file:///docs/a/b", no: true},
			{uri: "file:///docs/a%0Ab", no: true},
			{uri: "file:///docs/a%C2%85b", no: true},
			{uri: "file:///docs/a%7F", no: true},
			{uri: "file:///docs/a%FF", no: true},
			{uri: "file:///docs/..%C0%AFsecret.txt", no: true},
			{uri: "file:///docs/%252e%252e%252fx", want: vars("name", "%2e%2e%2fx")},
		}},
		{name: "TPL-09 with slash", template: "file:///docs/{name}", slash: true, cases: []uriCase{
			{uri: "file:///docs/..%2Fsecret.txt", want: vars("name", "../secret.txt")},
			{uri: "file:///docs/..%5Csecret.txt", want: vars("name", `..\secret.txt`)},
			{uri: "file:///docs/a%0Ab", want: vars("name", "a\nb")},
			{uri: "file:///docs/a/b", no: true},
			{uri: "file:///docs/a%FF", no: true},
		}},
		{name: "TPL-10 dots that are no dot segment", template: "git://repo/log/{range}", cases: []uriCase{
			{uri: "git://repo/log/HEAD~3..HEAD", want: vars("range", "HEAD~3..HEAD")},
			{uri: "git://repo/log/v1..v2", want: vars("range", "v1..v2")},
			{uri: "git://repo/log/.env", want: vars("range", ".env")},
			{uri: "git://repo/log/a...b", want: vars("range", "a...b")},
		}},
		{name: "TPL-17 an expression ends at ?", template: "docs://item/{id}{?fields}", cases: []uriCase{
			{uri: "docs://item/7?fields=a", want: vars("id", "7", "fields", "a")},
			{uri: "docs://item/7", want: vars("id", "7")},
			{uri: "docs://item/7?other=1", no: true},
			{uri: "docs://item/7?fields=a&other=1", no: true},
			{uri: "docs://item/", no: true},
			{uri: "docs://item/?fields=a", no: true},
		}},
		{name: "TPL-19 forms of one query variable", template: "docs://t{?who}", cases: []uriCase{
			{uri: "docs://t"},
			{uri: "docs://t?who=", want: vars("who", "")},
			{uri: "docs://t?who", no: true},
			{uri: "docs://t?", no: true},
			{uri: "docs://t?&who=a", no: true},
			{uri: "docs://t?who=a&", no: true},
			{uri: "docs://t?who=a&who=b", no: true},
			{uri: "docs://t?who=a=b", want: vars("who", "a=b")},
			{uri: "docs://t?who=a/b", no: true},
			{uri: "docs://t?who=../x", no: true},
			{uri: "docs://t?who=..", no: true},
			{uri: "docs://t?who=.", want: vars("who", ".")},
		}},
		{name: "an authority that is a variable keeps its case", template: "docs://{name}", cases: []uriCase{
			{uri: "DOCS://README.md", want: vars("name", "README.md")},
			{uri: "docs://a%20b.md", want: vars("name", "a b.md")},
			{uri: "docs://a b é.md", want: vars("name", "a b é.md")},
			{uri: "docs://a:b.md", want: vars("name", "a:b.md")},
			{uri: "docs://a%3Ab.md", want: vars("name", "a:b.md")},
			{uri: "docs://[slug].md", want: vars("name", "[slug].md")},
			{uri: "docs://..", no: true},
			{uri: "docs://.", no: true},
			{uri: "docs://", no: true},
			{uri: "docs:a", no: true},
			{uri: "docs://a/", no: true},
			{uri: "docsx://a", no: true},
		}},
		{name: "a literal authority folds", template: "Docs://ACME/{name}", cases: []uriCase{
			{uri: "docs://acme/A", want: vars("name", "A")},
			{uri: "docs://AcMe/A", want: vars("name", "A")},
			{uri: "docs://acme2/A", no: true},
		}},
		{name: "an authority with a variable does not fold", template: "docs://Acme-{x}/y", cases: []uriCase{
			{uri: "docs://Acme-X/y", want: vars("x", "X")},
			{uri: "docs://acme-X/y", no: true},
		}},
		{name: "several segments", template: "file:///{+path}", cases: []uriCase{
			{uri: "file:///a", want: vars("path", "a")},
			{uri: "file:///a/b/c.txt", want: vars("path", "a/b/c.txt")},
			{uri: "file:///a%20b/c:d@e", want: vars("path", "a b/c:d@e")},
			{uri: "file:///a/[slug].ts", want: vars("path", "a/[slug].ts")},
			{uri: "file:///a%3Fb%23c", want: vars("path", "a?b#c")},
			{uri: "file:///dir/", want: vars("path", "dir/")},
			{uri: "file://localhost/a", want: vars("path", "a")},
			{uri: "file:///", no: true},
			{uri: "file:///a%2Fb", no: true},
			{uri: "file:///a%2fb", no: true},
			{uri: "file:///a%5Cb", no: true},
			{uri: "file:///a?b", no: true},
			{uri: "file:///a%0Ab", no: true},
			{uri: "file://host/a", no: true},
		}},
		{name: "+ never takes an encoded slash", template: "docs://{+path}", slash: true, cases: []uriCase{
			{uri: "docs://a%2Fb", no: true},
			{uri: "docs://a%5Cb", no: true},
			{uri: "docs://a%0Ab", want: vars("path", "a\nb")},
			{uri: "docs://../b", want: vars("path", "../b")},
		}},
		{name: "+ in the authority", template: "docs://{+path}", cases: []uriCase{
			{uri: "docs://A/b", want: vars("path", "A/b")},
			{uri: "docs://../b", no: true},
		}},
		{name: "a list of segments", template: "file:///srv{/path*}", cases: []uriCase{
			{uri: "file:///srv/a", want: vars("path", "a")},
			{uri: "file:///srv/a/b", want: vars("path", "a/b")},
			{uri: "file:///srv/a//b/", want: vars("path", "a//b/")},
			{uri: "file:///srv/a%20b/c", want: vars("path", "a b/c")},
			{uri: "file:///srv", no: true},
			{uri: "file:///srv/", no: true},
			{uri: "file:///srv/a%2Fb", no: true},
			{uri: "file:///srv/a%5Cb", no: true},
		}},
		{name: "a segment operator", template: "docs://x{/a,b}", slash: true, cases: []uriCase{
			{uri: "docs://X/1/2", want: vars("a", "1", "b", "2")},
			{uri: "docs://x/1", no: true},
			{uri: "docs://x/1/2/3", no: true},
			{uri: "docs://x/1%2F2/3", no: true},
			{uri: "docs://x//2", no: true},
		}},
		{name: "a simple expression before a segment operator", template: "git://{repo}{/path*}", cases: []uriCase{
			{uri: "git://Repo/a/b", want: vars("repo", "Repo", "path", "a/b")},
			{uri: "git://Repo", no: true},
		}},
		{name: "+ in the middle", template: "git://r/{+path}/at/{rev}.txt{?w}", cases: []uriCase{
			{uri: "git://r/a/at/b/at/c.txt", want: vars("path", "a/at/b", "rev", "c")},
			{uri: "git://r/a/at/b.txt.txt?w=1", want: vars("path", "a", "rev", "b.txt", "w", "1")},
			{uri: "git://r/at/b.txt", no: true},
			{uri: "git://r/a/at/.txt", no: true},
		}},
		{name: "delimiters within a segment", template: "x:{a}-v:{b}/{+p}:{c},{d}", cases: []uriCase{
			{uri: "x:1-v:2/3:4/:5,6", want: vars("a", "1", "b", "2", "p", "3:4/", "c", "5", "d", "6")},
			{uri: "x:1-v-v:2/3:5,6", want: vars("a", "1-v", "b", "2", "p", "3", "c", "5", "d", "6")},
			{uri: "x:1:2/3:5,6", no: true},
			{uri: "x:-v:2/3:5,6", no: true},
			{uri: "x:1-v:2:2/3:5,6", no: true},
		}},
		{name: "a literal that is a piece of a triplet", template: "x:{a}0", cases: []uriCase{
			{uri: "x:%200", want: vars("a", " ")},
			{uri: "x:%20", no: true},
			{uri: "x:0", no: true},
		}},
		{name: "an authority is no value", template: "urn:{+x}", cases: []uriCase{
			{uri: "urn:a/b", want: vars("x", "a/b")}, {uri: "urn:/a", want: vars("x", "/a")}, {uri: "urn://a", no: true},
		}},
		{name: "two simple variables", template: "geo:{lat,lon}", cases: []uriCase{
			{uri: "geo:1,2", want: vars("lat", "1", "lon", "2")},
			{uri: "geo:1", no: true},
			{uri: "geo:1,2,3", no: true},
			{uri: "geo:1%2C2,3", want: vars("lat", "1,2", "lon", "3")},
		}},
		{name: "label and parameters", template: "docs://a/x{.ext}{?q}", cases: []uriCase{
			{uri: "docs://a/x.tar.gz", want: vars("ext", "tar.gz")},
			{uri: "docs://a/x", no: true},
		}},
		{name: "path parameters", template: "docs://a/x{;v,w}", cases: []uriCase{
			{uri: "docs://a/x;v=1;w=2", want: vars("v", "1", "w", "2")},
			{uri: "docs://a/x;w=2;v=1", no: true},
			{uri: "docs://a/x;v=1;w=2;z=3", no: true},
			{uri: "docs://a/x;v;w=2", no: true},
		}},
		{name: "a continued query", template: "docs://a?kind=x&q={q}&z=1{&m,n}", cases: []uriCase{
			{uri: "docs://a?kind=x&q=1&z=1", want: vars("q", "1")},
			{uri: "docs://a?kind=x&q=&z=1&n=2&m=", want: vars("q", "", "m", "", "n", "2")},
			{uri: "docs://a?kind=x&q=1&z=1&k=2", no: true},
			{uri: "docs://a?q=1&kind=x&z=1", no: true},
			{uri: "docs://a?kind=x&q=1", no: true},
		}},
		{name: "no variables", template: "docs://A/index", cases: []uriCase{
			{uri: "docs://a/index"}, {uri: "docs://a/index?", no: true}, {uri: "docs://a/indexx", no: true},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tmpl := mustParse(t, tt.template)
			var slash func(string) bool
			if tt.slash {
				slash = admitAll
			}
			for _, c := range tt.cases {
				u, err := uri.Parse(c.uri)
				if err != nil {
					t.Errorf("%s: %v", c.uri, err)
					continue
				}
				got, ok := tmpl.Match(u, slash)
				if ok == c.no {
					t.Errorf("%s: match is %v", c.uri, ok)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", c.uri, diff)
				}
			}
		})
	}
}

// TestCanonical shows that an access rule about a URI meets every spelling of it.
func TestCanonical(t *testing.T) {
	for _, tt := range []struct{ template, in, want string }{
		{"file:///{+path}", "file:///R%26D/a%20b%2cc", "file:///R&D/a%20b,c"},
		{"file:///{+path}", "file:///a%3Fb%23c%40d", "file:///a%3Fb%23c@d"},
		{"docs://{name}", "docs://A%3Ab%40c", "docs://A:b%40c"},
		{"docs://{+path}", "docs://a%40b/c%40d", "docs://a%40b/c@d"},
		{"docs://{+p}:{x}", "docs://a/b:x%40y", "docs://a/b:x@y"},
		{"docs://{+p}:{x}", "docs://a:x%40y", "docs://a:x%40y"},
		{"docs://{name}", "docs://[::A]", "docs://%5B::A%5D"},
		{"docs://Acme/{a}:{b}", "docs://ACME/x%3Ay%2C:z%3A", "docs://acme/x%3Ay,:z%3A"},
		{"docs://c{?page,limit}", "docs://c?limit=%2F&page=a%26b", "docs://c?page=a%26b&limit=/"},
		{"docs://c?q={q}&k=1{&m,n}", "docs://c?q=%3D&k=1&n=1&m=2", "docs://c?q==&k=1&m=2&n=1"},
	} {
		u, err := uri.Parse(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, ok := mustParse(t, tt.template).Resolve(u, admitAll); !ok || got.String() != tt.want {
			t.Errorf("%s on %s: %s, %v; want %s", tt.template, tt.in, got, ok, tt.want)
		}
	}
}

// TestMatchSlashByName shows that slash is asked for the variable that needs it, and for no other.
func TestMatchSlashByName(t *testing.T) {
	tmpl := mustParse(t, "docs://x/{a}/{b}")
	u, err := uri.Parse("docs://x/plain/c%2Fd")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	_, ok := tmpl.Match(u, func(name string) bool { asked = append(asked, name); return name == "b" })
	if diff := cmp.Diff([]string{"b"}, asked); !ok || diff != "" {
		t.Errorf("match %v, asked for (-want +got):\n%s", ok, diff)
	}
}

func BenchmarkMatch(b *testing.B) {
	for _, bm := range []struct{ name, template, in string }{
		{"simple", "docs://{name}", "docs://README.md"},
		{"path", "file:///{+path}", "file:///srv/docs/handbook/chapter-03/installation.md"},
		{"query", "docs://catalog/{id}{?page,limit}", "docs://catalog/7?limit=5&page=2"},
		{"escapes", "file:///{+path}", "file:///srv/docs/a%20b/%C3%A9t%C3%A9.md"},
		{"no match", "docs://catalog/{id}{?page,limit}", "docs://other/7?limit=5&page=2"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			tmpl := mustParse(b, bm.template)
			u, err := uri.Parse(bm.in)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				tmpl.Match(u, nil)
			}
		})
	}
}
