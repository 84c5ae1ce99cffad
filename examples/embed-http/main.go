// Command embed-http embeds the host in a program of its own: two notes over HTTP, for the callers whose token it knows.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/memprovider"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8642", "`ADDRESS` to listen on, host:port")
	flag.Parse()
	fmt.Fprintln(os.Stderr, "embed-http:", run(*listen, os.Stderr))
	os.Exit(1)
}

// run serves at an address until that fails, and says where once clients can connect.
func run(listen string, out io.Writer) error {
	h, err := newHost(map[string]string{"letmein": "ann"}) // token to name: a real program verifies tokens
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h.Handler())
	fmt.Fprintf(out, "serving notes:// at http://%s/mcp\n", ln.Addr())
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return srv.Serve(ln)
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
