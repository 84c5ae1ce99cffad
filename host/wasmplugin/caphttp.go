package wasmplugin

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/netip"
	"time"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/wasmplugin/internal/fetch"
)

// guestHTTP answers reshost_http_v1.
type guestHTTP struct{ client *fetch.Client }

// maxHTTPRequest bounds the message that send takes, in bytes.
const maxHTTPRequest = 1 << 20

// Check returns what is wrong with a grant; nil when Load would take it.
func (g *HTTPGrant) Check() error {
	_, err := g.client()
	return err
}

// client makes what the grant allows.
func (g *HTTPGrant) client() (*fetch.Client, error) {
	cfg := &fetch.Config{MaxBody: g.MaxBody}
	for _, a := range g.Allow {
		r := fetch.Rule{Methods: a.Methods, URL: a.URL, Headers: map[string]fetch.Header{}}
		for name, h := range a.Headers {
			r.Headers[name] = fetch.Header(h)
		}
		cfg.Rules = append(cfg.Rules, r)
	}
	for i, text := range g.CIDR {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("cidr[%d]: %.80q is not a network such as 10.0.0.0/8", i, text)
		}
		cfg.Networks = append(cfg.Networks, p)
	}
	if g.CA != nil {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(g.CA) {
			return nil, errors.New("ca: there is no certificate in it (PEM)")
		}
		cfg.Roots = pool
	}
	return fetch.New(cfg)
}

func openHTTP(g *HTTPGrant) (*guestHTTP, error) {
	c, err := g.client()
	if err != nil {
		return nil, fmt.Errorf("grants.http: %w", err)
	}
	return &guestHTTP{c}, nil
}

func (g *guestHTTP) httpModule() hostModule {
	return hostModule{
		abi.ImportHTTPSend: {fn: g.send}, abi.ImportHTTPHead: {fn: blocking(g.head)},
		abi.ImportHTTPRead: {fn: blocking(g.read)}, abi.ImportHTTPClose: {fn: blocking(g.closeExchange)},
	}
}

// send is send(ptr, len) -> handle. It checks the request against the grant, and does not wait for the answer.
func (g *guestHTTP) send(ctx context.Context, c *call, m guestMemory, stack []uint64) {
	b := m.view(uint32(stack[0]), uint32(stack[1]))
	if !admit(c, stack) {
		return
	}
	if len(b) > maxHTTPRequest || !c.handles().room() {
		stack[0] = result(-int32(abi.StatusTooLarge))
		return
	}
	r, err := fetchRequest(b)
	if err != nil {
		stack[0] = c.fetchFailed(err, abi.StatusInvalid)
		return
	}
	x, err := g.client.Start(ctx, r, c.plugin.killed)
	if err != nil {
		stack[0] = c.fetchFailed(err, fetchStatus(err))
		return
	}
	stack[0] = result(c.handles().add(x))
}

// fetchRequest decodes an HTTPRequest.
func fetchRequest(b []byte) (*fetch.Request, error) {
	var req abi.HTTPRequest
	if err := req.Decode(string(b)); err != nil {
		return nil, err
	}
	r := &fetch.Request{Method: req.Method, URL: req.URL, Body: req.Body}
	if r.Method == "" {
		r.Method = "GET"
	}
	for _, h := range req.Headers {
		r.Headers = append(r.Headers, [2]string{h.Name, h.Value})
	}
	if req.TimeoutMillis > 0 {
		r.Timeout = time.Duration(min(req.TimeoutMillis, uint64(time.Hour/time.Millisecond))) * time.Millisecond
	}
	return r, nil
}

// fetchFailed says in the log why a request was not made, or not to its end; the guest learns the status alone.
func (c *call) fetchFailed(err error, status abi.Status) uint64 {
	c.plugin.log.line(slog.LevelWarn, "an http request failed", slog.String("export", c.export), slog.String("status", status.String()),
		slog.String("reason", safeText(err.Error(), abi.MaxLogLine)))
	return result(-int32(status))
}

func fetchStatus(err error) abi.Status {
	switch fetch.KindOf(err) {
	case fetch.Invalid:
		return abi.StatusInvalid
	case fetch.Denied:
		return abi.StatusDenied
	case fetch.TooLarge:
		return abi.StatusTooLarge
	}
	return abi.StatusUnavailable
}

// exchange returns what a handle stands for once its answer is there; nil where it stands for none.
func (c *call) exchange(ctx context.Context, handle uint32, stack []uint64) *fetch.Exchange {
	x, ok := c.handles().open[int32(handle)].(*fetch.Exchange)
	if !ok {
		stack[0] = result(-int32(abi.StatusInvalid))
		return nil
	}
	select {
	case <-x.Done():
	case <-ctx.Done():
	case <-c.plugin.killed:
	}
	c.check(ctx)
	return x
}

// head is head(h, buf, cap) -> the length of the HTTPResponse, for which it waits.
func (g *guestHTTP) head(ctx context.Context, c *call, m guestMemory, stack []uint64) {
	x := c.exchange(ctx, uint32(stack[0]), stack)
	if x == nil {
		return
	}
	head, err := x.Head()
	if err != nil {
		stack[0] = c.fetchFailed(err, fetchStatus(err))
		return
	}
	msg := abi.HTTPResponse{Status: uint64(head.Status), URL: head.URL}
	for _, h := range head.Headers {
		msg.Headers = append(msg.Headers, abi.Var{Name: h[0], Value: h[1]})
	}
	stack[0] = result(m.fill(uint32(stack[1]), uint32(stack[2]), msg.Append(nil)))
}

// read is read(h, buf, cap) -> how many bytes of the body were written; 0 is the end. It waits until there are some.
func (g *guestHTTP) read(ctx context.Context, c *call, m guestMemory, stack []uint64) {
	b := m.view(uint32(stack[1]), uint32(stack[2]))
	x := c.exchange(ctx, uint32(stack[0]), stack)
	if x == nil {
		return
	}
	b = b[:min(len(b), math.MaxInt32)]
	if len(b) == 0 {
		stack[0] = 0
		return
	}
	n, err := x.Read(b)
	if n == 0 && err != nil && !errors.Is(err, io.EOF) {
		c.check(ctx)
		stack[0] = c.fetchFailed(err, fetchStatus(err))
		return
	}
	stack[0] = result(int32(n))
}

// closeExchange is close(h).
func (g *guestHTTP) closeExchange(_ context.Context, c *call, _ guestMemory, stack []uint64) {
	handle := int32(uint32(stack[0]))
	x, ok := c.handles().open[handle].(*fetch.Exchange)
	if !ok {
		stack[0] = result(-int32(abi.StatusInvalid))
		return
	}
	delete(c.handles().open, handle)
	x.Close()
	stack[0] = 0
}
