package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/cmd/reshost/internal/pluginbuild"
	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/memprovider"
	"github.com/reshost/reshost/host/provider"
)

// serveNotes, as first argument, makes the test binary a server on stdio of what tickingNotes has: a client of another language
// starts it as it would start `reshost serve --stdio`.
const serveNotes = "serve-notes"

// tickingNotes is a host whose note "ticking" changes all the time, until ctx ends.
func tickingNotes(ctx context.Context) (*host.Host, error) {
	notes, err := memprovider.New("notes", nil)
	if err != nil {
		return nil, err
	}
	h, err := host.New(&host.Options{Name: "test"})
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		notes.SetText("a b.md", "text/markdown", "# A <b>\n"),
		notes.Set("raw", provider.Resource{}, provider.Content{MIMEType: "application/octet-stream", Body: []byte{0, 255}}),
		notes.SetText("ticking", "text/plain", ""),
		h.Add(notes, nil),
	)
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			_ = notes.SetText("ticking", "text/plain", fmt.Sprint(n)) // it can only fail for a path that it took before
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return h, err
}

// mainServeNotes is the program that serveNotes names.
func mainServeNotes() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	h, err := tickingNotes(ctx)
	if err == nil {
		err = errors.Join(h.ServeStdio(ctx, os.Stdin, os.Stdout), h.Close(ctx))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exitFailure
	}
	return exitOK
}

// clientsFolder installs the clients once for each state of the lock file, and returns the folder.
func clientsFolder(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("no %s: install Node.js", tool)
			}
			t.Skipf("no %s, so the clients in TypeScript are not tested: install Node.js", tool)
		}
	}
	cache, err := pluginbuild.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	const from = "testdata/clients"
	sum := sha256.New()
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(b)
	}
	dir := filepath.Join(cache, "clients-"+hex.EncodeToString(sum.Sum(nil)[:8]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json", "exercise.mjs"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), b)
	}
	installed := filepath.Join(dir, "node_modules", ".installed")
	if _, err := os.Stat(installed); err == nil {
		return dir
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		if os.Getenv("CI") == "" {
			t.Skipf("the clients in TypeScript are not tested, since npm cannot install them: %v\n%s", err, out)
		}
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	writeFile(t, installed, nil)
	return dir
}

// seen is what exercise.mjs prints.
type seen struct {
	Resources []string `json:"resources"`
	Templates []string `json:"templates"`
	Text      string   `json:"text"`
	Blob      string   `json:"blob"`
	Missing   int      `json:"missing"`
	Values    []string `json:"values"`
	Updated   string   `json:"updated"`
}

// TestTypeScriptClients: the official clients list, read, complete and hear of changes, in both eras and over both transports.
func TestTypeScriptClients(t *testing.T) {
	if testing.Short() {
		t.Skip("runs Node.js")
	}
	dir := clientsFolder(t)
	ctx, cancel := context.WithCancel(t.Context())
	h, err := tickingNotes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h.Handler())
	defer func() {
		cancel()
		s.CloseClientConnections()
		s.Close()
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, client := range []string{"modern", "legacy", "sdk1"} {
		for _, transport := range [][]string{{"http", s.URL + "/mcp"}, {"stdio", self, serveNotes}} {
			t.Run(client+" "+transport[0], func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				transport, check := tap(t, transport)
				defer check()
				cmd := exec.CommandContext(ctx, "node", append([]string{"exercise.mjs", client}, transport...)...)
				cmd.Dir = dir
				var stderr strings.Builder
				cmd.Stderr = &stderr
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%v\n%s%s", err, out, stderr.String())
				}
				want := seen{
					Resources: []string{"notes://a%20b.md", "notes://raw", "notes://ticking"}, Templates: []string{"notes://{+path}"},
					Text: "# A <b>\n", Blob: "AP8=", Missing: -32602, Values: []string{"raw"}, Updated: "notes://ticking",
				}
				if client == "sdk1" { // the others give both codes as one
					want.Missing = -32002
				}
				var got seen
				if err := json.Unmarshal(out, &got); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// validateVariable names a folder with a program that holds every message of a server against the protocol's schema: proxy.mjs
// between client and server over HTTP, stdio.mjs in place of the server on stdio. Each makes a report of what is wrong.
const validateVariable = "RESHOST_TEST_VALIDATE"

// tap puts the validating program between client and server, if there is one, and returns what ends it and reads its report.
func tap(t *testing.T, transport []string) (through []string, check func()) {
	dir := os.Getenv(validateVariable)
	if dir == "" {
		return transport, func() {}
	}
	report := filepath.Join(t.TempDir(), "report.json")
	read := func() {
		b, err := os.ReadFile(report)
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			Messages int   `json:"messages"`
			Fails    []any `json:"fails"`
			Warns    []any `json:"warns"`
		}
		if err := json.Unmarshal(b, &r); err != nil || r.Messages < 5 || len(r.Fails)+len(r.Warns) > 0 {
			t.Errorf("the schema: %v\n%s", err, b)
		}
	}
	if transport[0] == "stdio" {
		return append([]string{"stdio", "node", filepath.Join(dir, "stdio.mjs"), "--report", report, "--"}, transport[1:]...), read
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ln.Close()
	cmd := exec.Command("node", filepath.Join(dir, "proxy.mjs"), "--target", strings.TrimSuffix(transport[1], "/mcp"), "--port", port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	base := "http://127.0.0.1:" + port
	get := func() ([]byte, error) {
		res, err := http.Get(base + "/__report")
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		return io.ReadAll(res.Body)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if _, err := get(); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	return []string{"http", base + "/mcp"}, func() {
		b, err := get()
		if err != nil {
			t.Error(err)
		}
		_ = cmd.Process.Kill() // it ends with a code of its own
		_ = cmd.Wait()
		writeFile(t, report, b)
		read()
	}
}

// TestInspector: the Inspector's command line lists and reads.
func TestInspector(t *testing.T) {
	if testing.Short() {
		t.Skip("runs Node.js")
	}
	dir := clientsFolder(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	h, err := tickingNotes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h.Handler())
	defer s.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range [][]string{{s.URL + "/mcp", "--transport", "http"}, {self, serveNotes}} {
		for _, tt := range []struct {
			args []string
			want string
		}{
			{[]string{"--method", "resources/list"}, `"uri": "notes://a%20b.md"`},
			{[]string{"--method", "resources/templates/list"}, `"uriTemplate": "notes://{+path}"`},
			{[]string{"--method", "resources/read", "--uri", "notes://raw"}, `"blob": "AP8="`},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			cmd := exec.CommandContext(ctx, filepath.Join("node_modules", ".bin", "mcp-inspector"), append(append([]string{"--cli"}, target...), tt.args...)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			cancel()
			if err != nil || !strings.Contains(string(out), tt.want) {
				t.Errorf("%v %v: %v\n%s", target[0], tt.args, err, out)
			}
		}
	}
}
