package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClient(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(handler)
	c, err := New(&Options{URL: s.URL + "/mcp", Name: "test", Version: "1", Header: http.Header{"Authorization": {"Bearer secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		s.Close()
	})
	return c
}

// TestMisbehaving: whatever a server answers, a call ends with an error that says so.
func TestMisbehaving(t *testing.T) {
	reply := func(contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			_, _ = io.WriteString(w, body)
		}
	}
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if len(header) > 0 {
				w.Header().Set(header[0], header[1])
			}
			w.WriteHeader(code)
		}
	}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"HTML":                  {reply("text/html", "<html>"), "no MCP endpoint"},
		"no type":               {reply("", ""), "no MCP endpoint"},
		"garbage":               {reply(typeJSON, "garbage"), "no message"},
		"nothing":               {reply(typeJSON, ""), "no message"},
		"a number":              {reply(typeJSON, "1"), "no message"},
		"a batch":               {reply(typeJSON, `[]`), "no message"},
		"twice a name":          {reply(typeJSON, `{"id":1,"id":1,"result":{}}`), "no message"},
		"another id":            {reply(typeJSON, `{"jsonrpc":"2.0","id":99,"result":{}}`), "belongs to no request"},
		"an id as text":         {reply(typeJSON, `{"jsonrpc":"2.0","id":"1","result":{}}`), "belongs to no request"},
		"no result":             {reply(typeJSON, `{"jsonrpc":"2.0","id":1}`), "belongs to no request"},
		"an empty stream":       {reply(typeStream, ""), "closed the stream"},
		"half an event":         {reply(typeStream, `data: {"jsonrpc":"2.0","id":1,"result":{}}`), "closed the stream"},
		"a stream of junk":      {reply(typeStream, "data: x\n\n"), "no message"},
		"401":                   {status(401), "--token-file"},
		"403":                   {status(403), "credentials"},
		"429":                   {status(429, "Retry-After", "7"), `try again after "7" seconds`},
		"500":                   {status(500), "500 Internal Server Error"},
		"redirect":              {status(302, "Location", "http://other.test/"), `name "http://other.test/"`},
		"older, but no session": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "404 Not Found"},
		"another revision": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", typeJSON)
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"only tomorrow's","data":{"supported":["2030-01-01"]}}}`)
		}, "only tomorrow's"},
		"closes": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClient(t, tt.handler)
			_, err := c.Call(t.Context(), "resources/list", "", map[string]any{})
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// TestEndless: a server that never ends its answer costs a call its bound, and an interrupt ends it.
func TestEndless(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", typeStream)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, ": still here\n\n"); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := c.Call(ctx, "resources/list", "", map[string]any{}); err == nil {
		t.Error("no error")
	}
}

// TestRedirectKeepsSecrets: credentials reach no other origin.
func TestRedirectKeepsSecrets(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	if _, err := c.Call(t.Context(), "resources/list", "", map[string]any{}); err == nil || reached {
		t.Errorf("reached %v, error %v", reached, err)
	}
}

// TestWatchRefused: what is not acknowledged is an error, and a refusal for good is not tried again.
func TestWatchRefused(t *testing.T) {
	c := newClient(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if bytes.Contains(b, []byte("server/discover")) {
			w.Header().Set("Content-Type", typeJSON)
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			return
		}
		w.Header().Set("Content-Type", typeStream)
		_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["a://1"]}}}`+"\n\n")
	})
	err := c.Watch(t.Context(), []string{"a://1", "a://2"}, func(Change) error { return nil }, func(error, time.Duration) { t.Error("tried again") })
	if r := new(Refused); !errors.As(err, &r) || fmt.Sprint(r.URIs) != "[a://2]" {
		t.Errorf("error %v", err)
	}
	c = newClient(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	if err := c.Watch(t.Context(), []string{"a://1"}, nil, func(error, time.Duration) { t.Error("tried again") }); err == nil {
		t.Error("no error from a first connection that fails")
	}
}

func TestHeaderValue(t *testing.T) {
	for in, want := range map[string]string{
		"docs://a": "docs://a", "docs://é": "=?base64?ZG9jczovL8Op?=", "a b": "=?base64?YSBi?=", "=?base64?x?=": "=?base64?PT9iYXNlNjQ/eD89?=",
	} {
		if got := headerValue(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestEvents(t *testing.T) {
	for in, want := range map[string][]string{
		"data: a\n\ndata:b\n\n":                     {"a", "b"},
		"data: a\r\ndata: b\r\n\r\n":                {"a\nb"},
		"data: a\rdata:  b\r\rdata: c\r\r":          {"a\n b", "c"},
		": comment\n\nevent: x\nid: 1\ndata: a\n\n": {"a"},
		"event: x\n\ndata\n\ndata: a\n\ndata: half": {"", "a"},
		"": nil,
	} {
		e := newEvents(strings.NewReader(in))
		var got []string
		for {
			b, err := e.next()
			if err != nil {
				break
			}
			got = append(got, string(b))
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	e := newEvents(strings.NewReader("data: " + strings.Repeat("x", 100) + "\n\n"))
	e.max = 50
	if _, err := e.next(); !errors.Is(err, errTooLong) {
		t.Errorf("a long event: %v", err)
	}
}

// FuzzEvents: no stream makes the reader panic, keep more than its bound, or run on.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: a\n\n"))
	f.Add([]byte("data\r\ndata:\r\r\n:\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e := newEvents(bytes.NewReader(b))
		e.max = 64
		for range len(b) + 1 {
			data, err := e.next()
			if err != nil {
				return
			}
			if len(data) > e.max {
				t.Errorf("%d bytes", len(data))
			}
		}
		t.Error("more events than bytes")
	})
}
