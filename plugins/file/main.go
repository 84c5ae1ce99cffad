// Plugin file serves the files of granted folders, at every depth, as file:/// resources. README.md has what it serves,
// its configuration and its limits.
package main

import (
	"github.com/reshost/reshost/plugins/internal/body"
	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

const (
	schemeFile = "file"
	varPath    = "path"

	// What a folder reads as: the config key and its values.
	keyFolder      = "/folder"
	folderListing  = "listing"
	folderContents = "contents"

	// keyMaxFiles is the config key of how many files a folder that reads as contents may have.
	keyMaxFiles     = "/max_files"
	defaultMaxFiles = 100
)

const configSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"properties": {
		"folder": {
			"description": "What a folder reads as: the URIs of its entries, or its files.",
			"enum": ["listing", "contents"],
			"default": "listing"
		},
		"max_files": {
			"description": "How many files a folder that reads as contents may have.",
			"type": "integer",
			"minimum": 1,
			"maximum": 100,
			"default": 100
		}
	},
	"additionalProperties": false
}`

// server holds what Init learnt and the buffers that calls reuse.
type server struct {
	roots    roots
	contents bool
	maxFiles int

	body body.Server
	// listing is the buffer for a folder's entries, text for what is made of them.
	listing, text []byte
}

var _ = reshost.Register(newPlugin())

func newPlugin() *reshost.Plugin {
	s := &server{}
	return &reshost.Plugin{
		Name:    "file",
		Version: "1.0.0",
		Schemes: []string{schemeFile},
		Templates: []reshost.Template{{
			URITemplate: "file:///{+path}",
			Name:        "file",
			Title:       "A file or folder",
			Description: "A file's content, or what is in a folder.",
			// Slash is for names with control characters: they are listed, so they must read.
			Vars: []reshost.Var{{Name: varPath, Slash: true, Complete: s.complete}},
			Read: s.read,
		}},
		List:         s.list,
		Init:         s.init,
		Capabilities: []reshost.Capability{{Name: reshost.CapabilityFS, Reason: "Reads the files that it serves."}},
		ConfigSchema: configSchema,
	}
}

func main() {}

// init reads the config and learns the granted folders.
func (s *server) init(c *reshost.InitCall) error {
	config := c.Config()
	folder, err := config.OneOf(keyFolder, folderListing, folderListing, folderContents)
	if err != nil {
		return err
	}
	maxFiles, err := config.Int(keyMaxFiles, defaultMaxFiles)
	if err != nil {
		return err
	}
	if maxFiles < 1 || maxFiles > defaultMaxFiles {
		return reshost.Invalid("config " + keyMaxFiles + ": want a number from 1 to 100")
	}
	s.contents, s.maxFiles = folder == folderContents, int(maxFiles)
	scheme := c.Scheme(schemeFile)
	for _, r := range config.Roots() {
		added, err := newRoot(scheme, r.Name, r.Prefix)
		if err != nil {
			return err
		}
		s.roots = append(s.roots, added)
	}
	return nil
}

// list writes a page of all files.
func (s *server) list(req *reshost.ListRequest, out *reshost.ListResponse) error {
	w := newWalk(&req.Call, s.roots, req.Cursor)
	if w == nil {
		return reshost.Invalid("the cursor is not one of this list")
	}
	var annotations reshost.Annotations
	for {
		ok, err := w.next()
		if err != nil || !ok {
			return err
		}
		annotations.LastModifiedMillis = w.entry.ModMillis
		if !out.Add(reshost.Resource{
			URI: view(w.uri), Name: w.entry.Name, MIMEType: typeByName(w.entry.Name),
			Size: reshost.Bytes(w.entry.Size), Annotations: &annotations,
		}, w.position()) {
			return nil
		}
	}
}
