package main

import (
	"strings"
	"testing"
)

// rootsOf makes roots of names and prefixes.
func rootsOf(tb testing.TB, pairs ...string) (rs roots) {
	tb.Helper()
	for i := 0; i < len(pairs); i += 2 {
		r, err := newRoot("file", pairs[i], pairs[i+1])
		if err != nil {
			tb.Fatal(err)
		}
		rs = append(rs, r)
	}
	return rs
}

func TestResolve(t *testing.T) {
	rs := rootsOf(t, "code", "/src/", "docs", "/srv/docs", "inner", "/srv/docs/inner", "my", "/my%20docs/%C3%BC", "win", "/C:/Data")
	top := rootsOf(t, "all", "/")
	tests := []struct {
		name, path, root, rel string
		slash, missing        bool
		roots                 roots
	}{
		{name: "file", path: "/srv/docs/a.txt", root: "docs", rel: "a.txt"},
		{name: "deep file", path: "/src/a/b/c", root: "code", rel: "a/b/c"},
		{name: "the root itself", path: "/srv/docs", root: "docs"},
		{name: "the root with a slash", path: "/srv/docs/", root: "docs", slash: true},
		{name: "folder with a slash", path: "/srv/docs/a/", root: "docs", rel: "a", slash: true},
		{name: "the longer prefix wins", path: "/srv/docs/inner/x", root: "inner", rel: "x"},
		{name: "a name that only begins like a root", path: "/srv/docs2/x", missing: true},
		{name: "above the roots", path: "/srv", missing: true},
		{name: "elsewhere", path: "/etc/passwd", missing: true},
		{name: "empty", path: "", missing: true},
		{name: "URI-09 dot segments", path: "/srv/docs/../secret", missing: true},
		{name: "URI-09 a dot segment at the end", path: "/srv/docs/a/..", missing: true},
		{name: "URI-09 a single dot", path: "/srv/docs/./a", missing: true},
		{name: "URI-09 dots with more are a name", path: "/srv/docs/..;/a...b", root: "docs", rel: "..;/a...b"},
		{name: "URI-09 backslash", path: `/srv/docs/..\secret`, missing: true},
		{name: "URI-09 empty segment", path: "/srv/docs//a", missing: true},
		{name: "URI-09 two slashes at the end", path: "/srv/docs/a//", missing: true},
		{name: "URI-09 two slashes after the root", path: "/srv/docs//", missing: true},
		{name: "URI-06 NUL", path: "/srv/docs/a.txt\x00", missing: true},
		{name: "URI-02 a drive letter's case", path: "/c:/DATA/x", root: "win", rel: "x"},
		{name: "URI-02 other roots keep their case", path: "/srv/Docs/x", missing: true},
		{name: "URI-11 composed is not decomposed", path: "/srv/docs/e\u0301.txt", root: "docs", rel: "e\u0301.txt"},
		{name: "a prefix that is percent-encoded", path: "/my docs/ü/x", root: "my", rel: "x"},
		{name: "bytes that are not UTF-8", path: "/srv/docs/\xff", root: "docs", rel: "\xff"},
		{name: "a root at the top", path: "/etc/x", root: "all", rel: "etc/x", roots: top},
		{name: "the top", path: "/", root: "all", slash: true, roots: top},
		{name: "the top without a slash", path: "", missing: true, roots: top},
		{name: "the top twice", path: "//", missing: true, roots: top},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.roots == nil {
				tt.roots = rs
			}
			r, rel, slash, ok := tt.roots.resolve(tt.path)
			if !ok {
				if !tt.missing {
					t.Fatalf("resolve(%q) found nothing, want %s %q", tt.path, tt.root, tt.rel)
				}
				return
			}
			if tt.missing || r.name != tt.root || rel != tt.rel || slash != tt.slash {
				t.Errorf("resolve(%q) = %s, %q, %t; want %s, %q, %t (missing %t)",
					tt.path, r.name, rel, slash, tt.root, tt.rel, tt.slash, tt.missing)
			}
		})
	}
}

// Whatever resolve lets through names something below the root, one entry a segment.
func FuzzResolve(f *testing.F) {
	for _, s := range []string{"/srv/docs/a", "/srv/docs/../b", "/srv/docs//", "/C:/x/", "/srv/docs/a\\b"} {
		f.Add(s)
	}
	rs := rootsOf(f, "docs", "/srv/docs", "win", "/C:/data")
	f.Fuzz(func(t *testing.T, path string) {
		r, rel, _, ok := rs.resolve(path)
		if !ok || rel == "" {
			return
		}
		for _, segment := range strings.Split(rel, "/") {
			if segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "\x00\\") {
				t.Errorf("resolve(%q) = %q in %s", path, rel, r.name)
			}
		}
	})
}
