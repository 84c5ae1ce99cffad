package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// shelves answers every read with the same text and counts them.
type shelves struct {
	library
	text  string
	reads int
	// then is called within each read.
	then func()
}

func (s *shelves) Read(_ context.Context, _ *mcp.Caller, p *mcp.ReadParams) (*mcp.ReadResult, error) {
	s.reads++
	if s.then != nil {
		s.then()
	}
	return &mcp.ReadResult{Contents: []provider.Content{{URI: p.URI, Text: true, Body: []byte(s.text)}}}, nil
}

// old returns a server with a session of the revision that has batches.
func old(t *testing.T, b mcp.Backend, opts *mcp.Options) (*mcp.Server, *mcp.Header) {
	t.Helper()
	server := mcp.NewServer(b, opts)
	m, err := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	resp := server.Handle(t.Context(), &mcp.Request{Message: m, Header: &mcp.Header{}})
	if resp.SessionID == "" {
		t.Fatalf("no session: %s", resp.Body)
	}
	return server, &mcp.Header{Session: []string{resp.SessionID}}
}

// reads is a batch of n reads, with the ids from 1.
func reads(n int) []byte {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"docs://a"}}`, i+1))
	}
	return []byte("[" + strings.Join(list, ",") + "]")
}

// The answers to a batch are bounded by their bytes as encoded. Past the bound each request gets a small error, and is not called;
// a notification has none.
func TestBatchBytes(t *testing.T) {
	const limit = 10_000
	for _, tt := range []struct {
		name, text string
		calls      int
	}{
		{"plain", strings.Repeat("x", 3000), 4},
		{"escapes", strings.Repeat("\x00", 3000), 1},
		{"one is too long", strings.Repeat("x", limit), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := &shelves{text: tt.text}
			server, header := old(t, b, &mcp.Options{MaxBatchBytes: limit})
			resp, ok := server.HandleBatch(t.Context(), &mcp.Request{Header: header}, reads(jsonrpc.MaxBatch))
			if !ok || resp.Status != http.StatusOK {
				t.Fatalf("ok %v, status %d", ok, resp.Status)
			}
			if b.reads != tt.calls {
				t.Errorf("%d calls, want %d", b.reads, tt.calls)
			}
			if most := limit + jsonrpc.MaxBatch*256; len(resp.Body) > most {
				t.Errorf("%d bytes, want at most %d", len(resp.Body), most)
			}
			if n := strings.Count(string(resp.Body), `"data":{"reason":"too_large","limit":10000}`); n < jsonrpc.MaxBatch-tt.calls {
				t.Errorf("%d errors name the limit", n)
			}
			if n := strings.Count(string(resp.Body), `"jsonrpc":"2.0"`); n != jsonrpc.MaxBatch {
				t.Errorf("%d answers", n)
			}
		})
	}
}

// A batch of more messages than the bound is refused as a whole.
func TestBatchLength(t *testing.T) {
	b := &shelves{}
	server, header := old(t, b, nil)
	resp, ok := server.HandleBatch(t.Context(), &mcp.Request{Header: header}, reads(jsonrpc.MaxBatch+1))
	if !ok || resp.Status != http.StatusBadRequest || b.reads > 0 {
		t.Errorf("ok %v, status %d, %d calls", ok, resp.Status, b.reads)
	}
}

// Nothing more is called once the client is gone, and nothing of a request that was cancelled before its turn, or whose session
// has ended.
func TestBatchCancelled(t *testing.T) {
	cancelled := func(id string) jsonrpc.Message {
		return jsonrpc.Message{Method: "notifications/cancelled", Params: []byte(`{"requestId":` + id + `}`)}
	}
	for _, tt := range []struct {
		name   string
		then   func(s *mcp.Server, h *mcp.Header, leave func())
		status int
		want   []string
	}{
		{"gone", func(_ *mcp.Server, _ *mcp.Header, leave func()) { leave() }, 200, nil},
		{"one", func(s *mcp.Server, h *mcp.Header, _ func()) {
			s.Handle(context.Background(), &mcp.Request{Message: cancelled("2"), Header: h})
		}, 200, []string{"1 result", "3 result"}},
		{"ended", func(s *mcp.Server, h *mcp.Header, _ func()) { s.EndSession(h, nil) }, 200, []string{"1 error", "2 error", "3 error"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			b := &shelves{text: "x"}
			server, header := old(t, b, nil)
			b.then = func() {
				if b.reads == 1 {
					tt.then(server, header, leave)
				}
			}
			resp, _ := server.HandleBatch(ctx, &mcp.Request{Header: header, Lasting: t.Context()}, reads(3))
			var got []string
			for l := jsonrpc.Elements(resp.Body); l.Next(); {
				m, err := jsonrpc.Decode(l.Value)
				if err != nil {
					t.Fatal(err)
				}
				kind := "result"
				if m.Error != nil {
					kind = "error"
				}
				got = append(got, string(m.ID)+" "+kind)
			}
			if d := cmp.Diff(tt.want, got); d != "" || resp.Status != tt.status {
				t.Errorf("status %d (-want +got):\n%s", resp.Status, d)
			}
			calls := map[string]int{"gone": 1, "one": 2, "ended": 1}[tt.name]
			if b.reads != calls {
				t.Errorf("%d calls, want %d", b.reads, calls)
			}
		})
	}
}
