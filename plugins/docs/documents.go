package main

import (
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

const (
	// indexName is the name of the list of all documents. It is none of a document, which has an extension.
	indexName = "index"
	// cursorAfterIndex is where the list goes on after the index; other cursors are names, which have no slash.
	cursorAfterIndex = "/"
	mimeJSON         = "application/json"
)

// document is a Markdown file with what its front says.
type document struct {
	info               reshost.FileInfo
	title, description string
}

// isDocument reports whether name, an entry of a folder, is that of a Markdown document. A name that is not UTF-8 is not:
// it could not stand in the index.
func isDocument(name string) bool {
	if !utf8.ValidString(name) {
		return false
	}
	for i := range len(name) {
		if name[i] < ' ' || name[i] == 0x7f || name[i] == '/' || name[i] == '\\' {
			return false // no template value may hold these, so it would not read back
		}
	}
	return hasExtension(name, ".md") || hasExtension(name, ".markdown")
}

// hasExtension compares without case, and wants something before the extension.
func hasExtension(name, ext string) bool {
	if len(name) <= len(ext) {
		return false
	}
	tail := name[len(name)-len(ext):]
	for i := range len(ext) {
		c := tail[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != ext[i] {
			return false
		}
	}
	return true
}

func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

func (s *server) path(name string) string { return s.root + "/" + name }

func (s *server) uri(name string) string { return s.base + reshost.EscapeSegment(name) }

// names calls yield with each document of the folder after a name, in byte order, until it reports false.
func (s *server) names(fs reshost.FS, after string, yield func(*reshost.FileInfo) (bool, error)) error {
	for info, err := range fs.Entries(s.root, after) {
		if err != nil {
			return err
		}
		if info.Dir || !isDocument(info.Name) {
			continue
		}
		if more, err := yield(&info); err != nil || !more {
			return err
		}
	}
	return nil
}

// documents is names with the front of each document.
func (s *server) documents(fs reshost.FS, after string, yield func(*document) (bool, error)) error {
	return s.names(fs, after, func(info *reshost.FileInfo) (bool, error) {
		d := document{info: *info}
		head, err := s.readHead(fs, info.Name)
		if err != nil {
			if reshost.CodeOf(err) == reshost.CodeNotFound {
				return true, nil // deleted since it was listed
			}
			if reshost.CodeOf(err) != reshost.CodeDenied {
				return false, err
			}
			// It cannot be opened, which its reader will be told; it hides no other document.
		}
		d.title, d.description = front(head)
		return yield(&d)
	})
}

// readHead returns the beginning of a document. It is valid until the next call.
func (s *server) readHead(fs reshost.FS, name string) ([]byte, error) {
	file, err := fs.Open(s.path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if s.head == nil {
		s.head = make([]byte, frontBytes)
	}
	n, err := file.ReadAt(s.head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return s.head[:n], nil
}

// indexResource is the index as the list has it. Its size is not known before it is made.
func (s *server) indexResource() reshost.Resource {
	return reshost.Resource{
		URI: s.base + indexName, Name: indexName, Title: s.title,
		Description: "All documents of the folder: their URIs, titles, descriptions, sizes and times.", MIMEType: mimeJSON,
	}
}

// readIndex serves the list of all documents.
func (s *server) readIndex(req *reshost.ReadRequest, out *reshost.Response) error {
	var j reshost.JSON
	j.BeginArray()
	err := s.documents(req.FS(), "", func(d *document) (bool, error) {
		s.appendEntry(&j, d)
		if req.MaxBytes > 0 && int64(len(j.Bytes())) > req.MaxBytes {
			limit := strconv.FormatInt(req.MaxBytes, 10)
			return false, &reshost.Error{
				Code:    reshost.CodeTooLarge,
				Message: "the index is larger than the limit of " + limit + " bytes for one read",
				Detail:  `{"limit":` + limit + `}`,
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	j.EndArray()
	return out.JSON(j.Bytes())
}

func (s *server) appendEntry(j *reshost.JSON, d *document) {
	j.BeginObject()
	j.Key("uri").String(s.uri(d.info.Name))
	j.Key("name").String(d.info.Name)
	if d.title != "" {
		j.Key("title").String(d.title)
	}
	if d.description != "" {
		j.Key("description").String(d.description)
	}
	j.Key("mimeType").String(mimeMarkdown)
	j.Key("size").Int(d.info.Size)
	if d.info.ModMillis != 0 {
		j.Key("lastModified").Time(d.info.ModMillis)
	}
	j.EndObject()
}
