package host_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reshost/reshost/host"
)

// TestOfficialClient: the official SDK's client subscribes and hears of changes, in both eras and over both transports.
func TestOfficialClient(t *testing.T) {
	for _, tt := range []struct {
		name, revision string
		stdio          bool
	}{
		{"modern, HTTP", "2026-07-28", false},
		{"modern, stdio", "2026-07-28", true},
		{"legacy, HTTP", "2025-11-25", false},
		{"legacy, stdio", "2025-11-25", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := memory(t)
			h := newHost(t, nil, p)
			updated, lists := make(chan string, 10), make(chan bool, 10)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ResourceUpdatedHandler:     func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
				ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { lists <- true },
			})
			session, err := client.Connect(t.Context(), sdkTransport(t, h, tt.stdio), &mcp.ClientSessionOptions{ProtocolVersion: tt.revision})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			if got := session.InitializeResult().ProtocolVersion; got != tt.revision {
				t.Fatalf("speaks %s", got)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			subscribed := make(chan error, 1)
			go func() { subscribed <- session.Subscribe(ctx, &mcp.SubscribeParams{URI: "docs://a"}) }()
			// The modern client's call lasts as long as the stream.
			for heard := false; !heard; {
				set(t, p, "a")
				select {
				case uri := <-updated:
					if heard = true; uri != "docs://a" {
						t.Errorf("updated %q", uri)
					}
				case <-time.After(20 * time.Millisecond):
				case <-ctx.Done():
					t.Fatal("no update came")
				}
			}
			set(t, p, "new")
			select {
			case <-lists:
			case <-ctx.Done():
				t.Fatal("no change of lists came")
			}
			if err := session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "docs://a"}); err != nil {
				t.Errorf("unsubscribe: %v", err)
			}
			select {
			case <-subscribed:
			case <-ctx.Done():
				t.Error("the subscription does not end")
			}
		})
	}
}

// sdkTransport connects the official client to a host.
func sdkTransport(t *testing.T, h *host.Host, stdio bool) mcp.Transport {
	if !stdio {
		server := httptest.NewServer(h.Handler())
		transport := &http.Transport{}
		t.Cleanup(func() {
			transport.CloseIdleConnections()
			server.CloseClientConnections()
			server.Close()
		})
		return &mcp.StreamableClientTransport{Endpoint: server.URL, HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1}
	}
	in, write := io.Pipe()
	read, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- h.ServeStdio(context.Background(), in, out)
		out.Close()
	}()
	t.Cleanup(func() {
		write.Close()
		if err := <-done; err != nil {
			t.Errorf("ServeStdio: %v", err)
		}
	})
	return &mcp.IOTransport{Reader: read, Writer: write}
}

// TestOfficialClientIsAsked: the official SDK's client answers what a resource asks for, in both eras and over both transports.
func TestOfficialClientIsAsked(t *testing.T) {
	for _, tt := range []struct {
		name, revision string
		stdio          bool
	}{
		{"modern, HTTP", "2026-07-28", false},
		{"modern, stdio", "2026-07-28", true},
		{"legacy, HTTP", "2025-11-25", false},
		{"legacy, stdio", "2025-11-25", true},
		{"older, HTTP", "2025-06-18", false},
		{"older, stdio", "2025-06-18", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, nil, asking("docs"))
			var action string
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					if r.Params.Message != "Your name?" {
						t.Errorf("asked %q", r.Params.Message)
					}
					if action == "accept" {
						return &mcp.ElicitResult{Action: action, Content: map[string]any{"name": "Ann"}}, nil
					}
					return &mcp.ElicitResult{Action: action}, nil
				},
			})
			session, err := client.Connect(t.Context(), sdkTransport(t, h, tt.stdio), &mcp.ClientSessionOptions{ProtocolVersion: tt.revision})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			for _, action = range []string{"accept", "decline", "cancel"} {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "docs://a"})
				if err != nil {
					t.Fatalf("%s: %v", action, err)
				}
				want := `asked for docs://a: who={"action":"` + action + `"`
				if len(res.Contents) != 1 || !strings.HasPrefix(res.Contents[0].Text, want) {
					t.Errorf("%s: %+v", action, res)
				}
			}
		})
	}
}
