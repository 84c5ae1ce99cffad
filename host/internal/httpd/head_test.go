package httpd_test

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reshost/reshost/host/internal/httpd"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// HTTP-03, H4.
func TestOrigin(t *testing.T) {
	h := httpd.New(server(&backend{}), &httpd.Options{Origins: []string{"https://allowed.test", "http://[::1]:8080"}})
	for _, tt := range []struct {
		name   string
		origin []string
		want   bool
	}{
		{"none", nil, true},
		{"allowed", []string{"https://allowed.test"}, true},
		{"default port", []string{"https://allowed.test:443"}, true},
		{"other case", []string{"HTTPS://ALLOWED.TEST"}, true},
		{"IPv6", []string{"http://[::1]:8080"}, true},
		{"evil", []string{"https://evil.test"}, false},
		{"null", []string{"null"}, false},
		{"empty", []string{""}, false},
		{"other scheme", []string{"http://allowed.test"}, false},
		{"other port", []string{"https://allowed.test:8443"}, false},
		{"prefix", []string{"https://allowed.test.evil.test"}, false},
		{"localhost prefix", []string{"http://localhost.evil.test"}, false},
		{"same host, other port", []string{"http://127.0.0.1:9999"}, false},
		{"userinfo", []string{"https://allowed.test@evil.test"}, false},
		{"path", []string{"https://allowed.test/x"}, false},
		{"two lines", []string{"https://allowed.test", "https://allowed.test"}, false},
		{"two in one line", []string{"https://allowed.test https://evil.test"}, false},
	} {
		for _, method := range []string{"POST", "OPTIONS", "GET", "DELETE", "HEAD"} {
			t.Run(tt.name+" "+method, func(t *testing.T) {
				r := readRequest()
				r.Method = method
				for _, o := range tt.origin {
					r.Header.Add("Origin", o)
				}
				w := serve(h, r)
				if (w.Code != http.StatusForbidden) != tt.want {
					t.Errorf("status %d, allowed should be %v", w.Code, tt.want)
				}
				cors := w.Header().Get("Access-Control-Allow-Origin")
				if want := tt.want && tt.origin != nil; (cors != "") != want || cors == "*" {
					t.Errorf("Access-Control-Allow-Origin %q", cors)
				}
				if w.Header().Get("Access-Control-Allow-Credentials") != "" {
					t.Error("credentials are allowed")
				}
			})
		}
	}
}

func TestNoOriginIsAllowedByDefault(t *testing.T) {
	r := readRequest()
	r.Header.Set("Origin", "http://localhost")
	if w := serve(httpd.New(server(&backend{}), nil), r); w.Code != http.StatusForbidden {
		t.Errorf("status %d, want 403", w.Code)
	}
}

// A page of this host and port may call where the host is known to be ours.
func TestOwnOrigin(t *testing.T) {
	for _, tt := range []struct {
		host, origin string
		local        string
		hosts        []string
		want         bool
	}{
		{"localhost:8642", "http://localhost:8642", "127.0.0.1", nil, true},
		{"localhost:8642", "http://localhost:9999", "127.0.0.1", nil, false},
		{"127.0.0.1:8642", "http://localhost:8642", "127.0.0.1", nil, false},
		{"evil.test:8642", "http://evil.test:8642", "127.0.0.1", nil, false},
		{"evil.test:8642", "http://evil.test:8642", "192.0.2.1", nil, false},
		{"mcp.test", "https://mcp.test", "192.0.2.1", []string{"mcp.test"}, true},
	} {
		r := readRequest()
		r.Host = tt.host
		r.Header.Set("Origin", tt.origin)
		r = r.WithContext(withLocalAddr(r.Context(), &net.TCPAddr{IP: net.ParseIP(tt.local)}))
		w := serve(httpd.New(server(&backend{}), &httpd.Options{Hosts: tt.hosts}), r)
		if (w.Code == http.StatusOK) != tt.want {
			t.Errorf("host %s, origin %s, address %s: status %d, allowed should be %v", tt.host, tt.origin, tt.local, w.Code, tt.want)
		}
	}
}

// HTTP-03: DNS rebinding.
func TestHost(t *testing.T) {
	loopback := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8642}
	public := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8642}
	for _, tt := range []struct {
		name, host string
		local      net.Addr
		hosts      []string
		want       bool
	}{
		{"localhost", "localhost:8642", loopback, nil, true},
		{"address", "127.0.0.1:8642", loopback, nil, true},
		{"other loopback address", "127.0.0.2", loopback, nil, true},
		{"IPv6", "[::1]:8642", loopback, nil, true},
		{"IPv6 without port", "[::1]", loopback, nil, true},
		{"upper case", "LOCALHOST", loopback, nil, true},
		{"rebound name", "evil.test:8642", loopback, nil, false},
		{"prefix", "localhost.evil.test", loopback, nil, false},
		{"empty", "", loopback, nil, false},
		{"a port that is none", "localhost:evil", loopback, nil, false},
		{"a port out of range", "localhost:65536", loopback, nil, false},
		{"two ports", "localhost:1:2", loopback, nil, false},
		{"an empty port", "localhost:", loopback, nil, true},
		{"IPv6 without brackets", "::1", loopback, nil, false},
		{"IPv6 in two brackets", "[[::1]]", loopback, nil, false},
		{"IPv6 and a word", "[::1]evil", loopback, nil, false},
		{"IPv6 in half a bracket", "[::1", loopback, nil, false},
		{"IPv4 in brackets", "[127.0.0.1]", loopback, nil, false},
		{"a name in brackets", "[localhost]", loopback, nil, false},
		{"configured with a port that is none", "mcp.acme.test:evil", public, []string{"mcp.acme.test"}, false},
		{"malformed where any name may call", "evil.test:x", public, nil, false},
		{"none where any name may call", "", public, nil, true},
		{"public address", "evil.test", public, nil, true},
		{"configured", "mcp.acme.test", loopback, []string{"MCP.acme.test"}, true},
		{"not configured", "localhost", loopback, []string{"mcp.acme.test"}, false},
		{"public and not configured", "evil.test", public, []string{"mcp.acme.test"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := readRequest()
			r.Host = tt.host
			r = r.WithContext(withLocalAddr(r.Context(), tt.local))
			w := serve(httpd.New(server(&backend{}), &httpd.Options{Hosts: tt.hosts}), r)
			if (w.Code == http.StatusOK) != tt.want || (w.Code == http.StatusForbidden) == tt.want {
				t.Errorf("status %d, allowed should be %v", w.Code, tt.want)
			}
		})
	}
}

// HTTP-05, H2.
func TestContentTypeAndAccept(t *testing.T) {
	for _, tt := range []struct {
		header string
		values []string
		want   int
	}{
		{"Content-Type", []string{"application/json; charset=utf-8"}, 200},
		{"Content-Type", []string{"APPLICATION/JSON"}, 200},
		{"Content-Type", []string{`application/json;charset="UTF-8"`}, 200},
		{"Content-Type", []string{"text/plain"}, 415},
		{"Content-Type", []string{"application/json-seq"}, 415},
		{"Content-Type", nil, 415},
		{"Content-Type", []string{"application/json; charset=utf-16"}, 415},
		{"Content-Type", []string{"application/json", "application/json"}, 415},
		{"Content-Encoding", []string{"gzip"}, 415},
		{"Content-Encoding", []string{"identity"}, 200},
		{"Accept", []string{"application/json;q=0.9, text/event-stream;q=0.1"}, 200},
		{"Accept", []string{"application/json", "text/event-stream"}, 200},
		{"Accept", []string{"*/*"}, 200},
		{"Accept", []string{"application/*"}, 200},
		{"Accept", nil, 200},
		{"Accept", []string{""}, 200},
		{"Accept", []string{"application/json"}, 200},
		{"Accept", []string{"text/event-stream;q=0, application/json"}, 200},
		{"Accept", []string{"application/json;q=0, */*"}, 406},
		{"Accept", []string{"text/event-stream"}, 406},
		{"Accept", []string{"text/html"}, 406},
	} {
		t.Run(tt.header+" "+strings.Join(tt.values, "|"), func(t *testing.T) {
			r := readRequest()
			r.Header.Del(tt.header)
			for _, v := range tt.values {
				r.Header.Add(tt.header, v)
			}
			w := serve(httpd.New(server(&backend{}), nil), r)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d", w.Code, tt.want)
			}
			if !strings.Contains(w.Body.String(), `"id":1`) {
				t.Errorf("the body lacks the id: %s", w.Body)
			}
		})
	}
}

// H2, H3: the headers mirror the body.
func TestMirroredHeaders(t *testing.T) {
	sentinel := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	for _, tt := range []struct {
		name, header string
		values       []string
		uri          string
		ok           bool
	}{
		{name: "version missing", header: "MCP-Protocol-Version"},
		{name: "version doubled", header: "MCP-Protocol-Version", values: []string{"2026-07-28", "2026-07-28"}},
		{name: "version in a list", header: "MCP-Protocol-Version", values: []string{"2026-07-28, 2026-07-28"}},
		{name: "other version", header: "MCP-Protocol-Version", values: []string{"2025-11-25"}},
		{name: "method missing", header: "Mcp-Method"},
		{name: "other method", header: "Mcp-Method", values: []string{"resources/list"}},
		{name: "method in another case", header: "Mcp-Method", values: []string{"Resources/Read"}},
		{name: "method doubled", header: "Mcp-Method", values: []string{"resources/read", "resources/list"}},
		{name: "name missing", header: "Mcp-Name"},
		{name: "other name", header: "Mcp-Name", values: []string{"docs://b"}},
		{name: "name doubled", header: "Mcp-Name", values: []string{"docs://a", "docs://a"}},
		{name: "name in base64", header: "Mcp-Name", values: []string{sentinel("docs://a")}, ok: true},
		{name: "other name in base64", header: "Mcp-Name", values: []string{sentinel("docs://b")}},
		{name: "broken base64", header: "Mcp-Name", values: []string{"=?base64?!!?="}},
		{name: "unpadded base64", header: "Mcp-Name", values: []string{"=?base64?ZG9jczovL2E?="}},
		{name: "base64 with bits left over", header: "Mcp-Name", values: []string{"=?base64?ZG9jczovL2F=?="}},
		{name: "marker in another case", header: "Mcp-Name", values: []string{"=?BASE64?ZG9jczovL2E=?="}},
		{name: "raw UTF-8", header: "Mcp-Name", values: []string{"docs://é"}, uri: "docs://é", ok: true},
		{name: "other raw UTF-8", header: "Mcp-Name", values: []string{"docs://e\u0301"}, uri: "docs://é"},
		{name: "Latin-1", header: "Mcp-Name", values: []string{"docs://\xe9"}, uri: "docs://é"},
		{name: "UTF-8 in base64", header: "Mcp-Name", values: []string{sentinel("docs://é")}, uri: "docs://é", ok: true},
		{name: "plain name of the encoded form", header: "Mcp-Name", values: []string{"=?base64?ZG9jczovL2E=?="}, uri: "=?base64?ZG9jczovL2E=?="},
		{name: "the same, encoded", header: "Mcp-Name", values: []string{sentinel("=?base64?ZG9jczovL2E=?=")}, uri: "=?base64?ZG9jczovL2E=?=", ok: true},
		{name: "no room for both marks", header: "Mcp-Name", values: []string{"=?base64?="}, uri: "=?base64?=", ok: true},
		{name: "session and event id are ignored", header: "Mcp-Session-Id", values: []string{"x"}, ok: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			uri := tt.uri
			if uri == "" {
				uri = "docs://a"
			}
			r := httptest.NewRequest("POST", "/mcp", strings.NewReader(readBody("1", uri)))
			setHeaders(r.Header, sentinel(uri))
			r.Header.Set("Last-Event-ID", "7")
			r.Header.Del(tt.header)
			for _, v := range tt.values {
				r.Header.Add(tt.header, v)
			}
			w := serve(httpd.New(server(&backend{}), nil), r)
			got := w.Body.String()
			if tt.ok {
				if w.Code != 200 || !strings.Contains(got, `"result"`) {
					t.Errorf("status %d, body %s", w.Code, got)
				}
			} else if w.Code != 400 || !strings.Contains(got, `"id":1,"error":{"code":-32020,`) {
				t.Errorf("status %d, body %s, want 400 and -32020", w.Code, got)
			}
			if w.Header().Get("Mcp-Session-Id") != "" {
				t.Error("a session was made")
			}
		})
	}
}

// Era rule 2: a modern header without a version in the body is a malformed modern request.
func TestModernHeaderWithoutMeta(t *testing.T) {
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`))
	setHeaders(r.Header, "")
	w := serve(httpd.New(server(&backend{}), nil), r)
	if w.Code != 400 || !strings.Contains(w.Body.String(), `"code":-32602`) {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
}

// A POSTed notification is accepted with or without its headers, but not with a lying one.
func TestNotification(t *testing.T) {
	for _, tt := range []struct {
		method, header string
		want           int
	}{
		{"notifications/cancelled", "", 202},
		{"notifications/cancelled", "notifications/cancelled", 202},
		{"notifications/cancelled", "resources/read", 400},
		{"notifications/other", "", 202},
	} {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","method":"`+tt.method+`","params":{"requestId":1}}`))
		r.Header.Set("Content-Type", "application/json")
		if tt.header != "" {
			r.Header.Set("Mcp-Method", tt.header)
		}
		w := serve(httpd.New(server(&backend{}), nil), r)
		if w.Code != tt.want || (tt.want == 202) != (w.Body.Len() == 0) {
			t.Errorf("%s with header %q: status %d, body %s, want %d", tt.method, tt.header, w.Code, w.Body, tt.want)
		}
	}
}

// H1: a client does not send responses.
func TestResponseIsRefused(t *testing.T) {
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	r.Header.Set("Content-Type", "application/json")
	if w := serve(httpd.New(server(&backend{}), nil), r); w.Code != 400 || strings.Contains(w.Body.String(), `"id"`) {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
}

// H3: only POST, and GET and DELETE where legacy sessions are served.
func TestMethods(t *testing.T) {
	modern := mcp.NewServer(&backend{}, &mcp.Options{Revisions: []string{"2026-07-28"}})
	for _, method := range []string{"GET", "HEAD", "DELETE", "PUT", "PATCH", "OPTIONS"} {
		r := readRequest()
		r.Method = method
		w := serve(httpd.New(modern, nil), r)
		if w.Code != 405 || w.Header().Get("Allow") != "POST, OPTIONS" {
			t.Errorf("%s: status %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
		if w = serve(httpd.New(server(&backend{}), nil), r); method != "DELETE" && (w.Code != 405 || w.Header().Get("Allow") != "GET, POST, DELETE, OPTIONS") {
			t.Errorf("%s: status %d, Allow %q", method, w.Code, w.Header().Get("Allow"))
		}
	}
}

// HTTP-09.
func TestCORS(t *testing.T) {
	asked := false
	h := httpd.New(server(&backend{}), &httpd.Options{
		Origins: []string{"https://app.test"},
		Principal: func(*http.Request) (*provider.Principal, error) {
			asked = true
			return nil, &httpd.AuthError{Challenge: `Bearer resource_metadata="https://x.test"`, Message: "a token is needed"}
		},
	})
	r := httptest.NewRequest("OPTIONS", "/mcp", nil)
	r.Header.Set("Origin", "https://app.test")
	r.Header.Set("Access-Control-Request-Method", "POST")
	r.Header.Set("Access-Control-Request-Headers", "authorization,content-type,mcp-protocol-version,mcp-method,mcp-name")
	w := serve(h, r)
	if w.Code != 204 || asked {
		t.Errorf("preflight: status %d, authentication asked: %v", w.Code, asked)
	}
	allowed := strings.ToLower(w.Header().Get("Access-Control-Allow-Headers"))
	for name := range strings.SplitSeq(r.Header.Get("Access-Control-Request-Headers"), ",") {
		if !strings.Contains(allowed, name) {
			t.Errorf("preflight: %s is not allowed", name)
		}
	}
	for name, want := range map[string]string{"Access-Control-Allow-Origin": "https://app.test", "Vary": "Origin", "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("preflight: %s is %q, want %q", name, got, want)
		}
	}

	r = readRequest()
	r.Header.Set("Origin", "https://app.test")
	w = serve(h, r)
	if w.Code != 401 || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer resource") {
		t.Errorf("no token: status %d, header %v", w.Code, w.Header())
	}
	if w.Header().Get("Access-Control-Allow-Origin") != "https://app.test" || !strings.Contains(w.Header().Get("Access-Control-Expose-Headers"), "WWW-Authenticate") {
		t.Errorf("no token: the page cannot see why: %v", w.Header())
	}
}

func FuzzParseOrigin(f *testing.F) {
	for _, s := range []string{"https://a.test", "http://[::1]:80", "null", "https://a.test@b", "HTTP://A:8080"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		o, err := httpd.ParseOrigin(s)
		if err != nil {
			return
		}
		if again, err := httpd.ParseOrigin(o); err != nil || again != o {
			t.Fatalf("%q became %q, and that %q (%v)", s, o, again, err)
		}
	})
}

func withLocalAddr(ctx context.Context, addr net.Addr) context.Context {
	return context.WithValue(ctx, http.LocalAddrContextKey, addr)
}
