package epoch_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/reshost/reshost/host/internal/epoch"
)

func TestChanged(t *testing.T) {
	for _, tt := range []struct {
		uri, changed string
		want         bool
	}{
		{"docs://a/b", "docs://a/b", true},
		{"docs://a/b/c", "docs://a/b", true},  // below it
		{"docs://a/b/c", "docs://a/b/", true}, // however that is written
		{"docs://a/b", "docs://a/b/c", true},  // it lists that one, perhaps
		{"docs://a/b/", "docs://a/b/c", true},
		{"docs://a/b?x=1", "docs://a/b", true},
		{"docs://a/b?x=1", "docs://a/b?x=2", false},
		{"docs://a/b", "docs://a/c", false},
		{"docs://a/bc", "docs://a/b", false},
		{"docs://ab", "docs://a", false},
		{"docs://a/b/d", "docs://a/b/c", false},
		{"docs:a", "docs:a", true},
		{"file:///a/b", "file:///a/c", false},
	} {
		table := epoch.New()
		before := table.Of(tt.uri)
		table.Changed(tt.changed)
		if got := table.Of(tt.uri) != before; got != tt.want {
			t.Errorf("%s after a change of %s: differs %v, want %v", tt.uri, tt.changed, got, tt.want)
		}
	}
}

// Whatever changed before, a change is seen by what it concerns, and by little else.
func TestChangedModel(t *testing.T) {
	segment := rapid.SampledFrom([]string{"a", "b", "ab", "", "c?q", "d?q/r"})
	uris := rapid.Custom(func(t *rapid.T) string {
		return "s://h/" + strings.Join(rapid.SliceOfN(segment, 0, 4).Draw(t, "path"), "/")
	})
	rapid.Check(t, func(t *rapid.T) {
		table := epoch.New()
		for range rapid.IntRange(1, 20).Draw(t, "changes") {
			uri, changed := uris.Draw(t, "uri"), uris.Draw(t, "changed")
			before := table.Of(uri)
			table.Changed(changed)
			if lies(uri, changed) && table.Of(uri) <= before {
				t.Fatalf("%s does not see the change of %s", uri, changed)
			}
		}
	})
}

// lies reports whether a is b, or one of them lies below the other.
func lies(a, b string) bool {
	trim := func(s string) string {
		path, query, ok := strings.Cut(s, "?")
		if path = strings.TrimRight(path, "/"); ok {
			return path + "?" + query
		}
		return path
	}
	a, b = trim(a), trim(b)
	below := func(a, b string) bool { return strings.HasPrefix(a, b+"/") || strings.HasPrefix(a, b+"?") }
	if strings.ContainsRune(a, '?') && below(b, a) || strings.ContainsRune(b, '?') && below(a, b) {
		return false // a query has nothing below it
	}
	return a == b || below(a, b) || below(b, a)
}

func BenchmarkOf(b *testing.B) {
	table := epoch.New()
	b.ReportAllocs()
	for b.Loop() {
		table.Of("docs:///handbook/chapter/one.md")
	}
}
