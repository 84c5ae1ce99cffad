package memprovider

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reshost/reshost/host/provider"
)

// maxURI is the host's limit on URIs, in bytes.
const maxURI = 8 << 10

// check refuses what could be listed but not read.
func (p *Provider) check(path string, contents []provider.Content) error {
	switch {
	case path == "":
		return errors.New("the path is empty")
	case !utf8.ValidString(path):
		return errors.New("the path is not valid UTF-8")
	case strings.ContainsFunc(path, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }):
		return errors.New("the path holds a backslash or a control character")
	case len(p.URI(path)) > maxURI:
		return errors.New("the path is too long")
	case len(contents) == 0:
		return errors.New("there are no contents")
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return errors.New("the path has a dot segment")
		}
	}
	for i := range contents {
		if contents[i].Text && !utf8.Valid(contents[i].Body) {
			return errors.New("a text is not valid UTF-8")
		}
	}
	return nil
}

// validScheme is RFC 3986 section 3.1 in lower case.
func validScheme(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

// escape percent-encodes all but unreserved characters (RFC 3986 section 2.3) and "/".
func escape(path string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	}
	return b.String()
}

// cloneResource copies a resource and all that it points to.
func cloneResource(r provider.Resource) provider.Resource {
	r.Size = clonePointer(r.Size)
	r.Icons = slices.Clone(r.Icons)
	for i := range r.Icons {
		r.Icons[i].Sizes = slices.Clone(r.Icons[i].Sizes)
	}
	if r.Annotations != nil {
		a := *r.Annotations
		a.Audience = slices.Clone(a.Audience)
		a.Priority = clonePointer(a.Priority)
		r.Annotations = &a
	}
	r.Meta = bytes.Clone(r.Meta)
	return r
}

func cloneContents(contents []provider.Content) []provider.Content {
	out := slices.Clone(contents)
	for i := range out {
		out[i].Body = bytes.Clone(out[i].Body)
		out[i].Meta = bytes.Clone(out[i].Meta)
	}
	return out
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
