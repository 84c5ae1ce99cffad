package main

import (
	"mime"
	"slices"
	"strings"
	"testing"
)

func TestTypeByName(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"FS-08 a script is not a video", "app.ts", "text/typescript"},
		{"FS-08 a whole name", "README", "text/plain"},
		{"FS-08 markdown", "x.md", "text/markdown"},
		{"FS-08 the extension's case is ignored", "y.JSON", "application/json"},
		{"FS-08 the last extension counts", "z.tar.gz", "application/gzip"},
		{"FS-08 an unknown dotfile", ".gitignore", ""},
		{"FS-08 the name decides, not the content", "fake.txt", "text/plain"},
		{"a path", "srv/docs/main.go", "text/x-go"},
		{"a whole name is compared with case", "readme", ""},
		{"a folder's dot is not the file's", "a.md/file", ""},
		{"a whole name beats the extension", "go.mod", "text/x-go-mod"},
		{"a dot at the end", "a.", ""},
		{"an extension beyond the bound", "a." + strings.Repeat("x", 300), ""},
		{"letters outside ASCII do not fold", "a.\u212a\u0130", ""},
		{"empty", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := typeByName(tt.file); got != tt.want {
				t.Errorf("typeByName(%q) = %q, want %q", tt.file, got, tt.want)
			}
		})
	}
}

// The look-up needs the order, the host needs media types.
func TestTypeTables(t *testing.T) {
	for name, table := range map[string][]typeEntry{"extension": typesByExtension[:], "name": typesByWholeName[:]} {
		if !slices.IsSortedFunc(table, func(a, b typeEntry) int { return strings.Compare(a.key, b.key) }) {
			t.Errorf("the table by %s is out of order", name)
		}
		for i, e := range table {
			if i > 0 && e.key == table[i-1].key {
				t.Errorf("the table by %s has %q twice", name, e.key)
			}
			if _, params, err := mime.ParseMediaType(e.mime); err != nil || len(params) > 0 || !strings.Contains(e.mime, "/") {
				t.Errorf("%q has %q, which is no plain media type", e.key, e.mime)
			}
			if name == "extension" && (e.key != strings.ToLower(e.key) || len(e.key) >= maxExtension) {
				t.Errorf("the extension %q can never be found", e.key)
			}
		}
	}
}

func TestTypeByNameAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { typeByName("docs/guide.md") }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
