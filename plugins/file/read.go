package main

import (
	"strconv"
	"strings"

	"github.com/reshost/reshost/plugins/internal/body"
	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

// mimeFolder is the type of a folder (rule R5).
const mimeFolder = "inode/directory"

// read serves a file, or a folder as the config says.
func (s *server) read(req *reshost.ReadRequest, out *reshost.Response) error {
	path := "/" + req.Var(varPath)
	r, rel, slash, ok := s.roots.resolve(path)
	if !ok {
		return reshost.NotFound("in no granted folder")
	}
	fs := req.FS()
	fsPath := string(r.fsPath(nil, rel))
	info, err := fs.Stat(fsPath)
	if err != nil {
		return notFound(err)
	}
	if info.Dir {
		return s.readFolder(req, out, &folder{root: r, path: fsPath, version: info.Version})
	}
	if slash {
		return reshost.NotFound("a file with a slash at the end of its name")
	}
	if req.IfETag != "" && req.IfETag == info.Version {
		return reshost.ErrNotModified
	}
	return notFound(s.body.Serve(fs, out, &body.File{
		Path: fsPath, Info: info, MIMEType: typeByName(fsPath), MaxBytes: req.MaxBytes, Name: "the file",
	}))
}

// notFound turns what the file system says about a path that does not name a readable file into not found: from outside
// a hidden file, a device and a missing one look alike (rule R2).
func notFound(err error) error {
	switch reshost.CodeOf(err) {
	case reshost.CodeInvalid, reshost.CodeUnsupported:
		return reshost.NotFound(err.Error())
	}
	return err
}

// folder is a folder that is read.
type folder struct {
	root    *root
	path    string
	version string
}

// readFolder serves a folder's direct entries.
func (s *server) readFolder(req *reshost.ReadRequest, out *reshost.Response, f *folder) error {
	if s.contents {
		sent, err := s.sendFiles(req, out, f)
		if err != nil || sent {
			return err
		}
	}
	return s.sendListing(req, out, f)
}

// entries calls yield with each entry of the folder that can be served, and with its URI.
func (s *server) entries(fs reshost.FS, f *folder, yield func(e *reshost.FileInfo, uri []byte) error) error {
	uri := []byte(f.root.uri + reshost.EscapePath(f.path[len(f.root.name):]) + "/")
	base := len(uri)
	return notFound(s.each(fs, f.path, "", func(e *reshost.FileInfo) (bool, error) {
		uri = append(uri[:base], reshost.EscapePath(e.Name)...)
		if !servable(e.Name) || len(uri) > maxURI {
			return true, nil
		}
		return true, yield(e, uri)
	}))
}

// each calls yield with the folder's entries whose names come after after, in byte order, until it wants no more or fails. The
// entry is valid during the call only.
func (s *server) each(fs reshost.FS, path, after string, yield func(e *reshost.FileInfo) (more bool, err error)) error {
	if s.listing == nil {
		s.listing = make([]byte, frameBytes)
	}
	var e reshost.FileInfo
	for {
		page, err := fs.ListInto(&s.listing, path, after)
		if err != nil || page.Empty() {
			return err
		}
		for {
			ok, err := page.Next(&e)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if more, err := yield(&e); err != nil || !more {
				return err
			}
		}
		after = strings.Clone(e.Name)
	}
}

// sendListing sends a folder as one item: the URIs of its entries, one a line.
func (s *server) sendListing(req *reshost.ReadRequest, out *reshost.Response, f *folder) error {
	s.text = s.text[:0]
	err := s.entries(req.FS(), f, func(e *reshost.FileInfo, uri []byte) error {
		if len(s.text) > 0 {
			s.text = append(s.text, '\n')
		}
		s.text = append(s.text, uri...)
		if e.Dir {
			s.text = append(s.text, '/')
		}
		if req.MaxBytes > 0 && int64(len(s.text)) > req.MaxBytes {
			return tooLarge("the list of the folder's entries is larger", req.MaxBytes, "bytes for one read")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := out.Part(reshost.Part{MIMEType: mimeFolder, Text: true, Size: reshost.Bytes(int64(len(s.text)))}); err != nil {
		return err
	}
	if len(s.text) == 0 {
		return nil
	}
	_, err = out.Write(s.text)
	return err
}

// sendFiles sends each file of a folder as an item. sent is false where there is none.
func (s *server) sendFiles(req *reshost.ReadRequest, out *reshost.Response, f *folder) (sent bool, err error) {
	fs := req.FS()
	var files []body.File
	left := req.MaxBytes
	// All sizes are known before the first byte is read.
	err = s.entries(fs, f, func(e *reshost.FileInfo, uri []byte) error {
		if e.Dir {
			return nil
		}
		if len(files) == s.maxFiles {
			return tooLarge("the folder has more files", int64(s.maxFiles), "files for one read")
		}
		if left -= e.Size; req.MaxBytes > 0 && left < 0 {
			return tooLarge("the folder's files are together larger", req.MaxBytes, "bytes for one read")
		}
		name := strings.Clone(e.Name)
		info := *e
		info.Name, info.Version = name, strings.Clone(e.Version)
		files = append(files, body.File{
			Path: f.path + "/" + name, Info: info, URI: string(uri), MIMEType: typeByName(name), Name: name,
		})
		return nil
	})
	if err != nil {
		return false, err
	}
	left = req.MaxBytes
	for i := range files {
		files[i].MaxBytes = left
		err := s.body.Serve(fs, out, &files[i])
		if reshost.CodeOf(err) == reshost.CodeNotFound && err != nil {
			continue // deleted since it was listed
		}
		if err != nil {
			return true, err
		}
		sent = true
		if req.MaxBytes > 0 {
			left = max(left-files[i].Info.Size, 1)
		}
	}
	return sent, nil
}

// tooLarge says what is larger than which limit.
func tooLarge(what string, limit int64, unit string) error {
	n := strconv.FormatInt(limit, 10)
	return &reshost.Error{
		Code: reshost.CodeTooLarge, Message: what + " than the limit of " + n + " " + unit, Detail: `{"limit":` + n + `}`,
	}
}
