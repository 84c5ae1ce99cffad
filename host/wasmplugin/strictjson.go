package wasmplugin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// decodeStrict decodes one JSON value: exact names, no duplicates, valid UTF-8, depth bounded. Members that v does not
// know are an error where reject is set.
func decodeStrict(b []byte, v any, depth int, reject bool) error {
	if err := checkDepth(b, depth); err != nil {
		return err
	}
	if err := json.Unmarshal(b, v, json.RejectUnknownMembers(reject)); err != nil {
		return jsonError(err)
	}
	return nil
}

// checkDepth bounds the nesting of b before a decoder sees it. Malformed text passes: the decoder refuses it.
func checkDepth(b []byte, limit int) error {
	depth, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return fmt.Errorf("nested deeper than %d", limit)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// jsonError writes a decoder's error without the names of Go types.
func jsonError(err error) error {
	var semantic *json.SemanticError
	var syntax *jsontext.SyntacticError
	at := func(p jsontext.Pointer) string {
		if p == "" {
			return ""
		}
		return fmt.Sprintf("at %q: ", string(p))
	}
	switch {
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("unknown key %q", string(semantic.JSONPointer))
	case errors.As(err, &syntax):
		return fmt.Errorf("%soffset %d: %w", at(syntax.JSONPointer), syntax.ByteOffset, syntax.Err)
	case errors.As(err, &semantic):
		if semantic.Err != nil {
			return fmt.Errorf("%s%w", at(semantic.JSONPointer), semantic.Err)
		}
		return fmt.Errorf("%sa JSON %s does not fit here", at(semantic.JSONPointer), semantic.JSONKind.String())
	}
	return err
}

// strictValue checks one JSON value of a guest and returns it compact, written anew.
func strictValue(s string, kind jsontext.Kind, what string) (provider.JSON, error) {
	if s == "" {
		return nil, nil
	}
	if len(s) > abi.MaxJSON {
		return nil, fmt.Errorf("%s has %d bytes, more than %d", what, len(s), abi.MaxJSON)
	}
	v := jsontext.Value(s)
	if err := checkDepth(v, abi.MaxJSONDepth); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := v.Format(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, jsonError(err))
	}
	if v.Kind() != kind {
		return nil, fmt.Errorf("%s is not a JSON %s", what, kind.String())
	}
	return provider.JSON(v), nil
}

// strictMeta is strictValue for a `_meta` object. Keys that the protocol reserves, or that its grammar does not allow,
// are left out and returned.
func strictMeta(s string) (meta provider.JSON, dropped []string, err error) {
	v, err := strictValue(s, '{', "_meta")
	if err != nil || v == nil {
		return nil, nil, err
	}
	members, err := splitObject(v)
	if err != nil {
		return nil, nil, err
	}
	var out bytes.Buffer
	for _, m := range members {
		if !metaKeyAllowed(m.name) {
			dropped = append(dropped, m.name)
			continue
		}
		if out.Len() == 0 {
			out.WriteByte('{')
		} else {
			out.WriteByte(',')
		}
		name, err := jsontext.AppendQuote(nil, m.name)
		if err != nil {
			return nil, nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(m.value)
	}
	if out.Len() == 0 {
		return nil, dropped, nil
	}
	out.WriteByte('}')
	return out.Bytes(), dropped, nil
}

// member is one member of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// splitObject returns the members of an object in their order.
func splitObject(object []byte) ([]member, error) {
	d := jsontext.NewDecoder(bytes.NewReader(object))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, errors.New("not a JSON object")
	}
	var members []member
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return nil, jsonError(err)
		}
		m := member{name: name.String()}
		v, err := d.ReadValue()
		if err != nil {
			return nil, jsonError(err)
		}
		m.value = v.Clone()
		members = append(members, m)
	}
	return members, nil
}

// metaKeyAllowed reports whether a provider may set a key of `_meta` (MCP 2026-07-28, basic, "_meta").
func metaKeyAllowed(key string) bool {
	switch key {
	case "progressToken", "traceparent", "tracestate", "baggage":
		return false
	}
	name := key
	if prefix, rest, ok := strings.Cut(key, "/"); ok {
		labels := strings.Split(prefix, ".")
		for _, l := range labels {
			if !metaLabel(l) {
				return false
			}
		}
		if len(labels) > 1 && (labels[1] == "modelcontextprotocol" || labels[1] == "mcp") {
			return false
		}
		name = rest
		if name == "" {
			return true
		}
	}
	return metaName(name)
}

func metaLabel(s string) bool {
	if s == "" || !isAlpha(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 || !isAlnum(byte(r)) && r != '-' }) < 0
}

func metaName(s string) bool {
	if s == "" || !isAlnum(s[0]) || !isAlnum(s[len(s)-1]) {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return r >= 0x80 || !isAlnum(byte(r)) && r != '-' && r != '_' && r != '.'
	}) < 0
}

func isAlpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool { return isAlpha(c) || '0' <= c && c <= '9' }

// iconJSON and annotationsJSON are the protocol's shapes (rule L2).
type iconJSON struct {
	Src      string   `json:"src"`
	MIMEType string   `json:"mimeType"`
	Sizes    []string `json:"sizes"`
	Theme    string   `json:"theme"`
}

type annotationsJSON struct {
	Audience     []string `json:"audience"`
	Priority     *float64 `json:"priority"`
	LastModified string   `json:"lastModified"`
}

func (i *iconJSON) icon() (provider.Icon, error) {
	if !strings.HasPrefix(i.Src, "https://") && !strings.HasPrefix(i.Src, "data:") {
		return provider.Icon{}, errors.New("an icon's src is neither https nor data")
	}
	if i.MIMEType != "" && !validMediaType(i.MIMEType) {
		return provider.Icon{}, fmt.Errorf("%.64q is not a media type", i.MIMEType)
	}
	for _, s := range i.Sizes {
		if s != "any" && !validIconSize(s) {
			return provider.Icon{}, fmt.Errorf("icon size %.16q is neither like \"48x48\" nor \"any\"", s)
		}
	}
	if i.Theme != "" && i.Theme != "light" && i.Theme != "dark" {
		return provider.Icon{}, fmt.Errorf("icon theme %.16q is neither light nor dark", i.Theme)
	}
	return provider.Icon{Src: i.Src, MIMEType: i.MIMEType, Sizes: i.Sizes, Theme: i.Theme}, nil
}

func validIconSize(s string) bool {
	w, h, ok := strings.Cut(s, "x")
	digits := func(s string) bool { return s != "" && len(s) <= 6 && strings.Trim(s, "0123456789") == "" }
	return ok && digits(w) && digits(h)
}

func icons(list []iconJSON) ([]provider.Icon, error) {
	var out []provider.Icon
	for i := range list {
		icon, err := list[i].icon()
		if err != nil {
			return nil, err
		}
		out = append(out, icon)
	}
	return out, nil
}

func (a *annotationsJSON) annotations() (*provider.Annotations, error) {
	if a == nil {
		return nil, nil
	}
	for _, s := range a.Audience {
		if s != "user" && s != "assistant" {
			return nil, fmt.Errorf("audience %.32q is neither user nor assistant", s)
		}
	}
	if a.Priority != nil && (*a.Priority < 0 || *a.Priority > 1) {
		return nil, errors.New("priority is not from 0 to 1")
	}
	out := &provider.Annotations{Audience: a.Audience, Priority: a.Priority}
	if a.LastModified != "" {
		t, err := time.Parse(time.RFC3339, a.LastModified)
		if err != nil {
			return nil, fmt.Errorf("lastModified %.64q is not a time of ISO 8601", a.LastModified)
		}
		out.LastModified = t
	}
	return out, nil
}

// strictIcons and strictAnnotations parse a record's JSON. Members that they do not know are skipped.
func strictIcons(s string) ([]provider.Icon, error) {
	if s == "" {
		return nil, nil
	}
	var list []iconJSON
	if err := strictRecordJSON(s, &list); err != nil {
		return nil, fmt.Errorf("icons: %w", err)
	}
	return icons(list)
}

func strictAnnotations(s string) (*provider.Annotations, error) {
	if s == "" {
		return nil, nil
	}
	var a *annotationsJSON
	if err := strictRecordJSON(s, &a); err != nil {
		return nil, fmt.Errorf("annotations: %w", err)
	}
	return a.annotations()
}

func strictRecordJSON(s string, v any) error {
	if len(s) > abi.MaxJSON {
		return fmt.Errorf("%d bytes, more than %d", len(s), abi.MaxJSON)
	}
	return decodeStrict([]byte(s), v, abi.MaxJSONDepth, false)
}
