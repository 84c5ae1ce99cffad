package mcp

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/provider"
)

// Results are written by hand, member by member: a read's cost is then that of copying its body.

// appendHead begins a complete result.
func (c *call) appendHead() []byte {
	out := jsonrpc.AppendResultHead(c.out, c.req.Message.ID)
	if c.rev.resultType {
		return append(out, `{"resultType":"complete"`...)
	}
	return append(out, '{')
}

// sep puts a comma before a result's first member where appendHead wrote one already.
func (c *call) sep(member string) string {
	if c.rev.resultType {
		return "," + member
	}
	return member
}

// appendTail ends a result that may be cached (rules P5, P6).
func (c *call) appendTail(hint CacheHint) []byte {
	out := c.out
	if c.rev.cacheHints {
		out = strconv.AppendInt(append(out, `,"ttlMs":`...), max(hint.TTL.Milliseconds(), 0), 10)
		if hint.Public {
			out = append(out, `,"cacheScope":"public"`...)
		} else {
			out = append(out, `,"cacheScope":"private"`...)
		}
	}
	return c.appendEnd(out)
}

// appendEnd ends a result, and the message.
func (c *call) appendEnd(out []byte) []byte {
	if c.rev.serverInfo {
		return append(out, c.server.tail...)
	}
	return append(out, "}}"...)
}

func appendNext(out []byte, next string) []byte {
	if next == "" {
		return out
	}
	return jsonrpc.AppendString(append(out, `,"nextCursor":`...), next)
}

// appendImplementation writes who the server is.
func appendImplementation(out []byte, o *Options, title bool) []byte {
	out = jsonrpc.AppendString(append(out, `{"name":`...), o.Name)
	if title && o.Title != "" {
		out = jsonrpc.AppendString(append(out, `,"title":`...), o.Title)
	}
	return append(jsonrpc.AppendString(append(out, `,"version":`...), o.Version), '}')
}

// appendCapabilities writes what is served (rule D2).
func (c *call) appendCapabilities(out []byte, f *Features) []byte {
	out = append(out, `{"resources":{`...)
	if f.Subscribe {
		out = append(out, `"subscribe":true`...)
	}
	if f.ListChanged {
		if f.Subscribe {
			out = append(out, ',')
		}
		out = append(out, `"listChanged":true`...)
	}
	out = append(out, '}')
	if f.Completions && c.rev.completions {
		out = append(out, `,"completions":{}`...)
	}
	if f.Logging && !c.rev.modern {
		out = append(out, `,"logging":{}`...)
	}
	return append(out, '}')
}

// appendRead writes a read's result. A body that claims to be text and is not UTF-8 goes out as the bytes it is.
func (c *call) appendRead(res *ReadResult) ([]byte, error) {
	if res.Kept.Body != nil {
		return c.appendKeptRead(res)
	}
	size := 512
	for i := range res.Contents {
		// Text needs little more than its own length, base64 a third more.
		size += 256 + len(res.Contents[i].Body) + len(res.Contents[i].Body)/3
	}
	c.out = slices.Grow(c.out, size)
	out := append(c.appendHead(), c.sep(`"contents":[`)...)
	for i := range res.Contents {
		item := &res.Contents[i]
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonrpc.AppendString(append(out, `{"uri":`...), item.URI)
		if item.MIMEType != "" {
			out = jsonrpc.AppendString(append(out, `,"mimeType":`...), item.MIMEType)
		}
		text := false
		if item.Text {
			n := len(out)
			if out, text = jsonrpc.AppendValidText(append(out, `,"text":`...), item.Body); !text {
				out = out[:n]
			}
		}
		if !text {
			out = base64.StdEncoding.AppendEncode(append(out, `,"blob":"`...), item.Body)
			out = append(out, '"')
		}
		out = append(c.appendMeta(out, item.Meta), '}')
	}
	c.out = append(out, ']')
	return c.appendTail(res.Cache), nil
}

// appendKeptRead is appendRead for contents that are encoded already.
func (c *call) appendKeptRead(res *ReadResult) ([]byte, error) {
	c.out = slices.Grow(c.out, 512+len(res.Kept.Body)+len(res.Kept.Body)/16)
	out, ok := c.appendKept(append(c.appendHead(), c.sep(`"contents":[`)...), &res.Kept, c.uri)
	if !ok {
		return nil, provider.Errorf(provider.Internal, "kept contents are not in their form")
	}
	c.out = append(out, ']')
	return c.appendTail(res.Cache), nil
}

// maxValues is the most values in a completion (rule C1).
const maxValues = 100

func (c *call) appendCompletion(res *Completion) []byte {
	values := res.Values[:min(len(res.Values), maxValues)]
	out := append(c.appendHead(), c.sep(`"completion":{"values":`)...)
	out = appendStrings(out, values)
	if res.Total != nil && *res.Total >= 0 {
		out = strconv.AppendInt(append(out, `,"total":`...), *res.Total, 10)
	}
	out = strconv.AppendBool(append(out, `,"hasMore":`...), res.HasMore || len(values) < len(res.Values))
	return c.appendEnd(append(out, '}'))
}

func (c *call) appendResource(out []byte, r *provider.Resource) []byte {
	out = jsonrpc.AppendString(append(out, `{"uri":`...), r.URI)
	d := description{r.Name, r.Title, r.Description, r.MIMEType, r.Icons, r.Annotations, r.Meta}
	out = c.appendDescription(out, &d)
	if r.Size != nil && *r.Size >= 0 {
		out = strconv.AppendInt(append(out, `,"size":`...), *r.Size, 10)
	}
	return append(out, '}')
}

func (c *call) appendTemplate(out []byte, t *provider.Template) []byte {
	out = jsonrpc.AppendString(append(out, `{"uriTemplate":`...), t.URITemplate)
	d := description{t.Name, t.Title, t.Description, t.MIMEType, t.Icons, t.Annotations, t.Meta}
	return append(c.appendDescription(out, &d), '}')
}

// description holds what resources and templates have in common.
type description struct {
	name, title, text, mime string
	icons                   []provider.Icon
	annotations             *provider.Annotations
	meta                    provider.JSON
}

func (c *call) appendDescription(out []byte, d *description) []byte {
	out = jsonrpc.AppendString(append(out, `,"name":`...), d.name)
	if c.rev.title {
		out = appendText(out, `,"title":`, d.title)
	}
	out = appendText(out, `,"description":`, d.text)
	out = appendText(out, `,"mimeType":`, d.mime)
	if c.rev.icons && len(d.icons) > 0 {
		out = appendIcons(out, d.icons)
	}
	if d.annotations != nil {
		out = c.appendAnnotations(out, d.annotations)
	}
	return c.appendMeta(out, d.meta)
}

// appendText writes a member that is left out when it is empty.
func appendText(out []byte, member, s string) []byte {
	if s == "" {
		return out
	}
	return jsonrpc.AppendString(append(out, member...), s)
}

func appendStrings(out []byte, list []string) []byte {
	out = append(out, '[')
	for i, s := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonrpc.AppendString(out, s)
	}
	return append(out, ']')
}

func appendIcons(out []byte, icons []provider.Icon) []byte {
	out = append(out, `,"icons":[`...)
	for i := range icons {
		if i > 0 {
			out = append(out, ',')
		}
		out = jsonrpc.AppendString(append(out, `{"src":`...), icons[i].Src)
		out = appendText(out, `,"mimeType":`, icons[i].MIMEType)
		if len(icons[i].Sizes) > 0 {
			out = appendStrings(append(out, `,"sizes":`...), icons[i].Sizes)
		}
		out = append(appendText(out, `,"theme":`, icons[i].Theme), '}')
	}
	return append(out, ']')
}

func (c *call) appendAnnotations(out []byte, a *provider.Annotations) []byte {
	begin := len(out)
	out = append(out, `,"annotations":{`...)
	empty := len(out)
	if len(a.Audience) > 0 {
		out = appendStrings(append(out, `,"audience":`...), a.Audience)
	}
	if p := a.Priority; p != nil && *p >= 0 && *p <= 1 && !math.IsNaN(*p) {
		out = strconv.AppendFloat(append(out, `,"priority":`...), *p, 'f', -1, 64)
	}
	if t := a.LastModified.UTC(); c.rev.lastModified && !t.IsZero() && t.Year() >= 0 && t.Year() <= 9999 {
		out = append(t.AppendFormat(append(out, `,"lastModified":"`...), "2006-01-02T15:04:05Z"), '"')
	}
	if len(out) == empty {
		return out[:begin]
	}
	out = slices.Delete(out, empty, empty+1) // the first member's comma
	return append(out, '}')
}

// appendMeta writes a provider's _meta without the keys that are malformed or reserved for the protocol (rule L2).
func (c *call) appendMeta(out []byte, meta provider.JSON) []byte {
	if meta == nil || !c.rev.meta {
		return out
	}
	begin := len(out)
	out = append(out, `,"_meta":{`...)
	empty := len(out)
	out, ok := appendProviderMembers(out, meta, func(key string) {
		c.server.log.Warn("a key of a provider's _meta was dropped", "key", key)
	})
	if !ok {
		c.server.log.Warn("a provider's _meta was dropped: it is not strict JSON", "method", c.req.Message.Method)
	}
	if len(out) == empty {
		return out[:begin]
	}
	return append(out, '}')
}

// appendProviderMembers writes the members of a provider's _meta, without braces, and calls dropped for those that it may not
// have. It is not ok, and nothing is written, when meta is not strict JSON.
func appendProviderMembers(out []byte, meta provider.JSON, dropped func(key string)) ([]byte, bool) {
	compact, ok := jsonrpc.AppendCompact(nil, meta)
	if !ok {
		return out, false
	}
	empty := len(out)
	for o := jsonrpc.Members(compact); o.Next(); {
		name := o.Name()
		if !providerKey(name) || name == MetaProvenance {
			dropped(name)
			continue
		}
		if len(out) > empty {
			out = append(out, ',')
		}
		out = append(append(jsonrpc.AppendString(out, name), ':'), o.Value...)
	}
	return out, true
}

// providerKey reports whether a provider may use that key in a _meta object: it fits the grammar, and its prefix is not
// reserved. The bare keys of a request's _meta are the protocol's too.
func providerKey(key string) bool {
	prefix, name, found := strings.Cut(key, "/")
	if !found {
		name = key
		switch name {
		case metaToken, "traceparent", "tracestate", "baggage":
			return false
		}
	}
	if found {
		labels := strings.Split(prefix, ".")
		for _, l := range labels {
			if l == "" || !isLetter(l[0]) || !isAlnum(l[len(l)-1]) || !only(l, "-") {
				return false
			}
		}
		if len(labels) > 1 && (labels[1] == "modelcontextprotocol" || labels[1] == "mcp") {
			return false
		}
	}
	return name == "" || (isAlnum(name[0]) && isAlnum(name[len(name)-1]) && only(name, "-_."))
}

// only reports whether s holds letters, digits and the characters of others alone.
func only(s, others string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') }

func isAlnum(c byte) bool { return isLetter(c) || ('0' <= c && c <= '9') }
