package rootfs

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// maxLinks is how many symbolic links one path may pass, as on Linux.
	maxLinks = 40
	// maxSwaps is how often a name that was exchanged while it was looked at is looked at again.
	maxSwaps = 8
)

// place is where a path leads once no link is left on it.
type place struct {
	dir  *os.Root // the folder that holds it; the granted folder itself when name is "."
	name string   // its name there
	rel  string   // its path below the granted folder
	info fs.FileInfo
	link bool // the name that was asked for is a link

	owned bool // dir is not the granted folder, and is closed by close
}

func (p *place) close() {
	if p.owned {
		p.dir.Close()
	}
}

// descend walks to rel, which is not hidden, following links itself: what a link leads to must be in the granted folder, and
// must not be hidden either. What was looked at is what is entered, so that a link put there in between is noticed.
func (f *FS) descend(root *os.Root, rel string) (place, error) {
	link := false
	for range maxLinks {
		p, target, err := f.walk(root, rel)
		if err != nil || target == "" {
			p.link = link
			return p, err
		}
		link = link || p.link
		if rel = target; f.hidden(rel) {
			return place{}, ErrNotExist
		}
	}
	return place{}, ErrNotExist
}

// walk goes along rel up to its end, or to the first link: then it returns the path without that link, and whether the link
// was the last name.
func (f *FS) walk(root *os.Root, rel string) (at place, target string, err error) {
	if rel == "." {
		info, err := root.Stat(".")
		return place{dir: root, name: ".", rel: rel, info: info}, "", fold(err)
	}
	elems := strings.Split(rel, "/")
	last := len(elems) - 1
	cur := place{dir: root}
	for i, name := range elems {
		info, err := cur.dir.Lstat(name)
		switch {
		case err != nil:
			cur.close()
			return place{}, "", fold(err)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := cur.dir.Readlink(name)
			cur.close()
			if err != nil {
				return place{}, "", fold(err)
			}
			target, err := without(elems, i, filepath.ToSlash(to))
			return place{link: i == last}, target, err
		case i == last:
			cur.name, cur.rel, cur.info = name, rel, info
			return cur, "", nil
		}
		next, err := enter(cur.dir, name, info)
		cur.close()
		if err != nil {
			return place{}, "", err
		}
		cur = place{dir: next, owned: true}
	}
	return place{}, "", ErrNotExist // not reached: a path has a last element
}

// without returns the path whose element i, a link to the path to, is replaced by what it leads to.
func without(elems []string, i int, to string) (string, error) {
	if to == "" || path.IsAbs(to) || filepath.IsAbs(filepath.FromSlash(to)) {
		return "", ErrNotExist
	}
	// No element before i is a link, so that ".." means the element before.
	rel := path.Join(path.Join(elems[:i]...), to, path.Join(elems[i+1:]...))
	if rel == ".." || strings.HasPrefix(rel, "../") {
		return "", ErrNotExist
	}
	return rel, nil
}

// enter opens the folder called name, which was seen as info.
func enter(dir *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	if !info.IsDir() {
		return nil, ErrNotExist
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, fold(err)
	}
	now, err := next.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = errSwapped
	}
	if err != nil {
		next.Close()
		return nil, fold(err)
	}
	return next, nil
}
