// Command embed-http embeds the host in a program of its own: two notes over HTTP, for the callers whose token it knows.
package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/memprovider"
)

func main() {
	h, err := newHost(map[string]string{"letmein": "ann"}) // token to name: a real program verifies tokens
	if err == nil {
		fmt.Fprintln(os.Stderr, "serving notes:// at http://127.0.0.1:8642/mcp")
		http.Handle("/mcp", h.Handler())
		err = http.ListenAndServe("127.0.0.1:8642", nil)
	}
	fmt.Fprintln(os.Stderr, "embed-http:", err)
	os.Exit(1)
}

func newHost(names map[string]string) (*host.Host, error) {
	notes, err := memprovider.New("notes", nil)
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		notes.SetText("plan.md", "text/markdown", "# Plan\n"),
		notes.SetText("ideas/first one.md", "text/markdown", "# Idea\n"))
	if err != nil {
		return nil, err
	}
	identify := func(r *http.Request) (host.Principal, error) {
		name, ok := names[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		if !ok {
			return host.Principal{}, errors.New("unknown token")
		}
		return host.Principal{Issuer: "embed-http", Subject: name}, nil
	}
	h, err := host.New(&host.Options{Name: "notes", Principal: identify})
	if err != nil {
		return nil, err
	}
	return h, h.Add(notes, nil)
}
