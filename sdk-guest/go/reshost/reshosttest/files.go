package reshosttest

import (
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"path"
	"sort"
	"strconv"
	"strings"

	"github.com/reshost/reshost/abi"
)

// files serves the fs capability from granted roots. Dotfiles are hidden, as they are by default.
type files struct {
	roots map[string]fs.FS
	open  map[int32][]byte
	last  int32
}

func (f *files) end() { f.open = nil }

// find resolves a path to a root and a name in it.
func (f *files) find(p string) (fs.FS, string, abi.Status) {
	if len(f.roots) == 0 {
		return nil, "", abi.StatusDenied
	}
	root, name, _ := strings.Cut(p, "/")
	if name == "" {
		name = "."
	}
	if !fs.ValidPath(name) || strings.ContainsRune(p, 0) {
		return nil, "", abi.StatusInvalid
	}
	if f.roots[root] == nil || hidden(name) {
		return nil, "", abi.StatusNotFound
	}
	return f.roots[root], name, abi.StatusOK
}

func hidden(name string) bool {
	for _, seg := range strings.Split(name, "/") {
		if len(seg) > 1 && seg[0] == '.' {
			return true
		}
	}
	return false
}

// stat describes a file or folder.
func (f *files) stat(p string) (abi.Entry, fs.FS, string, abi.Status) {
	fsys, name, status := f.find(p)
	if status != abi.StatusOK {
		return abi.Entry{}, nil, "", status
	}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return abi.Entry{}, nil, "", statusOf(err)
	}
	e := entryOf(info)
	if e.Kind == 0 {
		return e, nil, "", abi.StatusNotFound
	}
	if name == "." {
		e.Name = p
	}
	return e, fsys, name, abi.StatusOK
}

func statusOf(err error) abi.Status {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return abi.StatusNotFound
	case errors.Is(err, fs.ErrPermission):
		return abi.StatusDenied
	}
	return abi.StatusUnavailable
}

func entryOf(info fs.FileInfo) abi.Entry {
	e := abi.Entry{Name: path.Base(info.Name())}
	switch {
	case info.IsDir():
		e.Kind = abi.EntryFolder
	case info.Mode().IsRegular():
		e.Kind = abi.EntryFile
		e.Size = uint64(info.Size())
	}
	if n := info.ModTime().UnixNano(); n > 0 && !info.ModTime().IsZero() {
		e.MTimeNanos = uint64(n)
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, strconv.FormatUint(e.MTimeNanos, 10)+"/"+strconv.FormatUint(e.Size, 10))
	e.Version = strconv.FormatUint(h.Sum64(), 16)
	return e
}

func fill(buf, b []byte) int {
	if len(b) <= len(buf) {
		copy(buf, b)
	}
	return len(b)
}

// FSStat answers stat.
func (h *host) FSStat(p string, buf []byte) int {
	e, _, _, status := h.files.stat(p)
	if status != abi.StatusOK {
		return -int(status)
	}
	return fill(buf, e.Append(nil))
}

// FSOpen answers open.
func (h *host) FSOpen(p string) int {
	f := &h.files
	e, fsys, name, status := f.stat(p)
	switch {
	case status != abi.StatusOK:
		return -int(status)
	case e.Kind != abi.EntryFile:
		return -int(abi.StatusInvalid)
	case len(f.open) >= abi.MaxHandles:
		return -int(abi.StatusTooLarge)
	}
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return -int(statusOf(err))
	}
	if f.open == nil {
		f.open = make(map[int32][]byte)
	}
	f.last++
	f.open[f.last] = b
	return int(f.last)
}

// FSRead answers read.
func (h *host) FSRead(fd int32, off int64, buf []byte) int {
	b, ok := h.files.open[fd]
	if !ok || off < 0 {
		return -int(abi.StatusInvalid)
	}
	if off >= int64(len(b)) {
		return 0
	}
	return copy(buf, b[off:])
}

// FSList answers list.
func (h *host) FSList(p, after string, buf []byte) int {
	e, fsys, name, status := h.files.stat(p)
	switch {
	case status != abi.StatusOK:
		return -int(status)
	case e.Kind != abi.EntryFolder:
		return -int(abi.StatusInvalid)
	}
	list, err := fs.ReadDir(fsys, name)
	if err != nil {
		return -int(statusOf(err))
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name() < list[j].Name() })
	n := 0
	for _, d := range list {
		if d.Name() <= after || hidden(d.Name()) {
			continue
		}
		info, err := fs.Stat(fsys, path.Join(name, d.Name()))
		if err != nil {
			continue
		}
		e := entryOf(info)
		e.Name = d.Name()
		e.Link = d.Type()&fs.ModeSymlink != 0
		if e.Kind == 0 {
			continue
		}
		rec := e.AppendPrefixed(nil)
		if n+len(rec) > len(buf) {
			if n == 0 {
				return len(rec)
			}
			break
		}
		n += copy(buf[n:], rec)
	}
	return n
}

// FSClose answers close.
func (h *host) FSClose(fd int32) int {
	if _, ok := h.files.open[fd]; !ok {
		return -int(abi.StatusInvalid)
	}
	delete(h.files.open, fd)
	return 0
}
