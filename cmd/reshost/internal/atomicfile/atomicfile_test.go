package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestWrite(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	for _, want := range []string{"first", "second"} {
		if err := Write(name, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	onlyFile(t, name)
}

func TestCreate(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := Create(name, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Create(name, []byte("second"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second Create gave %v, want fs.ErrExist", err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "first" {
		t.Errorf("got %q, %v, want the first content", got, err)
	}
	onlyFile(t, name)
}

func TestNoFolder(t *testing.T) {
	if err := Write(filepath.Join(t.TempDir(), "no", "f"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want fs.ErrNotExist", err)
	}
}

// onlyFile fails when anything is left beside name.
func onlyFile(t *testing.T, name string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder holds %v, %v, want one file", entries, err)
	}
}
