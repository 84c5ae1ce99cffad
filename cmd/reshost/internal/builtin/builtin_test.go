package builtin

import (
	"bytes"
	"compress/gzip"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func compress(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSet(t *testing.T) {
	s := NewSet(fstest.MapFS{
		"README.md": {Data: []byte("why")}, "b.wasm.gz": {Data: compress(t, []byte("module b"))},
		"a.wasm.gz": {Data: []byte("damaged")}, "big.wasm.gz": {Data: compress(t, make([]byte, maxWasm+1))},
	})
	if got := s.Names(); !slices.Equal(got, []string{"a", "b", "big"}) {
		t.Errorf("names are %v", got)
	}
	if got, err := s.Open("b"); err != nil || string(got) != "module b" {
		t.Errorf("b is %q, %v", got, err)
	}
	for name, want := range map[string]string{
		"a": "builtin a: ", "big": "larger than", "c": `no plugin named "c" is built in; there are a, b, big`, "../b": "no plugin named",
	} {
		if got, err := s.Open(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%s) = %q, %v, want an error with %q", name, got, err, want)
		}
	}
}

// TestNone shows what a binary without plugins says.
func TestNone(t *testing.T) {
	s := NewSet(fstest.MapFS{"README.md": {}})
	_, err := s.Open("docs")
	if want := (*Error)(nil); !errors.As(err, &want) || err.Error() != Missing || strings.Contains(Missing, "\n") {
		t.Errorf("got %v, want %s", err, Missing)
	}
	if names := s.Names(); len(names) != 0 {
		t.Errorf("names are %v", names)
	}
}

// TestEmbedded shows that the placeholder is there, so that the package builds from a fresh clone, and that whatever is
// embedded opens.
func TestEmbedded(t *testing.T) {
	s := Embedded()
	if _, err := s.files.Open("README.md"); err != nil {
		t.Errorf("the placeholder: %v", err)
	}
	for _, name := range s.Names() {
		if wasm, err := s.Open(name); err != nil || !bytes.HasPrefix(wasm, []byte("\x00asm")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
