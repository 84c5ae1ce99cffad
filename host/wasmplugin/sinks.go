package wasmplugin

import (
	"fmt"
	"log/slog"
	"time"
	"unicode/utf8"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/internal/question"
	"github.com/reshost/reshost/host/provider"
)

// readSink collects what rh_read emits.
type readSink struct {
	maxParts int
	maxBytes int64 // negative: no limit

	parts    []provider.Content
	open     bool // the last CONTENT was taken, so write appends to the last part
	bytes    int64
	cache    cacheHint
	inputs   []provider.InputRequest
	state    []byte
	progress func(done, total uint64, message string)
	done     uint64
}

// cacheHint gathers the ttl and scope of several parts: the least ttl, private if any is.
type cacheHint struct {
	ttl     time.Duration
	set     bool
	private bool
	any     bool
}

func (h *cacheHint) add(ttl abi.Optional, scope uint64) {
	h.any = true
	h.private = h.private || scope != abi.ScopePublic
	if ms, ok := ttl.Get(); ok {
		d := time.Duration(min(ms, uint64(maxTTL/time.Millisecond))) * time.Millisecond
		if !h.set || d < h.ttl {
			h.ttl, h.set = d, true
		}
	}
}

// maxTTL bounds what a guest may say about reuse.
const maxTTL = 365 * 24 * time.Hour

// cache is what the guest said of its result. One that depends on the caller's part of the kv store is never public.
func (c *call) cache(h *cacheHint) provider.Cache {
	return provider.Cache{TTL: h.ttl, Set: h.set, Public: h.any && !h.private && !c.private}
}

func (s *readSink) take(c *call, kind abi.Kind, data string) abi.Reply {
	switch kind {
	case abi.KindContent:
		return s.content(c, data)
	case abi.KindInput:
		return s.input(c, data)
	case abi.KindState:
		state, reply := c.takeState(data)
		if reply != abi.ReplyContinue {
			return reply
		}
		s.state = []byte(state)
	case abi.KindProgress:
		var m abi.Progress
		if err := m.Decode(data); err != nil {
			return c.reject("%s: %v", kind, err)
		}
		if s.progress != nil && m.Done > s.done {
			s.done = m.Done
			total, _ := m.Total.Get()
			s.progress(m.Done, total, safeText(m.Message, abi.MaxErrorMessage))
		}
	}
	return abi.ReplyContinue
}

func (s *readSink) content(c *call, data string) abi.Reply {
	s.open = false
	var m abi.Content
	if err := m.Decode(data); err != nil {
		return c.reject("%s: %v", abi.KindContent, err)
	}
	if s.maxParts >= 0 && len(s.parts) >= s.maxParts {
		return c.stop(int64(s.maxParts))
	}
	part := provider.Content{MIMEType: m.MIMEType, Text: m.Text, ETag: m.ETag}
	if m.URI != "" {
		u, r := c.emittedURI(abi.KindContent, m.URI)
		if r != abi.ReplyContinue {
			return r
		}
		part.URI = u
	}
	if m.MIMEType != "" && !validMediaType(m.MIMEType) {
		return c.reject("%s: %.64q is not a media type", abi.KindContent, m.MIMEType)
	}
	if !validETag(m.ETag) {
		return c.reject("%s: the etag is not printable ASCII of at most %d bytes", abi.KindContent, abi.MaxETag)
	}
	meta, dropped, err := strictMeta(m.MetaJSON)
	if err != nil {
		return c.reject("%s: %v", abi.KindContent, err)
	}
	c.logDropped(dropped)
	part.Meta = meta
	s.cache.add(m.TTLMillis, m.Scope)
	s.parts = append(s.parts, part)
	s.open = true
	return abi.ReplyContinue
}

func (c *call) logDropped(keys []string) {
	for _, k := range keys {
		c.plugin.log.line(slog.LevelWarn, "a key of _meta was dropped: reserved or malformed",
			slog.String("export", c.export), slog.String("key", safeText(k, abi.MaxETag)))
	}
}

// write copies b: the guest's memory changes when it runs on (WSM-06).
func (s *readSink) write(c *call, b []byte) abi.Reply {
	if !s.open {
		return c.reject("write before %s", abi.KindContent)
	}
	if s.maxBytes >= 0 && int64(len(b)) > s.maxBytes-s.bytes {
		return c.stop(s.maxBytes)
	}
	s.bytes += int64(len(b))
	p := &s.parts[len(s.parts)-1]
	p.Body = append(p.Body, b...)
	return abi.ReplyContinue
}

func (s *readSink) input(c *call, data string) abi.Reply {
	var m abi.Input
	if err := m.Decode(data); err != nil {
		return c.reject("%s: %v", abi.KindInput, err)
	}
	if len(s.inputs) >= question.Max {
		return c.reject("%s: more than %d in a read", abi.KindInput, question.Max)
	}
	for i := range s.inputs {
		if s.inputs[i].Key == m.Key {
			return c.reject("%s: the key %.64q is there twice", abi.KindInput, m.Key)
		}
	}
	if m.ParamsJSON == "" {
		m.ParamsJSON = "{}"
	}
	q := provider.InputRequest{Key: m.Key, Method: m.Method, Params: provider.JSON(m.ParamsJSON)}
	if err := question.CheckRequest(&q); err != nil {
		return c.reject("%s: %v", abi.KindInput, err)
	}
	s.inputs = append(s.inputs, q)
	return abi.ReplyContinue
}

// result checks what a read with status 0, 8 or 9 must have.
func (s *readSink) result(c *call, status abi.Status, ifETag string) (*provider.ReadResult, error) {
	switch status {
	case abi.StatusInputRequired:
		if len(s.inputs) == 0 && s.state == nil {
			return nil, fmt.Errorf("status %d without %s or %s", status, abi.KindInput, abi.KindState)
		}
		return &provider.ReadResult{Input: &provider.InputRequired{Requests: s.inputs, State: s.state}}, nil
	case abi.StatusNotModified:
		if ifETag == "" {
			return nil, fmt.Errorf("status %d, but the request named no etag", status)
		}
		return &provider.ReadResult{NotModified: true, Cache: c.cache(&s.cache)}, nil
	}
	if len(s.parts) == 0 {
		return nil, fmt.Errorf("status 0 without %s", abi.KindContent)
	}
	for i := range s.parts {
		p := &s.parts[i]
		if p.Text && !utf8.Valid(p.Body) {
			return nil, fmt.Errorf("part %d is said to be text but is not UTF-8", i)
		}
		if p.Body == nil {
			p.Body = []byte{}
		}
	}
	return &provider.ReadResult{Contents: s.parts, Cache: c.cache(&s.cache)}, nil
}

// listSink collects what rh_list emits.
type listSink struct {
	noWrite
	maxItems int
	maxBytes int64 // of records; negative: no limit

	resources []provider.Resource
	seen      map[string]bool
	items     int
	bytes     int64
	next      []byte
	cache     cacheHint
}

func (s *listSink) take(c *call, kind abi.Kind, data string) abi.Reply {
	switch kind {
	case abi.KindResource:
		return s.resource(c, data)
	case abi.KindCursor:
		var m abi.Cursor
		if err := m.Decode(data); err != nil {
			return c.reject("%s: %v", kind, err)
		}
		if len(m.Next) > abi.MaxState {
			return c.reject("%s of %d bytes, more than %d", kind, len(m.Next), abi.MaxState)
		}
		s.next = nil
		if m.Next != "" {
			s.next = []byte(m.Next)
		}
	case abi.KindInfo:
		var m abi.Info
		if err := m.Decode(data); err != nil {
			return c.reject("%s: %v", kind, err)
		}
		s.cache = cacheHint{}
		s.cache.add(m.TTLMillis, m.Scope)
	}
	return abi.ReplyContinue
}

func (s *listSink) resource(c *call, data string) abi.Reply {
	if s.items >= s.maxItems || s.maxBytes >= 0 && int64(len(data)) > s.maxBytes-s.bytes {
		return c.stop(0)
	}
	var m abi.Resource
	if err := m.Decode(data); err != nil {
		return c.reject("%s: %v", abi.KindResource, err)
	}
	u, r := c.emittedURI(abi.KindResource, m.URI)
	if r != abi.ReplyContinue {
		return r
	}
	out, err := resourceOf(&m)
	if err != nil {
		return c.reject("%s %.256q: %v", abi.KindResource, u, err)
	}
	meta, dropped, err := strictMeta(m.MetaJSON)
	if err != nil {
		return c.reject("%s %.256q: %v", abi.KindResource, u, err)
	}
	c.logDropped(dropped)
	out.URI, out.Meta = u, meta
	s.items++
	s.bytes += int64(len(data))
	if s.seen[u] || c.served.direct[u] {
		return abi.ReplyContinue // a double: the manifest's entry, or the first, stands
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[u] = true
	s.resources = append(s.resources, *out)
	return abi.ReplyContinue
}

// resourceOf checks a RESOURCE record but for its URI and _meta.
func resourceOf(m *abi.Resource) (*provider.Resource, error) {
	out := &provider.Resource{Name: m.Name, Title: m.Title, Description: m.Description, MIMEType: m.MIMEType}
	if m.Name == "" {
		return nil, fmt.Errorf("no name")
	}
	for _, s := range []string{m.Name, m.Title, m.Description} {
		if !utf8.ValidString(s) {
			return nil, fmt.Errorf("name, title or description is not UTF-8")
		}
	}
	if m.MIMEType != "" && !validMediaType(m.MIMEType) {
		return nil, fmt.Errorf("%.64q is not a media type", m.MIMEType)
	}
	if n, ok := m.Size.Get(); ok {
		if int64(n) < 0 {
			return nil, fmt.Errorf("a size of %d bytes", n)
		}
		size := int64(n)
		out.Size = &size
	}
	var err error
	if out.Annotations, err = strictAnnotations(m.AnnotationsJSON); err != nil {
		return nil, err
	}
	out.Icons, err = strictIcons(m.IconsJSON)
	return out, err
}

// maxValues is how many values a completion carries (rule C1).
const maxValues = 100

// completeSink collects what rh_complete emits.
type completeSink struct {
	noWrite
	result provider.CompleteResult
	more   bool
	bytes  int
	cache  cacheHint
}

func (s *completeSink) take(c *call, kind abi.Kind, data string) abi.Reply {
	switch kind {
	case abi.KindValue:
		var m abi.Value
		if err := m.Decode(data); err != nil {
			return c.reject("%s: %v", kind, err)
		}
		if !utf8.ValidString(m.Value) {
			return c.reject("%s is not UTF-8", kind)
		}
		if len(s.result.Values) >= maxValues || s.bytes+len(m.Value) > defaultPageBytes {
			s.more = true
			return c.stop(0)
		}
		s.bytes += len(m.Value)
		s.result.Values = append(s.result.Values, m.Value)
	case abi.KindInfo:
		var m abi.Info
		if err := m.Decode(data); err != nil {
			return c.reject("%s: %v", kind, err)
		}
		if n, ok := m.Total.Get(); ok && int64(n) >= 0 {
			total := int64(n)
			s.result.Total = &total
		}
		s.result.HasMore = m.HasMore
		s.cache = cacheHint{}
		s.cache.add(m.TTLMillis, m.Scope)
	}
	return abi.ReplyContinue
}

// describeSink keeps the manifest that rh_describe emits.
type describeSink struct {
	noWrite
	manifest []byte
}

func (s *describeSink) take(c *call, kind abi.Kind, data string) abi.Reply {
	if s.manifest != nil {
		return c.reject("a second %s", kind)
	}
	s.manifest = []byte(data)
	return abi.ReplyContinue
}

// initSink is for rh_init, which may emit ERROR alone: that is the call's own.
type initSink struct{ noWrite }

func (initSink) take(c *call, kind abi.Kind, _ string) abi.Reply {
	return c.reject("%s is not legal here", kind)
}
