package reshosttest

import (
	"fmt"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/sdk-guest/go/reshost"
)

// Changes are what a call reported beside its answer.
type Changes struct {
	// Updated are the URIs that changed, in order.
	Updated []string
	// ListChanged counts the reports of a changed list.
	ListChanged int
}

// Part is one part of a resource.
type Part struct {
	// URI is empty for the request's.
	URI, MIMEType string
	// Text tells text from bytes.
	Text bool
	Body []byte
	// Meta is a JSON object or empty.
	Meta, ETag string
	// TTLMillis is negative when the plugin did not say.
	TTLMillis int64
	Public    bool
	// SizeHint is 0 when the plugin did not say.
	SizeHint int64
}

// ReadResult is the answer to a read.
type ReadResult struct {
	Changes
	Parts []Part
	// NotModified says that IfETag still held.
	NotModified bool
	// Questions and State are set when the plugin asks the client for more.
	Questions []reshost.Question
	State     []byte
	// Progress has a line for each report, such as "1/3 page".
	Progress []string
}

// Text returns the body of the one part if that is text, and "" otherwise.
func (r *ReadResult) Text() string {
	if r == nil || len(r.Parts) != 1 || !r.Parts[0].Text {
		return ""
	}
	return string(r.Parts[0].Body)
}

// ReadOptions are what a read may carry beside the URI.
type ReadOptions struct {
	Caller       reshost.Caller
	State        []byte
	Answers      []reshost.Answer
	InputMethods []string
	IfETag       string
}

// Read reads a resource: a direct one, or one that a template matches.
func (g *Guest) Read(uri string) (*ReadResult, error) {
	g.tb.Helper()
	return g.ReadWith(uri, ReadOptions{})
}

// ReadWith is Read with more in the request.
func (g *Guest) ReadWith(uri string, o ReadOptions) (*ReadResult, error) {
	g.tb.Helper()
	req := abi.ReadRequest{
		Common: g.common(o.Caller), URI: uri, State: string(o.State), InputMethods: o.InputMethods, IfETag: o.IfETag,
		MaxBytes: uint64(g.opts.MaxBytes),
	}
	for _, a := range o.Answers {
		req.Answers = append(req.Answers, abi.Answer(a))
	}
	if !g.direct(uri) {
		i, vars, ok := g.match(uri)
		if !ok {
			return nil, &Failure{Code: reshost.CodeNotFound, Message: uri + " matches neither a direct resource nor a template"}
		}
		req.URITemplate, req.Vars = g.templates[i].text, vars
		if !g.dynamic {
			req.TemplateIndex = uint64(i) + 1
		}
	}
	g.host.caller = o.Caller
	g.host.ifETag, g.host.maxBytes = o.IfETag, g.opts.MaxBytes
	res, err := g.call(abi.ExportRead, req.Append(nil))
	if err != nil {
		return nil, err
	}
	out := &ReadResult{Changes: res.changes, Parts: res.parts, Progress: res.progress}
	switch res.status {
	case abi.StatusNotModified:
		out.NotModified, out.Parts = true, nil
	case abi.StatusInputRequired:
		out.Questions, out.State, out.Parts = res.inputs, res.state, nil
	default:
		if len(out.Parts) == 0 {
			return nil, fmt.Errorf("%s: ok without a part", abi.ExportRead)
		}
		for i := range out.Parts {
			if err := out.Parts[i].check(); err != nil {
				return nil, fmt.Errorf("%s: part %d: %w", abi.ExportRead, i, err)
			}
		}
	}
	return out, nil
}

// Page is a page of a list.
type Page struct {
	Changes
	Resources []ListedResource
	// Next is the cursor of the next page; empty on the last.
	Next string
	// TTLMillis is negative when the plugin did not say.
	TTLMillis int64
	Public    bool
}

// ListedResource is an entry of a list. Annotations and Meta are JSON objects, Icons is a JSON array, or empty.
type ListedResource struct {
	URI, Name, Title, Description, MIMEType string
	// Size is negative when the plugin did not say.
	Size                     int64
	Annotations, Icons, Meta string
}

// List returns the page that begins at cursor; "" is the first.
func (g *Guest) List(cursor string) (*Page, error) {
	g.tb.Helper()
	req := abi.ListRequest{Common: g.common(reshost.Caller{}), Cursor: cursor, PageSize: uint64(g.opts.PageSize)}
	g.host.pageSize = g.opts.PageSize
	res, err := g.call(abi.ExportList, req.Append(nil))
	if err != nil {
		return nil, err
	}
	for _, why := range res.rejected {
		g.tb.Errorf("a resource would be left out: %s", why)
	}
	page := &Page{Changes: res.changes, Resources: res.resources, Next: res.next, TTLMillis: -1}
	page.TTLMillis, page.Public = cacheOf(res.info.TTLMillis, res.info.Scope)
	for _, r := range page.Resources {
		if _, _, ok := g.match(r.URI); !ok && !g.direct(r.URI) {
			return nil, fmt.Errorf("%s: %s matches neither a direct resource nor a template", abi.ExportList, r.URI)
		}
	}
	return page, nil
}

// ListAll returns all pages of the plugin's own list, one after the other. A host lists the direct resources, Plugin.Resources, before
// them and leaves out doubles; they are not in here, since the plugin is not asked for them.
func (g *Guest) ListAll() ([]ListedResource, error) {
	g.tb.Helper()
	var all []ListedResource
	seen := make(map[string]bool)
	for cursor := ""; ; {
		page, err := g.List(cursor)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Resources...)
		if page.Next == "" {
			return all, nil
		}
		if seen[page.Next] {
			return nil, fmt.Errorf("%s: the cursor %q came twice", abi.ExportList, page.Next)
		}
		seen[page.Next] = true
		cursor = page.Next
	}
}

// Values are the proposals of a completion.
type Values struct {
	Changes
	Values []string
	// Total is negative when the plugin did not say.
	Total   int64
	HasMore bool
}

// Complete asks for values of argument in template, which stands as in the plugin (or with the effective scheme). known are
// other variables with their values.
func (g *Guest) Complete(template, argument, value string, known map[string]string) (*Values, error) {
	g.tb.Helper()
	req := abi.CompleteRequest{Common: g.common(reshost.Caller{}), Argument: argument, Value: value}
	for i := range g.templates {
		if t := g.templates[i].text; t == template || t == g.rename(template) {
			req.URITemplate = t
			if !g.dynamic {
				req.TemplateIndex = uint64(i) + 1
			}
		}
	}
	if req.URITemplate == "" {
		return nil, fmt.Errorf("no template %s", template)
	}
	for name, v := range known {
		req.Context = append(req.Context, abi.Var{Name: name, Value: v})
	}
	res, err := g.call(abi.ExportComplete, req.Append(nil))
	if err != nil {
		return nil, err
	}
	out := &Values{Changes: res.changes, Values: res.values, Total: -1, HasMore: res.info.HasMore}
	if n, ok := res.info.Total.Get(); ok {
		out.Total = int64(n)
	}
	return out, nil
}

// PollOptions are what a poll carries.
type PollOptions struct {
	Watched, Changed []string
	State            []byte
	Body             []byte
	Headers          []reshost.Header
}

// PollResult is the answer to a poll.
type PollResult struct {
	Changes
	State []byte
	// NextPollMillis is 0 when the plugin did not say.
	NextPollMillis int64
}

// Poll runs the plugin's poll.
func (g *Guest) Poll(o PollOptions) (*PollResult, error) {
	g.tb.Helper()
	req := abi.PollRequest{
		NowMillis: uint64(g.opts.NowMillis), DeadlineMillis: defaultDeadline,
		Watched: o.Watched, Changed: o.Changed, State: string(o.State), Body: string(o.Body),
	}
	for _, h := range o.Headers {
		req.Headers = append(req.Headers, abi.Var(h))
	}
	res, err := g.call(abi.ExportPoll, req.Append(nil))
	if err != nil {
		return nil, err
	}
	return &PollResult{Changes: res.changes, State: res.state, NextPollMillis: int64(res.info.NextPollMillis)}, nil
}

func (g *Guest) common(c reshost.Caller) abi.Common {
	return abi.Common{
		NowMillis: uint64(g.opts.NowMillis), DeadlineMillis: defaultDeadline, HostMinor: abi.Minor,
		Subject: c.Subject, Issuer: c.Issuer, Tenant: c.Tenant, Scopes: c.Scopes, ClaimsJSON: c.Claims, MetaJSON: c.Meta,
	}
}

func cacheOf(ttl abi.Optional, scope uint64) (millis int64, public bool) {
	millis = -1
	if n, ok := ttl.Get(); ok {
		millis = int64(n)
	}
	return millis, scope == abi.ScopePublic
}
