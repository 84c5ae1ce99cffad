package e2e_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/providertest"
)

const pancakes = "recipe://pancakes"

func TestAskKit(t *testing.T) {
	providertest.Run(t, func(t *testing.T) provider.Provider { return plugin(t, "ask", nil) }, nil)
}

// The rounds of examples/ask in process: the state that the host seals reaches the plugin as it left it.
func TestAskRounds(t *testing.T) {
	h := serve(t, nil, plugin(t, "ask", nil))
	opts := &host.ReadOptions{InputMethods: []string{"elicitation/create"}}
	answer := func(key, content string) {
		opts.Inputs = []provider.InputResponse{{Key: key, Result: provider.JSON(`{"action":"accept","content":` + content + `}`)}}
	}
	next := func() *host.ReadResult {
		t.Helper()
		res, err := h.ReadWith(t.Context(), nil, pancakes, opts)
		if err != nil {
			t.Fatal(err)
		}
		if res.Input != nil {
			opts.State = res.Input.State
		}
		return res
	}
	if res := next(); res.Input == nil || res.Input.Requests[0].Key != "table" || res.Input.State != nil {
		t.Fatalf("%+v", res)
	}
	answer("table", `{"people":40,"plant":true}`)
	if res := next(); res.Input == nil || res.Input.Requests[0].Key != "sure" || res.Input.State == nil {
		t.Fatalf("%+v", res)
	}
	answer("sure", `{"sure":true}`)
	if got := body(next()); !strings.HasPrefix(got, "# Pancakes for 40\n") || !strings.Contains(got, "oat milk") {
		t.Errorf("%q", got)
	}
	if got, err := read(t, h, pancakes); err != nil || !strings.HasPrefix(body(got), "# Pancakes for 4\n") {
		t.Errorf("one who cannot be asked: %q %v", body(got), err)
	}
}

// The official client shows the forms, in whatever revision it speaks.
func TestAskOfficialClient(t *testing.T) {
	h := serve(t, nil, plugin(t, "ask", nil))
	server := httptest.NewServer(h.Handler())
	defer server.Close()
	for _, revision := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		t.Run(revision, func(t *testing.T) {
			forms := 0
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					forms++
					if strings.HasPrefix(r.Params.Message, "Really") {
						return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"sure": true}}, nil
					}
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"people": 40}}, nil
				},
			})
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
				Endpoint: server.URL, HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1,
			}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			res, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: pancakes})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Contents) != 1 || !strings.HasPrefix(res.Contents[0].Text, "# Pancakes for 40\n") || forms != 2 {
				t.Errorf("%d forms, %+v", forms, res)
			}
		})
	}
}
