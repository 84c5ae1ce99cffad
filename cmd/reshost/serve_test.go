package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// server is a running `reshost serve`.
type server struct {
	t      *testing.T
	url    string
	curl   string
	stop   context.CancelFunc
	done   chan int
	stderr *lines
}

// serve starts `reshost serve ARGS` and waits until it says what it serves.
func serve(t *testing.T, args ...string) *server {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	s := &server{t: t, stop: stop, done: make(chan int, 1), stderr: &lines{next: make(chan string, 100)}}
	a := newApp(t, true, strings.NewReader(""), io.Discard, s.stderr)
	go func() { s.done <- a.run(ctx, append([]string{"serve"}, args...)) }()
	t.Cleanup(func() { s.end() })
	deadline := time.After(2 * time.Minute)
	for s.curl == "" {
		select {
		case line := <-s.stderr.next:
			if _, url, ok := strings.Cut(line, " at http"); ok && s.url == "" {
				s.url = "http" + url
			}
			if cmd, ok := strings.CutPrefix(line, "  curl "); ok {
				s.curl = "curl " + cmd
			}
		case code := <-s.done:
			s.done <- code
			t.Fatalf("serve ended with %d:\n%s", code, s.stderr)
		case <-deadline:
			t.Fatalf("serve does not say what it serves:\n%s", s.stderr)
		}
	}
	return s
}

// end stops the server and returns its exit code.
func (s *server) end() int {
	s.stop()
	code := <-s.done
	s.done <- code
	return code
}

// request returns a request as the printed command sends it.
func (s *server) request(method, params string) *http.Request {
	s.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `"_meta":{"io.modelcontextprotocol/protocolVersion":"` +
		tryRevision + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", tryRevision)
	req.Header.Set("Mcp-Method", method)
	return req
}

// post sends a request and returns the answer's status and body.
func (s *server) post(client *http.Client, method, params string) (int, string) {
	s.t.Helper()
	res, err := client.Do(s.request(method, params))
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

// lines is a writer that hands out whole lines and keeps all of them.
type lines struct {
	next chan string

	mu  sync.Mutex // guards all
	all bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.Write(p)
	for text := l.all.Bytes()[l.all.Len()-len(p):]; ; {
		line, rest, ok := bytes.Cut(text, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		select {
		case l.next <- string(line):
		default: // nobody waits for a line any more
		}
		text = rest
	}
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// folder returns a folder with a document and a configuration that serves it, with lines added to the server section.
func folder(t *testing.T, serverLines ...string) (dir, configFile string) {
	t.Helper()
	dir = t.TempDir()
	writeFile(t, filepath.Join(dir, "docs", "README.md"), []byte("# Hello\n"))
	configFile = filepath.Join(dir, "reshost.yaml")
	text := "version: 1\nserver:\n  name: acme\n"
	for _, line := range serverLines {
		text += "  " + line + "\n"
	}
	text += "plugins:\n- name: docs\n  source: builtin:docs\n  grants: { fs: { root: ./docs } }\n"
	writeFile(t, configFile, []byte(text))
	return dir, configFile
}

// TestServeHTTP shows that what is printed is true: the URL answers, and the curl line works exactly as it stands.
func TestServeHTTP(t *testing.T) {
	_, file := folder(t)
	s := serve(t, "--config", file, "--listen", "127.0.0.1:0")
	client := &http.Client{}
	defer client.CloseIdleConnections()
	if code, body := s.post(client, "resources/list", ""); code != http.StatusOK || !strings.Contains(body, `"docs://README.md"`) {
		t.Errorf("resources/list answers %d %s", code, body)
	}
	s.runCurl(t, `"docs://README.md"`)
	if text := s.stderr.String(); !strings.Contains(text, "reshost serves acme at "+s.url) || !strings.Contains(text, "docs://") {
		t.Errorf("the server says:\n%s", text)
	}
	res, err := client.Get(strings.TrimSuffix(s.url, "/mcp") + "/other")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("another path answers %d, want 404", res.StatusCode)
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d after an interrupt, want 0:\n%s", code, s.stderr)
	}
	if conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")); err == nil {
		conn.Close()
		t.Error("the port is still open after the end")
	}
}

// runCurl runs the printed command in a shell.
func (s *server) runCurl(t *testing.T, want string) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil || runtime.GOOS == "windows" {
		t.Log("no curl here: the printed command was not run")
		return
	}
	out, err := exec.Command("sh", "-c", s.curl).CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		t.Errorf("%s\nprints %q, %v; want %s in it", s.curl, out, err, want)
	}
}

// TestServeEndsBeforeItsBodies shows that a request whose body never comes does not hold up the end, nor make it a failure.
func TestServeEndsBeforeItsBodies(t *testing.T) {
	_, file := folder(t)
	s := serve(t, "--config", file, "--listen", "127.0.0.1:0")
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n"
	if _, err := io.WriteString(conn, head); err != nil {
		t.Fatal(err)
	}
	// The server asks for the body once it reads it.
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d, want 0:\n%s", code, s.stderr)
	}
	if d := time.Since(begin); d > closeTimeout/2 {
		t.Errorf("the end took %v", d)
	}
}

func TestServeUnix(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the socket's mode is that of a POSIX system")
	}
	dir, file := folder(t, "listen: unix:./sock's")
	s := serve(t, "--config", file)
	info, err := os.Stat(filepath.Join(dir, "sock's"))
	if err != nil || info.Mode().Perm() != socketMode {
		t.Errorf("the socket is %v, %v; want mode %v", info, err, os.FileMode(socketMode))
	}
	s.runCurl(t, `"docs://README.md"`)
	code, _, stderr := reshost(t, "serve", "--config", file)
	if code != exitFailure || !strings.Contains(stderr, "the address is in use") {
		t.Errorf("a second server gives %d:\n%s", code, stderr)
	}
	if code := s.end(); code != exitOK {
		t.Errorf("exit code %d, want 0:\n%s", code, s.stderr)
	}
}

// TestStaleSocket shows that a socket which nobody answers on is taken over, and that a file in its place is not touched.
func TestStaleSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("sockets of ended processes are those of a POSIX system")
	}
	dir := t.TempDir()
	stale := filepath.Join(dir, "stale")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	ln.Close()
	if err := removeStale(t.Context(), stale); err != nil {
		t.Errorf("a stale socket: %v", err)
	}
	if _, err := os.Lstat(stale); !os.IsNotExist(err) {
		t.Errorf("the stale socket is still there: %v", err)
	}
	file := filepath.Join(dir, "file")
	writeFile(t, file, []byte("precious"))
	if err := removeStale(t.Context(), file); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("a file in the socket's place: %v", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "precious" {
		t.Errorf("the file holds %q, %v", got, err)
	}
}

func TestPortInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, file := folder(t, "listen: "+ln.Addr().String())
	code, stdout, stderr := reshost(t, "serve", "--config", file)
	want := "reshost: " + file + ":4:3: server.listen: cannot listen on " + ln.Addr().String() +
		": the address is in use; end the other process, or take another with --listen HOST:PORT\n"
	if code != exitFailure || stdout != "" || stderr != want {
		t.Errorf("got %d %q %q\nwant 1 and %q", code, stdout, stderr, want)
	}
}

func TestServeTLS(t *testing.T) {
	dir, file := folder(t, "tls: { cert: cert.pem, key: key.pem }")
	code, _, stderr := reshost(t, "serve", "--config", file, "--listen", "127.0.0.1:0")
	if code != exitFailure || !strings.Contains(stderr, "server.tls.cert: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("without the files: %d %q", code, stderr)
	}
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	pair := cert.TLS.Certificates[0]
	cert.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})
	writeFile(t, filepath.Join(dir, "cert.pem"), certPEM)
	writeFile(t, filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	s := serve(t, "--config", file, "--listen", "127.0.0.1:0")
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certPEM)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	if code, body := s.post(client, "resources/list", ""); code != http.StatusOK || !strings.HasPrefix(s.url, "https://") {
		t.Errorf("%s answers %d %s", s.url, code, body)
	}
	s.runCurl(t, `"docs://README.md"`)
}

// TestServeJSONLog shows that with JSON logs stderr holds nothing else.
func TestServeJSONLog(t *testing.T) {
	_, file := folder(t)
	ctx, stop := context.WithCancel(t.Context())
	errs := &lines{next: make(chan string, 100)}
	a := newApp(t, true, strings.NewReader(""), io.Discard, errs)
	done := make(chan int, 1)
	go func() {
		done <- a.run(ctx, []string{"serve", "--config", file, "--listen", "127.0.0.1:0", "--log-format", "json"})
	}()
	line := <-errs.next
	stop()
	if code := <-done; code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(line, `"url":"http://127.0.0.1:`) {
		t.Errorf("the first line is %s", line)
	}
	for line := range strings.Lines(errs.String()) {
		if !jsontext.Value(line).IsValid() {
			t.Errorf("not JSON: %s", line)
		}
	}
}

const metaParam = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// TestServeStdio shows T1: answers and nothing else on stdout; a malformed line gets its error and the session goes on; the
// end of stdin ends the process with 0.
func TestServeStdio(t *testing.T) {
	_, file := folder(t)
	requests := []string{
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + metaParam + `}}`,
		`{"jsonrpc":"2.0","id":2,"method":`,
		`not JSON`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"docs://README.md",` + metaParam + `}}`,
		`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"docs://nope.md",` + metaParam + `}}`,
	}
	var stdout, stderr bytes.Buffer
	a := newApp(t, true, strings.NewReader(strings.Join(requests, "\n")+"\n"), &stdout, &stderr)
	if code := a.run(t.Context(), []string{"serve", "--stdio", "--config", file}); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, &stderr)
	}
	answers := stdout.String()
	for _, want := range []string{`"supportedVersions":["2026-07-28"`, `-32700`, `"text":"# Hello\n"`, `"code":-32602`} {
		if !strings.Contains(answers, want) {
			t.Errorf("no answer has %s:\n%s", want, answers)
		}
	}
	if n := strings.Count(answers, "\n"); n != len(requests) {
		t.Errorf("%d answers, want %d:\n%s", n, len(requests), answers)
	}
	for line := range strings.Lines(answers) {
		if !jsontext.Value(line).IsValid() || !strings.HasPrefix(line, `{"jsonrpc":"2.0"`) {
			t.Errorf("stdout holds more than protocol: %q", line)
		}
	}
}

// TestServeStdioInterrupt shows that an interrupt ends the process in order although stdin stays open.
func TestServeStdioInterrupt(t *testing.T) {
	_, file := folder(t)
	stdin, hold := io.Pipe()
	defer hold.Close()
	ctx, stop := context.WithCancel(t.Context())
	errs := &lines{next: make(chan string, 100)}
	a := newApp(t, true, stdin, io.Discard, errs)
	done := make(chan int, 1)
	go func() { done <- a.run(ctx, []string{"serve", "--stdio", "--config", file}) }()
	<-errs.next // "serving on stdio"
	stop()
	if code := <-done; code != exitOK {
		t.Errorf("exit code %d:\n%s", code, errs)
	}
}

func TestServeRoot(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a b.txt"), []byte("text"))
	s := serve(t, "--root", dir, "--listen", "127.0.0.1:0")
	s.runCurl(t, "a%20b.txt")
	if text := s.stderr.String(); !strings.Contains(text, "builtin:file") {
		t.Errorf("the server says:\n%s", text)
	}
}

// TestCursorOutlivesRestart shows that the key which seals cursors is kept.
func TestCursorOutlivesRestart(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		writeFile(t, filepath.Join(dir, "files", name), []byte(name))
	}
	file := filepath.Join(dir, "reshost.yaml")
	writeFile(t, file, []byte("version: 1\nserver: { page_size: 1 }\nplugins:\n- name: files\n  source: builtin:file\n"+
		"  grants: { fs: { roots: { main: { path: ./files, as: /f } } } }\n"))
	client := &http.Client{}
	defer client.CloseIdleConnections()
	first := serve(t, "--config", file, "--listen", "127.0.0.1:0")
	_, page := first.post(client, "resources/list", "")
	_, rest, ok := strings.Cut(page, `"nextCursor":"`)
	if !ok {
		t.Fatalf("no cursor in %s", page)
	}
	cursor, _, _ := strings.Cut(rest, `"`)
	first.end()
	second := serve(t, "--config", file, "--listen", "127.0.0.1:0")
	if code, page := second.post(client, "resources/list", `"cursor":"`+cursor+`",`); code != http.StatusOK || !strings.Contains(page, `"file:///f/b.txt"`) {
		t.Errorf("the cursor of the first run gives %d %s", code, page)
	}
}
