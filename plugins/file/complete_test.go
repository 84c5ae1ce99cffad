package main

import (
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

const template = "file:///{+path}"

func TestComplete(t *testing.T) {
	roots := map[string]fs.FS{
		"docs": tree(map[string]string{
			"guide.md": "", "guide/a.md": "", "guide/b c.md": "", "guides": "", "other": "", ".hidden": "", "x/": "", `gu\x`: "",
		}),
		"code": tree(map[string]string{"main.go": ""}),
	}
	g := reshosttest.New(t, newPlugin(), &reshosttest.Options{
		Roots: roots, RootPrefixes: map[string]string{"docs": "/srv/docs", "code": "/srv/my%20code"},
	})
	tests := []struct {
		name, typed string
		want        []string
	}{
		{"nothing typed: the roots", "", []string{"srv/my code/", "srv/docs/"}},
		{"the beginning of a root", "srv/d", []string{"srv/docs/"}},
		{"a root without its slash", "srv/docs", []string{"srv/docs/"}},
		{"what is in a root", "srv/docs/", []string{"srv/docs/guide/", "srv/docs/guide.md", "srv/docs/guides", "srv/docs/other", "srv/docs/x/"}},
		{"the beginning of a name", "srv/docs/gui", []string{"srv/docs/guide/", "srv/docs/guide.md", "srv/docs/guides"}},
		{"a whole name", "srv/docs/guide", []string{"srv/docs/guide/", "srv/docs/guide.md", "srv/docs/guides"}},
		{"a folder", "srv/docs/guide/", []string{"srv/docs/guide/a.md", "srv/docs/guide/b c.md"}},
		{"an empty folder", "srv/docs/x/", nil},
		{"no such name", "srv/docs/zz", nil},
		{"no such folder", "srv/docs/no/", nil},
		{"in a file", "srv/docs/other/", nil},
		{"elsewhere", "etc/pass", nil},
		{"hidden", "srv/docs/.h", nil},
		{"up", "srv/docs/../", nil},
		{"up at the end", "srv/docs/..", nil},
		{"two slashes", "srv/docs//", nil},
		{"two slashes, deeper", "srv/docs/guide//", nil},
		{"a slash at the beginning", "/srv/docs/", nil},
		{"URI-06 NUL", "srv/docs/a\x00", nil},
		{"another root", "srv/my code/m", []string{"srv/my code/main.go"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := g.Complete(template, varPath, tt.typed, nil)
			if tt.want == nil {
				// A folder that is not there may fail too: neither way proposes anything.
				if err == nil && len(got.Values) > 0 {
					t.Errorf("completing %q: %q, want nothing", tt.typed, got.Values)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Values); diff != "" || got.HasMore || got.Total != int64(len(tt.want)) {
				t.Errorf("completing %q: total %d, more %t (-want +got):\n%s", tt.typed, got.Total, got.HasMore, diff)
			}
		})
	}
}

// CMP-01, CMP-02: a hundred values are all there is to show, one more is not shown but said.
func TestCompleteMany(t *testing.T) {
	for _, n := range []int{99, 100, 101, 5000} {
		files := map[string]string{}
		for i := range n {
			files[fmt.Sprintf("f%05d", i)] = ""
		}
		got, err := start(t, tree(files), nil).Complete(template, varPath, "srv/docs/f", nil)
		if err != nil {
			t.Fatal(err)
		}
		if more := n > 100; len(got.Values) != min(n, 100) || got.HasMore != more || !more && got.Total != int64(n) {
			t.Errorf("%d files: %d values, more %t, total %d", n, len(got.Values), got.HasMore, got.Total)
		}
	}
}

func TestCompleteAtTheTop(t *testing.T) {
	g := reshosttest.New(t, newPlugin(), &reshosttest.Options{
		Roots: map[string]fs.FS{"all": tree(map[string]string{"a/b": "", "c": ""})}, RootPrefixes: map[string]string{"all": "/"},
	})
	for typed, want := range map[string][]string{"": {"a/", "c"}, "a": {"a/"}, "a/": {"a/b"}} {
		got, err := g.Complete(template, varPath, typed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Values); diff != "" {
			t.Errorf("completing %q (-want +got):\n%s", typed, diff)
		}
	}
}

// A value that expands to another URI is not proposed, neither a file's name nor what is below such a folder.
func TestCompleteLeavesOutWhatDoesNotExpand(t *testing.T) {
	g := start(t, tree(map[string]string{"q?": "", "q#": "", "q%41": "", "q": "", "f#/a": ""}), nil)
	for typed, want := range map[string][]string{"srv/docs/q": {"srv/docs/q"}, "srv/docs/q?": nil, "srv/docs/f#/": nil} {
		got, err := g.Complete(template, varPath, typed, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, append([]string(nil), got.Values...)); diff != "" {
			t.Errorf("completing %q (-want +got):\n%s", typed, diff)
		}
	}
}
