package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/memprovider"
	"github.com/reshost/reshost/host/provider"
)

// twoNotes is a host with two notes, of revisions that are named; none: all.
func twoNotes(t *testing.T, revisions ...string) (*host.Host, *memprovider.Provider) {
	t.Helper()
	notes, err := memprovider.New("notes", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(notes.SetText("a b.md", "text/markdown", "# A <b>\n"), notes.Set("raw",
		provider.Resource{MIMEType: "application/octet-stream"}, provider.Content{MIMEType: "application/octet-stream", Body: []byte{0, 255}})); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(&host.Options{Name: "test", Revisions: revisions, PageSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Add(notes, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h, notes
}

// eras are the revisions that a server is held to: by default the client's newest is spoken.
var eras = map[string][]string{"modern": nil, "legacy": {"2025-11-25", "2025-06-18"}}

// remoteRun runs a command and returns what it prints and its exit code.
func remoteRun(ctx context.Context, t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = newApp(t, false, strings.NewReader(""), &out, &errs).run(ctx, args)
	return out.String(), errs.String(), code
}

func TestRemote(t *testing.T) {
	for name, revisions := range eras {
		t.Run(name, func(t *testing.T) {
			h, _ := twoNotes(t, revisions...)
			s := httptest.NewServer(h.Handler())
			defer s.Close()
			ttl := `,"ttlMs":0,"cacheScope":"private"}` + "\n"
			for _, tt := range []struct {
				args, want, stderr string
				code               int
			}{
				{args: "list", want: "URI              NAME    TYPE                      SIZE\nnotes://a%20b.md  a b.md"},
				{args: "list --json", want: `{"resources":[{"uri":"notes://a%20b.md","name":"a b.md","mimeType":"text/markdown","size":8`},
				{args: "templates --json", want: `{"resourceTemplates":[{"uriTemplate":"notes://{+path}","name":"notes"`},
				{args: "read notes://a%20b.md", want: "# A <b>\n"},
				{args: "read notes://raw --json", want: `{"contents":[{"uri":"notes://raw","mimeType":"application/octet-stream","blob":"AP8="}]` + ttl},
				{args: "read notes://none", stderr: "reshost: notes://none: no such resource\n", code: exitNotFound},
				{args: "read notes://a#b", stderr: "reshost: notes://a#b: invalid: ", code: exitUsage},
				{args: "complete notes://{+path} path ra --json", want: `{"values":["raw"]`},
				{args: "complete notes://{+path} no x", stderr: "reshost: notes://{+path}: invalid: ", code: exitFailure},
				{args: "watch nothing://x", stderr: "reshost: nothing://x: no such resource that can be watched\n", code: exitNotFound},
			} {
				stdout, stderr, code := remoteRun(t.Context(), t, append(strings.Fields(tt.args), "--url", s.URL+"/mcp")...)
				squeezed := strings.Join(strings.Fields(stdout), " ")
				if code != tt.code || !strings.HasPrefix(stderr, tt.stderr) || !strings.HasPrefix(squeezed, strings.Join(strings.Fields(tt.want), " ")) {
					t.Errorf("%s: exit %d\n%s%s", tt.args, code, stdout, stderr)
				}
			}
		})
	}
}

// TestRemoteWatch: changes are printed; a server that goes and comes back is found again, and what may have been missed is told.
func TestRemoteWatch(t *testing.T) {
	for name, revisions := range eras {
		t.Run(name, func(t *testing.T) {
			h, notes := twoNotes(t, revisions...)
			handler := http.Handler(h.Handler())
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
			s.Start()
			defer s.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel() // before the server closes, which waits for the stream
			out := &lines{next: make(chan string, 1000)}
			errs := &lines{next: make(chan string, 1000)}
			done := make(chan int, 1)
			a := newApp(t, false, strings.NewReader(""), out, errs)
			go func() { done <- a.run(ctx, []string{"watch", "notes://a%20b.md", "--url", s.URL + "/mcp"}) }()

			hear := func(want string) {
				t.Helper()
				for end, tick := time.After(30*time.Second), time.NewTicker(20*time.Millisecond); ; {
					select {
					case line := <-out.next:
						if line == want {
							return
						}
					case <-tick.C: // what changes before the watch stands is not told
						if err := notes.SetText("a b.md", "text/markdown", time.Now().String()); err != nil {
							t.Fatal(err)
						}
					case <-end:
						t.Fatalf("%q was not printed; stderr:\n%s", want, errs)
					}
				}
			}
			hear("updated notes://a%20b.md")
			if err := notes.SetText("new", "", "x"); err != nil {
				t.Fatal(err)
			}
			hear("list changed")
			s.CloseClientConnections()
			select {
			case line := <-errs.next:
				if !strings.Contains(line, "connecting again in") {
					t.Errorf("stderr %q", line)
				}
			case <-time.After(30 * time.Second):
				t.Error("the loss is not said")
			}
			hear("updated notes://a%20b.md")
			cancel()
			select {
			case code := <-done:
				if code != exitOK {
					t.Errorf("exit %d", code)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("watch does not end")
			}
		})
	}
}

// TestLocalWatch watches through a host in this process.
func TestLocalWatch(t *testing.T) {
	h, notes := twoNotes(t)
	ctx, cancel := context.WithCancel(t.Context())
	out := &lines{next: make(chan string, 1000)}
	a := newApp(t, false, strings.NewReader(""), out, io.Discard)
	a.json = true
	done := make(chan error)
	go func() { done <- a.watch(ctx, local{h}, []string{"notes://raw"}) }()
	for heard := false; !heard; {
		select {
		case line := <-out.next:
			heard = line == `{"uri":"notes://raw"}`
		case <-time.After(20 * time.Millisecond):
			if err := notes.SetText("raw", "", time.Now().String()); err != nil {
				t.Fatal(err)
			}
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	err := a.watch(t.Context(), local{h}, []string{"other://x"})
	if exitCode(err) != exitNotFound {
		t.Errorf("watch of what nobody serves: %v", err)
	}
}

// TestRemoteSocket asks over a Unix socket.
func TestRemoteSocket(t *testing.T) {
	h, _ := twoNotes(t)
	socket := t.TempDir() + "/s"
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no Unix sockets: ", err)
	}
	s := &httptest.Server{Listener: ln, Config: &http.Server{Handler: h.Handler()}}
	s.Start()
	defer s.Close()
	for _, url := range []string{"unix:" + socket, "unix:" + socket + ":/mcp"} {
		if stdout, stderr, code := remoteRun(t.Context(), t, "read", "notes://a%20b.md", "--url", url); stdout != "# A <b>\n" || code != 0 {
			t.Errorf("%s: exit %d\n%s%s", url, code, stdout, stderr)
		}
	}
}

// TestRemoteFlags: credentials are sent, from where they were named, and a malformed flag is a usage error.
func TestRemoteFlags(t *testing.T) {
	h, _ := twoNotes(t)
	var got http.Header
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		h.Handler().ServeHTTP(w, r)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	dir := t.TempDir()
	writeFile(t, dir+"/ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	writeFile(t, dir+"/token", []byte("secret\n"))
	writeFile(t, dir+"/empty", []byte("\n"))
	read := []string{"read", "notes://a%20b.md", "--url", s.URL + "/mcp"}
	stdout, stderr, code := remoteRun(t.Context(), t, append(read, "--ca", dir+"/ca.pem", "--token-file", dir+"/token", "--header", "X-A: b")...)
	if code != 0 || stdout != "# A <b>\n" || got.Get("Authorization") != "Bearer secret" || got.Get("X-A") != "b" {
		t.Errorf("exit %d, header %v\n%s%s", code, got, stdout, stderr)
	}
	if _, stderr, code = remoteRun(t.Context(), t, read...); code != exitFailure || !strings.Contains(stderr, "certificate") {
		t.Errorf("without --ca: exit %d\n%s", code, stderr)
	}
	for _, args := range [][]string{
		{"--header", "no colon"},
		{"--header", "A b: c"},
		{"--header", "A: b\nC: d"},
		{"--token-file", dir + "/empty"},
		{"--token-file", dir + "/none"},
		{"--ca", dir + "/token"},
		{"--ca", dir + "/none"},
		{"--root", dir},
		{"--url", "ftp://x/"},
		{"--url", "http://u:p@x/"},
		{"--url", "unix:"},
		{"--url", "x"},
	} {
		if _, stderr, code := remoteRun(t.Context(), t, append(read, args...)...); code != exitUsage || strings.Contains(stderr, "secret") {
			t.Errorf("%q: exit %d\n%s", args, code, stderr)
		}
	}
	if _, stderr, code := remoteRun(t.Context(), t, "list", "--ca", "x"); code != exitUsage || !strings.Contains(stderr, "--url") {
		t.Errorf("--ca alone: exit %d\n%s", code, stderr)
	}
}

// TestRemoteErrors: each of a host's codes comes back as what it was.
func TestRemoteErrors(t *testing.T) {
	for _, code := range []provider.Code{
		provider.NotFound, provider.Invalid, provider.Unavailable, provider.TooLarge, provider.Timeout, provider.Internal, provider.Unsupported,
	} {
		h, err := host.New(&host.Options{Name: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Add(failing{code: code}, nil); err != nil {
			t.Fatal(err)
		}
		s := httptest.NewServer(h.Handler())
		_, stderr, exit := remoteRun(t.Context(), t, "read", "fail://x", "--url", s.URL+"/mcp")
		s.Close()
		want := "reshost: fail://x: " + code.String()
		wantExit := exitFailure
		switch code {
		case provider.NotFound:
			want, wantExit = "reshost: fail://x: no such resource", exitNotFound
		case provider.Unsupported: // goes over the wire as what is invalid
			want = "reshost: fail://x: invalid"
		}
		if exit != wantExit || !strings.HasPrefix(stderr, want) {
			t.Errorf("%s: exit %d, %s", code, exit, stderr)
		}
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// failing is a provider whose reads fail.
type failing struct {
	provider.Unimplemented
	code provider.Code
}

func (failing) Info() provider.Info {
	return provider.Info{
		Name: "failing", Schemes: []string{"fail"},
		Templates: []provider.Template{{URITemplate: "fail://{x}", Name: "x", Vars: []provider.TemplateVar{{Name: "x"}}}},
	}
}

func (f failing) Read(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
	return nil, provider.Errorf(f.code, "on purpose")
}
