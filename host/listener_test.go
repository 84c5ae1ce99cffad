package host_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/memprovider"
)

// event is a message of a stream, as far as these tests look at it.
type event struct {
	ID     jsontext.Value  `json:"id,omitzero"`
	Method string          `json:"method"`
	Result *jsontext.Value `json:"result"`
	Error  *struct {
		Code int `json:"code"`
	} `json:"error"`
	Params struct {
		URI           string         `json:"uri"`
		RequestID     jsontext.Value `json:"requestId"`
		Notifications *struct {
			List  *bool    `json:"resourcesListChanged"`
			Tools *bool    `json:"toolsListChanged"`
			URIs  []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
		Meta struct {
			ID jsontext.Value `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	} `json:"params"`
}

// String says which event it is.
func (e *event) String() string {
	switch e.Method {
	case "notifications/subscriptions/acknowledged":
		return "ack " + strings.Join(e.Params.Notifications.URIs, " ")
	case "notifications/resources/updated":
		return "updated " + e.Params.URI
	case "notifications/resources/list_changed":
		return "list_changed"
	case "notifications/cancelled":
		return "cancelled " + string(e.Params.RequestID)
	case "":
		if e.Error != nil {
			return "error"
		}
		return "result"
	}
	return e.Method
}

// stream is one line of events.
type stream struct {
	t      testing.TB
	events chan *event
	close  func()
}

// next returns the next event, or nil at the end.
func (s *stream) next() *event {
	s.t.Helper()
	select {
	case e := <-s.events:
		return e
	case <-time.After(10 * time.Second):
		s.t.Fatal("nothing came for 10 s")
		return nil
	}
}

// want checks the next events.
func (s *stream) want(events ...string) {
	s.t.Helper()
	for _, want := range events {
		got := "the end"
		if e := s.next(); e != nil {
			got = e.String()
		}
		if got != want {
			s.t.Fatalf("got %q, want %q", got, want)
		}
	}
}

// none checks that nothing comes for a while.
func (s *stream) none() {
	s.t.Helper()
	select {
	case e := <-s.events:
		s.t.Errorf("got %v, want nothing", e)
	case <-time.After(100 * time.Millisecond):
	}
}

// scan sends what a reader holds to the stream; prefix is what comes before a message on its line.
func (s *stream) scan(r io.Reader, prefix string) {
	defer close(s.events)
	for in := bufio.NewReaderSize(r, 1<<16); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix)
		if !ok || line == "" {
			continue
		}
		e := &event{}
		if err := json.Unmarshal([]byte(line), e); err != nil {
			s.t.Errorf("%v: %s", err, line)
			return
		}
		s.events <- e
	}
}

// wire is an HTTP server of a handler, on connections in memory.
type wire struct {
	t      testing.TB
	client *http.Client
	conns  chan net.Conn
	done   chan struct{}
}

func (w *wire) Accept() (net.Conn, error) {
	select {
	case c := <-w.conns:
		return c, nil
	case <-w.done:
		return nil, net.ErrClosed
	}
}
func (w *wire) Close() error   { return nil }
func (w *wire) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func newWire(t testing.TB, h http.Handler, http2 bool) *wire {
	w := &wire{t: t, conns: make(chan net.Conn), done: make(chan struct{})}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		client, server := net.Pipe()
		select {
		case w.conns <- server:
			return client, nil
		case <-w.done:
			return nil, net.ErrClosed
		}
	}}
	srv := &http.Server{Handler: h, WriteTimeout: time.Second, ReadTimeout: time.Second}
	if http2 {
		srv.Protocols, transport.Protocols = new(http.Protocols), new(http.Protocols)
		srv.Protocols.SetUnencryptedHTTP2(true)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	w.client = &http.Client{Transport: transport}
	var served sync.WaitGroup
	served.Go(func() { srv.Serve(w) })
	t.Cleanup(func() {
		close(w.done)
		srv.Close()
		transport.CloseIdleConnections()
		served.Wait()
	})
	return w
}

// request sends a request; header are names and values.
func (w *wire) request(ctx context.Context, method, body string, header ...string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost/mcp", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// stream reads the events of a response.
func (w *wire) stream(method, body string, header ...string) *stream {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp := w.request(ctx, method, body, header...)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.t.Fatalf("status %d, header %v", resp.StatusCode, resp.Header)
	}
	s := &stream{t: w.t, events: make(chan *event, 1024)}
	var reading sync.WaitGroup
	reading.Go(func() { s.scan(resp.Body, "data: ") })
	s.close = func() {
		cancel()
		resp.Body.Close()
		reading.Wait()
	}
	w.t.Cleanup(s.close)
	return s
}

// listen opens a modern stream.
func (w *wire) listen(id, filter string, header ...string) *stream {
	w.t.Helper()
	return w.stream(http.MethodPost, message(id, "subscriptions/listen", `"notifications":`+filter),
		append([]string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen"}, header...)...)
}

// session begins a legacy session and returns the header that names it.
func (w *wire) session() []string {
	w.t.Helper()
	resp := w.request(w.t.Context(), http.MethodPost,
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	defer resp.Body.Close()
	id := resp.Header.Get("Mcp-Session-Id")
	if id == "" {
		w.t.Fatalf("no session: %d", resp.StatusCode)
	}
	return []string{"Mcp-Session-Id", id}
}

// call sends a request of a session and returns its answer.
func (w *wire) call(session []string, method, params string) *event {
	w.t.Helper()
	resp := w.request(w.t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`, session...)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	e := &event{}
	if err := json.Unmarshal(body, e); err != nil {
		w.t.Fatalf("%v: %s", err, body)
	}
	return e
}

// pipe is a client over stdio.
type pipe struct {
	stream
	in   io.WriteCloser
	done chan error
}

func newPipe(t testing.TB, h *host.Host) *pipe {
	in, write := io.Pipe()
	read, out := io.Pipe()
	p := &pipe{stream: stream{t: t, events: make(chan *event, 1024)}, in: write, done: make(chan error, 1)}
	var work sync.WaitGroup
	work.Go(func() {
		err := h.ServeStdio(context.Background(), in, out)
		out.Close()
		p.done <- err
	})
	work.Go(func() { p.scan(read, "") })
	t.Cleanup(func() {
		write.Close()
		work.Wait()
	})
	return p
}

func (p *pipe) send(lines ...string) {
	p.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(p.in, l+"\n"); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *pipe) listen(id, filter string) {
	p.t.Helper()
	p.send(message(id, "subscriptions/listen", `"notifications":`+filter))
}

// nextOf returns the next event of the subscription id, whose events the other ones may stand between.
func (p *pipe) nextOf(id string) *event {
	p.t.Helper()
	e := p.next()
	if e == nil || string(e.Params.Meta.ID) != id {
		p.t.Fatalf("got %v of subscription %s, want one of %s", e, e.Params.Meta.ID, id)
	}
	return e
}

// memory returns a provider docs with the texts a, b and folder/c.
func memory(t testing.TB) *memprovider.Provider {
	t.Helper()
	p, err := memprovider.New("docs", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "folder/c"} {
		set(t, p, name)
	}
	return p
}

// set changes the text under a path.
func set(t testing.TB, p *memprovider.Provider, path string) {
	t.Helper()
	if err := p.SetText(path, "text/plain", "of "+path); err != nil {
		t.Error(err)
	}
}

const filterA = `{"resourceSubscriptions":["docs://a"]}`

func decodeInto(t testing.TB, r io.Reader, e *event) {
	t.Helper()
	body, err := io.ReadAll(r)
	if err == nil {
		err = json.Unmarshal(body, e)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
}
