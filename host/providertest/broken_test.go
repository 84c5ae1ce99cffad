package providertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/reshost/reshost/host/memprovider"
	"github.com/reshost/reshost/host/provider"
)

// broken is a good provider with one fault: a function that is set stands in for the method.
type broken struct {
	*memprovider.Provider
	info     func(provider.Info) provider.Info
	read     func(context.Context, *provider.ReadRequest, *provider.ReadResult, error) (*provider.ReadResult, error)
	list     func(*provider.ListRequest, *provider.ListResult) (*provider.ListResult, error)
	complete func(context.Context, *provider.CompleteRequest, *provider.CompleteResult) (*provider.CompleteResult, error)
	watch    func(context.Context, string) error
	attach   func(provider.Events)
	unwatch  func(string)
	closing  func() error
}

func (b *broken) Info() provider.Info {
	info := b.Provider.Info()
	info.Templates = slices.Clone(info.Templates)
	if b.info != nil {
		info = b.info(info)
	}
	return info
}

func (b *broken) Attach(events provider.Events) {
	if b.attach != nil {
		b.attach(events)
	}
	b.Provider.Attach(events)
}

func (b *broken) Read(ctx context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
	res, err := b.Provider.Read(ctx, req)
	if b.read != nil {
		return b.read(ctx, req, res, err)
	}
	return res, err
}

func (b *broken) List(ctx context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
	res, err := b.Provider.List(ctx, req)
	if err == nil && b.list != nil {
		return b.list(req, res)
	}
	return res, err
}

func (b *broken) Complete(ctx context.Context, req *provider.CompleteRequest) (*provider.CompleteResult, error) {
	res, err := b.Provider.Complete(ctx, req)
	if b.complete != nil {
		return b.complete(ctx, req, res)
	}
	return res, err
}

func (b *broken) Watch(ctx context.Context, uri string) error {
	if b.watch != nil {
		return b.watch(ctx, uri)
	}
	return b.Provider.Watch(ctx, uri)
}

func (b *broken) Unwatch(uri string) {
	if b.unwatch != nil {
		b.unwatch(uri)
	}
}

func (b *broken) Close(ctx context.Context) error {
	if b.closing != nil {
		return b.closing()
	}
	return b.Provider.Close(ctx)
}

// asks is a read that asks and, when there are answers, fails.
func asks(in provider.InputRequired, failure error) func(context.Context, *provider.ReadRequest, *provider.ReadResult, error) (*provider.ReadResult, error) {
	return func(_ context.Context, req *provider.ReadRequest, res *provider.ReadResult, err error) (*provider.ReadResult, error) {
		if len(req.Inputs) > 0 {
			return nil, failure
		}
		return &provider.ReadResult{Input: &in}, err
	}
}

func good(t *testing.T) *memprovider.Provider {
	t.Helper()
	p, err := memprovider.New("mem", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a", "b", "c/d", "e é"} {
		content := provider.Content{MIMEType: "text/plain", Text: true, Body: []byte("text of " + path), Meta: provider.JSON(`{"k":1}`)}
		if err := p.Set(path, provider.Resource{Meta: provider.JSON(`{"l":1}`)}, content); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// faults runs one check and returns what it reports.
func faults(t *testing.T, name string, b provider.Provider, opts *Options) string {
	t.Helper()
	at := slices.IndexFunc(checks(), func(c check) bool { return c.name == name })
	if at < 0 {
		t.Fatalf("no check is called %q", name)
	}
	var mu sync.Mutex // guards reports
	var reports []string
	k := &kit{ctx: t.Context(), opts: opts.withDefaults(), create: func() provider.Provider { return b }}
	k.report = func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		reports = append(reports, fmt.Sprintf(format, args...))
	}
	checks()[at].run(k)
	k.close()
	return strings.Join(reports, "\n")
}

func TestGoodProviderPasses(t *testing.T) {
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			if got := faults(t, c.name, &broken{Provider: good(t)}, nil); got != "" {
				t.Errorf("reports on a good provider:\n%s", got)
			}
		})
	}
}

func contents(c ...provider.Content) *provider.ReadResult { return &provider.ReadResult{Contents: c} }

// onSuccess changes results and leaves errors.
func onSuccess(change func(*provider.ReadRequest, *provider.ReadResult) *provider.ReadResult) func(context.Context, *provider.ReadRequest, *provider.ReadResult, error) (*provider.ReadResult, error) {
	return func(_ context.Context, req *provider.ReadRequest, res *provider.ReadResult, err error) (*provider.ReadResult, error) {
		if err != nil {
			return nil, err
		}
		return change(req, res), nil
	}
}

// changeTemplate changes the first template.
func changeTemplate(change func(*provider.Template)) func(provider.Info) provider.Info {
	return func(info provider.Info) provider.Info {
		change(&info.Templates[0])
		return info
	}
}

// TestBrokenProvidersFail shows that each check can fail, and says what is wrong.
func TestBrokenProvidersFail(t *testing.T) {
	short := &Options{Patience: 30 * time.Millisecond, MaxListed: 50}
	var kept []byte
	var flip, calls atomic.Int64
	var sunk provider.Events
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	tests := []struct {
		name, check, want string
		b                 broken
		opts              *Options
	}{
		{name: "a bad name", check: "info", want: `Info.Name "a/b"`, b: broken{info: func(i provider.Info) provider.Info { i.Name = "a/b"; return i }}},
		{name: "no schemes", check: "info", want: "Info.Schemes is empty", b: broken{info: func(i provider.Info) provider.Info { i.Schemes = nil; return i }}},
		{name: "an upper-case scheme", check: "info", want: `"MEM" is no URI scheme in lower case`, b: broken{info: func(i provider.Info) provider.Info { i.Schemes = []string{"mem", "MEM"}; return i }}},
		{name: "a foreign prefix", check: "info", want: `Info.Only: "x://" has a scheme`, b: broken{info: func(i provider.Info) provider.Info { i.Only = []string{"x://"}; return i }}},
		{name: "facts that change", check: "info", want: "Info differs", b: broken{info: func(i provider.Info) provider.Info { i.Version = fmt.Sprint(calls.Add(1)); return i }}},
		{name: "a template that cannot be matched", check: "info", want: "nothing tells where one ends", b: broken{info: changeTemplate(func(t *provider.Template) { t.URITemplate = "mem://{a}{b}" })}},
		{name: "a template of another scheme", check: "info", want: "x://{+path} has a scheme", b: broken{info: changeTemplate(func(t *provider.Template) { t.URITemplate = "x://{+path}" })}},
		{name: "a variable too many", check: "info", want: `Vars names "path", which the template does not have`, b: broken{info: changeTemplate(func(t *provider.Template) { t.URITemplate = "mem://{+p}" })}},
		{name: "a variable too few", check: "info", want: `Vars lacks "path"`, b: broken{info: changeTemplate(func(t *provider.Template) { t.Vars = nil })}},
		{name: "a template without a name", check: "info", want: "has no name", b: broken{info: changeTemplate(func(t *provider.Template) { t.Name = "" })}},
		{name: "a direct resource twice", check: "info", want: `"mem://x" stands twice`, b: broken{info: func(i provider.Info) provider.Info {
			i.Resources = []provider.Resource{{URI: "mem://x", Name: "x"}, {URI: "mem://x", Name: "x"}}
			return i
		}}},
		{name: "a priority out of range", check: "info", want: "priority 2 is not from 0 to 1", b: broken{info: func(i provider.Info) provider.Info {
			two := 2.0
			i.Resources = []provider.Resource{{URI: "mem://x", Name: "x", Annotations: &provider.Annotations{Priority: &two}}}
			return i
		}}},
		{name: "a script icon", check: "info", want: "neither an https nor a data URI", b: broken{info: changeTemplate(func(t *provider.Template) { t.Icons = []provider.Icon{{Src: "javascript:alert(1)"}} })}},
		{name: "meta that is no object", check: "info", want: "Meta is no JSON object", b: broken{info: changeTemplate(func(t *provider.Template) { t.Meta = provider.JSON(`[1]`) })}},

		{name: "a page too large", check: "list", want: "4 resources for PageSize 1", b: broken{list: func(_ *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
			for len(res.Resources) < 4 {
				res.Resources = append(res.Resources, res.Resources[0])
			}
			return res, nil
		}}},
		{name: "a cursor for ever", check: "list", want: "a second time: the walk does not end", b: broken{list: func(_ *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
			res.Next = []byte("same")
			return res, nil
		}}},
		{name: "a list without end", check: "list", want: "List goes on after", opts: short, b: broken{list: func(_ *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
			res.Next = fmt.Append(nil, calls.Add(1))
			return res, nil
		}}},
		{name: "an empty cursor", check: "list", want: "empty but not nil", b: broken{list: func(_ *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
			if res.Next == nil {
				res.Next = []byte{}
			}
			return res, nil
		}}},
		{name: "a cursor that repeats an item", check: "list", want: "stands twice", b: broken{list: func(req *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
			res.Resources = append(res.Resources, res.Resources[0])[:min(len(res.Resources)+1, req.PageSize)]
			return res, nil
		}}},
		{name: "an order that changes", check: "list", want: "the order is not stable", b: broken{list: func(_ *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
			if flip.Add(1)%2 == 0 {
				slices.Reverse(res.Resources)
			}
			return res, nil
		}}},
		{name: "a page that loses an item", check: "list", want: "in a walk with PageSize 1", b: broken{list: func(req *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
			if req.PageSize == 1 && res.Next == nil {
				res.Resources = nil
			}
			return res, nil
		}}},
		{name: "a listed URI that is not normalised", check: "list", want: `"mem://%61" is not normalised`, b: broken{list: func(_ *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
			if res.Resources[0].URI == "mem://a" {
				res.Resources[0].URI = "mem://%61"
			}
			return res, nil
		}}},
		{name: "a listed URI that routes nowhere", check: "list", want: "mem:a matches neither", b: broken{list: func(_ *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
			res.Resources[0].URI = "mem:a"
			return res, nil
		}}},
		{name: "a listed resource without a name", check: "list", want: "has no name", b: broken{list: func(_ *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
			res.Resources[0].Name = ""
			return res, nil
		}}},
		{name: "neither page nor error", check: "list", want: "neither a result nor an error", b: broken{list: func(*provider.ListRequest, *provider.ListResult) (*provider.ListResult, error) { return nil, nil }}},

		{name: "a listed resource that is gone", check: "read", want: "Read of mem://b: not_found", b: broken{read: func(_ context.Context, req *provider.ReadRequest, res *provider.ReadResult, err error) (*provider.ReadResult, error) {
			if req.URI == "mem://b" {
				return nil, provider.Errorf(provider.NotFound, "gone")
			}
			return res, err
		}}},
		{name: "neither contents nor error", check: "read", want: "neither a result nor an error", b: broken{read: onSuccess(func(*provider.ReadRequest, *provider.ReadResult) *provider.ReadResult { return nil })}},
		{name: "no contents", check: "read", want: "returns no contents", b: broken{read: onSuccess(func(*provider.ReadRequest, *provider.ReadResult) *provider.ReadResult { return contents() })}},
		{name: "text that is not UTF-8", check: "read", want: "not valid UTF-8", b: broken{read: onSuccess(func(_ *provider.ReadRequest, res *provider.ReadResult) *provider.ReadResult {
			res.Contents[0].Body = []byte("\xff")
			return res
		})}},
		{name: "another size than listed", check: "read", want: "is listed with size 9 and read with 10 bytes", b: broken{read: onSuccess(func(_ *provider.ReadRequest, res *provider.ReadResult) *provider.ReadResult {
			res.Contents[0].Body = append(res.Contents[0].Body, '\n')
			return res
		})}},
		{name: "another type than listed", check: "read", want: `is listed as "text/plain" and read as "text/html"`, b: broken{read: onSuccess(func(_ *provider.ReadRequest, res *provider.ReadResult) *provider.ReadResult {
			res.Contents[0].MIMEType = "text/html"
			return res
		})}},
		{name: "a part of a foreign scheme", check: "read", want: `URI "file:///etc/passwd" has a scheme`, b: broken{read: onSuccess(func(_ *provider.ReadRequest, res *provider.ReadResult) *provider.ReadResult {
			res.Contents[0].URI = "file:///etc/passwd"
			return res
		})}},
		{name: "an ETag that is no header value", check: "read", want: "not printable ASCII", b: broken{read: onSuccess(func(_ *provider.ReadRequest, res *provider.ReadResult) *provider.ReadResult {
			res.Contents[0].ETag = "a\nb"
			return res
		})}},
		{name: "not modified unasked", check: "read", want: "NotModified to a request without IfETag", b: broken{read: onSuccess(func(*provider.ReadRequest, *provider.ReadResult) *provider.ReadResult {
			return &provider.ReadResult{NotModified: true}
		})}},

		{name: "everything exists", check: "not found", want: "which does not exist, succeeds", b: broken{read: func(context.Context, *provider.ReadRequest, *provider.ReadResult, error) (*provider.ReadResult, error) {
			return contents(provider.Content{Text: true, Body: []byte("hello")}), nil
		}}},
		{name: "nothing in place of not found", check: "not found", want: "returns empty contents, not provider.NotFound", b: broken{read: func(context.Context, *provider.ReadRequest, *provider.ReadResult, error) (*provider.ReadResult, error) {
			return contents(), nil
		}}},
		{name: "another code", check: "not found", want: "fails with code internal, not not_found", b: broken{read: func(_ context.Context, _ *provider.ReadRequest, _ *provider.ReadResult, err error) (*provider.ReadResult, error) {
			return nil, fmt.Errorf("open: no such file")
		}}},

		{name: "over the limit", check: "limit", want: "with MaxBytes 4 succeeds, though it has 9 bytes", b: broken{read: func(_ context.Context, req *provider.ReadRequest, _ *provider.ReadResult, _ error) (*provider.ReadResult, error) {
			return contents(provider.Content{Body: []byte("text of x")}), nil
		}}},
		{name: "another code over the limit", check: "limit", want: "fails with code invalid, not too_large", b: broken{read: func(_ context.Context, _ *provider.ReadRequest, res *provider.ReadResult, err error) (*provider.ReadResult, error) {
			if err != nil {
				return nil, provider.Errorf(provider.Invalid, "too much")
			}
			return res, nil
		}}},
		{name: "always unmodified", check: "etag", want: "NotModified to an ETag that it never gave", b: broken{read: func(_ context.Context, req *provider.ReadRequest, res *provider.ReadResult, err error) (*provider.ReadResult, error) {
			return &provider.ReadResult{NotModified: req.IfETag != ""}, nil
		}}},

		{name: "a body that is shared", check: "results belong to the host", want: "changing a result changes the next one", b: broken{read: onSuccess(func(req *provider.ReadRequest, res *provider.ReadResult) *provider.ReadResult {
			if kept == nil {
				kept = res.Contents[0].Body
			}
			res.Contents[0].Body = kept
			return res
		})}},
		{name: "a request that is changed", check: "results belong to the host", want: "changes its request", b: broken{read: onSuccess(func(req *provider.ReadRequest, res *provider.ReadResult) *provider.ReadResult {
			req.Vars[0].Value = strings.ToLower("X" + req.Vars[0].Value)
			return res
		})}},
		{name: "a list that is shared", check: "results belong to the host", want: "List: changing a result changes the next one", b: func() broken {
			var shared *provider.ListResult
			return broken{list: func(_ *provider.ListRequest, res *provider.ListResult) (*provider.ListResult, error) {
				if shared == nil || len(res.Resources) > 2 {
					shared = res
				}
				return shared, nil
			}}
		}()},

		{name: "no completions where they are declared", check: "completions", want: `Complete of "path" in mem://{+path}`, b: broken{complete: func(context.Context, *provider.CompleteRequest, *provider.CompleteResult) (*provider.CompleteResult, error) {
			return nil, provider.Errorf(provider.Unsupported, "no")
		}}},
		{name: "a total below the values", check: "completions", want: "Total is 0 with", b: broken{complete: func(_ context.Context, _ *provider.CompleteRequest, res *provider.CompleteResult) (*provider.CompleteResult, error) {
			if res == nil {
				return nil, provider.Errorf(provider.Invalid, "no such variable")
			}
			res.Total = new(int64)
			return res, nil
		}}},
		{name: "more than it says (CMP-02)", check: "completions", want: "and HasMore is false", b: broken{complete: func(_ context.Context, _ *provider.CompleteRequest, res *provider.CompleteResult) (*provider.CompleteResult, error) {
			total := int64(500)
			return &provider.CompleteResult{Values: []string{"a"}, Total: &total}, nil
		}}},
		{name: "a value that no URI carries", check: "completions", want: `proposes "a?b", which no URI of the template carries`, b: broken{complete: func(_ context.Context, _ *provider.CompleteRequest, res *provider.CompleteResult) (*provider.CompleteResult, error) {
			return &provider.CompleteResult{Values: []string{"a?b"}}, nil
		}}},
		{name: "values for any variable", check: "completions", want: "for a variable that does not exist", b: broken{complete: func(_ context.Context, _ *provider.CompleteRequest, res *provider.CompleteResult) (*provider.CompleteResult, error) {
			return &provider.CompleteResult{Values: []string{"a"}}, nil
		}}},

		{name: "a question without a key", check: "input", want: "the key is empty", b: broken{read: asks(provider.InputRequired{
			Requests: []provider.InputRequest{{Method: "roots/list"}},
		}, nil)}},
		{name: "a question for a secret", check: "input", want: "never asks for a secret", b: broken{read: asks(provider.InputRequired{
			Requests: []provider.InputRequest{{Key: "k", Method: "elicitation/create", Params: provider.JSON(
				`{"message":"m","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}`)}},
		}, nil)}},
		{name: "a question and contents", check: "input", want: "asks for more and answers too", b: broken{read: func(_ context.Context, _ *provider.ReadRequest, res *provider.ReadResult, err error) (*provider.ReadResult, error) {
			res.Input = &provider.InputRequired{State: []byte("x")}
			return res, err
		}}},
		{name: "answers that are trusted", check: "input", want: "as if the provider were at fault", b: broken{read: asks(
			provider.InputRequired{Requests: []provider.InputRequest{{Key: "k", Method: "roots/list"}}}, fmt.Errorf("no roots"),
		)}},
		{name: "a state that is kept", check: "results belong to the host", want: "changing a state changes the next one", b: broken{read: asks(
			provider.InputRequired{State: []byte("always the same bytes")}, nil,
		)}},

		{name: "a watch that is refused", check: "watch", want: "a watched resource need not exist", b: broken{watch: func(context.Context, string) error {
			return provider.Errorf(provider.NotFound, "no such resource")
		}}},
		{name: "an unwatch that blocks", check: "watch", want: "blocks for more than 30ms", opts: short, b: broken{unwatch: func(uri string) {
			if uri == "mem://a" {
				time.Sleep(60 * time.Millisecond)
			}
		}}},
		{name: "an update of a URI that is none", check: "watch", want: `Events.Updated: URI "a"`, b: broken{
			attach: func(e provider.Events) { sunk = e },
			watch:  func(context.Context, string) error { sunk.Updated("a"); return nil },
		}},
		{name: "a read that does not listen", check: "cancellation", want: "goes on after its context is done for more than 30ms", opts: short, b: broken{read: func(_ context.Context, _ *provider.ReadRequest, res *provider.ReadResult, err error) (*provider.ReadResult, error) {
			time.Sleep(60 * time.Millisecond)
			return res, err
		}}},
		{name: "one call at a time", check: "concurrent use", want: "fails when others run beside it", b: broken{read: func(_ context.Context, _ *provider.ReadRequest, res *provider.ReadResult, err error) (*provider.ReadResult, error) {
			defer calls.Add(-1000)
			if calls.Add(1000) >= 2000 {
				return nil, provider.Errorf(provider.Internal, "busy")
			}
			time.Sleep(time.Millisecond)
			return res, err
		}}},
		{name: "never available to two", check: "concurrent use", want: "unavailable: busy", opts: short, b: broken{read: func(_ context.Context, _ *provider.ReadRequest, res *provider.ReadResult, err error) (*provider.ReadResult, error) {
			if calls.Add(1) > 50 {
				return nil, provider.Errorf(provider.Unavailable, "busy")
			}
			return res, err
		}}},
		{name: "a goroutine left behind", check: "close", want: "Close leaves 1 goroutines behind", opts: short, b: broken{closing: func() error {
			go func() { <-stop }()
			return nil
		}}},
		{name: "a close that fails", check: "close", want: "Close: busy", b: broken{closing: func() error { return fmt.Errorf("busy") }}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls.Store(0)
			b := tt.b
			b.Provider = good(t)
			if got := faults(t, tt.check, &b, tt.opts); !strings.Contains(got, tt.want) {
				t.Errorf("check %q reports %q, want a sentence with %q", tt.check, got, tt.want)
			}
		})
	}
}
