package mcp_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// library is a small backend whose resources each show one behaviour.
type library struct {
	mu    sync.Mutex
	calls []string
	// slow holds reads of docs://slow until it is closed.
	slow chan struct{}
}

func (l *library) called(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, name)
}

func (l *library) took() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls = nil
	return calls
}

func (l *library) Features(context.Context, *mcp.Caller) mcp.Features {
	return mcp.Features{Completions: true, Subscribe: true, ListChanged: true, Logging: true}
}

func (l *library) ListResources(_ context.Context, c *mcp.Caller, cursor *string) (*mcp.ResourcePage, error) {
	l.called("list")
	size, priority, never := int64(12), 0.5, 7.0
	pages := []mcp.ResourcePage{
		{
			Resources: []provider.Resource{{
				URI: "docs://a", Name: "a", Title: "The <first>", Description: "One & \"only\"", MIMEType: "text/plain", Size: &size,
				Icons: []provider.Icon{{Src: "https://x.test/i.png", MIMEType: "image/png", Sizes: []string{"48x48"}, Theme: "dark"}},
				Annotations: &provider.Annotations{
					Audience: []string{"user", "assistant"}, Priority: &priority,
					LastModified: time.Date(2025, 1, 12, 16, 0, 58, 999, time.FixedZone("", 3600)),
				},
				Meta: provider.JSON(" {\"acme.example/x\": [1, 2],\n\"io.modelcontextprotocol/x\":1, \"progressToken\": 1, \"a b\":1} "),
			}},
			Next: "page 2", Cache: mcp.CacheHint{TTL: 90 * time.Second, Public: true},
		},
		{
			Resources: []provider.Resource{{
				URI: "docs://b", Name: "b", Annotations: &provider.Annotations{Priority: &never}, Meta: provider.JSON("{"),
			}},
			Cache: mcp.CacheHint{TTL: -time.Second, Public: true},
		},
	}
	switch {
	case cursor == nil:
		return &pages[0], nil
	case *cursor == "page 2":
		return &pages[1], nil
	}
	return nil, provider.Errorf(provider.Invalid, "the cursor is not one of ours")
}

func (l *library) ListTemplates(_ context.Context, _ *mcp.Caller, cursor *string) (*mcp.TemplatePage, error) {
	l.called("templates")
	if cursor != nil {
		return nil, provider.Errorf(provider.Invalid, "the cursor is not one of ours")
	}
	return &mcp.TemplatePage{Templates: []provider.Template{
		{URITemplate: "docs://{name}", Name: "doc", MIMEType: "text/markdown"},
		{URITemplate: "file:///{+path}", Name: "café bar", Title: "Files"},
	}}, nil
}

func (l *library) Read(ctx context.Context, c *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
	l.called("read " + p.URI)
	text := func(s string) (*mcp.ReadResult, error) {
		return &mcp.ReadResult{Contents: []provider.Content{{URI: p.URI, MIMEType: "text/plain", Text: true, Body: []byte(s)}}}, nil
	}
	switch p.URI {
	case "docs://a", "docs://ok", "docs://fast", "docs://Grüße aus/x y", "=?base64?ZG9jczovL2E=?=":
		return text("content of " + p.URI)
	case "docs://h":
		return text("<a href=\"x?y=1&z=2\">\u2028\r\n\t\x01")
	case "docs://bin":
		return &mcp.ReadResult{Contents: []provider.Content{
			{URI: p.URI, MIMEType: "image/png", Body: []byte{0x89, 'P', 'N', 'G', 0, 0xff}},
			{URI: p.URI + "/text", Text: true, Body: []byte("\xff is not UTF-8"), Meta: provider.JSON(`{"k": 1}`)},
			{URI: p.URI + "/none"},
		}, Cache: mcp.CacheHint{TTL: 1500 * time.Millisecond}}, nil
	case "docs://me":
		who := "nobody"
		if c.Principal != nil {
			who = c.Principal.Subject
		}
		return text(who)
	case "docs://meta":
		return text(string(c.Meta))
	case "docs://progress":
		if p.Progress != nil {
			p.Progress(1, 3, "first")
			p.Progress(1, 3, "the same again")
			p.Progress(3, 3, "")
		}
		if p.Log != nil {
			p.Log("debug", "too fine")
			p.Log("warning", "look <here>")
		}
		return text("done")
	case "docs://slow":
		select {
		case <-l.slow:
			return text("slow")
		case <-ctx.Done():
			l.called("cancelled")
			return nil, ctx.Err()
		}
	case "docs://ask", "docs://ask/page", "docs://ask/all", "docs://ask/state", "docs://ask/again":
		return l.ask(p)
	case "docs://panic":
		panic("boom")
	case "docs://empty":
		return &mcp.ReadResult{}, nil
	case "docs://internal":
		return nil, fmt.Errorf("a secret: %s", "password")
	case "docs://timeout":
		return nil, fmt.Errorf("call: %w", context.DeadlineExceeded)
	case "docs://denied":
		return nil, &provider.Error{Code: provider.Denied, Message: "not for you", Detail: provider.JSON(`{"x":1}`)}
	case "docs://invalid":
		return nil, &provider.Error{Code: provider.Invalid, Message: "that is not a URI", Detail: provider.JSON(`{"uri": "docs://forged", "at": 3}`)}
	case "docs://unsupported":
		return nil, provider.Errorf(provider.Unsupported, "reading is not supported")
	case "docs://big":
		return nil, &provider.Error{Code: provider.TooLarge, Message: "more than the limit", Limit: 1024}
	case "docs://long":
		return nil, provider.Errorf(provider.Invalid, "%s", strings.Repeat("é", 1000))
	case "docs://busy":
		return nil, &provider.Error{Code: provider.Unavailable, RetryAfter: 1500 * time.Millisecond, Err: fmt.Errorf("secret")}
	case "docs://canceled":
		return nil, provider.Errorf(provider.Canceled, "left")
	}
	return nil, provider.Errorf(provider.NotFound, "no such thing in our secret store")
}

// ask answers a read that takes several rounds. The host, which seals the state, stands in front of the library elsewhere.
func (l *library) ask(p *mcp.ReadParams) (*mcp.ReadResult, error) {
	if (len(p.Inputs) > 0 || p.State != nil) && p.URI != "docs://ask/again" {
		var b strings.Builder
		fmt.Fprintf(&b, "state %q", p.State)
		for _, in := range p.Inputs {
			fmt.Fprintf(&b, ", %s: %s", in.Key, in.Result)
		}
		return &mcp.ReadResult{Contents: []provider.Content{{URI: p.URI, Text: true, Body: []byte(b.String())}}}, nil
	}
	name := provider.InputRequest{Key: "name", Method: "elicitation/create", Params: provider.JSON(
		`{ "mode": "form", "message": "Your <name>?\n", "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
			"task": {}, "_meta": {"progressToken": 1} }`)}
	page := provider.InputRequest{Key: "page", Method: "elicitation/create", Params: provider.JSON(
		`{"mode":"url","message":"Sign in","url":"https://x.test/in"}`)}
	in := &provider.InputRequired{Requests: []provider.InputRequest{name}, State: []byte("sealed")}
	switch p.URI {
	case "docs://ask/page":
		in.Requests = []provider.InputRequest{page}
	case "docs://ask/state":
		in.Requests = nil
	case "docs://ask/all":
		in.State = nil
		in.Requests = append(in.Requests, page,
			provider.InputRequest{Key: "model \"x\"", Method: "sampling/createMessage", Params: provider.JSON(
				`{"messages":[{"role":"user","content":{"type":"text","text":"Why?"}}],"maxTokens":10,"tools":[]}`)},
			provider.InputRequest{Key: "roots", Method: "roots/list"})
	}
	l.called(fmt.Sprint(p.InputMethods))
	return &mcp.ReadResult{Input: in, Cache: mcp.CacheHint{TTL: time.Hour, Public: true}}, nil
}

func (l *library) Complete(_ context.Context, _ *mcp.Caller, p *mcp.CompleteParams) (*mcp.Completion, error) {
	l.called("complete")
	total := int64(250)
	switch p.Template + " " + p.Argument {
	case "docs://{name} name":
		return &mcp.Completion{Values: []string{p.Value + "1", p.Value + " 2"}, Total: &total, HasMore: true}, nil
	case "docs://{name} many":
		return &mcp.Completion{Values: make([]string, 101)}, nil
	case "docs://{name} none":
		return &mcp.Completion{}, nil
	case "sqlite://{db}/{table} table":
		return &mcp.Completion{Values: []string{fmt.Sprint(p.Context)}}, nil
	}
	return nil, provider.Errorf(provider.Invalid, "no such template or argument")
}

// sentinel returns a name in the form in which Mcp-Name carries what a header cannot.
func sentinel(name string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
}

// Listen tells of docs://a as soon as it is watched, and of lists when docs://list is. docs://last ends the subscription.
func (l *library) Listen(_ context.Context, _ *mcp.Caller, list bool) (mcp.Subscription, error) {
	l.called("listen")
	return &shelf{library: l, list: list, ready: make(chan struct{}, 1)}, nil
}

// shelf is a subscription of the library's.
type shelf struct {
	*library
	list  bool
	ready chan struct{}

	mu      sync.Mutex
	changes []mcp.Change
	ended   bool
}

func (s *shelf) add(c mcp.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.URI == "docs://last" {
		s.ended = true
	}
	s.changes = append(s.changes, c)
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

func (s *shelf) Attach(_ context.Context, uris []string) []error {
	errs := make([]error, len(uris))
	for i, uri := range uris {
		switch uri {
		case "docs://a", "docs://last":
			s.add(mcp.Change{URI: uri})
		case "docs://quiet":
		case "docs://list":
			if s.list {
				s.add(mcp.Change{})
			}
		case "docs://many":
			errs[i] = &provider.Error{Code: provider.TooLarge, Message: "too many URIs in one subscription", Limit: 1000}
		default:
			errs[i] = provider.Errorf(provider.NotFound, "nobody serves it")
		}
	}
	return errs
}

func (s *shelf) Detach(uri string)   { s.called("detach " + uri) }
func (s *shelf) Return(c mcp.Change) { s.add(c) }
func (s *shelf) Close(error)         { s.called("close") }

func (s *shelf) Next(ctx context.Context) (mcp.Change, error) {
	for {
		s.mu.Lock()
		if len(s.changes) > 0 {
			c := s.changes[0]
			s.changes = s.changes[1:]
			s.mu.Unlock()
			return c, nil
		}
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return mcp.Change{}, mcp.ErrEnded
		}
		select {
		case <-s.ready:
		case <-ctx.Done():
			return mcp.Change{}, ctx.Err()
		}
	}
}
