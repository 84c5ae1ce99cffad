package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// The official SDK's client lists, reads and completes what the example serves; a caller without a token gets nothing.
func TestExample(t *testing.T) {
	defer goleak.VerifyNone(t)
	ctx := t.Context()
	h, err := newHost(map[string]string{"t": "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	server := httptest.NewServer(h.Handler())
	defer server.Close()

	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	connect := func(token string) (*mcp.ClientSession, error) {
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		return client.Connect(ctx, &mcp.StreamableClientTransport{
			Endpoint: server.URL, HTTPClient: &http.Client{Transport: bearer{token, transport}}, MaxRetries: -1,
		}, nil)
	}
	if _, err := connect("wrong"); err == nil {
		t.Error("a caller without a known token is served")
	}
	session, err := connect("t")
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()

	var uris []string
	for r, err := range session.Resources(ctx, nil) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	if want := []string{"notes://ideas/first%20one.md", "notes://plan.md"}; !slices.Equal(uris, want) {
		t.Errorf("got %q, want %q", uris, want)
	}
	res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "notes://ideas/first%20one.md"})
	if err != nil || len(res.Contents) != 1 || res.Contents[0].Text != "# Idea\n" {
		t.Errorf("got %v, %v", res, err)
	}
}

// A program that cannot listen does not say that it serves.
func TestAddressInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var out strings.Builder
	if err := run(ln.Addr().String(), &out); err == nil || out.String() != "" {
		t.Errorf("got %v, and %q said", err, out.String())
	}
}

type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}
