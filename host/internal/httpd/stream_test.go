package httpd_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/host/internal/httpd"
	"github.com/reshost/reshost/host/internal/mcp"
)

// listenRequest opens a subscription to docs://a.
func listenRequest(ctx context.Context, t testing.TB) *http.Request {
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["docs://a"]},` + meta + `}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	setHeaders(r.Header, "")
	r.Header.Del("Mcp-Name")
	r.Header.Set("Mcp-Method", "subscriptions/listen")
	return r
}

// HTTP-07, S6: a stream that is quiet for long carries comments, an http.Server's WriteTimeout does not cut it, and an update
// still comes; with HTTP/2 as well.
func TestQuietStream(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%v", http2), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFeed()
				h := httpd.New(mcp.NewServer(&backend{feed: f}, nil), nil)
				client, stop := startWith(t, h, http2, func(s *http.Server) {
					s.WriteTimeout, s.ReadTimeout = 10*time.Second, 10*time.Second
				})
				defer stop()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				resp, err := client.Do(listenRequest(ctx, t))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if got := resp.Header.Get("X-Accel-Buffering"); got != "no" {
					t.Errorf("X-Accel-Buffering: %q", got)
				}
				in := bufio.NewReader(resp.Body)
				line := func() string {
					s, err := in.ReadString('\n')
					if err != nil {
						t.Fatal(err)
					}
					if end, err := in.ReadString('\n'); err != nil || end != "\n" {
						t.Fatalf("after %q: %q, %v", s, end, err)
					}
					return strings.TrimSuffix(s, "\n")
				}
				begun := time.Now()
				if got := line(); !strings.Contains(got, "acknowledged") {
					t.Errorf("first: %s", got)
				}
				for i := range 8 { // 120 s
					if got := line(); got != ":" {
						t.Errorf("got %q, want a comment", got)
					}
					if d, want := time.Since(begun), time.Duration(i+1)*15*time.Second; d != want {
						t.Errorf("comment %d after %v, want %v", i, d, want)
					}
				}
				f.changes <- mcp.Change{URI: "docs://a"}
				if got := line(); !strings.Contains(got, `"uri":"docs://a"`) {
					t.Errorf("got %s", got)
				}
				cancel() // the client leaves: its subscription ends
				if err := <-f.closed; errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("closed with %v", err)
				}
			})
		})
	}
}

// startWith is start with a server that is configured otherwise.
func startWith(t testing.TB, h http.Handler, http2 bool, change func(*http.Server)) (*http.Client, func()) {
	n := &network{conns: make(chan net.Conn), done: make(chan struct{})}
	srv := &http.Server{Handler: h}
	change(srv)
	transport := &http.Transport{DialContext: n.dial}
	if http2 {
		srv.Protocols, transport.Protocols = new(http.Protocols), new(http.Protocols)
		srv.Protocols.SetUnencryptedHTTP2(true)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(n) }()
	return &http.Client{Transport: transport}, func() {
		transport.CloseIdleConnections()
		srv.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	}
}

// A client that stops reading is ended past the write deadline, and said to be stuck.
func TestStalledStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		h := httpd.New(mcp.NewServer(&backend{feed: f}, nil), nil)
		_, n, stop := start(t, h, false)
		defer stop()
		conn, err := n.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		go listenRequest(t.Context(), t).Write(conn)
		in := bufio.NewReader(conn)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := bufio.NewReader(resp.Body).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		go func() {
			for {
				select {
				case f.changes <- mcp.Change{URI: "docs://a"}:
				case <-t.Context().Done():
					return
				}
			}
		}()
		if err := <-f.closed; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
		if d := time.Since(begun); d < 10*time.Second || d > 30*time.Second {
			t.Errorf("ended after %v", d)
		}
	})
}

// The end of the subscription is its last message, and Close lets it come.
func TestCloseLetsStreamsEnd(t *testing.T) {
	f := newFeed()
	h := httpd.New(mcp.NewServer(&backend{feed: f}, nil), nil)
	client, _, stop := start(t, h, false)
	defer stop()
	resp, err := client.Do(listenRequest(t.Context(), t))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	closed := make(chan error, 1)
	go func() { closed <- h.Close(context.Background()) }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(body)), "\n\n")
	if len(lines) != 2 || !strings.Contains(lines[1], `"id":1,"result":{"resultType":"complete"`) {
		t.Errorf("got %q", lines)
	}
	<-f.closed
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

// H3, E2: GET is the stream of a legacy session: without one 405, with an unknown one 404, without events 406.
func TestGetWithoutSession(t *testing.T) {
	for _, tt := range []struct {
		name   string
		server *mcp.Options
		header map[string]string
		want   int
	}{
		{"no session", nil, map[string]string{"Accept": "text/event-stream"}, http.StatusMethodNotAllowed},
		{"unknown session", nil, map[string]string{"Accept": "text/event-stream", "Mcp-Session-Id": "x"}, http.StatusNotFound},
		{"no events", nil, map[string]string{"Accept": "application/json", "Mcp-Session-Id": "x"}, http.StatusNotAcceptable},
		{"modern only", &mcp.Options{Revisions: mcp.Revisions()[:1]}, map[string]string{"Accept": "text/event-stream"}, http.StatusMethodNotAllowed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := httpd.New(mcp.NewServer(&backend{}, tt.server), nil)
			r := httptest.NewRequest(http.MethodGet, "http://localhost/mcp", http.NoBody)
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			w := serve(h, r)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d", w.Code, tt.want)
			}
			if allow := w.Header().Get("Allow"); (tt.want == http.StatusMethodNotAllowed) != (allow != "") {
				t.Errorf("Allow: %q", allow)
			}
		})
	}
}

// A session that holds a subscription ends by itself when it is idle too long, and with it the subscription; an open stream is
// use, and so the session lives on.
func TestIdleSessionLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		h := httpd.New(mcp.NewServer(&backend{feed: f}, nil), nil)
		id := begin(t, h, "")
		legacy(h, id, "", `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"docs://a"}}`)
		ctx, leave := context.WithCancel(t.Context())
		streamed := make(chan *httptest.ResponseRecorder, 1)
		go func() {
			r := httptest.NewRequest(http.MethodGet, "http://localhost/mcp", http.NoBody).WithContext(ctx)
			r.Header.Set("Accept", "text/event-stream")
			r.Header.Set("Mcp-Session-Id", id)
			streamed <- serve(h, r)
		}()
		time.Sleep(3 * time.Hour)
		select {
		case <-f.closed:
			t.Fatal("the session ended while its stream was open")
		default:
		}
		leave()
		if w := <-streamed; w.Code != http.StatusOK || strings.Count(w.Body.String(), ":\n\n") < 700 {
			t.Errorf("status %d, %d bytes", w.Code, w.Body.Len())
		}
		begun := time.Now()
		<-f.closed
		if d := time.Since(begun); d < 30*time.Minute || d > 61*time.Minute {
			t.Errorf("ended after %v", d)
		}
	})
}
