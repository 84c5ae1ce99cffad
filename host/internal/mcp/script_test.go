package mcp_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/reshost/reshost/host/internal/httpd"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/internal/stdio"
)

var update = flag.Bool("update", false, "rewrite the server's half of the scripts")

// A script is a txtar archive: its comment says which rules it shows, "client" holds the client's messages, one a line,
// "server" the answers in order. A line of the server's is the HTTP status and the message; "-" stands for none.
// META in a client's line stands for the least _meta that a modern request needs, and ABLE for that of a client that can be asked
// for everything. A file "revisions" names those that the server has, instead of all.
//
// The same script runs over HTTP and over stdio, and the messages must be the same.

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// everything is the capabilities of a client that can be asked for everything.
const everything = `{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`

var able = strings.Replace(meta, `Capabilities":{}`, `Capabilities":`+everything, 1)

func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runScript(t, file) })
	}
}

func runScript(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	options := &mcp.Options{Name: "library", Title: "The library", Version: "1.2.3", Instructions: "Read <all> of it."}
	if archive.Files[0].Name == "revisions" {
		options.Revisions = strings.Fields(string(archive.Files[0].Data))
	}
	files := archive.Files[len(archive.Files)-2:]
	if files[0].Name != "client" || files[1].Name != "server" {
		t.Fatalf("%s: want the files client and server", file)
	}
	var client []string
	words := strings.NewReplacer("META", meta, "ABLE", able, "EVERYTHING", everything)
	for line := range strings.Lines(words.Replace(string(files[0].Data))) {
		client = append(client, strings.TrimSuffix(line, "\n"))
	}
	server := mcp.NewServer(&library{}, options)
	answers := overHTTP(t, server, client)
	got := slices.Concat(answers...)
	if *update {
		files[1].Data = []byte(strings.Join(got, "\n") + "\n")
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := strings.Split(strings.TrimSuffix(string(files[1].Data), "\n"), "\n")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("over HTTP (-want +got):\n%s", d)
	}
	if d := cmp.Diff(messages(want), overStdio(t, server, client, answers)); d != "" {
		t.Errorf("over stdio (-want +got):\n%s", d)
	}
}

// messages drops the statuses, and the answers that are none.
func messages(lines []string) []string {
	var out []string
	for _, l := range lines {
		if _, m, ok := strings.Cut(l, " "); ok && m != "-" {
			out = append(out, m)
		}
	}
	return out
}

// overHTTP returns the answers to each line.
func overHTTP(t *testing.T, server *mcp.Server, client []string) [][]string {
	h := httpd.New(server, nil)
	got := make([][]string, len(client))
	session := "" // as a client keeps it
	for i, line := range client {
		if strings.TrimSpace(line) == "" {
			continue // blank lines are a matter of stdio
		}
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(line))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		mirror(r.Header, line)
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if id := w.Header().Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		body := w.Body.String()
		if w.Header().Get("Content-Type") == "text/event-stream" {
			body = strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(body, "\n\n", "\n"), "data: ", ""), "\n")
		}
		if body == "" {
			body = "-"
		}
		for m := range strings.SplitSeq(body, "\n") {
			got[i] = append(got[i], fmt.Sprintf("%d %s", w.Code, m))
		}
	}
	return got
}

// mirror sets the headers that a client derives from its message.
func mirror(h http.Header, line string) {
	// Not encoding/json: it takes "Method" for "method".
	var m struct {
		Method *string `json:"method"`
		Params struct {
			URI  any                       `json:"uri"`
			Meta map[string]jsontext.Value `json:"_meta"`
		} `json:"params"`
	}
	json.Unmarshal([]byte(strings.TrimPrefix(line, "\ufeff")), &m) // a broken line has no headers
	var version string
	if json.Unmarshal(m.Params.Meta["io.modelcontextprotocol/protocolVersion"], &version) == nil && version != "" {
		h.Set("MCP-Protocol-Version", version)
	}
	if m.Method != nil {
		h.Set("Mcp-Method", *m.Method)
	}
	if uri, ok := m.Params.URI.(string); ok {
		for _, c := range uri {
			if c < '!' || c > '~' || strings.HasPrefix(uri, "=?base64?") {
				h.Set("Mcp-Name", sentinel(uri))
				return
			}
		}
		h.Set("Mcp-Name", uri)
	}
}

// overStdio sends a message when the one before is answered as it was over HTTP, since answers may overtake each other
// otherwise. Those that come too many show at the end.
func overStdio(t *testing.T, server *mcp.Server, client []string, answers [][]string) (got []string) {
	t.Helper()
	in, clientOut := io.Pipe()
	clientIn, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := stdio.Serve(context.Background(), server, in, out, nil)
		out.Close()
		done <- err
	}()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewReaderSize(clientIn, 1<<20); ; {
			l, err := s.ReadString('\n')
			if err != nil {
				return
			}
			if strings.Contains(l, `"method":"notifications/cancelled"`) {
				continue // what follows the end of a subscription on a pipe alone
			}
			lines <- strings.TrimSuffix(l, "\n")
		}
	}()
	for i, line := range client {
		io.WriteString(clientOut, line+"\n")
		for range messages(answers[i]) {
			got = append(got, <-lines)
		}
	}
	clientOut.Close()
	for l := range lines {
		got = append(got, l)
	}
	if err := <-done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	return got
}
