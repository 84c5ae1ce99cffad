package mcp_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/internal/mcp"
)

// What is refused reaches no backend (RPC-01, RPC-08, H2).
func TestRefusedMessagesAreNotExecuted(t *testing.T) {
	lib := &library{}
	server := mcp.NewServer(lib, nil)
	read := `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"docs://a",` + meta + `}}`
	for _, line := range []string{
		`[` + read + `]`,
		strings.Replace(read, `"uri"`, `"uri":"docs://b","uri"`, 1),
		strings.Replace(read, `"2026-07-28"`, `"2025-11-25"`, 1),
		strings.Replace(read, `"resources/read"`, `"resources/write"`, 1),
		strings.Replace(read, `"id":1,`, `"id":null,`, 1),
		strings.Replace(read, `"id":1,`, ``, 1), // a notification
	} {
		overHTTP(t, server, []string{line})
		overStdio(t, server, []string{line})
		if calls := lib.took(); len(calls) > 0 {
			t.Errorf("%s: executed %v", line, calls)
		}
	}
	overHTTP(t, server, []string{read})
	if calls := lib.took(); len(calls) != 1 {
		t.Errorf("a correct read: executed %v", calls)
	}
}

// A panic is an answer and a line in the log with the stack; what it said stays in the log.
func TestPanicIsLogged(t *testing.T) {
	var log bytes.Buffer
	server := mcp.NewServer(&library{}, &mcp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	m, jerr := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"docs://panic",` + meta + `}}`))
	if jerr != nil {
		t.Fatal(jerr)
	}
	resp := server.Handle(context.Background(), &mcp.Request{Message: m})
	if want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal error","data":{"reason":"internal"}}}`; string(resp.Body) != want || resp.Status != http.StatusOK {
		t.Errorf("status %d, body %s", resp.Status, resp.Body)
	}
	if !strings.Contains(log.String(), "boom") || !strings.Contains(log.String(), "backend_test.go") {
		t.Errorf("the log lacks the panic or its stack: %s", log.String())
	}
}

// A cancelled request has no answer, whatever the backend says.
func TestCancelledHasNoAnswer(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, uri := range []string{"docs://a", "docs://nope", "docs://slow"} {
		m, jerr := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"` + uri + `",` + meta + `}}`))
		if jerr != nil {
			t.Fatal(jerr)
		}
		if resp := mcp.NewServer(&library{}, nil).Handle(ctx, &mcp.Request{Message: m}); len(resp.Body) > 0 {
			t.Errorf("%s: %s", uri, resp.Body)
		}
	}
}
