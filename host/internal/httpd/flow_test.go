package httpd_test

import (
	"bytes"
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
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/host/internal/httpd"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// endless is a body that never ends and counts what was read of it.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	const begin = `{"jsonrpc":"2.0","id":"big","method":"x","params":`
	for i := range p {
		p[i] = ' '
	}
	copy(p, begin[min(e.read, len(begin)):])
	e.read += len(p)
	return len(p), nil
}

// HTTP-10.
func TestBodyLimit(t *testing.T) {
	const limit = 100_000
	h := httpd.New(server(&backend{}), &httpd.Options{MaxBody: limit})
	pad := func(n int) io.Reader {
		b := readBody("1", "docs://a")
		return strings.NewReader(b + strings.Repeat(" ", n-len(b)))
	}
	for _, tt := range []struct {
		name   string
		body   io.Reader
		length int64
		want   int
		id     string
	}{
		{"at the limit", pad(limit), limit, 200, "1"},
		{"one above", pad(limit + 1), limit + 1, 413, "1"},
		{"one above, chunked", pad(limit + 1), -1, 413, "1"},
		{"10 GiB promised", pad(1000), 10 << 30, 413, "1"},
		{"endless", &endless{}, -1, 413, `"big"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/mcp", tt.body)
			setHeaders(r.Header, "docs://a")
			r.ContentLength = tt.length
			w := serve(h, r)
			if w.Code != tt.want || !strings.Contains(w.Body.String(), `"id":`+tt.id) {
				t.Errorf("status %d, body %.200s, want %d with id %s", w.Code, w.Body, tt.want, tt.id)
			}
			if e, ok := tt.body.(*endless); ok && e.read > 4*limit {
				t.Errorf("%d bytes were read", e.read)
			}
		})
	}
}

// The caller is identified before the body is read.
func TestPrincipal(t *testing.T) {
	for _, tt := range []struct {
		name      string
		err       error
		want      int
		challenge string
	}{
		{"plain error", errors.New("secret cause"), 401, "Bearer"},
		{"forbidden", &httpd.AuthError{Status: 403, Challenge: `Bearer error="insufficient_scope"`}, 403, `Bearer error="insufficient_scope"`},
		{"wrapped", fmt.Errorf("x: %w", &httpd.AuthError{Status: 400, Message: "two headers"}), 400, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := httpd.New(server(&backend{}), &httpd.Options{Principal: func(*http.Request) (*provider.Principal, error) { return nil, tt.err }})
			body := &endless{}
			r := httptest.NewRequest("POST", "/mcp", body)
			setHeaders(r.Header, "docs://a")
			w := serve(h, r)
			if w.Code != tt.want || w.Header().Get("WWW-Authenticate") != tt.challenge || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("status %d, header %v, body %s", w.Code, w.Header(), w.Body)
			}
			if body.read > 0 {
				t.Errorf("%d bytes of the body were read", body.read)
			}
		})
	}
}

// HTTP-13, P8: clients with equal ids never meet, over both versions of HTTP.
func TestCallersNeverMeet(t *testing.T) {
	b := &backend{read: func(ctx context.Context, c *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		p.Progress(1, 2, c.Principal.Subject)
		return text(p.URI, "content of "+c.Principal.Subject), nil
	}}
	h := httpd.New(server(b), &httpd.Options{Principal: func(r *http.Request) (*provider.Principal, error) {
		return &provider.Principal{Issuer: "i", Subject: r.Header.Get("Authorization")}, nil
	}})
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2=%v", http2), func(t *testing.T) {
			client, _, stop := start(t, h, http2)
			defer stop()
			var wg sync.WaitGroup
			for c := range 20 {
				wg.Go(func() {
					for id := range 20 {
						who := fmt.Sprintf("client-%d", c)
						body := strings.Replace(readBody(fmt.Sprint(id), "docs://me"), `"_meta":{`, `"_meta":{"progressToken":`+fmt.Sprint(id)+`,`, 1)
						ctx, cancel := context.WithCancel(context.Background())
						if (c+id)%7 == 0 {
							cancel() // some leave midway
						}
						r, _ := http.NewRequestWithContext(ctx, "POST", "http://localhost/mcp", strings.NewReader(body))
						setHeaders(r.Header, "docs://me")
						r.Header.Set("Authorization", who)
						resp, err := client.Do(r)
						if err != nil {
							cancel()
							continue
						}
						got, _ := io.ReadAll(resp.Body)
						resp.Body.Close()
						want := fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":1,"total":2,"message":%q}}`+"\n\n"+
							`data: {"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","contents":[{"uri":"docs://me","mimeType":"text/plain","text":"content of %s"}]`, id, who, id, who)
						if !strings.HasPrefix(string(got), want) {
							t.Errorf("got %s\nwant %s", got, want)
						}
						if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Content-Type") != "text/event-stream" {
							t.Errorf("header %v", resp.Header)
						}
						cancel()
					}
				})
			}
			wg.Wait()
		})
	}
}

// A client that takes JSON alone gets the result and no notifications.
func TestJSONOnly(t *testing.T) {
	b := &backend{read: func(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		if p.Progress != nil {
			t.Error("progress can reach nobody")
		}
		return text(p.URI, "x"), nil
	}}
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(strings.Replace(readBody("1", "docs://a"), `"_meta":{`, `"_meta":{"progressToken":1,`, 1)))
	setHeaders(r.Header, "docs://a")
	r.Header.Set("Accept", "application/json")
	w := serve(httpd.New(server(b), nil), r)
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("status %d, header %v", w.Code, w.Header())
	}
}

// CAN-01: a client that leaves a modern request cancels it.
func TestDisconnectCancels(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		started, cancelled := make(chan bool), make(chan bool)
		b := &backend{read: func(ctx context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
			started <- true
			<-ctx.Done()
			cancelled <- true
			return nil, ctx.Err()
		}}
		h := httpd.New(server(b), nil)
		client, _, stop := start(t, h, http2)
		for range 20 {
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() {
				_, _, err := post(ctx, client, "1", "docs://slow")
				done <- err
			}()
			<-started
			cancel()
			<-cancelled
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("http2=%v: %v", http2, err)
			}
		}
		if err := h.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
		stop()
	}
}

// Close lets requests in flight finish and refuses new ones with the id.
func TestClose(t *testing.T) {
	started, release := make(chan bool), make(chan bool)
	b := &backend{read: func(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		started <- true
		<-release
		return text(p.URI, "late"), nil
	}}
	h := httpd.New(server(b), nil)
	first := make(chan *httptest.ResponseRecorder)
	go func() { first <- serve(h, readRequest()) }()
	<-started
	closed := make(chan error)
	go func() { closed <- h.Close(context.Background()) }()
	for {
		w := httptest.NewRecorder()
		r := readRequest()
		r.Method = "PUT" // does not reach the backend while the handler is still open
		h.ServeHTTP(w, r)
		if w.Code == 503 {
			break
		}
	}
	w := serve(h, readRequest())
	if w.Code != 503 || !strings.Contains(w.Body.String(), `"id":1`) || w.Header().Get("Retry-After") != "1" {
		t.Errorf("after Close: status %d, header %v, body %s", w.Code, w.Header(), w.Body)
	}
	close(release)
	if w := <-first; w.Code != 200 {
		t.Errorf("in flight: status %d", w.Code)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
}

func TestCloseCancelsWhatIsLeft(t *testing.T) {
	started := make(chan bool)
	b := &backend{read: func(ctx context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		started <- true
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	h := httpd.New(server(b), nil)
	done := make(chan bool)
	go func() {
		if w := serve(h, readRequest()); w.Code != 503 || !strings.Contains(w.Body.String(), `"id":1,"error"`) {
			t.Errorf("answer %d %s", w.Code, w.Body)
		}
		done <- true
	}()
	<-started
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Close: %v", err)
	}
	<-done
}

// Over the limit of concurrent requests: 503 with the id, and the others go on.
func TestConcurrencyLimit(t *testing.T) {
	started, release := make(chan bool), make(chan bool)
	b := &backend{read: func(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
		started <- true
		<-release
		return text(p.URI, "x"), nil
	}}
	h := httpd.New(server(b), &httpd.Options{MaxConcurrent: 2})
	answers := make(chan int)
	for range 2 {
		go func() { answers <- serve(h, readRequest()).Code }()
		<-started
	}
	w := serve(h, readRequest())
	if w.Code != 503 || !strings.Contains(w.Body.String(), `"id":1,"error":{"code":-32603`) || w.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, header %v, body %s", w.Code, w.Header(), w.Body)
	}
	close(release)
	for range 2 {
		if code := <-answers; code != 200 {
			t.Errorf("status %d", code)
		}
	}
}

// The host's own limits answer through Admit, with the status of their kind.
func TestAdmit(t *testing.T) {
	released := 0
	var refusal error
	s := mcp.NewServer(&backend{}, &mcp.Options{Admit: func(_ context.Context, c *mcp.Caller, method string) (func(), error) {
		if method != "resources/read" || c.Remote != "192.0.2.1" {
			t.Errorf("asked for %s of %q", method, c.Remote)
		}
		return func() { released++ }, refusal
	}})
	for _, tt := range []struct {
		err        error
		want       int
		retryAfter string
	}{
		{nil, 200, ""},
		{&mcp.Refusal{TooMany: true, RetryAfterMillis: 1500}, 429, "2"},
		{&mcp.Refusal{}, 503, ""},
		{errors.New("any other"), 503, ""},
	} {
		refusal = tt.err
		w := serve(httpd.New(s, nil), readRequest())
		if w.Code != tt.want || w.Header().Get("Retry-After") != tt.retryAfter || !strings.Contains(w.Body.String(), `"id":1`) {
			t.Errorf("%v: status %d, header %v, body %s", tt.err, w.Code, w.Header(), w.Body)
		}
	}
	if released != 1 {
		t.Errorf("released %d times, want once", released)
	}
}

// A body that trickles in is given up after a while, and the connection with it.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := httpd.New(server(&backend{}), nil)
		_, n, stop := start(t, h, false)
		defer stop()
		conn, err := n.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		answer := make(chan string, 1)
		go func() {
			b := make([]byte, 4096)
			n, _ := conn.Read(b)
			answer <- string(b[:n])
		}()
		io.WriteString(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
		io.WriteString(conn, `{"id":7,`)
		begin := time.Now()
		for range 100 {
			if _, err := io.WriteString(conn, " "); err != nil {
				break
			}
			time.Sleep(time.Second)
		}
		got := <-answer
		if !strings.HasPrefix(got, "HTTP/1.1 408") || !strings.Contains(got, `"id":7`) {
			t.Errorf("got %s", got)
		}
		if d := time.Since(begin); d > 40*time.Second {
			t.Errorf("it took %v", d)
		}
	})
}

// A body that is not whole is no request in flight: Close cuts it, also where it is refused unread.
func TestCloseCutsBodies(t *testing.T) {
	for name, head := range map[string]string{
		"read":    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n" + `{"id":7,`,
		"refused": "POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil\r\nContent-Length: 1000\r\n\r\n",
		"unread":  "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := httpd.New(server(&backend{}), nil)
				_, n, stop := start(t, h, false)
				defer stop()
				conn, err := n.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				answer := make(chan string, 1)
				go func() {
					all, _ := io.ReadAll(conn)
					answer <- string(all)
				}()
				io.WriteString(conn, head)
				synctest.Wait()
				begin := time.Now()
				if err := h.Close(t.Context()); err != nil {
					t.Errorf("Close: %v", err)
				}
				got := <-answer
				if time.Since(begin) > 0 {
					t.Errorf("the connection ended after %v", time.Since(begin))
				}
				if name == "read" && (!strings.HasPrefix(got, "HTTP/1.1 503") || !strings.Contains(got, `"id":7`)) {
					t.Errorf("got %s", got)
				}
			})
		})
	}
}

// A client that ends its half of the connection looks like one that is gone: it gets no answer, and no status without one.
func TestHalfClose(t *testing.T) {
	b := &backend{read: func(ctx context.Context, _ *mcp.Caller, _ *mcp.ReadParams) (*mcp.ReadResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	srv := httptest.NewServer(httpd.New(server(b), nil))
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := readRequest()
	r.Host = "localhost"
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, _ := io.ReadAll(conn); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

// A client that does not read its answer is given up, and the request ends.
func TestStalledReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &backend{read: func(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
			return text(p.URI, strings.Repeat("x", 1<<20)), nil
		}}
		h := httpd.New(server(b), nil)
		_, n, stop := start(t, h, false)
		defer stop()
		conn, err := n.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		r := httptest.NewRequest("POST", "http://localhost/mcp", bytes.NewReader([]byte(readBody("1", "docs://a"))))
		setHeaders(r.Header, "docs://a")
		if err := r.Write(conn); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := h.Close(context.Background()); err != nil { // waits for the request
			t.Errorf("Close: %v", err)
		}
		if d := time.Since(begin); d > 15*time.Second {
			t.Errorf("the request lasted %v", d)
		}
	})
}
