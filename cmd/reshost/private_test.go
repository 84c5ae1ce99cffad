//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A state folder that somebody else can write to, or owns, is refused by every command that would trust what is in it.
func TestStateFolderIsPrivate(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"all can write", func(t *testing.T, dir string) { mode(t, dir, 0o777) }, "can be written by others (mode 0777)"},
		{"the group can write", func(t *testing.T, dir string) { mode(t, dir, 0o770) }, "can be written by others (mode 0770)"},
		{"all can write, sticky", func(t *testing.T, dir string) { mode(t, dir, 0o777|os.ModeSticky) }, "can be written by others"},
		{"somebody else's", func(t *testing.T, dir string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			if err := os.Chown(dir, 12345, 12345); err != nil {
				t.Fatal(err)
			}
		}, "belongs to user 12345"},
		{"a file", func(t *testing.T, dir string) {
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			writeFile(t, dir, nil)
		}, "is not a folder"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			test.make(t, dir)
			for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"serve", "--stdio"}, {"list"}} {
				code, _, stderr := reshost(t, append(args, "--root", t.TempDir(), "--state-dir", dir)...)
				if code != exitFailure || !strings.Contains(stderr, test.want) || !strings.Contains(stderr, "--state-dir") {
					t.Errorf("%v: exit %d, %q, want %q in it", args, code, stderr, test.want)
				}
			}
		})
	}
	for _, fine := range []os.FileMode{0o700, 0o755} {
		dir := t.TempDir()
		mode(t, dir, fine)
		if err := checkPrivate(dir); err != nil {
			t.Errorf("mode %04o: %v", fine, err)
		}
	}
	if err := checkPrivate(filepath.Join(t.TempDir(), "not", "there")); err != nil {
		t.Error(err)
	}
}

func mode(t *testing.T, dir string, m os.FileMode) {
	t.Helper()
	if err := os.Chmod(dir, m); err != nil {
		t.Fatal(err)
	}
}
