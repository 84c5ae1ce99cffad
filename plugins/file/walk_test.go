package main

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

func urisOf(list []reshosttest.ListedResource) (uris []string) {
	for _, r := range list {
		uris = append(uris, r.URI)
	}
	return uris
}

func TestList(t *testing.T) {
	g := start(t, tree(map[string]string{
		"a.txt": "text", "b/c.go": "package c", "b/d/e": "", "b.txt": "", "empty/": "", "a b?#%ü.md": "# x", ".hidden": "no",
		".git/config": "no", "b/.x/y": "no", "[1].json": "{}",
	}), nil)
	got, err := g.ListAll()
	if err != nil {
		t.Fatal(err)
	}
	annotations := `{"lastModified":"2026-03-04T05:06:07Z"}`
	want := []reshosttest.ListedResource{
		{URI: "file:///srv/docs/%5B1%5D.json", Name: "[1].json", MIMEType: "application/json", Size: 2},
		{URI: "file:///srv/docs/a%20b%3F%23%25%C3%BC.md", Name: "a b?#%ü.md", MIMEType: "text/markdown", Size: 3},
		{URI: "file:///srv/docs/a.txt", Name: "a.txt", MIMEType: "text/plain", Size: 4},
		{URI: "file:///srv/docs/b/c.go", Name: "c.go", MIMEType: "text/x-go", Size: 9},
		{URI: "file:///srv/docs/b/d/e", Name: "e"},
		{URI: "file:///srv/docs/b.txt", Name: "b.txt", MIMEType: "text/plain"},
	}
	for i := range want {
		want[i].Annotations = annotations
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	for _, r := range got {
		read, err := g.Read(r.URI)
		if err != nil {
			t.Errorf("a listed URI does not read: %v", err)
			continue
		}
		if p := read.Parts[0]; p.MIMEType != r.MIMEType || int64(len(p.Body)) != r.Size {
			t.Errorf("FS-08 %s is listed as %q of %d bytes and read as %q of %d", r.URI, r.MIMEType, r.Size, p.MIMEType, len(p.Body))
		}
	}
}

// LST-01: whatever the page size, the pages together are the list: the same order, no gap, nothing twice, no empty page.
func TestListPages(t *testing.T) {
	files := map[string]string{}
	for i := range 7 {
		for j := range 5 {
			files[fmt.Sprintf("d%d/e%d/f", i, j)] = "x"
			files[fmt.Sprintf("d%d/e%d.txt", i, j)] = "x"
		}
		files[fmt.Sprintf("d%d.txt", i)] = "x"
		files[fmt.Sprintf("empty%d/", i)] = ""
	}
	all, err := start(t, tree(files), nil).ListAll()
	if err != nil {
		t.Fatal(err)
	}
	want := urisOf(all)
	if len(want) != 77 || len(slices.Compact(slices.Sorted(slices.Values(want)))) != 77 {
		t.Fatalf("%d files, want 77 different ones", len(want))
	}
	for _, size := range []int{1, 2, 3, 11, 76, 77, 78} {
		g := start(t, tree(files), func(o *reshosttest.Options) { o.PageSize = size })
		var got []string
		pages := 0
		for cursor := ""; ; {
			page, err := g.List(cursor)
			if err != nil {
				t.Fatal(err)
			}
			pages++
			got = append(got, urisOf(page.Resources)...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %d (-want +got):\n%s", size, diff)
		}
		if want := (77 + size - 1) / size; pages != want {
			t.Errorf("pages of %d: %d, want %d", size, pages, want)
		}
	}
}

// A list goes on after files that have gone since the last page, and after whole folders and roots.
func TestListAfterChange(t *testing.T) {
	tests := []struct {
		name, cursor string
		want         []string
		bad          bool
	}{
		{"a file that is there", "b/a/2", []string{"/b/a/3", "/b/b/1", "/c/9"}, false},
		{"a file that is gone", "b/a/2x", []string{"/b/a/3", "/b/b/1", "/c/9"}, false},
		{"a folder that is gone", "b/ax/1/1", []string{"/b/b/1", "/c/9"}, false},
		{"a folder that became a file", "b/a/1/2/3", []string{"/b/a/2", "/b/a/3", "/b/b/1", "/c/9"}, false},
		{"a root that is gone", "bx/1", []string{"/c/9"}, false},
		{"before all roots", "a/1", []string{"/b/a/1", "/b/a/2", "/b/a/3", "/b/b/1", "/c/9"}, false},
		{"after all", "d/1", nil, false},
		{"not a cursor", "b", nil, true},
		{"dot segments", "b/../c/1", nil, true},
		{"NUL", "b/\x00", nil, true},
		{"empty segment", "b//1", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := reshosttest.New(t, newPlugin(), &reshosttest.Options{Roots: map[string]fs.FS{
				"b": tree(map[string]string{"a/1": "", "a/2": "", "a/3": "", "b/1": ""}),
				"c": tree(map[string]string{"9": ""}),
			}})
			page, err := g.List(tt.cursor)
			if tt.bad {
				if codeOf(err) != reshost.CodeInvalid {
					t.Errorf("L1 cursor %q: %v, want invalid", tt.cursor, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, u := range urisOf(page.Resources) {
				got = append(got, strings.TrimPrefix(u, "file://"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("after %q (-want +got):\n%s", tt.cursor, diff)
			}
		})
	}
}

// A folder with more entries than fit into a buffer is read in several pieces, at each depth.
func TestListOfLargeFolders(t *testing.T) {
	files := map[string]string{}
	for _, dir := range []string{"", "sub/", "sub/sub/"} {
		for i := range 600 {
			files[fmt.Sprintf("%s%04d-%s", dir, i, strings.Repeat("x", 80))] = ""
		}
	}
	all, err := start(t, tree(files), nil).ListAll()
	if err != nil || len(all) != 1800 {
		t.Errorf("%d files, %v; want 1800", len(all), err)
	}
	if uris := urisOf(all); len(slices.Compact(slices.Sorted(slices.Values(uris)))) != 1800 {
		t.Error("some files were listed twice")
	}
}

// Folders deeper than there are buffers share one.
func TestListOfDeepFolders(t *testing.T) {
	files := map[string]string{}
	path := ""
	for range maxFrames + 20 {
		files[path+"a"] = ""
		files[path+"e"] = ""
		path += "d/"
	}
	for _, size := range []int{1, 1000} {
		g := start(t, tree(files), func(o *reshosttest.Options) { o.PageSize = size })
		all, err := g.ListAll()
		if err != nil || len(all) != len(files) {
			t.Errorf("%d files, %v; want %d", len(all), err, len(files))
		}
	}
}

// A chain of folders without end does not keep the others out of the list.
func TestListOfEndlessFolders(t *testing.T) {
	files := map[string]string{"z": "", strings.Repeat("d/", maxDepth-1) + "last": "", strings.Repeat("d/", maxDepth) + "below": ""}
	all, err := start(t, tree(files), nil).ListAll()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"file:///srv/docs/" + strings.Repeat("d/", maxDepth-1) + "last", "file:///srv/docs/z"}
	if diff := cmp.Diff(want, urisOf(all)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

// FS-02: linked files are listed, linked folders are not entered.
func TestListOfLinks(t *testing.T) {
	g := start(t, onDisk(t, map[string]string{"a.txt": "A", "sub/b.txt": "B"}, map[string]string{
		"self": ".", "up": "sub/..", "in": "a.txt", "folder": "sub", "loop": "loop", "out": "../x", "abs": "/etc/hostname",
	}), nil)
	all, err := g.ListAll()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"file:///srv/docs/a.txt", "file:///srv/docs/in", "file:///srv/docs/sub/b.txt"}
	if diff := cmp.Diff(want, urisOf(all)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

// What could not be read back is not listed.
func TestListOfNames(t *testing.T) {
	g := start(t, tree(map[string]string{
		`back\slash`: "", `back\folder/x`: "", "new\nline": "", "tab\t": "", "ok": "",
		strings.Repeat(strings.Repeat("\u00e9", 120)+"/", 12) + "x": "", // beyond 8 KiB in a URI
	}), nil)
	all, err := g.ListAll()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"file:///srv/docs/new%0Aline", "file:///srv/docs/ok", "file:///srv/docs/tab%09"}
	if diff := cmp.Diff(want, urisOf(all)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestListOfRoots(t *testing.T) {
	inner := tree(map[string]string{"x": "inner"})
	outer := tree(map[string]string{"a": "", "inner/x": "outer", "inner2/x": "", "z": ""})
	tests := []struct {
		name     string
		roots    map[string]fs.FS
		prefixes map[string]string
		want     []string
	}{
		{"none", nil, nil, nil},
		{
			"side by side",
			map[string]fs.FS{"b": inner, "a": inner},
			map[string]string{"a": "/y", "b": "/my%20docs"},
			[]string{"file:///y/x", "file:///my%20docs/x"},
		},
		{
			"one in another",
			map[string]fs.FS{"in": inner, "out": outer},
			map[string]string{"in": "/srv/inner", "out": "/srv"},
			[]string{"file:///srv/inner/x", "file:///srv/a", "file:///srv/inner2/x", "file:///srv/z"},
		},
		{"at the top", map[string]fs.FS{"all": inner}, map[string]string{"all": "/"}, []string{"file:///x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := reshosttest.New(t, newPlugin(), &reshosttest.Options{Roots: tt.roots, RootPrefixes: tt.prefixes})
			all, err := g.ListAll()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, urisOf(all)); diff != "" {
				t.Errorf("list (-want +got):\n%s", diff)
			}
			for _, u := range tt.want {
				if _, err := g.Read(u); err != nil {
					t.Errorf("a listed URI does not read: %v", err)
				}
			}
		})
	}
}

func TestListRenamedScheme(t *testing.T) {
	g := start(t, tree(map[string]string{"a": ""}), func(o *reshosttest.Options) { o.Schemes = map[string]string{"file": "repo"} })
	all, err := g.ListAll()
	if err != nil || len(all) != 1 || all[0].URI != "repo:///srv/docs/a" {
		t.Errorf("list: %+v, %v", all, err)
	}
}
