// Package body serves the bytes of one file of a granted folder as one part of a resource: as text when they are valid UTF-8,
// else as bytes, exactly as they are. It is shared by the plugins that serve files.
//
//	info, err := req.FS().Stat(path)
//	...
//	return new(body.Server).Serve(req, out, &body.File{Path: path, Info: info, MIMEType: "text/markdown"})
//
// # Errors
//
// Failures are *reshost.Error: CodeTooLarge for a file over the limit of the read, CodeUnavailable for one that
// changes all the time, and what the file system says.
package body

import (
	"io"
	"strconv"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

const (
	// chunk is how much is read and written at once. A file up to this size is read once, a longer text twice: first to
	// learn whether it is text, then to send it.
	chunk = 256 << 10
	// attempts is how often a file that changes while it is read is tried.
	attempts = 3
	// retryMillis is when a file that kept changing is worth another try.
	retryMillis = 1000
)

// Server sends files and keeps its buffer between them. The zero value is ready.
type Server struct{ buf []byte }

// File is what to send.
type File struct {
	// Path is the file's in the fs capability.
	Path string
	// Info is what Stat said about it.
	Info reshost.FileInfo
	// URI is the part's own; empty for the request's.
	URI string
	// MIMEType is the part's; empty for none.
	MIMEType string
	// MaxBytes is the most that may be sent; 0: no limit.
	MaxBytes int64
	// Name is what an error calls the file.
	Name string
}

// errChanged says that a file was not the same from the first byte to the last. Only send returns it.
var errChanged = reshost.Unavailable("the file changed while it was read", retryMillis)

// Serve sends a file's content as one part of out. What is sent is one version of the file: where it changes meanwhile it
// is read again, and where it does not come to rest the read fails. A file longer than f.MaxBytes fails before any of it
// is read, and one that says it is shorter than it is (as those of /proc do), once that many bytes were read.
func (s *Server) Serve(fs reshost.FS, out *reshost.Response, f *File) error {
	for try := 1; ; try++ {
		if f.MaxBytes > 0 && f.Info.Size > f.MaxBytes {
			return f.tooLarge()
		}
		sent, err := s.send(fs, out, f)
		if err != errChanged || sent || try == attempts {
			return err
		}
		if f.Info, err = fs.Stat(f.Path); err != nil {
			return err
		}
		if f.Info.Dir {
			return reshost.NotFound(f.Name + " became a folder")
		}
	}
}

// send is one attempt. sent reports that a part was begun, after which there is no other attempt.
func (s *Server) send(fs reshost.FS, out *reshost.Response, f *File) (sent bool, err error) {
	file, err := fs.Open(f.Path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if s.buf == nil {
		s.buf = make([]byte, chunk)
	}
	n, err := file.ReadAt(s.buf, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	if err == io.EOF {
		return s.sendWhole(fs, out, f, n)
	}
	text, err := s.isText(file, f, n)
	if err != nil {
		return false, err
	}
	return s.sendLong(fs, file, out, f, text)
}

// sendWhole sends a file that is in the first n bytes of the buffer.
func (s *Server) sendWhole(fs reshost.FS, out *reshost.Response, f *File, n int) (sent bool, err error) {
	if f.MaxBytes > 0 && int64(n) > f.MaxBytes {
		return false, f.tooLarge()
	}
	if err := f.unchanged(fs); err != nil {
		return false, err
	}
	var check textCheck
	text := check.feed(s.buf[:n]) && check.complete()
	if err := out.Part(f.part(text, int64(n))); err != nil {
		return true, err
	}
	if n == 0 {
		return true, nil
	}
	_, err = out.Write(s.buf[:n])
	return true, err
}

// isText reports whether a file is valid UTF-8 as a whole. Its first n bytes are in the buffer. It stops where it knows:
// most files that are not text show it at once.
func (s *Server) isText(file *reshost.File, f *File, n int) (bool, error) {
	var check textCheck
	off := int64(0)
	for {
		off += int64(n)
		if f.MaxBytes > 0 && off > f.MaxBytes {
			return false, f.tooLarge()
		}
		if !check.feed(s.buf[:n]) {
			return false, nil
		}
		var err error
		if n, err = file.ReadAt(s.buf, off); err == io.EOF {
			return check.feed(s.buf[:n]) && check.complete(), nil
		} else if err != nil {
			return false, err
		}
	}
}

// sendLong sends a file from its beginning, chunk by chunk.
func (s *Server) sendLong(fs reshost.FS, file *reshost.File, out *reshost.Response, f *File, text bool) (sent bool, err error) {
	if err := f.unchanged(fs); err != nil {
		return false, err
	}
	if err := out.Part(f.part(text, f.Info.Size)); err != nil {
		return true, err
	}
	for off := int64(0); ; {
		n, err := file.ReadAt(s.buf, off)
		if err != nil && err != io.EOF {
			return true, err
		}
		off += int64(n)
		if f.MaxBytes > 0 && off > f.MaxBytes {
			return true, f.tooLarge()
		}
		if n > 0 {
			if _, err := out.Write(s.buf[:n]); err != nil {
				return true, err
			}
		}
		if err == io.EOF {
			return true, f.unchanged(fs)
		}
	}
}

// unchanged reports by errChanged that the file at the path is another version than the one that f describes.
func (f *File) unchanged(fs reshost.FS) error {
	now, err := fs.Stat(f.Path)
	if err != nil {
		if reshost.CodeOf(err) == reshost.CodeNotFound {
			return errChanged
		}
		return err
	}
	if now.Dir || now.Size != f.Info.Size || now.Version != f.Info.Version {
		return errChanged
	}
	return nil
}

func (f *File) part(text bool, size int64) reshost.Part {
	return reshost.Part{
		URI: f.URI, MIMEType: f.MIMEType, Untyped: f.MIMEType == "", Text: text, Size: reshost.Bytes(size), ETag: f.Info.Version,
	}
}

func (f *File) tooLarge() error {
	limit := strconv.FormatInt(f.MaxBytes, 10)
	return &reshost.Error{
		Code:    reshost.CodeTooLarge,
		Message: f.Name + " is larger than the limit of " + limit + " bytes for one read",
		Detail:  `{"limit":` + limit + `}`,
	}
}
