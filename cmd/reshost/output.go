package main

import (
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// The structs below are the form of --json. They have the protocol's names and only grow.

type resourceJSON struct {
	URI         string           `json:"uri,omitempty"`
	URITemplate string           `json:"uriTemplate,omitempty"`
	Name        string           `json:"name"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	MIMEType    string           `json:"mimeType,omitempty"`
	Size        *int64           `json:"size,omitempty"`
	Icons       []iconJSON       `json:"icons,omitempty"`
	Annotations *annotationsJSON `json:"annotations,omitempty"`
	Meta        jsontext.Value   `json:"_meta,omitempty"`
}

type iconJSON struct {
	Src      string   `json:"src"`
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"`
	Theme    string   `json:"theme,omitempty"`
}

type annotationsJSON struct {
	Audience     []string `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`
	LastModified string   `json:"lastModified,omitempty"`
}

type contentJSON struct {
	URI      string         `json:"uri"`
	MIMEType string         `json:"mimeType,omitempty"`
	Text     *string        `json:"text,omitempty"`
	Blob     []byte         `json:"blob,omitempty"`
	Meta     jsontext.Value `json:"_meta,omitempty"`
}

type readJSON struct {
	Contents   []contentJSON `json:"contents"`
	TTL        int64         `json:"ttlMs"`
	CacheScope string        `json:"cacheScope"`
}

type completionJSON struct {
	Values  []string `json:"values"`
	Total   *int64   `json:"total,omitempty"`
	HasMore bool     `json:"hasMore"`
}

func toResourceJSON(r *provider.Resource) resourceJSON {
	return resourceJSON{
		URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, Size: r.Size,
		Icons: toIconsJSON(r.Icons), Annotations: toAnnotationsJSON(r.Annotations), Meta: jsontext.Value(r.Meta),
	}
}

func toTemplateJSON(t *provider.Template) resourceJSON {
	return resourceJSON{
		URITemplate: t.URITemplate, Name: t.Name, Title: t.Title, Description: t.Description, MIMEType: t.MIMEType,
		Icons: toIconsJSON(t.Icons), Annotations: toAnnotationsJSON(t.Annotations), Meta: jsontext.Value(t.Meta),
	}
}

func toIconsJSON(icons []provider.Icon) []iconJSON {
	out := make([]iconJSON, len(icons))
	for i, icon := range icons {
		out[i] = iconJSON{icon.Src, icon.MIMEType, icon.Sizes, icon.Theme}
	}
	return out
}

func toAnnotationsJSON(a *provider.Annotations) *annotationsJSON {
	if a == nil {
		return nil
	}
	out := &annotationsJSON{Audience: a.Audience, Priority: a.Priority}
	if !a.LastModified.IsZero() {
		out.LastModified = a.LastModified.UTC().Format(time.RFC3339)
	}
	return out
}

func toReadJSON(r *host.ReadResult) readJSON {
	out := readJSON{Contents: make([]contentJSON, len(r.Contents)), TTL: r.Cache.TTL.Milliseconds(), CacheScope: "private"}
	if r.Cache.Public {
		out.CacheScope = "public"
	}
	for i := range r.Contents {
		c := &r.Contents[i]
		out.Contents[i] = contentJSON{URI: c.URI, MIMEType: c.MIMEType, Meta: jsontext.Value(c.Meta)}
		if c.Text {
			text := string(c.Body)
			out.Contents[i].Text = &text
		} else {
			out.Contents[i].Blob = c.Body
		}
	}
	return out
}

// writeJSON writes v on one line.
func (a *app) writeJSON(v any) error {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return err
	}
	_, err = a.stdout.Write(append(b, '\n'))
	return err
}

// isTerminal reports whether a person reads along.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
