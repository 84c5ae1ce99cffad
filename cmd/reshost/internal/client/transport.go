package client

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	dialTimeout = 10 * time.Second
	// headTimeout bounds the wait for a response's head; a server's own bound on a call is far below it.
	headTimeout = time.Minute
	unixPrefix  = "unix:"
	defaultPath = "/mcp"
)

// newTransport returns the transport for an endpoint, and the URL that requests name.
func newTransport(opts *Options) (*http.Transport, string, error) {
	dialer := &net.Dialer{Timeout: dialTimeout}
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
		TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: headTimeout, MaxResponseHeaderBytes: 64 << 10,
		IdleConnTimeout: time.Minute,
	}
	if len(opts.CA) > 0 {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(opts.CA) {
			return nil, "", errors.New("the file of certificate authorities holds no PEM certificate")
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	if rest, ok := strings.CutPrefix(opts.URL, unixPrefix); ok {
		socket, path := rest, defaultPath
		if i := strings.LastIndex(rest, ":/"); i > 0 {
			socket, path = rest[:i], rest[i+1:]
		}
		if socket == "" {
			return nil, "", fmt.Errorf("%q names no socket: write unix:/run/reshost.sock", opts.URL)
		}
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		}
		return t, "http://localhost" + path, nil
	}
	u, err := url.Parse(opts.URL)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%q is no URL", opts.URL)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, "", fmt.Errorf("%q is no endpoint: write http://HOST:PORT/PATH, https://… or unix:SOCKET", opts.URL)
	case u.User != nil:
		return nil, "", errors.New("the URL holds a user: name credentials with --header or --token-file")
	}
	if u.Path == "" {
		u.Path = defaultPath
	}
	return t, u.String(), nil
}
