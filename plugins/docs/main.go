// Plugin docs serves the Markdown documents of one granted folder as docs:// resources. README.md has what it serves, its
// configuration and its limits.
package main

import (
	"github.com/reshost/reshost/plugins/internal/body"
	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

const (
	schemeDocs   = "docs"
	varName      = "name"
	mimeMarkdown = "text/markdown"

	// Config keys.
	keyTitle = "/title"
	keyRoot  = "/root"
)

const configSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"properties": {
		"title": {
			"description": "The title of the index.",
			"type": "string",
			"minLength": 1,
			"default": "Documents"
		},
		"root": {
			"description": "The name of the granted folder to serve; needed only where more than one is granted.",
			"type": "string",
			"minLength": 1
		}
	},
	"additionalProperties": false
}`

// server holds what Init learnt and the buffers that calls reuse.
type server struct {
	// base is what comes before a name in a URI, "docs://".
	base  string
	title string
	// root is the granted folder's name, with which its paths begin.
	root string

	body body.Server
	head []byte
}

var _ = reshost.Register(newPlugin())

func newPlugin() *reshost.Plugin {
	s := &server{}
	return &reshost.Plugin{
		Name:    "docs",
		Version: "1.0.0",
		Schemes: []string{schemeDocs},
		Templates: []reshost.Template{{
			URITemplate: schemeDocs + "://{name}",
			Name:        "document",
			Title:       "A Markdown document",
			Description: "A document of the folder, by its file name. The document " + indexName + " lists them all.",
			Vars:        []reshost.Var{{Name: varName, Complete: s.complete}},
			Read:        s.read,
		}},
		List:         s.list,
		Init:         s.init,
		Capabilities: []reshost.Capability{{Name: reshost.CapabilityFS, Reason: "Reads the documents that it serves."}},
		ConfigSchema: configSchema,
	}
}

func main() {}

// init reads the config and finds the folder.
func (s *server) init(c *reshost.InitCall) error {
	config := c.Config()
	s.base = c.Scheme(schemeDocs) + "://"
	s.title = config.String(keyTitle, "Documents")
	s.root = config.String(keyRoot, "")
	roots := config.Roots()
	if s.root == "" && len(roots) == 1 {
		s.root = roots[0].Name
		return nil
	}
	var names string
	for _, r := range roots {
		if r.Name == s.root {
			return nil
		}
		names += " " + r.Name
	}
	switch {
	case len(roots) == 0:
		return reshost.Invalid("no folder is granted: add fs: { root: FOLDER } to the plugin's grants")
	case s.root == "":
		return reshost.Invalid("several folders are granted, so config root must name one of:" + names)
	}
	return reshost.Invalid("config root: " + s.root + " is not granted; granted are:" + names)
}

// read serves the index or a document.
func (s *server) read(req *reshost.ReadRequest, out *reshost.Response) error {
	name := req.Var(varName)
	if name == indexName {
		return s.readIndex(req, out)
	}
	if !isDocument(name) {
		return reshost.NotFound("not a name of a Markdown document")
	}
	path := s.path(name)
	info, err := req.FS().Stat(path)
	if err != nil {
		return notFound(err)
	}
	if info.Dir {
		return reshost.NotFound("a folder")
	}
	if req.IfETag != "" && req.IfETag == info.Version {
		return reshost.ErrNotModified
	}
	return notFound(s.body.Serve(req.FS(), out, &body.File{
		Path: path, Info: info, MIMEType: mimeMarkdown, MaxBytes: req.MaxBytes, Name: "the document",
	}))
}

// list writes a page of the documents; the first page begins with the index.
func (s *server) list(req *reshost.ListRequest, out *reshost.ListResponse) error {
	after := req.Cursor
	if after == "" {
		if !out.Add(s.indexResource(), cursorAfterIndex) {
			return nil
		}
		after = cursorAfterIndex
	}
	if after == cursorAfterIndex {
		after = ""
	}
	var annotations reshost.Annotations
	return s.documents(req.FS(), after, func(d *document) (bool, error) {
		annotations.LastModifiedMillis = d.info.ModMillis
		return out.Add(reshost.Resource{
			URI: s.uri(d.info.Name), Name: d.info.Name, Title: d.title, Description: d.description, MIMEType: mimeMarkdown,
			Size: reshost.Bytes(d.info.Size), Annotations: &annotations,
		}, d.info.Name), nil
	})
}

// complete proposes the names that begin with what was typed.
func (s *server) complete(req *reshost.CompleteRequest, out *reshost.Completion) error {
	if hasPrefix(indexName, req.Value) && !out.Add(indexName) {
		return nil
	}
	return s.names(req.FS(), "", func(info *reshost.FileInfo) (bool, error) {
		return !hasPrefix(info.Name, req.Value) || out.Add(info.Name), nil
	})
}

// notFound turns what the file system says about a name that is no readable file into not found: from outside a hidden
// file, a device and a missing one look alike (rule R2).
func notFound(err error) error {
	switch reshost.CodeOf(err) {
	case reshost.CodeInvalid, reshost.CodeUnsupported:
		return reshost.NotFound(err.Error())
	}
	return err
}
