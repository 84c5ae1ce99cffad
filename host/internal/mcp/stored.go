package mcp

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/provider"
)

// A read's contents are encoded once and kept as bytes: all of the JSON but the URI, which is echoed as sent, and the members that
// some revision lacks or that change with time. An answer from a cache is then an envelope around copied bytes. The form, of each
// part, is five fields, each preceded by its length as a uvarint, and a kind:
//
//	uri         as text; empty for the URI that was asked for
//	etag        as text
//	media type  as a JSON string; empty for none
//	'T' or 'B'  what the next field is: text or a blob
//	body        as a JSON string
//	meta        the members of its _meta, without braces; empty for none
const (
	kindText = 'T'
	kindBlob = 'B'
)

// MetaProvenance is the key under which the contents of a read say where they come from.
const MetaProvenance = "io.github.reshost/provenance"

// EncodeContents returns contents in the form in which they are kept. asked is the URI as the contents have it where they are the
// resource that was asked for. provenance is a JSON object without its closing brace, or nil for none. A _meta must be strict JSON;
// keys that a provider may not use are left out, as are members of one that is not.
func EncodeContents(contents []provider.Content, asked string, provenance []byte) []byte {
	size := 0
	for i := range contents {
		size += 128 + len(contents[i].Body) + len(contents[i].Body)/3 + len(contents[i].Meta) + len(provenance)
	}
	out := make([]byte, 0, size)
	for i := range contents {
		c := &contents[i]
		uri := c.URI
		if uri == asked {
			uri = ""
		}
		out = appendField(out, uri)
		out = appendField(out, c.ETag)
		var scratch []byte
		if c.MIMEType != "" {
			scratch = jsonrpc.AppendString(scratch, c.MIMEType)
		}
		out = appendField(out, scratch)
		kind := byte(kindBlob)
		if c.Text {
			if text, ok := jsonrpc.AppendValidText(scratch[:0], c.Body); ok {
				scratch, kind = text, kindText
			}
		}
		if kind == kindBlob {
			scratch = base64.StdEncoding.AppendEncode(append(scratch[:0], '"'), c.Body)
			scratch = append(scratch, '"')
		}
		out = appendField(append(out, kind), scratch)
		out = appendField(out, appendMembers(scratch[:0], c.Meta, provenance))
	}
	return out
}

func appendField[T ~string | ~[]byte](out []byte, field T) []byte {
	return append(binary.AppendUvarint(out, uint64(len(field))), field...)
}

// appendMembers writes the members of a _meta, and those of where it comes from last and open.
func appendMembers(out []byte, meta provider.JSON, provenance []byte) []byte {
	if len(meta) > 0 {
		out, _ = appendProviderMembers(out, meta, func(string) {})
	}
	if provenance == nil {
		return out
	}
	if len(out) > 0 {
		out = append(out, ',')
	}
	return append(append(append(out, '"'), MetaProvenance+`":`...), provenance...)
}

// part is one part of what EncodeContents returned.
type part struct {
	uri, etag, mime, body, meta []byte
	kind                        byte
}

// nextPart takes the first part. It is not ok when b is none of EncodeContents.
func nextPart(b []byte) (p part, rest []byte, ok bool) {
	for _, f := range [...]*[]byte{&p.uri, &p.etag, &p.mime} {
		if *f, b, ok = cutField(b); !ok {
			return p, nil, false
		}
	}
	if len(b) == 0 || b[0] != kindText && b[0] != kindBlob {
		return p, nil, false
	}
	p.kind, b = b[0], b[1:]
	for _, f := range [...]*[]byte{&p.body, &p.meta} {
		if *f, b, ok = cutField(b); !ok {
			return p, nil, false
		}
	}
	return p, b, len(p.body) >= 2
}

func cutField(b []byte) (field, rest []byte, ok bool) {
	n, used := binary.Uvarint(b)
	if used <= 0 || n > uint64(len(b)-used) {
		return nil, nil, false
	}
	b = b[used:]
	return b[:n:n], b[n:], true
}

// DecodeContents is the inverse of [EncodeContents]: asked is the URI to put where it was the one asked for. The result shares
// nothing with b. It is not ok when b is none of EncodeContents.
func DecodeContents(b []byte, asked string, provenance, stale bool) (contents []provider.Content, ok bool) {
	for len(b) > 0 {
		p, rest, ok := nextPart(b)
		if !ok {
			return nil, false
		}
		c := provider.Content{URI: asked, ETag: string(p.etag), Text: p.kind == kindText}
		if len(p.uri) > 0 {
			c.URI = string(p.uri)
		}
		if len(p.mime) > 0 {
			c.MIMEType = jsonrpc.String(p.mime)
		}
		if c.Text {
			c.Body = jsonrpc.AppendUnquoted(make([]byte, 0, len(p.body)-2), p.body)
		} else if c.Body, ok = decodeBlob(p.body); !ok {
			return nil, false
		}
		if len(p.meta) > 0 {
			c.Meta = appendKeptMeta(append(make([]byte, 0, len(p.meta)+32), '{'), p.meta, provenance, stale)
		}
		contents, b = append(contents, c), rest
	}
	return contents, len(contents) > 0
}

func decodeBlob(quoted []byte) ([]byte, bool) {
	text := quoted[1 : len(quoted)-1]
	body := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(body, text)
	return body[:n], err == nil
}

// appendKeptMeta ends a _meta of which the opening brace is written.
func appendKeptMeta(out, members []byte, provenance, stale bool) []byte {
	out = append(out, members...)
	if provenance {
		if stale {
			out = append(out, `,"stale":true`...)
		}
		out = append(out, '}')
	}
	return append(out, '}')
}

// Kept is a read's contents in the form of [EncodeContents].
type Kept struct {
	Body []byte
	// Provenance says that the last member of each _meta is open, and Stale that what is kept is older than it should be.
	Provenance, Stale bool
}

// appendKept writes the parts of kept contents. It is not ok when they are not in their form.
func (c *call) appendKept(out []byte, k *Kept, uri string) ([]byte, bool) {
	for b, first := k.Body, true; len(b) > 0; first = false {
		p, rest, ok := nextPart(b)
		if !ok {
			return out, false
		}
		b = rest
		if !first {
			out = append(out, ',')
		}
		out = append(out, `{"uri":`...)
		if len(p.uri) == 0 {
			out = jsonrpc.AppendString(out, uri)
		} else {
			out = jsonrpc.AppendText(out, p.uri)
		}
		if len(p.mime) > 0 {
			out = append(append(out, `,"mimeType":`...), p.mime...)
		}
		if p.kind == kindText {
			out = append(out, `,"text":`...)
		} else {
			out = append(out, `,"blob":`...)
		}
		out = append(out, p.body...)
		if len(p.meta) > 0 && c.rev.meta {
			out = appendKeptMeta(append(out, `,"_meta":{`...), p.meta, k.Provenance, k.Stale)
		}
		out = append(out, '}')
	}
	return out, true
}
