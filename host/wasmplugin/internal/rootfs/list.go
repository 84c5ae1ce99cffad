package rootfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

// Listing is a folder's names as they were at one moment, in byte order.
type Listing struct {
	fs    *FS
	path  string
	root  *os.Root // the granted folder
	asked string   // the path below it that was asked for
	rel   string   // the same without links
	dir   *os.Root // the folder itself
	names []string
}

// namesAtOnce is how many names are read from the system at once.
const namesAtOnce = 1024

// List reads the names of the folder at p: all of them, since their order is not the system's. One call costs time and
// memory by the size of the folder, which limit bounds. step is called between reads; its error ends the listing.
func (f *FS) List(p string, limit int, step func() error) (*Listing, error) {
	root, rel, err := f.resolve(p)
	if err != nil {
		return nil, err
	}
	l, err := retry(func() (*Listing, error) { return f.openListing(root, rel) })
	if err != nil {
		return nil, err
	}
	l.path = p
	if err := l.read(limit, step); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// openListing opens the folder that rel leads to; its names are not read yet.
func (f *FS) openListing(root *os.Root, rel string) (*Listing, error) {
	at, err := f.descend(root, rel)
	if err != nil {
		return nil, err
	}
	defer at.close()
	if at.info.Mode().IsRegular() {
		return nil, ErrKind
	}
	dir, err := enter(at.dir, at.name, at.info)
	if err != nil {
		return nil, err
	}
	return &Listing{fs: f, root: root, asked: rel, rel: at.rel, dir: dir}, nil
}

func (l *Listing) read(limit int, step func() error) error {
	d, err := l.dir.Open(".")
	if err != nil {
		return fold(err)
	}
	defer d.Close()
	for {
		if err := step(); err != nil {
			return err
		}
		names, err := d.Readdirnames(namesAtOnce)
		for _, n := range names {
			if !l.fs.hidden(path.Join(l.rel, n)) && (l.asked == l.rel || !l.fs.hidden(path.Join(l.asked, n))) {
				l.names = append(l.names, n)
			}
		}
		if limit >= 0 && len(l.names) > limit {
			return ErrTooLarge
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fold(err)
		}
	}
	slices.Sort(l.names)
	return nil
}

// Path returns the path that was listed.
func (l *Listing) Path() string { return l.path }

// After calls yield for each entry whose name is greater than after, in byte order, until yield returns false. What is
// neither file nor folder, and what vanished, is left out.
func (l *Listing) After(after string, yield func(Entry) bool) error {
	i, found := slices.BinarySearch(l.names, after)
	if found {
		i++
	}
	for _, n := range l.names[i:] {
		e, err := l.stat(n)
		if errors.Is(err, ErrNotExist) || errors.Is(err, ErrPermission) {
			continue
		}
		if err != nil {
			return err
		}
		if !yield(e) {
			return nil
		}
	}
	return nil
}

// stat describes one name. A link is followed from the granted folder, out of which it must not lead.
func (l *Listing) stat(name string) (Entry, error) {
	info, err := l.dir.Lstat(name)
	if err != nil {
		return Entry{}, fold(err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return l.fs.stat(l.root, path.Join(l.rel, name), name)
	}
	return entry(name, info)
}

// Close releases the folder.
func (l *Listing) Close() { l.dir.Close() }
