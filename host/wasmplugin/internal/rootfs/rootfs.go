// Package rootfs gives read access to files below granted folders. It is imported by host/wasmplugin, which serves it to
// guests as reshost_fs_v1.
//
// Every access goes through [os.Root], so neither ".." nor a symbolic link leads out of a folder, also when links are
// swapped while a path is walked. Links within a folder work. Only regular files and folders exist: what is neither
// (FIFO, device, socket) is not opened, and opening cannot block. Names that match a pattern to hide do not exist either,
// and neither does a link that leads to one: the patterns hold for the path that is asked for and for where it leads.
//
//	f, err := rootfs.Open(map[string]string{"main": "./docs"}, []string{".*"})
//	if err != nil { ... }
//	defer f.Close()
//	e, err := f.Stat("main/index.md")
//
// # Errors
//
// Methods fail with one of the package's errors, or with an error of the system that none of them covers.
package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Errors of the methods. Test with errors.Is.
var (
	// ErrNotExist: there is no such file, it is hidden, it leads out of the folder, or it is neither file nor folder.
	ErrNotExist = fs.ErrNotExist
	// ErrPermission: the system does not let this process read it.
	ErrPermission = fs.ErrPermission
	// ErrPath: the path is malformed: empty, absolute, with an empty, "." or ".." element, or with a NUL.
	ErrPath = errors.New("malformed path")
	// ErrKind: it is a folder where a file is wanted, or the reverse.
	ErrKind = errors.New("a folder where a file is wanted, or the reverse")
	// errSwapped: a name was exchanged between two looks at it.
	errSwapped = errors.New("exchanged while it was opened")
	// ErrTooLarge: the folder has more entries than the limit.
	ErrTooLarge = errors.New("folder with too many entries")
)

// Kind of an entry.
type Kind uint8

// Nothing else exists.
const (
	File Kind = iota + 1
	Folder
)

// Entry describes a file or folder.
type Entry struct {
	Name string
	Kind Kind
	// Size in bytes; 0 for a folder.
	Size int64
	// MTime in nanoseconds since 1970; 0 when before that.
	MTime int64
	// Link says that the name is a symbolic link. All else is what it leads to.
	Link bool
	// Version changes when the content does, as far as the system's times tell: printable ASCII.
	Version string
}

// FS is a set of folders by name. It is safe for concurrent use.
type FS struct {
	roots map[string]*folder
	hide  []string
}

// folder is one granted folder. Its path may be a link that is swapped for another; the folder then follows.
type folder struct {
	path string

	mu   sync.Mutex // guards the rest
	root *os.Root
	info fs.FileInfo
}

// Open opens the folders, given by name. hide are patterns of path.Match: one without '/' is matched against each
// element of a path, one with '/' against the path below the folder and each parent.
func Open(roots map[string]string, hide []string) (*FS, error) {
	f := &FS{roots: map[string]*folder{}, hide: slices.Clone(hide)}
	for _, p := range hide {
		if _, err := path.Match(p, "x"); err != nil || p == "" {
			return nil, fmt.Errorf("pattern %q is malformed", p)
		}
	}
	for name, dir := range roots {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		d := &folder{path: abs}
		if _, err := d.current(); err != nil {
			f.Close()
			return nil, err
		}
		f.roots[name] = d
	}
	return f, nil
}

// Close releases the folders. Files that are open stay so.
func (f *FS) Close() {
	for _, d := range f.roots {
		d.mu.Lock()
		if d.root != nil {
			d.root.Close()
		}
		d.mu.Unlock()
	}
}

// current returns the folder that the path names now. One that is no longer named is left to the collector, since others
// may be in it.
func (d *folder) current() (*os.Root, error) {
	info, err := os.Stat(d.path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: d.path, Err: syscall.ENOTDIR}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root != nil && os.SameFile(d.info, info) {
		return d.root, nil
	}
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return nil, err
	}
	if info, err = root.Stat("."); err != nil {
		root.Close()
		return nil, err
	}
	d.root, d.info = root, info
	return root, nil
}

// resolve splits a path into its folder and the path below it, "." for the folder itself.
func (f *FS) resolve(p string) (*os.Root, string, error) {
	name, rel, below := strings.Cut(p, "/")
	if name == "" || strings.IndexByte(p, 0) >= 0 {
		return nil, "", ErrPath
	}
	if !below {
		rel = "."
	} else if err := checkPath(rel); err != nil {
		return nil, "", err
	}
	d := f.roots[name]
	if d == nil || f.hidden(rel) {
		return nil, "", ErrNotExist
	}
	root, err := d.current()
	if err != nil {
		return nil, "", fmt.Errorf("granted folder: %w", vanished(err))
	}
	return root, rel, nil
}

// vanished keeps a missing root apart from a missing file in it.
func vanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it is gone")
	}
	return err
}

// checkPath refuses elements that mean more than a name.
func checkPath(rel string) error {
	for e := range strings.SplitSeq(rel, "/") {
		if e == "" || e == "." || e == ".." {
			return ErrPath
		}
	}
	return checkLocal(rel)
}

// hidden reports whether a pattern covers a path below its folder, or a parent of it.
func (f *FS) hidden(rel string) bool {
	if rel == "." {
		return false
	}
	for _, p := range f.hide {
		if !strings.Contains(p, "/") {
			for e := range strings.SplitSeq(rel, "/") {
				if ok, _ := path.Match(p, e); ok {
					return true
				}
			}
			continue
		}
		for at := rel; at != "."; at = path.Dir(at) {
			if ok, _ := path.Match(p, at); ok {
				return true
			}
		}
	}
	return false
}

// Stat describes the file or folder at p, which begins with a folder's name.
func (f *FS) Stat(p string) (Entry, error) {
	root, rel, err := f.resolve(p)
	if err != nil {
		return Entry{}, err
	}
	return f.stat(root, rel, path.Base(p))
}

// stat describes what rel leads to, under the name that was asked for.
func (f *FS) stat(root *os.Root, rel, name string) (Entry, error) {
	at, err := retry(func() (place, error) { return f.descend(root, rel) })
	if err != nil {
		return Entry{}, err
	}
	at.close()
	e, err := entry(name, at.info)
	e.Link = at.link
	return e, err
}

// retry looks again where a name was exchanged meanwhile, as an editor does that saves a file. What never holds still does
// not exist.
func retry[T any](look func() (T, error)) (v T, err error) {
	for range maxSwaps {
		if v, err = look(); !errors.Is(err, errSwapped) {
			return v, err
		}
	}
	return v, ErrNotExist
}

// OpenFile opens the regular file at p.
func (f *FS) OpenFile(p string) (*os.File, error) {
	root, rel, err := f.resolve(p)
	if err != nil {
		return nil, err
	}
	return retry(func() (*os.File, error) { return f.open(root, rel) })
}

// open looks first, which keeps devices from being opened at all, and looks again at what was opened: that is what is
// relied on.
func (f *FS) open(root *os.Root, rel string) (*os.File, error) {
	at, err := f.descend(root, rel)
	if err != nil {
		return nil, err
	}
	defer at.close()
	if err := wantFile(at.info); err != nil {
		return nil, err
	}
	file, err := at.dir.OpenFile(at.name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, fold(err)
	}
	info, err := file.Stat()
	if err == nil {
		err = wantFile(info)
	}
	if err == nil && !os.SameFile(at.info, info) {
		err = errSwapped
	}
	if err != nil {
		file.Close()
		return nil, fold(err)
	}
	return file, nil
}

func wantFile(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return ErrKind
	case !info.Mode().IsRegular():
		return ErrNotExist
	}
	return nil
}

func entry(name string, info fs.FileInfo) (Entry, error) {
	e := Entry{Name: name, MTime: max(info.ModTime().UnixNano(), 0), Version: version(info)}
	switch {
	case info.IsDir():
		e.Kind = Folder
	case info.Mode().IsRegular():
		e.Kind, e.Size = File, info.Size()
	default:
		return Entry{}, ErrNotExist
	}
	return e, nil
}

// fold makes the system's many ways of saying "there is no such thing for you" one.
func fold(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrKind), errors.Is(err, ErrPermission), errors.Is(err, errSwapped):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid), isNotHere(err):
		return ErrNotExist
	}
	var pe *fs.PathError
	if errors.As(err, &pe) && strings.Contains(pe.Err.Error(), "escapes") {
		return ErrNotExist
	}
	return err
}
