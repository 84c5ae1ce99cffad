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
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
// "server" what the server sends, in order. A line of the server's is the HTTP status and the message; "-" stands for none.
// META in a client's line stands for the least _meta that a modern request needs, and ABLE for that of a client that can be asked
// for everything. A file "revisions" names those that the server has, instead of all.
//
// A line WAIT and a duration lets so much time pass.
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
	got := overHTTP(t, mcp.NewServer(&library{}, options), client)
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
	if d := cmp.Diff(messages(want), overStdio(t, mcp.NewServer(&library{}, options), client)); d != "" {
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

// asLine puts what differs each time out of a message.
func asLine(message string) string {
	return regexp.MustCompile(`"elicitationId":"[A-Z2-7]{26}"`).ReplaceAllString(message, `"elicitationId":"RANDOM"`)
}

// waits does what a line asks that is no message: WAIT and a duration lets time pass.
func waits(t *testing.T, line string) bool {
	text, ok := strings.CutPrefix(line, "WAIT ")
	if ok {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(d)
	}
	return ok
}

// overHTTP returns the answers. Those to a request that waits come after the line that it waited for.
func overHTTP(t *testing.T, server *mcp.Server, client []string) (got []string) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel() // whoever still waits for an answer
		h := httpd.New(server, nil)
		session := "" // as a client keeps it
		var open []*exchange
		for _, line := range client {
			if strings.TrimSpace(line) == "" {
				continue // blank lines are a matter of stdio
			}
			if !waits(t, line) {
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(line))
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				mirror(r.Header, line)
				if session != "" {
					r.Header.Set("Mcp-Session-Id", session)
				}
				x := &exchange{header: http.Header{}}
				open = append([]*exchange{x}, open...)
				go func() {
					defer x.end()
					h.ServeHTTP(x, r)
				}()
			}
			synctest.Wait()
			open = slices.DeleteFunc(open, func(x *exchange) bool {
				lines, begun, done := x.news()
				got = append(got, lines...)
				if begun != "" {
					session = begun
				}
				return done
			})
		}
	})
	return got
}

// exchange is a request that may be answered bit by bit.
type exchange struct {
	header http.Header // the handler's

	mu    sync.Mutex // guards what follows
	code  int
	head  http.Header // as it was sent
	fresh strings.Builder
	done  bool
}

func (x *exchange) Header() http.Header { return x.header }

func (x *exchange) WriteHeader(code int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.code, x.head = code, x.header.Clone()
}

func (x *exchange) Write(p []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.fresh.Write(p)
}

func (x *exchange) Flush() {}

// end says that nothing more comes.
func (x *exchange) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done = true
}

// news returns what was written since it was asked last, the session that began, and whether nothing more comes.
func (x *exchange) news() (lines []string, session string, done bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	body := x.fresh.String()
	x.fresh.Reset()
	if x.head.Get("Content-Type") == "text/event-stream" {
		body = strings.ReplaceAll(strings.ReplaceAll(body, "\n\n", "\n"), "data: ", "")
	} else if body == "" && x.done {
		body = "-"
	}
	for m := range strings.Lines(body) {
		if m = strings.TrimSuffix(m, "\n"); m != ":" { // a comment
			lines = append(lines, fmt.Sprintf("%d %s", x.code, asLine(m)))
		}
	}
	return lines, x.head.Get("Mcp-Session-Id"), x.done
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

// overStdio returns the answers over a pipe. A line is sent when all is quiet after the one before, since answers may overtake each
// other otherwise.
func overStdio(t *testing.T, server *mcp.Server, client []string) (got []string) {
	synctest.Test(t, func(t *testing.T) {
		in, clientOut := io.Pipe()
		clientIn, out := io.Pipe()
		done := make(chan error, 1)
		go func() {
			err := stdio.Serve(context.Background(), server, in, out, nil)
			out.Close()
			done <- err
		}()
		go func() {
			for s := bufio.NewReaderSize(clientIn, 1<<20); ; {
				l, err := s.ReadString('\n')
				if err != nil {
					return
				}
				if strings.Contains(l, `"method":"notifications/cancelled"`) && !strings.Contains(l, `"ask-`) {
					continue // what follows the end of a subscription on a pipe alone
				}
				got = append(got, asLine(strings.TrimSuffix(l, "\n")))
			}
		}()
		for _, line := range client {
			if !waits(t, line) {
				io.WriteString(clientOut, line+"\n")
			}
			synctest.Wait()
		}
		clientOut.Close()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		synctest.Wait()
	})
	return got
}
