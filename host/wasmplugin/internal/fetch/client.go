package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Config is what a plugin may fetch.
type Config struct {
	// Rules allow requests: one that no rule covers is refused. The first that covers a request counts.
	Rules []Rule
	// Networks are reachable although they are not public.
	Networks []netip.Prefix
	// Roots are the certificate authorities that are trusted; nil: the system's.
	Roots *x509.CertPool
	// MaxBody bounds the body of an answer after decompression, in bytes. 0 is 16 MiB; negative is no bound.
	MaxBody int64
	// Resolver resolves names; nil is the system's.
	Resolver *net.Resolver
}

const (
	defaultMaxBody = 16 << 20
	// maxHead bounds the head of an answer, in bytes, so that it fits a record.
	maxHead = 48 << 10
	// maxHeaders bounds the header lines of a request, and maxHeaderBytes their bytes.
	maxHeaders     = 100
	maxHeaderBytes = 32 << 10
	// maxRedirects bounds how often one request is sent on.
	maxRedirects = 5
	// maxConns bounds the connections to one host, and maxRequests the requests of a plugin that run at once.
	maxConns    = 256
	maxRequests = 256
	// maxIdle connections are kept for so long.
	maxIdle     = 16
	idleTimeout = 30 * time.Second
)

// Client makes the requests of one plugin. It is safe for concurrent use.
type Client struct {
	rules     []*rule
	nets      *networks
	transport *http.Transport
	blanks    *blanks
	maxBody   int64
	places    chan struct{}
}

// New checks a configuration.
func New(cfg *Config) (*Client, error) {
	if len(cfg.Rules) == 0 {
		return nil, errors.New("nothing is allowed: name a URL under allow")
	}
	c := &Client{
		nets: &networks{slices.Clone(cfg.Networks)}, maxBody: cfg.MaxBody, places: make(chan struct{}, maxRequests),
	}
	if c.maxBody == 0 {
		c.maxBody = defaultMaxBody
	}
	var secrets []string
	for i, r := range cfg.Rules {
		compiled, err := compileRule(r)
		if err != nil {
			return nil, fmt.Errorf("allow[%d]: %w", i, err)
		}
		if a, err := netip.ParseAddr(compiled.target.host); err == nil && !c.nets.allows(a) {
			return nil, fmt.Errorf("allow[%d]: the address %s is not public: add its network to cidr, such as %s", i, a, netip.PrefixFrom(a, a.BitLen()))
		}
		c.rules = append(c.rules, compiled)
		for _, h := range r.Headers {
			secrets = append(secrets, h.Secrets...)
			if user, ok := basic(h.Value); ok && len(h.Secrets) > 0 {
				_, password, _ := strings.Cut(user, ":")
				secrets = append(secrets, user, password)
			}
		}
	}
	c.blanks = newBlanks(secrets)
	dialer := &net.Dialer{Timeout: 10 * time.Second, Resolver: cfg.Resolver, ControlContext: c.control}
	c.transport = &http.Transport{
		DialContext:     dialer.DialContext, // no Proxy: the environment has no say
		TLSClientConfig: &tls.Config{RootCAs: cfg.Roots, MinVersion: tls.VersionTLS12},
		MaxConnsPerHost: maxConns, MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: idleTimeout,
		MaxResponseHeaderBytes: maxHead, TLSHandshakeTimeout: 10 * time.Second,
	}
	return c, nil
}

// Close closes the connections that are idle. Those of exchanges that still run close with them.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// control looks at each address that is about to be dialled, after names are resolved: what is checked is what is dialled.
func (c *Client) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !c.nets.allows(at.Addr()) {
		return denied("the address %s is not public and no network of cidr covers it", address)
	}
	return nil
}

// Request is what a plugin asks for.
type Request struct {
	Method, URL string
	// Headers by name, as they are to be sent.
	Headers [][2]string
	Body    string
	// Timeout bounds the whole exchange; 0: only its context does.
	Timeout time.Duration
}

// allow returns the first rule that covers a request.
func (c *Client) allow(method string, t *target) (*rule, error) {
	for _, r := range c.rules {
		if r.covers(method, t) {
			return r, nil
		}
	}
	return nil, denied("no rule under allow covers %s %s", method, t.origin()+t.path)
}

// checkHeaders refuses headers that are not a plugin's to set.
func checkHeaders(headers [][2]string, r *rule) error {
	if len(headers) > maxHeaders {
		return tooLarge("%d headers, more than %d", len(headers), maxHeaders)
	}
	size, guarded := 0, false
	for _, h := range r.Headers {
		guarded = guarded || len(h.Secrets) > 0
	}
	for _, h := range headers {
		size += len(h[0]) + len(h[1])
		fold := foldName(h[0])
		switch {
		case !isToken(h[0]) || h[1] != "" && !isValue(h[1]):
			return invalid("the header %.80q is malformed", h[0])
		case reserved(fold) || r.sets(fold):
			return denied("the header %.80q is not the plugin's to set", h[0])
		case guarded && (fold == "range" || fold == "if-range"):
			// Of an echoed secret each piece alone would pass.
			return denied("the header %.80q cannot be sent along with a secret", h[0])
		}
	}
	if size > maxHeaderBytes {
		return tooLarge("headers of %d bytes, more than %d", size, maxHeaderBytes)
	}
	return nil
}

// build makes the request of one hop. Once another origin was met, nothing that the operator gave is sent.
func (c *Client) build(ctx context.Context, h *hop) (*http.Request, error) {
	t := h.target
	req, err := http.NewRequestWithContext(ctx, h.method, t.String(), nil)
	if err != nil {
		return nil, invalid("the URL cannot be sent")
	}
	req.Host = t.authority()
	req.Header = http.Header{"User-Agent": {"reshost"}}
	for _, line := range h.headers {
		name := http.CanonicalHeaderKey(line[0])
		if name == "User-Agent" {
			req.Header.Set(name, line[1])
			continue
		}
		req.Header.Add(name, line[1])
	}
	if !h.strayed {
		for name, v := range h.rule.Headers {
			req.Header.Set(name, v.Value)
		}
	}
	if h.body != "" {
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(h.body)), int64(len(h.body))
	}
	return req, nil
}

// hop is one request of an exchange: the first, or where a redirect leads.
type hop struct {
	method  string
	target  *target
	rule    *rule
	headers [][2]string
	body    string
	// strayed says that a redirect led to another origin.
	strayed bool
}

// redirect returns the next hop; nil when the answer is none that leads on.
func (c *Client) redirect(h *hop, res *http.Response) (*hop, error) {
	switch res.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location := res.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	next := *h
	u, err := res.Request.URL.Parse(location)
	if err != nil {
		return nil, denied("a redirect of %s leads to no URL", h.target.origin())
	}
	u.Fragment, u.RawFragment = "", ""
	if next.target, err = parseTarget(u.String()); err != nil {
		return nil, denied("a redirect of %s is refused: %v", h.target.origin(), err)
	}
	if res.StatusCode < http.StatusTemporaryRedirect && h.method != http.MethodHead {
		next.method, next.body = http.MethodGet, ""
	}
	if next.rule, err = c.allow(next.method, next.target); err != nil {
		return nil, denied("a redirect of %s is refused: %v", h.target.origin(), err)
	}
	next.strayed = h.strayed || next.target.origin() != h.target.origin()
	return &next, nil
}
