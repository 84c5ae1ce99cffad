package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reshost/reshost/host/provider"
)

// Bounds of what describes a resource.
const (
	maxExtraBytes = 64 << 10 // one piece of JSON
	maxExtraDepth = 16
	maxNameBytes  = 4 << 10
	maxTextBytes  = 64 << 10
	maxIcons      = 16
)

// checkResource checks an entry of a list against rule L2. The URI is checked by routing it; which keys `_meta` may hold is
// the protocol's affair.
func checkResource(r *provider.Resource) error {
	if r.Size != nil && *r.Size < 0 {
		return errors.New("its size is negative")
	}
	return checkEntry(r.Name, r.Title, r.Description, r.MIMEType, r.Icons, r.Annotations, r.Meta)
}

// checkTemplate is checkResource for templates. The URI template is checked by parsing it.
func checkTemplate(t *provider.Template) error {
	return checkEntry(t.Name, t.Title, t.Description, t.MIMEType, t.Icons, t.Annotations, t.Meta)
}

func checkEntry(name, title, description, mimeType string, icons []provider.Icon, a *provider.Annotations, meta provider.JSON) error {
	if name == "" {
		return errors.New("it has no name")
	}
	if len(name) > maxNameBytes || len(title) > maxNameBytes || len(description) > maxTextBytes {
		return errors.New("its name, title or description is too long")
	}
	if !utf8.ValidString(name) || !utf8.ValidString(title) || !utf8.ValidString(description) {
		return errors.New("its name, title or description is not UTF-8")
	}
	if err := checkMIME(mimeType); err != nil {
		return err
	}
	if err := checkIcons(icons); err != nil {
		return err
	}
	if err := checkAnnotations(a); err != nil {
		return err
	}
	if err := checkObject(meta, maxExtraBytes); err != nil {
		return fmt.Errorf("its _meta: %w", err)
	}
	return nil
}

func checkMIME(s string) error {
	if s == "" {
		return nil
	}
	if len(s) <= 256 && plainMIME(s) {
		return nil
	}
	if t, _, err := mime.ParseMediaType(s); err != nil || len(s) > 256 || !plainMIME(t) {
		return fmt.Errorf("%q is not a media type", cut(s, 64))
	}
	return nil
}

// plainMIME reports whether s is a type and a subtype (RFC 6838 section 4.2) and nothing else.
func plainMIME(s string) bool {
	kind, sub, ok := strings.Cut(s, "/")
	return ok && restrictedName(kind) && restrictedName(sub)
}

func restrictedName(s string) bool {
	for i := range len(s) {
		if !alphanumeric(s[i]) && (i == 0 || strings.IndexByte("!#$&-^_.+", s[i]) < 0) {
			return false
		}
	}
	return s != ""
}

func checkIcons(icons []provider.Icon) error {
	if len(icons) > maxIcons {
		return fmt.Errorf("it has more than %d icons", maxIcons)
	}
	for i := range icons {
		ic := &icons[i]
		lower := strings.ToLower(ic.Src[:min(len(ic.Src), len("https://"))])
		if lower != "https://" && !strings.HasPrefix(lower, "data:") {
			return errors.New("an icon is neither an https nor a data URI")
		}
		if len(ic.Src) > maxExtraBytes || !utf8.ValidString(ic.Src) {
			return errors.New("an icon's URI is malformed or too long")
		}
		if err := checkMIME(ic.MIMEType); err != nil {
			return fmt.Errorf("an icon: %w", err)
		}
		if ic.Theme != "" && ic.Theme != "light" && ic.Theme != "dark" {
			return errors.New(`an icon's theme is neither "light" nor "dark"`)
		}
		for _, s := range ic.Sizes {
			if len(s) > 32 || !printable(s) {
				return errors.New("an icon's size is malformed")
			}
		}
	}
	return nil
}

func checkAnnotations(a *provider.Annotations) error {
	if a == nil {
		return nil
	}
	for i, who := range a.Audience {
		if who != "user" && who != "assistant" || slices.Contains(a.Audience[:i], who) {
			return errors.New(`its audience is not of "user" and "assistant"`)
		}
	}
	if p := a.Priority; p != nil && !(*p >= 0 && *p <= 1) {
		return errors.New("its priority is not between 0 and 1")
	}
	if y := a.LastModified.UTC().Year(); !a.LastModified.IsZero() && (y < 0 || y > 9999) {
		return errors.New("its last change is in no year of four digits")
	}
	return nil
}

// printable reports whether s is printable ASCII of at most 256 bytes.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return len(s) <= 256
}

// checkObject reports why j is not one JSON object within limit and depth; nil is.
func checkObject(j provider.JSON, limit int) error {
	if len(j) == 0 {
		return nil
	}
	return eachMember(j, limit, func(string, jsontext.Value) error { return nil })
}

// eachMember calls f for each member of the JSON object j. It refuses duplicate names, invalid UTF-8 and what is too large
// or too deep.
func eachMember(j provider.JSON, limit int, f func(name string, value jsontext.Value) error) error {
	if len(j) > limit {
		return fmt.Errorf("it is larger than %d bytes", limit)
	}
	if depth(j) > maxExtraDepth {
		return fmt.Errorf("it nests deeper than %d", maxExtraDepth)
	}
	d := jsontext.NewDecoder(bytes.NewReader(j))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return errors.New("it is not a JSON object")
	}
	for d.PeekKind() != '}' {
		t, err := d.ReadToken()
		if err != nil {
			return errors.New("it is not a JSON object")
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return errors.New("it is not a JSON object")
		}
		if err := f(name, v); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return errors.New("it is not a JSON object")
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return errors.New("something follows the JSON object")
	}
	return nil
}

// depth returns how deep the brackets of a JSON text nest, before it is decoded.
func depth(j provider.JSON) (deepest int) {
	now, quoted := 0, false
	for i := 0; i < len(j); i++ {
		switch c := j[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// filterMembers returns the object's members whose names keep admits; nil when none is left.
func filterMembers(j provider.JSON, limit int, keep func(name string) bool) (provider.JSON, error) {
	var out []byte
	err := eachMember(j, limit, func(name string, value jsontext.Value) error {
		if !keep(name) {
			return nil
		}
		if out == nil {
			out = append(out, '{')
		} else {
			out = append(out, ',')
		}
		var err error
		if out, err = jsontext.AppendQuote(out, name); err != nil {
			return err
		}
		out = append(out, ':')
		out = append(out, value...)
		return nil
	})
	if err != nil || out == nil {
		return nil, err
	}
	return append(out, '}'), nil
}

// grantedMeta returns the keys of a request's `_meta` that the provider may see.
func (h *Host) grantedMeta(c *caller, v *view) (provider.JSON, error) {
	if len(v.info.MetaKeys) == 0 || len(c.meta) == 0 {
		return nil, nil
	}
	meta, err := filterMembers(c.meta, h.opts.Limits.MetaBytes, func(name string) bool { return slices.Contains(v.info.MetaKeys, name) })
	if err != nil {
		return nil, provider.Wrap(provider.Invalid, err, "_meta: "+err.Error())
	}
	return meta, nil
}
