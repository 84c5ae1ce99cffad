package httpd_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/host/internal/httpd"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// legacy sends a message of a legacy client's.
func legacy(h http.Handler, session, who, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", who)
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	return serve(h, r)
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	ping       = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	legacyRead = `{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"docs://a"}}`
)

func withSubject(r *http.Request) (*provider.Principal, error) {
	return &provider.Principal{Issuer: "i", Subject: r.Header.Get("Authorization")}, nil
}

func begin(t *testing.T, h http.Handler, who string) string {
	t.Helper()
	w := legacy(h, "", who, initialize)
	id := w.Header().Get("Mcp-Session-Id")
	if w.Code != 200 || len(id) < 20 {
		t.Fatalf("initialize: status %d, session %q, body %s", w.Code, id, w.Body)
	}
	return id
}

// E1, E3: a session is its principal's; for anybody else it does not exist. DELETE ends it.
func TestSession(t *testing.T) {
	h := httpd.New(server(&backend{}), &httpd.Options{Principal: withSubject})
	a, b := begin(t, h, "a"), begin(t, h, "b")
	if a == b {
		t.Error("two sessions with one id")
	}
	for _, tt := range []struct {
		name, session, who string
		want               int
	}{
		{"own", a, "a", 200},
		{"somebody else's", a, "b", 404},
		{"unknown", "XYZ", "a", 404},
		{"none", "", "a", 400},
	} {
		if w := legacy(h, tt.session, tt.who, ping); w.Code != tt.want || !strings.Contains(w.Body.String(), `"id":2`) {
			t.Errorf("%s: status %d, body %s, want %d", tt.name, w.Code, w.Body, tt.want)
		}
		if w := legacy(h, tt.session, tt.who, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); tt.want == 404 && w.Code != 404 || tt.want == 200 && w.Code != 202 {
			t.Errorf("%s: a notification's status is %d", tt.name, w.Code)
		}
	}

	end := func(session, who string) int {
		r := httptest.NewRequest("DELETE", "/mcp", nil)
		r.Header.Set("Authorization", who)
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		return serve(h, r).Code
	}
	for _, tt := range []struct {
		name, session, who string
		want               int
	}{
		{"none", "", "a", 400},
		{"somebody else's", a, "b", 404},
		{"own", a, "a", 204},
		{"again", a, "a", 404},
	} {
		if got := end(tt.session, tt.who); got != tt.want {
			t.Errorf("DELETE %s: status %d, want %d", tt.name, got, tt.want)
		}
	}
	if w := legacy(h, a, "a", ping); w.Code != 404 {
		t.Errorf("after its end: status %d", w.Code)
	}
	if w := legacy(h, b, "b", ping); w.Code != 200 {
		t.Errorf("the other one: status %d", w.Code)
	}
}

// E3: the version header of a session is the one it negotiated, or absent.
func TestSessionVersion(t *testing.T) {
	h := httpd.New(server(&backend{}), nil)
	id := begin(t, h, "")
	for version, want := range map[string]int{"": 200, "2025-11-25": 200, "2025-06-18": 400, "1999-01-01": 400, "2026-07-28": 400, "zzz": 400} {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(ping))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Session-Id", id)
		if version != "" {
			r.Header.Set("MCP-Protocol-Version", version)
		}
		if w := serve(h, r); w.Code != want {
			t.Errorf("version %q: status %d, body %s, want %d", version, w.Code, w.Body, want)
		}
	}
}

// A header that is no revision's name makes no other revision of a message: it is refused as what it is.
func TestVersionIsNoDate(t *testing.T) {
	h := httpd.New(server(&backend{}), nil)
	for _, version := range []string{"zzz", "2026-07-28x", "9", "2026-13-01"} {
		for name, body := range map[string]string{"initialize": initialize, "ping": ping} {
			r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("MCP-Protocol-Version", version)
			if w := serve(h, r); w.Code != 400 || !strings.Contains(w.Body.String(), "Unsupported protocol version") {
				t.Errorf("%s with %q: status %d, body %s", name, version, w.Code, w.Body)
			}
		}
	}
}

// A client may answer what it could not read by an error without an id, also written null.
func TestResponseWithoutID(t *testing.T) {
	h := httpd.New(server(&backend{}), nil)
	id := begin(t, h, "")
	for _, tt := range []struct {
		session, body string
		want          int
	}{
		{id, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, 202},
		{id, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`, 202},
		{id, `{"jsonrpc":"2.0","id":null,"result":{}}`, 400},
		{"", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`, 400},
	} {
		if w := legacy(h, tt.session, "", tt.body); w.Code != tt.want {
			t.Errorf("%s: status %d, body %s, want %d", tt.body, w.Code, w.Body, tt.want)
		}
	}
}

// A new session takes the place of the caller's own that was idle longest, or, where all callers have too many, of anybody's;
// never of one in use.
func TestSessionEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		b := &backend{read: func(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
			<-release
			return text(p.URI, "x"), nil
		}}
		h := httpd.New(mcp.NewServer(b, &mcp.Options{MaxSessions: 8}), &httpd.Options{Principal: withSubject})
		next := func(who string) string {
			time.Sleep(time.Second)
			return begin(t, h, who)
		}
		alive := func(id, who string) bool {
			time.Sleep(time.Second)
			return legacy(h, id, who, ping).Code == 200
		}
		honest := next("honest")
		for range 1000 {
			next("flood")
		}
		if !alive(honest, "honest") {
			t.Fatal("one caller's sessions ended another's")
		}
		busy := next("busy")
		done := make(chan int)
		go func() { done <- legacy(h, busy, "busy", legacyRead).Code }()
		synctest.Wait()
		old, kept := next("a"), next("b")
		for i := range 3 {
			next(fmt.Sprint("c", i)) // the table had 6, 8 are its bound: the flood's last go, as the longest idle
		}
		if !alive(old, "a") || !alive(kept, "b") {
			t.Error("a session ended although others were idle for longer")
		}
		for i := range 4 {
			next(fmt.Sprint("d", i))
		}
		if alive(honest, "honest") {
			t.Error("the longest idle session is still there in a full table")
		}
		close(release)
		if code := <-done; code != 200 {
			t.Errorf("a session in use ended: status %d", code)
		}
	})
}

// A caller all of whose sessions are in use is refused; others are not. Anonymous callers are told apart by their address, in
// IPv6 by its network.
func TestSessionsOfOneCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		b := &backend{read: func(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
			<-release
			return text(p.URI, "x"), nil
		}}
		h := httpd.New(mcp.NewServer(b, &mcp.Options{MaxSessions: 4}), nil)
		from := func(addr, session, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
			r.RemoteAddr = addr
			r.Header.Set("Content-Type", "application/json")
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			return serve(h, r)
		}
		first := from("[2001:db8::1]:9", "", initialize).Header().Get("Mcp-Session-Id")
		done := make(chan int)
		go func() { done <- from("[2001:db8::1]:9", first, legacyRead).Code }()
		synctest.Wait()
		for addr, want := range map[string]int{"[2001:db8::2]:9": 503, "[2001:db8:0:1::1]:9": 200, "192.0.2.1:9": 200, "192.0.2.2:9": 200} {
			if w := from(addr, "", initialize); w.Code != want {
				t.Errorf("%s: status %d, want %d", addr, w.Code, want)
			}
		}
		close(release)
		<-done
	})
}

// Sessions are bounded in idle time; one with a request in flight is not idle.
func TestSessionLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{read: func(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
			time.Sleep(45 * time.Minute)
			return text(p.URI, "x"), nil
		}}
		h := httpd.New(mcp.NewServer(b, &mcp.Options{MaxSessions: 8, SessionIdle: 30 * time.Minute}), nil)
		first, second := begin(t, h, ""), begin(t, h, "")
		done := make(chan int)
		go func() { done <- legacy(h, second, "", legacyRead).Code }()
		time.Sleep(20 * time.Minute)
		if w := legacy(h, first, "", ping); w.Code != 200 {
			t.Errorf("after 20 min: status %d", w.Code)
		}
		time.Sleep(29 * time.Minute)
		if w := legacy(h, first, "", ping); w.Code != 200 {
			t.Errorf("29 min after it was used: status %d", w.Code)
		}
		if code := <-done; code != 200 {
			t.Errorf("long request: status %d", code)
		}
		time.Sleep(31 * time.Minute)
		if w := legacy(h, first, "", ping); w.Code != 404 {
			t.Errorf("idle for 31 min: status %d", w.Code)
		}
		begin(t, h, "")
		begin(t, h, "") // the second has expired too
	})
}

// CAN-01: leaving does not cancel a legacy request, notifications/cancelled of its session does, and so does Close.
func TestLegacyCancel(t *testing.T) {
	started, ended := make(chan bool), make(chan error)
	release := make(chan bool)
	b := &backend{read: func(ctx context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		started <- true
		select {
		case <-ctx.Done():
		case <-release:
		}
		ended <- ctx.Err()
		return text(p.URI, "x"), nil
	}}
	h := httpd.New(server(b), nil)
	id, other := begin(t, h, ""), begin(t, h, "")
	call := func(ctx context.Context) <-chan *httptest.ResponseRecorder {
		body := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			r := httptest.NewRequest("POST", "/mcp", strings.NewReader(legacyRead)).WithContext(ctx)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Mcp-Session-Id", id)
			body <- serve(h, r)
		}()
		<-started
		return body
	}
	cancelled := func(session, id string) {
		legacy(h, session, "", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id))
	}

	ctx, leave := context.WithCancel(t.Context())
	body := call(ctx)
	leave()
	cancelled(other, "3")
	cancelled(id, `"3"`)
	release <- true
	if err := <-ended; err != nil {
		t.Errorf("leaving or an odd cancellation ended the request: %v", err)
	}
	<-body

	body = call(t.Context())
	cancelled(id, "3")
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if w := <-body; w.Code != 0 || w.Body.Len() > 0 {
		t.Errorf("sent for a cancelled request: %d %s", w.Code, w.Body)
	}

	// The end of the session is told: nobody asked for this request's end.
	body = call(t.Context())
	r := httptest.NewRequest("DELETE", "/mcp", nil)
	r.Header.Set("Mcp-Session-Id", id)
	if w := serve(h, r); w.Code != 204 {
		t.Errorf("DELETE: status %d", w.Code)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("session ended: %v", err)
	}
	if w := <-body; w.Code != 404 || !strings.Contains(w.Body.String(), `"id":3,"error"`) {
		t.Errorf("session ended: answer %d %s", w.Code, w.Body)
	}

	id = begin(t, h, "")
	body = call(t.Context())
	done, cancel := context.WithCancel(t.Context())
	cancel()
	go h.Close(done)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("closed: %v", err)
	}
	if w := <-body; w.Code != 503 || !strings.Contains(w.Body.String(), `"id":3,"error"`) {
		t.Errorf("closed: answer %d %s", w.Code, w.Body)
	}
}
