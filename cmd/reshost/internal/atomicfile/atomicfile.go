// Package atomicfile writes files whole or not at all. cmd/reshost and its build step use it.
//
//	err := atomicfile.Write("my.wasm", wasm, 0o644)
//
// Its errors are those of package os.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts data into the file name: a reader meets the old content or all of the new one.
func Write(name string, data []byte, mode fs.FileMode) error {
	return write(name, data, mode, os.Rename)
}

// Create is Write for a file that must not be there: when it is, the error is fs.ErrExist and the file stays as it is.
func Create(name string, data []byte, mode fs.FileMode) error {
	return write(name, data, mode, os.Link)
}

// write fills a file beside name and hands both to place.
func write(name string, data []byte, mode fs.FileMode, place func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return place(f.Name(), name)
}
