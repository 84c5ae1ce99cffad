// Package peers measures the host beside the official Go SDK's server: the same resources, the same requests, one after the
// other on the same machine. `make bench-peers` runs it; the ordinary tests only show that both serve the same bytes.
package peers

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/memprovider"
)

var (
	load  = flag.Bool("load", false, "measure with wrk and over stdio; takes two minutes")
	lua   = flag.String("lua", "testdata/read.lua", "`script` of wrk, which reads $URI_TEXT and prints ok=N bad=N rps=N at the end")
	every = flag.Duration("every", 5*time.Second, "`time` of each measurement")
)

// What both serve.
const (
	smallURI  = "notes://small.md"
	bigURI    = "notes://big.md"
	smallText = "# A note\n\nwith a little text, and not much more than that.\n"
	mimeType  = "text/markdown"
	bigSize   = 1 << 20
)

// serveEnv makes this binary one of the servers: its value is "NAME TRANSPORT".
const serveEnv = "PEERS_SERVE"

func TestMain(m *testing.M) {
	if what, ok := os.LookupEnv(serveEnv); ok {
		name, transport, _ := strings.Cut(what, " ")
		if err := serve(name, transport); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func bigText() string {
	line := "Sixty-four bytes of plain text make one line, this is it, \"so\".\n"
	return strings.Repeat(line, bigSize/len(line))
}

// serve runs a server until its stdin ends. Over HTTP its first line on stdout is its URL.
func serve(name, transport string) error {
	handler, stdio, err := newReshost()
	if name == "sdk" {
		handler, stdio, err = newSDK()
	}
	if err != nil || transport == "stdio" {
		return errors.Join(err, stdio())
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", ln.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(ln, handler)
}

func newReshost() (http.Handler, func() error, error) {
	p, err := memprovider.New("notes", nil)
	if err != nil {
		return nil, nil, err
	}
	h, err := host.New(nil)
	if err != nil {
		return nil, nil, err
	}
	err = errors.Join(p.SetText("small.md", mimeType, smallText), p.SetText("big.md", mimeType, bigText()), h.Add(p, nil))
	return h.Handler(), func() error { return h.ServeStdio(context.Background(), os.Stdin, os.Stdout) }, err
}

// newSDK returns the SDK's server with its fastest options: no sessions, answers in plain JSON.
func newSDK() (http.Handler, func() error, error) {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	for uri, text := range map[string]string{smallURI: smallText, bigURI: bigText()} {
		s.AddResource(&mcp.Resource{URI: uri, Name: uri, MIMEType: mimeType}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mimeType, Text: text}}}, nil
		})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return handler, func() error { return s.Run(context.Background(), &mcp.StdioTransport{}) }, nil
}

// peer is a running server.
type peer struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func start(t *testing.T, name, transport string) *peer {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"="+name+" "+transport)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &peer{in, bufio.NewReaderSize(out, 4<<20), cmd}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return p
}

// line reads a line, without its end.
func (p *peer) line(t *testing.T) string {
	t.Helper()
	b, err := p.out.ReadSlice('\n')
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimRight(b, "\n"))
}

func readMessage(id int, uri string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":%q,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"peers","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, id, uri)
}

// names are in the order of their turns.
var names = []string{"reshost", "sdk"}

// TestSameBytes shows that what is measured is the same: both servers give the SDK's client the same contents.
func TestSameBytes(t *testing.T) {
	for _, name := range names {
		transports := map[string]func() mcp.Transport{
			"http": func() mcp.Transport {
				return &mcp.StreamableClientTransport{Endpoint: start(t, name, "http").line(t), MaxRetries: -1}
			},
			"stdio": func() mcp.Transport {
				p := start(t, name, "stdio")
				return &mcp.IOTransport{Reader: io.NopCloser(p.out), Writer: p.in}
			},
		}
		for transport, connect := range transports {
			t.Run(name+" "+transport, func(t *testing.T) {
				session, err := mcp.NewClient(&mcp.Implementation{Name: "peers", Version: "1"}, nil).Connect(t.Context(), connect(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer session.Close()
				for uri, want := range map[string]string{smallURI: smallText, bigURI: bigText()} {
					res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
					if err != nil || len(res.Contents) != 1 || res.Contents[0].Text != want || res.Contents[0].MIMEType != mimeType {
						t.Errorf("%s: %v", uri, err)
					}
				}
			})
		}
	}
}

// rounds is how often each server is measured, in turns.
const rounds = 3

// TestLoad measures reads over HTTP, with wrk, and round trips over stdio, and holds the ratios against the goals.
func TestLoad(t *testing.T) {
	if !*load {
		t.Skip("measures only with -load: make bench-peers")
	}
	wrk, err := exec.LookPath("wrk")
	if err != nil {
		t.Fatal("wrk is needed: install it, such as by apt-get install wrk")
	}
	for _, m := range []struct {
		name, transport string
		goal            float64
		measure         func(*testing.T, *peer) float64
	}{
		{"HTTP, small", "http", 5, func(t *testing.T, p *peer) float64 { return runWrk(t, wrk, p.line(t), smallURI) }},
		{"HTTP, 1 MiB", "http", 10, func(t *testing.T, p *peer) float64 { return runWrk(t, wrk, p.line(t), bigURI) }},
		{"stdio, small", "stdio", 5, func(t *testing.T, p *peer) float64 { return roundTrips(t, p, smallURI) }},
		{"stdio, 1 MiB", "stdio", 5, func(t *testing.T, p *peer) float64 { return roundTrips(t, p, bigURI) }},
	} {
		t.Run(m.name, func(t *testing.T) {
			for range rounds {
				rate := map[string]float64{}
				for _, name := range names {
					t.Run(name, func(t *testing.T) { rate[name] = m.measure(t, start(t, name, m.transport)) })
				}
				ratio := rate["reshost"] / rate["sdk"]
				fmt.Printf("%-12s  reshost %7.0f/s  sdk %6.0f/s  ratio %5.1f\n", m.name, rate["reshost"], rate["sdk"], ratio)
				if !(ratio >= m.goal) {
					t.Errorf("ratio %.1f, want at least %.0f", ratio, m.goal)
				}
			}
		})
	}
}

// runWrk returns the good answers a second that 16 connections get.
func runWrk(t *testing.T, wrk, url, uri string) float64 {
	t.Helper()
	cmd := exec.Command(wrk, "-t1", "-c16", fmt.Sprintf("-d%ds", max(1, int(every.Seconds()))), "-s", *lua, url)
	cmd.Env = append(os.Environ(), "URI_TEXT="+uri)
	out, err := cmd.CombinedOutput()
	_, line, found := bytes.Cut(out, []byte(" ok="))
	var ok, bad int
	var rate float64
	if found {
		_, err = fmt.Sscanf(string(line), "%d bad=%d rps=%f", &ok, &bad, &rate)
	}
	if err != nil || !found || ok == 0 || bad != 0 {
		t.Fatalf("wrk: %v\n%s", err, out)
	}
	return rate
}

// roundTrips returns the reads a second of a client that sends the next request when it has the answer.
func roundTrips(t *testing.T, p *peer, uri string) float64 {
	t.Helper()
	begin, n := time.Now(), 0
	for time.Since(begin) < *every {
		n++
		if _, err := io.WriteString(p.in, readMessage(n, uri)+"\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := p.out.ReadSlice('\n')
		if err != nil || !bytes.Contains(answer[:min(len(answer), 1024)], []byte(`"result"`)) {
			t.Fatalf("answer %d: %v: %.200s", n, err, answer)
		}
	}
	return float64(n) / time.Since(begin).Seconds()
}
