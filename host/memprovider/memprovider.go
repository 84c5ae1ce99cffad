package memprovider

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/reshost/reshost/host/provider"
)

// pathVar is the variable of the provider's own template.
const pathVar = "path"

// Options of [New]. The zero value is usable.
type Options struct {
	// Version of the provider, for people; default none.
	Version string
	// Scheme of the URIs served, in lower case; default the provider's name.
	Scheme string
	// Title and Description of the provider's own template, for people and models; default none.
	Title, Description string
	// Templates are served beside the resources that are set. The host prefers the more specific template, so that
	// "notes://tagged/{tag}" goes before "notes://{+path}".
	Templates []Template
}

// Template is a template with the functions that serve it.
type Template struct {
	provider.Template
	// Read is required.
	Read func(ctx context.Context, req *provider.ReadRequest) (*provider.ReadResult, error)
	// Complete is required where a variable says so, and unused elsewhere.
	Complete func(ctx context.Context, req *provider.CompleteRequest) (*provider.CompleteResult, error)
}

// Provider keeps resources in memory. It implements [provider.Provider] and is safe for concurrent use.
type Provider struct {
	info      provider.Info
	scheme    string
	templates []Template // Info.Templates behind the provider's own

	sending sync.WaitGroup // events on their way

	mu      sync.RWMutex // guards what follows
	entries map[string]*entry
	paths   []string        // of entries, sorted
	sets    uint64          // calls of Set: makes ETags
	events  provider.Events // nil before Attach and after Close
}

// entry is one resource. It is replaced, never changed.
type entry struct {
	resource provider.Resource
	contents []provider.Content
}

// New returns an empty provider. name identifies it in the host: letters, digits, "-", "_" and ".", up to 64 bytes. opts may
// be nil.
func New(name string, opts *Options) (*Provider, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Scheme == "" {
		o.Scheme = name
	}
	if !validScheme(o.Scheme) {
		return nil, fmt.Errorf("memprovider: %q is no URI scheme in lower case", o.Scheme)
	}
	own := provider.Template{
		URITemplate: o.Scheme + "://{+" + pathVar + "}", Name: name, Title: o.Title, Description: o.Description,
		Vars: []provider.TemplateVar{{Name: pathVar, Complete: true}},
	}
	p := &Provider{
		info: provider.Info{
			Name: name, Version: o.Version, Schemes: []string{o.Scheme}, Templates: []provider.Template{own}, List: true, Watch: true,
		},
		scheme:    o.Scheme,
		templates: slices.Clone(o.Templates),
		entries:   map[string]*entry{},
	}
	for i := range p.templates {
		t := &p.templates[i]
		completes := slices.ContainsFunc(t.Vars, func(v provider.TemplateVar) bool { return v.Complete })
		if t.Read == nil || completes && t.Complete == nil {
			return nil, fmt.Errorf("memprovider: template %q lacks a function", t.URITemplate)
		}
		p.info.Templates = append(p.info.Templates, t.Template)
	}
	return p, nil
}

// Set makes a resource of contents, at least one, under path, and tells the host. An earlier one is replaced. path is plain
// text without percent-encoding, such as "todo/café 1.md"; it holds no "\", no control characters, and no segment "." or
// "..". Of about, URI is set by the provider; Name defaults to the last segment of path, Size and MIMEType to those of a
// single content. Everything is copied.
func (p *Provider) Set(path string, about provider.Resource, contents ...provider.Content) error {
	if err := p.check(path, contents); err != nil {
		return fmt.Errorf("memprovider: %q: %w", path, err)
	}
	e := &entry{resource: cloneResource(about), contents: cloneContents(contents)}
	e.resource.URI = p.URI(path)
	if e.resource.Name == "" {
		e.resource.Name = path[strings.LastIndexByte(path, '/')+1:]
	}
	if e.resource.Name == "" {
		e.resource.Name = path
	}
	if len(contents) == 1 {
		if e.resource.Size == nil {
			size := int64(len(contents[0].Body))
			e.resource.Size = &size
		}
		if e.resource.MIMEType == "" {
			e.resource.MIMEType = contents[0].MIMEType
		}
	}

	p.mu.Lock()
	p.sets++
	e.contents[0].ETag = strconv.FormatUint(p.sets, 10)
	old := p.entries[path]
	p.entries[path] = e
	if old == nil {
		at, _ := slices.BinarySearch(p.paths, path)
		p.paths = slices.Insert(p.paths, at, path)
	}
	events := p.startSending()
	p.mu.Unlock()
	p.send(events, e.resource.URI, old == nil || !reflect.DeepEqual(old.resource, e.resource))
	return nil
}

// SetText sets a resource of one text. mimeType may be empty.
func (p *Provider) SetText(path, mimeType, text string) error {
	return p.Set(path, provider.Resource{}, provider.Content{MIMEType: mimeType, Text: true, Body: []byte(text)})
}

// Delete removes the resource under path, tells the host, and reports whether there was one.
func (p *Provider) Delete(path string) bool {
	p.mu.Lock()
	e := p.entries[path]
	if e == nil {
		p.mu.Unlock()
		return false
	}
	delete(p.entries, path)
	at, _ := slices.BinarySearch(p.paths, path)
	p.paths = slices.Delete(p.paths, at, at+1)
	events := p.startSending()
	p.mu.Unlock()
	p.send(events, e.resource.URI, true)
	return true
}

// URI returns the URI of the resource under path.
func (p *Provider) URI(path string) string { return p.scheme + "://" + escape(path) }

// startSending is called with mu held. What it returns goes to send.
func (p *Provider) startSending() provider.Events {
	if p.events != nil {
		p.sending.Add(1)
	}
	return p.events
}

// send is called without mu: the host may ask back.
func (p *Provider) send(events provider.Events, uri string, list bool) {
	if events == nil {
		return
	}
	defer p.sending.Done()
	events.Updated(uri)
	if list {
		events.ListChanged()
	}
}

// Info implements [provider.Provider].
func (p *Provider) Info() provider.Info { return p.info }

// Attach implements [provider.Provider].
func (p *Provider) Attach(events provider.Events) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = events
}

// Read implements [provider.Provider].
func (p *Provider) Read(ctx context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
	if req.TemplateIndex > 0 && req.TemplateIndex <= len(p.templates) {
		return p.templates[req.TemplateIndex-1].Read(ctx, req)
	}
	path, _ := req.Var(pathVar)
	p.mu.RLock()
	e := p.entries[path]
	p.mu.RUnlock()
	if e == nil {
		return nil, provider.Errorf(provider.NotFound, "no such resource")
	}
	if req.IfETag != "" && req.IfETag == e.contents[0].ETag {
		return &provider.ReadResult{NotModified: true}, nil
	}
	var size int64
	for i := range e.contents {
		size += int64(len(e.contents[i].Body))
	}
	if size > req.MaxBytes {
		return nil, &provider.Error{Code: provider.TooLarge, Message: "the resource is too large", Limit: req.MaxBytes}
	}
	return &provider.ReadResult{Contents: cloneContents(e.contents)}, nil
}

// List implements [provider.Provider]. A cursor is the last path of the page before.
func (p *Provider) List(_ context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	start := 0
	if req.Cursor != nil {
		at, found := slices.BinarySearch(p.paths, string(req.Cursor))
		if found {
			at++
		}
		start = at
	}
	end := min(start+max(req.PageSize, 1), len(p.paths))
	res := &provider.ListResult{Resources: make([]provider.Resource, 0, end-start)}
	for _, path := range p.paths[start:end] {
		res.Resources = append(res.Resources, cloneResource(p.entries[path].resource))
	}
	if end < len(p.paths) {
		res.Next = []byte(p.paths[end-1])
	}
	return res, nil
}

// maxValues is how many completions the host sends at most.
const maxValues = 100

// Complete implements [provider.Provider]. It proposes the paths that begin with what was typed.
func (p *Provider) Complete(ctx context.Context, req *provider.CompleteRequest) (*provider.CompleteResult, error) {
	if req.TemplateIndex > 0 && req.TemplateIndex <= len(p.templates) {
		if complete := p.templates[req.TemplateIndex-1].Complete; complete != nil {
			return complete(ctx, req)
		}
	}
	if req.TemplateIndex != 0 || req.Argument != pathVar {
		return nil, provider.Errorf(provider.Invalid, "%q is not completed", req.Argument)
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	res := &provider.CompleteResult{}
	start, _ := slices.BinarySearch(p.paths, req.Value)
	for _, path := range p.paths[start:] {
		switch {
		case !strings.HasPrefix(path, req.Value):
			return res, nil
		case strings.ContainsAny(path, "?#%@"):
			// A client that expands the template (RFC 6570 section 3.2.3) leaves these as they are, and gets another URI.
		case len(res.Values) == maxValues:
			res.HasMore = true
			return res, nil
		default:
			res.Values = append(res.Values, path)
		}
	}
	return res, nil
}

// Watch implements [provider.Provider]. Every change is reported, watched or not: the host's cache hears of it too.
func (p *Provider) Watch(context.Context, string) error { return nil }

// Unwatch implements [provider.Provider].
func (p *Provider) Unwatch(string) {}

// Close implements [provider.Provider]. It waits for events on their way; Set and Delete send none afterwards.
func (p *Provider) Close(context.Context) error {
	p.mu.Lock()
	p.events = nil
	p.mu.Unlock()
	p.sending.Wait()
	return nil
}
