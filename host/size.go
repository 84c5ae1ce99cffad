package host

import (
	"github.com/reshost/reshost/host/provider"
)

// What the fixed parts of an encoded list entry cost, in bytes: braces, field names, quotes, numbers.
const (
	sizeOfEntry       = 160
	sizeOfIcon        = 64
	sizeOfAnnotations = 96
)

// sizeOfResource returns about how many bytes r takes as JSON: never much less.
func sizeOfResource(r *provider.Resource) int {
	return sizeOfEntry + sizeOfText(r.URI) + sizeOfText(r.Name) + sizeOfText(r.Title) + sizeOfText(r.Description) +
		sizeOfText(r.MIMEType) + sizeOfIcons(r.Icons) + sizeOfAnnotations + len(r.Meta)
}

// sizeOfTemplate is sizeOfResource for templates.
func sizeOfTemplate(t *provider.Template) int {
	return sizeOfEntry + sizeOfText(t.URITemplate) + sizeOfText(t.Name) + sizeOfText(t.Title) + sizeOfText(t.Description) +
		sizeOfText(t.MIMEType) + sizeOfIcons(t.Icons) + sizeOfAnnotations + len(t.Meta)
}

func sizeOfIcons(icons []provider.Icon) int {
	n := 0
	for i := range icons {
		n += sizeOfIcon + sizeOfText(icons[i].Src) + sizeOfText(icons[i].MIMEType)
		for _, s := range icons[i].Sizes {
			n += sizeOfText(s) + len(`"",`)
		}
	}
	return n
}

// sizeOfText counts what JSON escapes.
func sizeOfText(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			n++
		case c < 0x20:
			n += len(`\u0000`) - 1
		}
	}
	return n
}
