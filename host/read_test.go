package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

func TestReadRoutes(t *testing.T) {
	wide := &fake{info: provider.Info{
		Name: "wide", Schemes: []string{"docs", "cat"},
		Resources: []provider.Resource{
			{URI: "docs://index", Name: "index"},
			{URI: "docs://README.md", Name: "a direct one that a template matches too"},
			{URI: "docs://Acme.Example/Top", Name: "an authority"},
		},
		Templates: []provider.Template{
			template("docs://{name}", "name"),
			template("docs://x-{name}", "name"),
			template("docs://acme.example/{+path}", "path"),
			template("docs://acme.example/special/{page}", "page"),
			template("cat://list{?page,limit}", "page", "limit"),
		},
	}}
	narrow := &fake{info: provider.Info{
		Name: "narrow", Schemes: []string{"docs"}, Only: []string{"docs://acme.example/team/"},
		Templates: []provider.Template{template("docs://acme.example/team/{who}", "who")},
	}}
	h := newHost(t, nil, wide, narrow)

	tests := []struct {
		name, uri string
		want      string // what the provider saw
		code      string // or the code
	}{
		{name: "direct", uri: "docs://index", want: `docs://index template="" vars=[]`},
		{name: "a direct one before a template (L4)", uri: "docs://readme.MD", want: `docs://README.md template="" vars=[]`},
		{name: "template", uri: "docs://a.md", want: `docs://a.md template="docs://{name}" vars=[{name a.md}]`},
		{name: "the scheme folds", uri: "DOCS://a.md", want: `docs://a.md template="docs://{name}" vars=[{name a.md}]`},
		{name: "an authority that is a variable keeps its case", uri: "docs://A.md", want: `docs://A.md template="docs://{name}" vars=[{name A.md}]`},
		{name: "a literal authority folds", uri: "docs://ACME.example/A", want: `docs://acme.example/A template="docs://acme.example/{+path}" vars=[{path A}]`},
		{name: "a direct resource's authority folds, its path does not", uri: "docs://acme.EXAMPLE/Top", want: `docs://Acme.Example/Top template="" vars=[]`},
		{name: "more literal characters win", uri: "docs://x-1", want: `docs://x-1 template="docs://x-{name}" vars=[{name 1}]`},
		{name: "more literal characters win in a path", uri: "docs://acme.example/special/1", want: `docs://acme.example/special/1 template="docs://acme.example/special/{page}" vars=[{page 1}]`},
		{name: "a space is data (URI-09)", uri: "docs://a%20b.md", want: `docs://a%20b.md template="docs://{name}" vars=[{name a b.md}]`},
		{name: "a raw space is encoded", uri: "docs://a b.md", want: `docs://a%20b.md template="docs://{name}" vars=[{name a b.md}]`},
		{name: "query variables in any order (TPL-01)", uri: "cat://list?limit=5&page=2", want: `cat://list?page=2&limit=5 template="cat://list{?page,limit}" vars=[{page 2} {limit 5}]`},
		{name: "the narrower claim", uri: "docs://acme.example/team/ann", want: `docs://acme.example/team/ann template="docs://acme.example/team/{who}" vars=[{who ann}]`},
		{name: "the narrower claim, authority in capitals", uri: "docs://ACME.example/team/ann", want: `docs://acme.example/team/ann template="docs://acme.example/team/{who}" vars=[{who ann}]`},
		{name: "what the narrower claim does not serve is nobody's", uri: "docs://acme.example/team/ann/x", code: "not_found"},
		{name: "no such scheme", uri: "other://a", code: "not_found"},
		{name: "nothing matches", uri: "docs://a/b", code: "not_found"},
		{name: "decoded slash (TPL-09)", uri: "docs://..%2Fa", code: "not_found"},
		{name: "decoded backslash (TPL-09)", uri: "docs://..%5Ca", code: "not_found"},
		{name: "an unknown query variable", uri: "cat://list?other=1", code: "not_found"},
		{name: "relative", uri: "a/b", code: "invalid"},
		{name: "empty", uri: "", code: "invalid"},
		{name: "fragment (TPL-17)", uri: "docs://a#b", code: "invalid"},
		{name: "userinfo (URI-04)", uri: "docs://u:p@a", code: "invalid"},
		{name: "NUL (URI-06)", uri: "docs://a%00", code: "invalid"},
		{name: "raw NUL (URI-06)", uri: "docs://a\x00", code: "invalid"},
		{name: "too long", uri: "docs://" + strings.Repeat("a", 8<<10), code: "invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, err := h.Read(t.Context(), nil, tt.uri)
			if tt.code != "" {
				if got := codeOf(err); got != tt.code {
					t.Fatalf("code %s, want %s (%v)", got, tt.code, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := string(res.Contents[0].Body); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if got := res.Contents[0].URI; got != tt.uri {
				t.Errorf("the URI is not echoed as sent: got %q, want %q", got, tt.uri)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	var log logBuffer
	p := docs("docs")
	var answer error
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) { return nil, answer }
	h := newHost(t, &host.Options{Logger: log.logger()}, p)

	cause := errors.New("secret cause")
	tests := []struct {
		name  string
		err   error
		want  provider.Error
		log   string
		level string
	}{
		{
			name: "not found", err: provider.Wrap(provider.NotFound, cause, "no such row"),
			want: provider.Error{Code: provider.NotFound, Message: "resource not found"}, log: "not_found", level: "INFO",
		},
		{
			name: "denied reads as not found (R2)", err: provider.Wrap(provider.Denied, cause, "keep out"),
			want: provider.Error{Code: provider.NotFound, Message: "resource not found"}, log: "denied", level: "WARN",
		},
		{
			name: "invalid shows its sentence", err: provider.Wrap(provider.Invalid, cause, "page must be a number"),
			want: provider.Error{Code: provider.Invalid, Message: "page must be a number"}, log: "invalid", level: "INFO",
		},
		{
			name: "unavailable keeps RetryAfter", err: &provider.Error{Code: provider.Unavailable, Err: cause, RetryAfter: time.Second},
			want: provider.Error{Code: provider.Unavailable, Message: "not available now", RetryAfter: time.Second}, log: "unavailable", level: "WARN",
		},
		{
			name: "too large keeps Limit", err: &provider.Error{Code: provider.TooLarge, Err: cause, Message: "big", Limit: 7},
			want: provider.Error{Code: provider.TooLarge, Message: "big", Limit: 7}, log: "too_large", level: "INFO",
		},
		{
			name: "detail", err: &provider.Error{Code: provider.Invalid, Err: cause, Message: "m", Detail: provider.JSON(`{"a":1}`)},
			want: provider.Error{Code: provider.Invalid, Message: "m", Detail: provider.JSON(`{"a":1}`)}, log: "invalid", level: "INFO",
		},
		{
			name: "a broken detail is dropped", err: &provider.Error{Code: provider.Invalid, Err: cause, Message: "m", Detail: provider.JSON(`{"a":1,"a":2}`)},
			want: provider.Error{Code: provider.Invalid, Message: "m"}, log: "invalid", level: "INFO",
		},
		{
			name: "unsupported", err: provider.Wrap(provider.Unsupported, cause, ""),
			want: provider.Error{Code: provider.Unsupported, Message: "not supported"}, log: "unsupported", level: "INFO",
		},
		{
			name: "internal hides its sentence", err: provider.Wrap(provider.Internal, cause, "db at 10.0.0.1"),
			want: provider.Error{Code: provider.Internal, Message: "internal error"}, log: "internal", level: "ERROR",
		},
		{
			name: "any other error is internal", err: cause,
			want: provider.Error{Code: provider.Internal, Message: "internal error"}, log: "internal", level: "ERROR",
		},
		{
			name: "a code from the future is internal", err: provider.Wrap(provider.Code(200), cause, "x"),
			want: provider.Error{Code: provider.Internal, Message: "internal error"}, log: "code(200)", level: "ERROR",
		},
		{
			name: "canceled, and nobody left", err: provider.Wrap(provider.Canceled, cause, ""),
			want: provider.Error{Code: provider.Internal, Message: "internal error"}, log: "internal", level: "ERROR",
		},
		{
			name: "a long sentence is cut, its control characters go", err: provider.Wrap(provider.Invalid, cause, "a\x1b[31m"+strings.Repeat("é", 1000)),
			want: provider.Error{Code: provider.Invalid, Message: "a[31m" + strings.Repeat("é", 509)}, log: "invalid", level: "INFO",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer = tt.err
			log.buf.Reset()
			_, err := h.Read(t.Context(), nil, "docs://a")
			got, ok := err.(*provider.Error)
			if !ok {
				t.Fatalf("got %T %v, want *provider.Error", err, err)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			lines := log.lines()
			if len(lines) != 1 {
				t.Fatalf("%d log lines, want 1: %v", len(lines), lines)
			}
			for _, want := range []string{"code=" + tt.log, "level=" + tt.level, "provider=docs", "uri=docs://a", "secret cause"} {
				if !strings.Contains(lines[0], want) {
					t.Errorf("the log line lacks %q: %s", want, lines[0])
				}
			}
		})
	}
}

func TestReadChecksResults(t *testing.T) {
	p := docs("docs")
	var answer *provider.ReadResult
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) { return answer, nil }
	other := &fake{info: provider.Info{
		Name: "other", Schemes: []string{"other"}, Templates: []provider.Template{template("other://{x}", "x")},
	}}
	h := newHost(t, &host.Options{Limits: host.Limits{ReadItems: 3, ReadBytes: 10}}, p, other)

	parts := func(cs ...provider.Content) *provider.ReadResult { return &provider.ReadResult{Contents: cs} }
	tests := []struct {
		name  string
		give  *provider.ReadResult
		code  string
		limit int64
		uris  []string
	}{
		{name: "nil", code: "internal"},
		{name: "no contents (R2)", give: parts(), code: "internal"},
		{name: "not modified, not asked", give: &provider.ReadResult{NotModified: true}, code: "internal"},
		{name: "text", give: parts(provider.Content{Text: true, Body: []byte("é")}), code: "ok", uris: []string{"DOCS://A"}},
		{name: "empty text", give: parts(provider.Content{Text: true}), code: "ok", uris: []string{"DOCS://A"}},
		{name: "text that is not UTF-8 (R1)", give: parts(provider.Content{Text: true, Body: []byte{0xff}}), code: "internal"},
		{name: "bytes", give: parts(provider.Content{Body: []byte{0xff}}), code: "ok", uris: []string{"DOCS://A"}},
		{name: "a bad media type", give: parts(provider.Content{MIMEType: "text"}), code: "internal"},
		{name: "a media type with a parameter", give: parts(provider.Content{MIMEType: "text/plain; charset=utf-8"}), code: "ok", uris: []string{"DOCS://A"}},
		{name: "a media type that splits lines", give: parts(provider.Content{MIMEType: "text/plain\r\nX: y"}), code: "internal"},
		{name: "a bad etag", give: parts(provider.Content{ETag: "\n"}), code: "internal"},
		{name: "a meta that is no object", give: parts(provider.Content{Meta: provider.JSON(`[]`)}), code: "internal"},
		{name: "a meta with a name twice", give: parts(provider.Content{Meta: provider.JSON(`{"a":1,"a":2}`)}), code: "internal"},
		{name: "a deep meta", give: parts(provider.Content{Meta: provider.JSON(`{"a":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`)}), code: "internal"},
		{name: "a meta", give: parts(provider.Content{Meta: provider.JSON(`{"a":{"b":[1]}}`)}), code: "ok", uris: []string{"DOCS://A"}},
		{
			name: "several parts; the requested one is spelled as sent", code: "ok", uris: []string{"DOCS://A", "docs://b", "DOCS://A"},
			give: parts(provider.Content{URI: "docs://A"}, provider.Content{URI: "docs://b"}, provider.Content{URI: "docs://%41"}),
		},
		{name: "a part of another provider", give: parts(provider.Content{URI: "other://b"}), code: "internal"},
		{name: "a part of nobody", give: parts(provider.Content{URI: "docs://b/c"}), code: "internal"},
		{name: "a part without a URI's form", give: parts(provider.Content{URI: "b"}), code: "internal"},
		{name: "too many parts", give: parts(provider.Content{}, provider.Content{}, provider.Content{}, provider.Content{}), code: "too_large", limit: 3},
		{name: "too many bytes", give: parts(provider.Content{Body: make([]byte, 6)}, provider.Content{Body: make([]byte, 5)}), code: "too_large", limit: 10},
		{name: "exactly as many bytes", give: parts(provider.Content{Body: make([]byte, 6)}, provider.Content{Body: make([]byte, 4)}), code: "ok", uris: []string{"DOCS://A", "DOCS://A"}},
		{name: "input, which is not served", give: &provider.ReadResult{Input: &provider.InputRequired{State: []byte("x")}}, code: "unsupported"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer = tt.give
			res, err := h.Read(t.Context(), nil, "DOCS://A")
			if got := codeOf(err); got != tt.code {
				t.Fatalf("code %s, want %s (%v)", got, tt.code, err)
			}
			if err != nil {
				if got := err.(*provider.Error).Limit; got != tt.limit {
					t.Errorf("limit %d, want %d", got, tt.limit)
				}
				return
			}
			var uris []string
			for _, c := range res.Contents {
				uris = append(uris, c.URI)
			}
			if diff := cmp.Diff(tt.uris, uris); diff != "" {
				t.Errorf("URIs (-want +got)\n%s", diff)
			}
		})
	}
}

func TestReadPanicIsOneRequests(t *testing.T) {
	var log logBuffer
	p := docs("docs")
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		if req.URI == "docs://boom" {
			panic("at the disco")
		}
		return text("fine"), nil
	}
	h := newHost(t, &host.Options{Logger: log.logger()}, p)
	_, err := h.Read(t.Context(), nil, "docs://boom")
	if got := codeOf(err); got != "internal" {
		t.Errorf("code %s, want internal", got)
	}
	if strings.Contains(err.Error(), "disco") {
		t.Errorf("the caller learns of the panic: %v", err)
	}
	if s := log.String(); !strings.Contains(s, "at the disco") || !strings.Contains(s, "read_test.go") {
		t.Errorf("the log lacks the panic or its stack: %s", s)
	}
	if _, err := h.Read(t.Context(), nil, "docs://x"); err != nil {
		t.Errorf("the next read: %v", err)
	}
}

func TestReadDeadline(t *testing.T) {
	wait := func(ctx context.Context, _ *provider.ReadRequest) (*provider.ReadResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	tests := []struct {
		name  string
		ctx   func() (context.Context, context.CancelFunc)
		limit time.Duration
		want  string
		after time.Duration
	}{
		{
			name: "the default", want: "timeout", after: 10 * time.Second,
			ctx: func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) },
		},
		{
			name: "a limit", limit: time.Second, want: "timeout", after: time.Second,
			ctx: func() (context.Context, context.CancelFunc) { return context.WithCancel(context.Background()) },
		},
		{
			name: "off: the caller's counts", limit: -1, want: "timeout", after: time.Hour,
			ctx: func() (context.Context, context.CancelFunc) {
				return context.WithTimeout(context.Background(), time.Hour)
			},
		},
		{
			name: "the caller leaves", want: "canceled", after: time.Second,
			ctx: func() (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(time.Second, cancel)
				return ctx, cancel
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := docs("docs")
				p.read = wait
				h := newHost(t, &host.Options{Limits: host.Limits{Call: tt.limit}}, p)
				ctx, cancel := tt.ctx()
				defer cancel()
				start := time.Now()
				_, err := h.Read(ctx, nil, "docs://a")
				if got := codeOf(err); got != tt.want {
					t.Errorf("code %s, want %s", got, tt.want)
				}
				if got := time.Since(start); got != tt.after {
					t.Errorf("after %v, want %v", got, tt.after)
				}
			})
		})
	}
}

// A request reaches the provider with what it needs and nothing that was not granted.
func TestReadRequest(t *testing.T) {
	p := docs("docs")
	var got *provider.ReadRequest
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		got = req
		return text("x"), nil
	}
	h := newHost(t, &host.Options{Limits: host.Limits{ReadBytes: 99}}, p)
	who := &host.Principal{Issuer: "i", Subject: "s"}
	if _, err := h.Read(t.Context(), who, "docs://%61"); err != nil {
		t.Fatal(err)
	}
	want := &provider.ReadRequest{
		Caller: provider.Caller{Principal: who}, URI: "docs://a", Template: "docs://{name}", TemplateIndex: 0,
		Vars: []provider.Var{{Name: "name", Value: "a"}}, MaxBytes: 99,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := h.Read(t.Context(), nil, "docs://index"); err != nil {
		t.Fatal(err)
	}
	if got.Template != "" || got.TemplateIndex != -1 || got.Vars != nil || !got.Principal.Anonymous() {
		t.Errorf("a direct resource's request: %+v", got)
	}
}

func TestCacheHint(t *testing.T) {
	const day = 24 * time.Hour
	allow := policyFunc(func(*host.PolicyRequest) bool { return true })
	tests := []struct {
		name   string
		rules  host.CacheRules
		policy host.Policy
		info   func(*provider.Info)
		give   provider.Cache
		want   host.CacheHint
	}{
		{name: "strict by default"},
		{name: "public is not believed", give: provider.Cache{TTL: time.Second, Set: true, Public: true}, want: host.CacheHint{TTL: time.Second}},
		{name: "public where allowed", rules: host.CacheRules{Public: []string{"docs"}}, give: provider.Cache{Public: true}, want: host.CacheHint{Public: true}},
		{name: "public for another scheme", rules: host.CacheRules{Public: []string{"x"}}, give: provider.Cache{Public: true}},
		{name: "allowed, and not said", rules: host.CacheRules{Public: []string{"docs"}}},
		{name: "never under a policy (CCH-04)", rules: host.CacheRules{Public: []string{"docs"}}, policy: allow, give: provider.Cache{Public: true}},
		{
			name: "never from one that sees the caller (CCH-04)", rules: host.CacheRules{Public: []string{"docs"}},
			info: func(i *provider.Info) { i.SeesCaller = true }, give: provider.Cache{Public: true},
		},
		{
			name: "never from one that sees _meta", rules: host.CacheRules{Public: []string{"docs"}},
			info: func(i *provider.Info) { i.MetaKeys = []string{"x"} }, give: provider.Cache{Public: true},
		},
		{name: "default ttl", rules: host.CacheRules{TTL: time.Minute}, want: host.CacheHint{TTL: time.Minute}},
		{name: "a said 0 is not the default", rules: host.CacheRules{TTL: time.Minute}, give: provider.Cache{Set: true}},
		{name: "floor", rules: host.CacheRules{Min: time.Minute}, give: provider.Cache{Set: true}, want: host.CacheHint{TTL: time.Minute}},
		{name: "ceiling", rules: host.CacheRules{Max: time.Minute}, give: provider.Cache{Set: true, TTL: time.Hour}, want: host.CacheHint{TTL: time.Minute}},
		{name: "negative (CCH-04)", give: provider.Cache{Set: true, TTL: -1}},
		{name: "huge (CCH-04)", give: provider.Cache{Set: true, TTL: 1<<63 - 1}, want: host.CacheHint{TTL: day}},
		{name: "no ceiling", rules: host.CacheRules{Max: -1}, give: provider.Cache{Set: true, TTL: 9 * day}, want: host.CacheHint{TTL: 9 * day}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := docs("docs")
			if tt.info != nil {
				tt.info(&p.info)
			}
			p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
				res := text("x")
				res.Cache = tt.give
				return res, nil
			}
			h := newHost(t, &host.Options{Policy: tt.policy})
			if err := h.Add(p, &host.ProviderOptions{Cache: &tt.rules}); err != nil {
				t.Fatal(err)
			}
			res, err := h.Read(t.Context(), nil, "docs://a")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, res.Cache); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		opts host.Options
		want string
	}{
		{name: "page size", opts: host.Options{PageSize: -1}, want: "page size"},
		{name: "page size", opts: host.Options{PageSize: 10001}, want: "page size"},
		{name: "key", opts: host.Options{Keys: [][]byte{[]byte("short")}}, want: "key 1"},
		{name: "public URL", opts: host.Options{PublicURL: "mcp.example"}, want: "public URL"},
		{name: "floor", opts: host.Options{Cache: host.CacheRules{Min: 2, Max: 1}}, want: "floor"},
		{name: "ttl", opts: host.Options{Cache: host.CacheRules{TTL: -1}}, want: "ttl"},
		{name: "revision", opts: host.Options{Revisions: []string{"1999-01-01"}}, want: "1999-01-01"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := host.New(&tt.opts)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error that names %q", err, tt.want)
			}
		})
	}
	for _, opts := range []*host.Options{nil, {}} {
		h, err := host.New(opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestTwoHosts(t *testing.T) {
	for i := range 2 {
		p := docs("docs")
		p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
			return text(fmt.Sprint(i)), nil
		}
		h := newHost(t, nil, p)
		defer func() {
			res, err := h.Read(t.Context(), nil, "docs://a")
			if err != nil || string(res.Contents[0].Body) != fmt.Sprint(i) {
				t.Errorf("host %d: %v, %v", i, res, err)
			}
		}()
	}
}
