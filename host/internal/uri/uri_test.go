package uri

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"normal already", "docs://README.md", "docs://README.md"},
		{"scheme folds, authority does not", "DOCS://Acme/Path", "docs://Acme/Path"},
		{"net/url refuses an encoded space in the authority", "docs://a%20b.md", "docs://a%20b.md"},
		{"net/url refuses a colon without a port", "docs://a:b.md", "docs://a:b.md"},
		{"hex digits fold up", "docs://a/%c3%a9%2f", "docs://a/%C3%A9%2F"},
		{"unreserved are decoded", "docs://%41/%7euser/%2Dx%2e%5f%30", "docs://A/~user/-x._0"},
		{"reserved stay as they are", "docs://a/%3A:%40@%21!", "docs://a/%3A:%40@%21!"},
		{"space and non-ASCII are encoded", "docs://a/b c/é\u202fx", "docs://a/b%20c/%C3%A9%E2%80%AFx"},
		{"composed and decomposed stay apart (URI-11)", "file:///e\u0301.txt", "file:///e%CC%81.txt"},
		{"a percent-encoded percent is not decoded twice", "docs://a/%2541", "docs://a/%2541"},
		{"brackets of a reserved expansion", "file:///app/[slug].tsx", "file:///app/%5Bslug%5D.tsx"},
		{"brackets of a name in the authority", "docs://[slug].md", "docs://%5Bslug%5D.md"},
		{"brackets of an IP literal", "docs://[2001:DB8::1]:80/[x]", "docs://[2001:DB8::1]:80/%5Bx%5D"},
		{"no authority", "urn:isbn:0451450523", "urn:isbn:0451450523"},
		{"scheme characters", "git+ssh-2.x:a", "git+ssh-2.x:a"},
		{"a trailing slash is another URI", "docs://a/", "docs://a/"},
		{"an empty query is kept", "docs://a?", "docs://a?"},
		{"a question mark in a query", "docs://a?b?c", "docs://a?b?c"},
		{"empty segments are kept", "file:////a//b/", "file:////a//b/"},
		{"dots that are no segments (TPL-10)", "git://r/HEAD~3..HEAD/.env/a...b/..c/d../...", "git://r/HEAD~3..HEAD/.env/a...b/..c/d../..."},
		{"dots in a query", "docs://a?b=../c", "docs://a?b=../c"},
		{"file on localhost (R3)", "file://LocalHost/a", "file:///a"},
		{"localhost elsewhere", "docs://localhost/a", "docs://localhost/a"},
		{"a two-dot leader is a name (URI-09)", "file:///www/‥/x", "file:///www/%E2%80%A5/x"},
		{"encoded controls are for the matcher", "docs://a/%0a%1B", "docs://a/%0A%1B"},
		{"encoded invalid UTF-8 is for the matcher", "docs://a/%ff", "docs://a/%FF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := Parse(tt.in)
			if err != nil {
				t.Fatalf("Parse(%q): %v", tt.in, err)
			}
			if got := u.String(); got != tt.want {
				t.Errorf("Parse(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if got := u.join(); got != tt.want {
				t.Errorf("components of Parse(%q) join to %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		want     Error
	}{
		{"empty", "", ErrRelative},
		{"no scheme", "README.md", ErrRelative},
		{"a path", "/etc/passwd", ErrRelative},
		{"an empty scheme", "://a", ErrRelative},
		{"a scheme that starts with a digit", "1a://b", ErrRelative},
		{"a scheme with an underscore", "a_b://c", ErrRelative},
		{"a scheme with an escape", "do%63s://c", ErrRelative},
		{"a fragment", "docs://item/7#frag", ErrFragment},
		{"an empty fragment", "docs://item/7#", ErrFragment},
		{"userinfo (URI-04)", "docs://User:PaSs@example.com/", ErrUserinfo},
		{"empty userinfo", "docs://@a/", ErrUserinfo},
		{"a lone percent", "docs://a/100%", ErrEscape},
		{"a short escape", "docs://a/%4", ErrEscape},
		{"an escape that is not hex", "docs://a/%4g", ErrEscape},
		{"IIS's %u", "docs://a/%u002e", ErrEscape},
		{"NUL encoded (URI-06)", "file:///docs/a.txt%00", ErrNUL},
		{"NUL encoded inside (URI-07)", "file:///srv/docs/style.css%00.js", ErrNUL},
		{"NUL in a query", "docs://a?b=%00", ErrNUL},
		{"NUL raw (URI-06)", "docs://x\x00y", ErrNUL},
		{"a raw line feed", "docs://x\ny", ErrControl},
		{"a raw DEL", "docs://x\x7fy", ErrControl},
		{"a backslash", `file:///docs\..\x`, ErrCharacter},
		{"a template for a URI", "docs://{name}", ErrCharacter},
		{"invalid UTF-8", "docs://\xff", ErrUTF8},
		{"half a surrogate", "docs://\xed\xa0\x80", ErrUTF8},
		{"dot segments (URI-09 1)", "file:///srv/docs/www/../server.ini", ErrDotSegment},
		{"encoded (URI-09 2)", "file:///srv/docs/www/%2e%2e/server.ini", ErrDotSegment},
		{"half encoded (URI-09 3)", "file:///srv/docs/www/.%2e/server.ini", ErrDotSegment},
		{"single dots (URI-09 6)", "file:///srv/docs/www/./x/../../server.ini", ErrDotSegment},
		{"after empty segments (URI-09 7)", "file:///srv/docs/www//../../docs/server.ini", ErrDotSegment},
		{"at the end", "git://repo/log/..", ErrDotSegment},
		{"one dot at the end", "docs://a/.", ErrDotSegment},
		{"before a query", "docs://a/..?x", ErrDotSegment},
		{"without an authority", "docs:..", ErrDotSegment},
		{"too long", "docs://" + strings.Repeat("a", MaxLen), ErrTooLong},
		{"too long once encoded", "docs://" + strings.Repeat("é", MaxLen/3), ErrTooLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			u, err := Parse(tt.in)
			if !errors.Is(err, tt.want) {
				t.Errorf("Parse(%q) = %q, %v; want error %v", tt.in, u.String(), err, tt.want)
			}
		})
	}
}

func TestParseAtLimit(t *testing.T) {
	in := "docs://" + strings.Repeat("a", MaxLen-len("docs://"))
	if _, err := Parse(in); err != nil {
		t.Errorf("Parse of %d bytes: %v", len(in), err)
	}
}

func TestComponents(t *testing.T) {
	u, err := Parse("Docs://A%20b:1/c/d?e=f")
	if err != nil {
		t.Fatal(err)
	}
	want := URI{
		Scheme: "docs", Authority: "A%20b:1", HasAuthority: true, Path: "/c/d", Query: "e=f", HasQuery: true,
		text: "docs://A%20b:1/c/d?e=f",
	}
	if u != want {
		t.Errorf("got %+v, want %+v", u, want)
	}
}

// TestFoldAuthority shows URI-04: the normaliser alone, told to fold, leaves userinfo its case.
func TestFoldAuthority(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"URI-04", "DOCS://User:PaSs@EXAMPLE.Com:80/Path", "docs://User:PaSs@example.com:80/Path"},
		{"hex digits stay upper case", "docs://%C3%A9ABC%2F/X?Y", "docs://%C3%A9abc%2F/X?Y"},
		{"nothing to fold", "docs://acme/X", "docs://acme/X"},
		{"no authority", "urn:ISBN:X", "urn:ISBN:X"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := normalise(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			u := split(text).FoldAuthority()
			if u.String() != tt.want || u.join() != tt.want {
				t.Errorf("got %q (%q), want %q", u.String(), u.join(), tt.want)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a": "a", "a%20b": "a b", "%2541": "%41", "%C3%A9%2F": "é/", "a%": "a%", "%4": "%4", "%zz%41": "%zzA",
	} {
		if got := Decode(in); got != want {
			t.Errorf("Decode(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestErrorText(t *testing.T) {
	for e := Error(0); e < 20; e++ {
		if e.Error() == "" {
			t.Errorf("Error(%d) has no text", e)
		}
	}
}

// checkNormal holds for whatever Parse accepts.
func checkNormal(t interface {
	Errorf(string, ...any)
}, in string, u URI,
) {
	again, err := Parse(u.String())
	if err != nil || again != u {
		t.Errorf("not idempotent: Parse(%q) = %q, then %q, %v", in, u.String(), again.String(), err)
	}
	folded := u.FoldAuthority()
	if again, err := Parse(folded.String()); err != nil || again != folded || folded.FoldAuthority() != folded {
		t.Errorf("not idempotent: %q folds to %q, then %q, %v", u.String(), folded.String(), again.String(), err)
	}
	if u.join() != u.String() {
		t.Errorf("components of %q join to %q", u.String(), u.join())
	}
	for i := range len(u.String()) {
		switch class[u.String()[i]] {
		case alpha, plain, schemeRun, escape:
		case bracket:
			if !strings.Contains(u.Authority, "[") {
				t.Errorf("raw bracket in %q", u.String())
			}
		default:
			t.Errorf("raw %q in %q", u.String()[i], u.String())
		}
	}
	for seg := range strings.SplitSeq(Decode(u.Path), "/") {
		if (seg == ".." || seg == ".") && !strings.Contains(u.Path, "%2F") {
			t.Errorf("dot segment left in %q", u.String())
		}
	}
}

func TestNormalisationIsIdempotent(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"a", "B", "%41", "%2e", "%2E", ".", "..", "/", "//", "?", "é", "%c3%a9", "%2f", "[", "]", ":", "@", " ", "%25", "%0a", "[::A]", "localhost",
	})
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SampledFrom([]string{"docs:", "DOCS://", "file://", "file:", "docs://A"}).Draw(t, "start") +
			strings.Join(rapid.SliceOfN(piece, 0, 8).Draw(t, "pieces"), "")
		if u, err := Parse(in); err == nil {
			checkNormal(t, in, u)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"docs://README.md", "DOCS://a%20b.md?x=%2f#f", "file:///srv/docs/www/.%2e/server.ini", "urn:isbn:1", "docs://[::1]:80/[x]",
		"docs://\xff", "docs://a@b", "file://localhost/e\u0301.txt", "docs://a/%00", "a:", "docs://a/%2541%e9",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		u, err := Parse(in)
		if err != nil {
			var kind Error
			if !errors.As(err, &kind) {
				t.Errorf("Parse(%q): error of type %T", in, err)
			}
			return
		}
		if !utf8.ValidString(in) {
			t.Errorf("Parse(%q) accepts invalid UTF-8", in)
		}
		checkNormal(t, in, u)
	})
}

func BenchmarkParse(b *testing.B) {
	for _, bm := range []struct{ name, in string }{
		{"normal", "file:///srv/docs/handbook/chapter-03/installation.md"},
		{"escapes", "file:///srv/docs/a%20b/%C3%A9t%C3%A9.md"},
		{"encode", "FILE:///srv/docs/a b/été%2emd"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(bm.in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestParseAllocates pins the hot path: a URI that is normal already costs no memory.
func TestParseAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { _, _ = Parse("docs://acme/a%20b?c=d") }); n != 0 {
		t.Errorf("Parse of a normal URI allocates %v times", n)
	}
}
