package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a provider made of functions; what is nil is not supported.
type fake struct {
	provider.Unimplemented
	info     provider.Info
	read     func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error)
	list     func(context.Context, *provider.ListRequest) (*provider.ListResult, error)
	complete func(context.Context, *provider.CompleteRequest) (*provider.CompleteResult, error)
	closing  func(context.Context) error

	mu     sync.Mutex // guards info once the fake is added
	events provider.Events
	closed atomic.Int32
}

func (f *fake) Info() provider.Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.info
}

func (f *fake) setInfo(change func(*provider.Info)) {
	f.mu.Lock()
	change(&f.info)
	events := f.events
	f.mu.Unlock()
	events.ListChanged()
}

func (f *fake) Attach(e provider.Events) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = e
}

func (f *fake) Read(ctx context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
	if f.closed.Load() > 0 {
		return nil, errors.New("read after close")
	}
	if f.read == nil {
		return text(fmt.Sprintf("%s template=%q vars=%v", req.URI, req.Template, req.Vars)), nil
	}
	return f.read(ctx, req)
}

func (f *fake) List(ctx context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
	if f.list == nil {
		return f.Unimplemented.List(ctx, req)
	}
	return f.list(ctx, req)
}

func (f *fake) Complete(ctx context.Context, req *provider.CompleteRequest) (*provider.CompleteResult, error) {
	if f.complete == nil {
		return f.Unimplemented.Complete(ctx, req)
	}
	return f.complete(ctx, req)
}

func (f *fake) Close(ctx context.Context) error {
	f.closed.Add(1)
	if f.closing != nil {
		return f.closing(ctx)
	}
	return nil
}

func text(s string) *provider.ReadResult {
	return &provider.ReadResult{Contents: []provider.Content{{MIMEType: "text/plain", Text: true, Body: []byte(s)}}}
}

// docs is a fake with the template docs://{name} and the direct resource docs://index.
func docs(name string) *fake {
	return &fake{info: provider.Info{
		Name: name, Schemes: []string{"docs"},
		Resources: []provider.Resource{{URI: "docs://index", Name: "index"}},
		Templates: []provider.Template{template("docs://{name}", "name")},
	}}
}

func template(uri string, vars ...string) provider.Template {
	t := provider.Template{URITemplate: uri, Name: uri}
	for _, v := range vars {
		t.Vars = append(t.Vars, provider.TemplateVar{Name: v, Complete: true})
	}
	return t
}

// listing makes f list its names in pages of its own.
func listing(f *fake, names ...string) *fake {
	f.info.List = true
	f.list = func(_ context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
		from := 0
		if req.Cursor != nil {
			var err error
			if from, err = strconv.Atoi(string(req.Cursor)); err != nil {
				return nil, provider.Errorf(provider.Invalid, "a strange cursor")
			}
		}
		res := &provider.ListResult{}
		to := min(from+req.PageSize, len(names))
		for _, n := range names[from:to] {
			res.Resources = append(res.Resources, provider.Resource{URI: n, Name: n})
		}
		if to < len(names) {
			res.Next = []byte(strconv.Itoa(to))
		}
		return res, nil
	}
	return f
}

func numbered(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%04d", prefix, i)
	}
	return out
}

// newHost returns a host with these providers that is closed with the test.
func newHost(t testing.TB, opts *host.Options, providers ...provider.Provider) *host.Host {
	t.Helper()
	h, err := host.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, p := range providers {
		if err := h.Add(p, nil); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// logBuffer collects log lines.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func (b *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (b *logBuffer) lines() []string { return strings.Split(strings.TrimSpace(b.String()), "\n") }

// policyFunc is a policy made of a function.
type policyFunc func(*host.PolicyRequest) bool

func (f policyFunc) Allow(_ context.Context, r *host.PolicyRequest) bool { return f(r) }
func (policyFunc) Revision() string                                      { return "1" }

// codeOf is provider.CodeOf that tells success.
func codeOf(err error) string {
	if err == nil {
		return "ok"
	}
	return provider.CodeOf(err).String()
}
