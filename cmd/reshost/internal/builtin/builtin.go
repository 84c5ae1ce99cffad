// Package builtin holds the plugins that the reshost binary carries, compressed. Only cmd/reshost imports it.
//
//	wasm, err := builtin.Open("docs")
//
// # Errors
//
// [Open] fails with an [*Error], one line that says what to do: the name is unknown, or this binary was built without
// plugins, which `go install` and a plain `go build` do.
package builtin

import (
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Missing says that a binary carries no plugins, and how to get them.
const Missing = "this reshost was built without plugins: build it with `make build` in a clone of github.com/reshost/reshost, or use file:PATH"

const (
	suffix = ".wasm.gz"
	// maxWasm bounds a plugin's size; the runtime takes no larger ones.
	maxWasm = 32 << 20
)

//go:embed wasm
var embedded embed.FS

// Error is why a plugin could not be opened.
type Error struct {
	Name    string
	Message string
}

func (e *Error) Error() string { return e.Message }

// Set is a folder of compressed plugins.
type Set struct{ files fs.FS }

// Embedded returns the plugins of this binary.
func Embedded() Set {
	files, err := fs.Sub(embedded, "wasm")
	if err != nil {
		// "wasm" is a valid path, so that Sub cannot fail.
		return Set{embedded}
	}
	return Set{files}
}

// NewSet returns the plugins in a folder, for tests.
func NewSet(files fs.FS) Set { return Set{files} }

// Names returns the names of the plugins, sorted; none when the binary was built without them.
func (s Set) Names() []string {
	var names []string
	entries, err := fs.ReadDir(s.files, ".")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), suffix); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Open returns a plugin's module.
func (s Set) Open(name string) ([]byte, error) {
	names := s.Names()
	switch {
	case len(names) == 0:
		return nil, &Error{name, Missing}
	case !slices.Contains(names, name):
		return nil, &Error{name, fmt.Sprintf("no plugin named %q is built in; there are %s", name, strings.Join(names, ", "))}
	}
	f, err := s.files.Open(name + suffix)
	if err != nil {
		return nil, fmt.Errorf("builtin %s: %w", name, err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("builtin %s: %w", name, err)
	}
	wasm, err := io.ReadAll(io.LimitReader(z, maxWasm+1))
	if err != nil {
		return nil, fmt.Errorf("builtin %s: %w", name, err)
	}
	if len(wasm) > maxWasm {
		return nil, fmt.Errorf("builtin %s: larger than %d bytes", name, maxWasm)
	}
	return wasm, nil
}
