package httpd_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/reshost/reshost/host/internal/httpd"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// backend answers reads by a function and has nothing else.
type backend struct {
	read func(ctx context.Context, c *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error)
	feed *feed
}

func (b *backend) Features(context.Context, *mcp.Caller) mcp.Features {
	return mcp.Features{Subscribe: b.feed != nil, ListChanged: b.feed != nil}
}

func (b *backend) ListResources(context.Context, *mcp.Caller, *string) (*mcp.ResourcePage, error) {
	return &mcp.ResourcePage{}, nil
}

func (b *backend) ListTemplates(context.Context, *mcp.Caller, *string) (*mcp.TemplatePage, error) {
	return &mcp.TemplatePage{}, nil
}

func (b *backend) Read(ctx context.Context, c *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
	if b.read != nil {
		return b.read(ctx, c, p)
	}
	return text(p.URI, "content"), nil
}

func (b *backend) Complete(context.Context, *mcp.Caller, *mcp.CompleteParams) (*mcp.Completion, error) {
	return nil, provider.Errorf(provider.Invalid, "no templates")
}

func (b *backend) Listen(context.Context, *mcp.Caller, bool) (mcp.Subscription, error) {
	if b.feed == nil {
		return nil, provider.Errorf(provider.Unsupported, "nothing to listen to")
	}
	return b.feed, nil
}

// feed is a subscription to whatever the test sends.
type feed struct {
	changes chan mcp.Change
	closed  chan error
}

func newFeed() *feed { return &feed{changes: make(chan mcp.Change), closed: make(chan error, 1)} }

func (f *feed) Attach(_ context.Context, uris []string) []error { return make([]error, len(uris)) }
func (f *feed) Detach(string)                                   {}
func (f *feed) Return(mcp.Change)                               {}
func (f *feed) Close(err error)                                 { f.closed <- err }

func (f *feed) Next(ctx context.Context) (mcp.Change, error) {
	select {
	case c, ok := <-f.changes:
		if !ok {
			return c, mcp.ErrEnded
		}
		return c, nil
	case <-ctx.Done():
		return mcp.Change{}, ctx.Err()
	}
}

func text(uri, s string) *mcp.ReadResult {
	return &mcp.ReadResult{Contents: []provider.Content{{URI: uri, MIMEType: "text/plain", Text: true, Body: []byte(s)}}}
}

func server(b *backend) *mcp.Server { return mcp.NewServer(b, nil) }

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func readBody(id, uri string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"resources/read","params":{"uri":%q,%s}}`, id, uri, meta)
}

// readRequest is a complete and correct read of docs://a.
func readRequest() *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(readBody("1", "docs://a")))
	setHeaders(r.Header, "docs://a")
	return r
}

func setHeaders(h http.Header, name string) {
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("MCP-Protocol-Version", "2026-07-28")
	h.Set("Mcp-Method", "resources/read")
	h.Set("Mcp-Name", name)
}

// serve returns the answer; its Code is 0 where the connection is closed without one.
func serve(h http.Handler, r *http.Request) (w *httptest.ResponseRecorder) {
	w = httptest.NewRecorder()
	defer func() {
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler {
				panic(v)
			}
			w.Code = 0
		}
	}()
	h.ServeHTTP(w, r)
	return w
}

// network is an http.Server on connections in memory.
type network struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *network) Close() error   { n.once.Do(func() { close(n.done) }); return nil }
func (n *network) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (n *network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case n.conns <- server:
		return client, nil
	case <-n.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// start serves h in memory until the returned function is called; http2 is HTTP/2 without TLS.
func start(t testing.TB, h http.Handler, http2 bool) (*http.Client, *network, func()) {
	t.Helper()
	n := &network{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := httpd.NewServer(h)
	transport := &http.Transport{DialContext: n.dial}
	if http2 {
		srv.Protocols, transport.Protocols = new(http.Protocols), new(http.Protocols)
		srv.Protocols.SetUnencryptedHTTP2(true)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(n) }()
	return &http.Client{Transport: transport}, n, func() {
		transport.CloseIdleConnections()
		srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	}
}

func post(ctx context.Context, c *http.Client, id, uri string) (*http.Response, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", strings.NewReader(readBody(id, uri)))
	if err != nil {
		return nil, "", err
	}
	setHeaders(r.Header, uri)
	resp, err := c.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}
