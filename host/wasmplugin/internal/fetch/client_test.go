package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// loopback grants the servers of tests.
func loopback() []netip.Prefix { return prefixes("127.0.0.0/8") }

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func client(t *testing.T, cfg Config) *Client {
	t.Helper()
	if cfg.Networks == nil {
		cfg.Networks = loopback()
	}
	c, err := New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// do makes a request and reads its answer to the end.
func do(t *testing.T, c *Client, r Request) (*Head, string, error) {
	t.Helper()
	if r.Method == "" {
		r.Method = "GET"
	}
	x, err := c.Start(t.Context(), &r, nil)
	if err != nil {
		return nil, "", err
	}
	defer x.Close()
	head, err := x.Head()
	if err != nil {
		return nil, "", err
	}
	b, err := io.ReadAll(x)
	return head, string(b), err
}

func wantKind(t *testing.T, what string, err error, want Kind) {
	t.Helper()
	if err == nil || KindOf(err) != want {
		t.Errorf("%s: %v, want kind %d", what, err, want)
	}
}

// TestSecrets: a header's secret reaches its origin, and the plugin sees it nowhere.
func TestSecrets(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Keep-Alive", "timeout=5")
		for _, c := range []byte("you sent " + r.Header.Get("Authorization") + " to " + r.URL.RequestURI()) {
			w.Write([]byte{c})
			w.(http.Flusher).Flush()
		}
	})
	c := client(t, Config{Rules: []Rule{{URL: s.URL + "/v1/", Headers: map[string]Header{"Authorization": {"Bearer tokentoken", []string{"tokentoken"}}}}}})
	head, body, err := do(t, c, Request{URL: s.URL + "/v1/a%2Fb?q=%20"})
	if err != nil || body != "you sent Bearer ********** to /v1/a%2Fb?q=%20" {
		t.Errorf("%q, %v", body, err)
	}
	for _, h := range head.Headers {
		if h[0] == "set-cookie" || h[0] == "keep-alive" || strings.Contains(h[1], "token") {
			t.Errorf("header %q", h)
		}
	}
}

// TestCaseSSRF06: a redirect leads only where a rule allows, and secrets do not go along to another origin.
func TestCaseSSRF06(t *testing.T) {
	var seen atomic.Value
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.Method + " " + r.Header.Get("Authorization") + r.Header.Get("X-Other"))
		io.WriteString(w, "other")
	})
	to := map[string]string{
		"/v1/same": "/v1/end", "/v1/out": "/admin", "/v1/other": other.URL + "/open/", "/v1/hidden": other.URL + "/closed", "/v1/loop": "/v1/loop",
		"/v1/meta": "http://169.254.169.254/", "/v1/file": "file:///etc/passwd", "/v1/user": "http://u:p@127.0.0.1/", "/v1/up": "/v1/../admin",
		"/v1/encoded": "/v1/%2e%2e/admin", "/v1/bad": "http://[::1", "/v1/none": "", "/v1/back": other.URL + "/open/back",
	}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if location, ok := to[r.URL.Path]; ok {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
			return
		}
		b, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.Header.Get("Authorization"), b)
	})
	secret := map[string]Header{"Authorization": {Value: "Bearer x"}}
	c := client(t, Config{Rules: []Rule{
		{URL: s.URL + "/v1/", Methods: []string{"GET", "POST"}, Headers: secret},
		{URL: other.URL + "/open/", Headers: map[string]Header{"X-Other": {Value: "other's"}}},
	}})
	if _, body, err := do(t, c, Request{Method: "POST", Body: "b", URL: s.URL + "/v1/same"}); err != nil || body != "GET Bearer x " {
		t.Errorf("same origin: %q, %v", body, err)
	}
	head, body, err := do(t, c, Request{URL: s.URL + "/v1/other"})
	if err != nil || body != "other" || head.URL != other.URL+"/open/" || seen.Load() != "GET " {
		t.Errorf("other origin: %q, %v, saw %q", body, err, seen.Load())
	}
	for _, path := range []string{"out", "hidden", "meta", "file", "user", "up", "encoded", "bad", "loop"} {
		_, _, err := do(t, c, Request{URL: s.URL + "/v1/" + path})
		wantKind(t, path, err, Denied)
	}
	if head, _, err := do(t, c, Request{URL: s.URL + "/v1/none"}); err != nil || head.Status != http.StatusFound {
		t.Errorf("no location: %v, %v", head, err)
	}
}

// TestCaseSSRF02: the address that is dialled is the one that is looked at, whatever the name said before.
func TestCaseSSRF02(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server inside was reached") })
	port := s.URL[strings.LastIndexByte(s.URL, ':'):]
	var asked atomic.Int32
	resolver := nameServer(t, func(name string) []netip.Addr {
		switch {
		case strings.HasPrefix(name, "rebind") && asked.Add(1) == 1:
			return []netip.Addr{netip.MustParseAddr("192.0.2.1")} // refused as well: nothing outside is dialled by a test
		case strings.HasPrefix(name, "multi"):
			return []netip.Addr{netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.0.0.1")}
		case strings.HasPrefix(name, "six"):
			return []netip.Addr{netip.MustParseAddr("::1"), netip.MustParseAddr("::ffff:127.0.0.1")}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	})
	var rules []Rule
	for _, name := range []string{"rebind", "multi", "six", "plain", "localhost"} {
		rules = append(rules, Rule{URL: "http://" + name + ".test" + port})
	}
	c := client(t, Config{Rules: rules, Networks: []netip.Prefix{}, Resolver: resolver})
	for _, r := range rules {
		for range 3 {
			_, _, err := do(t, c, Request{URL: r.URL})
			wantKind(t, r.URL, err, Denied)
		}
	}
	if asked.Load() < 3 {
		t.Errorf("the name was asked %d times: the resolver is not the test's", asked.Load())
	}
	// Granted, the same names lead there.
	open := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host) })
	at := "http://plain.test" + open.URL[strings.LastIndexByte(open.URL, ':'):]
	c = client(t, Config{Rules: []Rule{{URL: at}}, Resolver: resolver})
	if _, body, err := do(t, c, Request{URL: at}); err != nil || "http://"+body != at {
		t.Errorf("granted: %q, %v", body, err)
	}
}

// nameServer answers questions for A and AAAA, and returns a resolver that asks it alone.
func nameServer(t *testing.T, answer func(name string) []netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-done })
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if reply := answerQuestion(buf[:n], answer); reply != nil {
				conn.WriteTo(reply, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answerQuestion answers one question (RFC 1035 section 4) with what is of its type, to live 0 seconds.
func answerQuestion(q []byte, answer func(string) []netip.Addr) []byte {
	if len(q) < 17 {
		return nil
	}
	var labels []string
	end := 12
	for end < len(q) && q[end] != 0 {
		labels = append(labels, string(q[end+1:end+1+int(q[end])]))
		end += 1 + int(q[end])
	}
	typ := q[end+2]
	end += 5
	reply := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:end]...)
	for _, a := range answer(strings.Join(labels, ".")) {
		if a.Is4() && typ == 1 || a.Is6() && typ == 28 {
			reply[7]++
			b := a.AsSlice()
			reply = append(reply, 0xc0, 12, 0, typ, 0, 1, 0, 0, 0, 0, 0, byte(len(b)))
			reply = append(reply, b...)
		}
	}
	return reply
}

// TestBombs: what a hostile server sends is bounded in bytes and time.
func TestBombs(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(make([]byte, 8<<20))
	z.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		case "/coding":
			w.Header().Set("Content-Encoding", "br")
			io.WriteString(w, "?")
		case "/long":
			w.Write(make([]byte, 2<<20))
		case "/head":
			for i := range 5000 {
				w.Header().Add("X", fmt.Sprint("value ", i))
			}
		case "/early":
			for range 1000 {
				w.Header().Set("Link", strings.Repeat("x", 1000))
				w.WriteHeader(http.StatusEarlyHints)
			}
		case "/silent":
			<-r.Context().Done()
		case "/drip":
			for r.Context().Err() == nil {
				w.Write([]byte("."))
				w.(http.Flusher).Flush()
				time.Sleep(5 * time.Millisecond)
			}
		case "/short":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "short")
		case "/fine":
			w.Write(make([]byte, 1<<20))
		}
	})
	c := client(t, Config{Rules: []Rule{{URL: s.URL}}, MaxBody: 1 << 20})
	for path, want := range map[string]Kind{
		"/gzip": TooLarge, "/long": TooLarge, "/head": TooLarge, "/early": TooLarge, "/coding": Unavailable, "/silent": Unavailable, "/drip": Unavailable, "/short": Unavailable,
	} {
		_, _, err := do(t, c, Request{URL: s.URL + path, Timeout: 2 * time.Second})
		wantKind(t, path, err, want)
	}
	if _, body, err := do(t, c, Request{URL: s.URL + "/fine"}); err != nil || len(body) != 1<<20 {
		t.Errorf("at the bound: %d, %v", len(body), err)
	}
}

// TestDenied: a request is refused before anything is sent.
func TestDenied(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request arrived") })
	c := client(t, Config{Rules: []Rule{{URL: s.URL + "/v1/", Methods: []string{"GET"}}}})
	for _, tt := range []struct {
		name string
		req  Request
		want Kind
	}{
		{"method", Request{Method: "DELETE", URL: s.URL + "/v1/"}, Denied},
		{"method in lower case", Request{Method: "get", URL: s.URL + "/v1/"}, Denied},
		{"method with a line end", Request{Method: "GET / HTTP/1.1\r\n\r\n", URL: s.URL + "/v1/"}, Invalid},
		{"path", Request{URL: s.URL + "/v2/"}, Denied},
		{"host", Request{URL: "http://localhost/v1/"}, Denied},
		{"scheme", Request{URL: "https" + s.URL[4:] + "/v1/"}, Denied},
		{"port", Request{URL: "http://127.0.0.1:1/v1/"}, Denied},
		{"dots", Request{URL: s.URL + "/v1/../admin"}, Invalid},
		{"header", Request{URL: s.URL + "/v1/", Headers: [][2]string{{"Host", "x"}}}, Denied},
	} {
		if tt.req.Method == "" {
			tt.req.Method = "GET"
		}
		_, err := c.Start(t.Context(), &tt.req, nil)
		wantKind(t, tt.name, err, tt.want)
	}
}

// TestNoAmbientProxy: the environment has no say.
func TestNoAmbientProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	if c := client(t, Config{Rules: []Rule{{URL: "http://api.test/"}}}); c.transport.Proxy != nil || c.transport.DialTLSContext != nil {
		t.Error("there is a proxy")
	}
}

// TestStop: an exchange ends when it is told to, and Close waits for all of it.
func TestStop(t *testing.T) {
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	c := client(t, Config{Rules: []Rule{{URL: s.URL}}})
	stop := make(chan struct{})
	x, err := c.Start(t.Context(), &Request{Method: "GET", URL: s.URL}, stop)
	if err != nil {
		t.Fatal(err)
	}
	close(stop)
	if _, err := x.Head(); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	x.Close()
	x.Close()
	if _, err := x.Read(make([]byte, 1)); err == nil {
		t.Error("read after close")
	}
}

// TestCaseSSRF08: what a plugin puts into a URL, escaped as one segment, stays one segment at the server, or is refused.
func TestCaseSSRF08(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host+" "+r.RequestURI) })
	c := client(t, Config{Rules: []Rule{{URL: s.URL + "/v1/users/", Headers: map[string]Header{"X-Key": {Value: "k", Secrets: []string{"operator's"}}}}}})
	host := strings.TrimPrefix(s.URL, "http://")
	for _, tt := range []struct{ id, want string }{
		{"..%2F..%2Fadmin", ""},
		{"1%3Fall%3Dtrue", "/v1/users/1%3Fall%3Dtrue"},
		{"%2F%2Fevil.test%2F", "/v1/users/%2F%2Fevil.test%2F"},
		{"1%23", "/v1/users/1%23"},
		{"a%2F..%2Fadmin%3Fx=1%23", ""},
	} {
		_, body, err := do(t, c, Request{URL: s.URL + "/v1/users/" + tt.id})
		if tt.want == "" {
			wantKind(t, tt.id, err, Invalid)
		} else if err != nil || body != host+" "+tt.want {
			t.Errorf("%s: %q, %v", tt.id, body, err)
		}
	}
}
