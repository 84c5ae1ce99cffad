package reshost

import (
	"io"

	"github.com/reshost/reshost/abi"
)

// FS reads the folders that the operator granted. A path begins with the name of a granted root and has no leading slash:
// "main/guide/a.md". Nothing outside the roots, hidden or special can be reached; a link is followed only within its root.
//
// Methods fail with an [*Error]: [CodeNotFound], [CodeDenied] (not granted), [CodeInvalid] (not a path, or a folder
// where a file is wanted, or the reverse), [CodeTooLarge] (a folder or the number of open files), [CodeUnavailable].
type FS struct{ in *Instance }

// FileInfo describes a file or folder.
type FileInfo struct {
	// Name is the last element of the path.
	Name string
	// Dir tells a folder from a file. There is nothing else.
	Dir bool
	// Size is in bytes; 0 for a folder.
	Size int64
	// ModMillis is when it last changed, in milliseconds since 1970 in UTC; 0: unknown.
	ModMillis int64
	// Version changes with the content and is fit for [Response.SetETag].
	Version string
	// Link says that the name is a symbolic link; all else is what it leads to, within its root. Do not enter linked folders
	// when walking a tree: they may lead back up.
	Link bool
}

// Stat describes a file or folder.
func (f FS) Stat(path string) (FileInfo, error) {
	buf := f.in.buffer()
	n := f.in.h.fsStat(path, buf)
	if n > len(buf) {
		buf = make([]byte, n)
		n = f.in.h.fsStat(path, buf)
	}
	if n < 0 || n > len(buf) {
		return FileInfo{}, fsError("stat", path, n)
	}
	var e abi.Entry
	if err := e.Decode(string(buf[:n])); err != nil {
		return FileInfo{}, err
	}
	return infoOf(&e), nil
}

func infoOf(e *abi.Entry) FileInfo {
	return FileInfo{
		Name: e.Name, Dir: e.Kind == abi.EntryFolder, Size: int64(e.Size), ModMillis: int64(e.MTimeNanos / 1e6),
		Version: e.Version, Link: e.Link,
	}
}

// Open opens a file. Close it: a call can hold 64 open at once.
func (f FS) Open(path string) (*File, error) {
	h := f.in.h.fsOpen(path)
	if h < 0 {
		return nil, fsError("open", path, h)
	}
	return &File{in: f.in, path: path, handle: int32(h)}, nil
}

// ReadFile reads a whole file. If it is longer than limit bytes it fails with [CodeTooLarge].
func (f FS) ReadFile(path string, limit int64) ([]byte, error) {
	info, err := f.Stat(path)
	if err != nil {
		return nil, err
	}
	file, err := f.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size > limit {
		return nil, tooLong(path, limit)
	}
	b := make([]byte, 0, info.Size+1)
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := file.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if int64(len(b)) > limit {
			return nil, tooLong(path, limit)
		}
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// CopyFile writes a file's content to the part that out began last, in pieces.
func (f FS) CopyFile(out *Response, path string) error {
	file, err := f.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	buf := f.in.buffer()
	for {
		n, err := file.Read(buf)
		if n > 0 {
			if _, err := out.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// List returns the entries of a folder in byte order of their names: those behind the name after, as many as come at
// once. after is "" at first and then the last name; an empty result is the end.
func (f FS) List(path, after string) ([]FileInfo, error) {
	buf := f.in.buffer()
	n := f.in.h.fsList(path, after, buf)
	if n > len(buf) {
		buf = make([]byte, n)
		n = f.in.h.fsList(path, after, buf)
	}
	if n < 0 || n > len(buf) {
		return nil, fsError("list", path, n)
	}
	var list []FileInfo
	for rest := string(buf[:n]); rest != ""; {
		var e abi.Entry
		var err error
		if e, rest, err = abi.TakeEntry(rest); err != nil {
			return nil, err
		}
		list = append(list, infoOf(&e))
	}
	return list, nil
}

// Entries is List over the whole rest of a folder, for range. After an error, the last pair, it ends.
func (f FS) Entries(path, after string) func(yield func(FileInfo, error) bool) {
	return func(yield func(FileInfo, error) bool) {
		for {
			list, err := f.List(path, after)
			if err != nil {
				yield(FileInfo{}, err)
				return
			}
			if len(list) == 0 {
				return
			}
			for i := range list {
				if !yield(list[i], nil) {
					return
				}
			}
			after = list[len(list)-1].Name
		}
	}
}

// File is an open file, an [io.Reader], [io.ReaderAt] and [io.Closer]. It lives for one call.
type File struct {
	in     *Instance
	path   string
	handle int32
	off    int64
}

// Read reads on from where the last Read ended; at the end it fails with [io.EOF].
func (f *File) Read(p []byte) (int, error) {
	n, err := f.readAt(p, f.off)
	f.off += int64(n)
	return n, err
}

// ReadAt fills p from offset off; a shorter result comes with [io.EOF].
func (f *File) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = f.readAt(p[n:], off+int64(n))
		n += m
	}
	return n, err
}

func (f *File) readAt(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n := f.in.h.fsRead(f.handle, off, p)
	switch {
	case n < 0 || n > len(p):
		return 0, fsError("read", f.path, n)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// Close gives the handle back.
func (f *File) Close() error {
	if n := f.in.h.fsClose(f.handle); n < 0 {
		return fsError("close", f.path, n)
	}
	return nil
}

// fsError is the failure of a host function that returned n.
func fsError(op, path string, n int) error {
	code := CodeInternal
	if n < 0 {
		code = Code(-n)
	}
	return &Error{Code: code, Message: op + " " + path + ": " + code.String()}
}

func tooLong(path string, limit int64) error {
	return TooLarge("read " + path + ": more than " + itoa(limit) + " bytes")
}
