package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

var modified = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// tree makes a folder in memory of paths and contents. A path with a slash at its end is an empty folder.
func tree(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, content := range files {
		f := &fstest.MapFile{Data: []byte(content), Mode: 0o644, ModTime: modified}
		if name[len(name)-1] == '/' {
			name, f.Mode = name[:len(name)-1], fs.ModeDir|0o755
		}
		m[name] = f
	}
	return m
}

// onDisk makes a folder on the disk, for names and links that a folder in memory does not have.
func onDisk(t *testing.T, files, links map[string]string) fs.FS {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root.FS()
}

// start runs the plugin over one root, docs, at /srv/docs.
func start(t *testing.T, folder fs.FS, edit func(*reshosttest.Options)) *reshosttest.Guest {
	t.Helper()
	opts := &reshosttest.Options{
		Roots:        map[string]fs.FS{"docs": folder},
		RootPrefixes: map[string]string{"docs": "/srv/docs"},
	}
	if edit != nil {
		edit(opts)
	}
	return reshosttest.New(t, newPlugin(), opts)
}

// codeOf returns the code that a call of the guest failed with; 0: it did not fail.
func codeOf(err error) reshost.Code {
	if f, ok := err.(*reshosttest.Failure); ok {
		return f.Code
	}
	return 0
}

func TestConfig(t *testing.T) {
	tests := []struct {
		name, config string
		bad          bool
	}{
		{"none", ``, false},
		{"all", `{"folder":"contents","max_files":5}`, false},
		{"another folder", `{"folder":"both"}`, true},
		{"no files", `{"max_files":0}`, true},
		{"too many files", `{"max_files":101}`, true},
		{"not a number", `{"max_files":"many"}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := reshosttest.Start(t, newPlugin(), &reshosttest.Options{Config: tt.config})
			if (err != nil) != tt.bad {
				t.Errorf("load: %v", err)
			}
		})
	}
}
