package wasmplugin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host/provider"
)

// sdkGuest builds and packs the guest in testdata, by the lines of the SDK's README.
func sdkGuest(t *testing.T, r *Runtime) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-w", "-o", out, "./testdata/sdkguest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := r.Pack(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// sdkEvents records what the guest reports.
type sdkEvents struct{ ch chan string }

func (e sdkEvents) Updated(uri string) { e.ch <- uri }
func (e sdkEvents) ListChanged()       { e.ch <- "list" }

// TestSDK runs a guest on the Go SDK that does all the SDK can, renamed, with files, against this host.
func TestSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and compiles a Go guest")
	}
	files := t.TempDir()
	for i := range 5 {
		if err := os.WriteFile(filepath.Join(files, fmt.Sprintf("file %d", i)), []byte(strings.Repeat("x", 100_000*i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, log := testRuntime(t, nil)
	wasm := sdkGuest(t, r)
	cfg := Config{
		Name: "sdk", Schemes: map[string]string{"sdk": "renamed"}, Config: []byte(`{"greeting":"servus"}`),
		Grants: Grants{FS: &FSGrant{Roots: map[string]FSRoot{"main": {Path: files}}}}, Limits: Limits{Timeout: time.Minute},
	}
	p := load(t, r, wasm, cfg)
	events := sdkEvents{make(chan string, 10)}
	p.Attach(events)
	read := func(template string, req provider.ReadRequest, vars ...provider.Var) (*provider.ReadResult, error) {
		req.Template, req.TemplateIndex, req.Vars, req.MaxBytes = template, -1, vars, 1<<20
		for i, tpl := range p.Info().Templates {
			if tpl.URITemplate == template {
				req.TemplateIndex = i
			}
		}
		return p.Read(t.Context(), &req)
	}
	do := func(what string, req provider.ReadRequest) (*provider.ReadResult, error) {
		req.URI = "renamed://do/" + what
		return read("renamed://do/{what}{?n}", req, provider.Var{Name: "what", Value: what})
	}

	t.Run("a direct resource, twice from the same memory", func(t *testing.T) {
		for range 2 {
			got, err := read("", provider.ReadRequest{URI: "renamed://hello"})
			if err != nil {
				t.Fatal(err)
			}
			want := []provider.Content{{MIMEType: "application/json", Text: true, Body: []byte(`{"greeting":"servus","calls":1}`)}}
			if d := cmp.Diff(want, got.Contents); d != "" {
				t.Errorf("contents (-want +got):\n%s", d)
			}
		}
	})
	t.Run("parts", func(t *testing.T) {
		got, err := do("parts", provider.ReadRequest{})
		if err != nil {
			t.Fatal(err)
		}
		want := &provider.ReadResult{
			Contents: []provider.Content{
				{URI: "renamed://hello", MIMEType: "text/plain", Text: true, Body: []byte("ééé"), Meta: provider.JSON(`{"test.example/a":1}`), ETag: "v1"},
				{MIMEType: "application/octet-stream", Body: []byte{0, 255}, ETag: "v1"},
			},
			Cache: provider.Cache{TTL: 1500 * time.Millisecond, Set: true},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("result (-want +got):\n%s", d)
		}
	})
	t.Run("what is described at load", func(t *testing.T) {
		got, err := read("renamed://late/{key}", provider.ReadRequest{URI: "renamed://late/a"}, provider.Var{Name: "key", Value: "a"})
		if err != nil || string(got.Contents[0].Body) != "renamed://late/{key} a" {
			t.Errorf("read = %+v, %v", got, err)
		}
	})
	t.Run("failures", func(t *testing.T) {
		_, err := do("flood", provider.ReadRequest{})
		wantCode(t, err, provider.TooLarge)
		_, err = do("none", provider.ReadRequest{})
		wantCode(t, err, provider.NotFound)
		_, err = do("unavailable", provider.ReadRequest{})
		if e := wantCode(t, err, provider.Unavailable); e.Message != "later" || e.RetryAfter != 1500*time.Millisecond {
			t.Errorf("error %+v", e)
		}
		_, err = do("typing", provider.ReadRequest{})
		wantCode(t, err, provider.Internal)
		_, err = do("panic", provider.ReadRequest{})
		wantCode(t, err, provider.Internal)
		if !strings.Contains(log.String(), "on purpose") {
			t.Error("the log does not have the panic's text")
		}
	})
	t.Run("input", func(t *testing.T) {
		got, err := do("ask", provider.ReadRequest{InputMethods: []string{"elicitation/create"}})
		if err != nil {
			t.Fatal(err)
		}
		want := &provider.InputRequired{
			Requests: []provider.InputRequest{{Key: "k", Method: "elicitation/create", Params: provider.JSON(`{"message":"?"}`)}},
			State:    []byte("s"),
		}
		if d := cmp.Diff(want, got.Input); d != "" {
			t.Fatalf("input (-want +got):\n%s", d)
		}
		got, err = do("ask", provider.ReadRequest{State: got.Input.State, Inputs: []provider.InputResponse{{Key: "k", Result: provider.JSON(`{}`)}}})
		if err != nil || string(got.Contents[0].Body) != "{}s" {
			t.Errorf("retry = %+v, %v", got, err)
		}
	})
	t.Run("changes, progress and log", func(t *testing.T) {
		var progress, line string
		_, err := do("changed", provider.ReadRequest{
			Progress: func(done, total uint64, message string) { progress = fmt.Sprint(done, total, message) },
			Log:      func(level, message string) { line = level + " " + message },
		})
		if err != nil {
			t.Fatal(err)
		}
		if progress != "1 2half" || line != "warning a line" {
			t.Errorf("progress %q, log %q", progress, line)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		for _, want := range []string{"renamed://hello", "list"} {
			select {
			case got := <-events.ch:
				if got != want {
					t.Errorf("event %s, want %s", got, want)
				}
			case <-ctx.Done():
				t.Fatalf("no event %s", want)
			}
		}
	})
	t.Run("files, in pages and completed", func(t *testing.T) {
		got, err := read("renamed://files/{+path}", provider.ReadRequest{URI: "renamed://files/file%203"}, provider.Var{Name: "path", Value: "file 3"})
		if err != nil || len(got.Contents[0].Body) != 300_000 {
			t.Errorf("read: %v", err)
		}
		var names []string
		for cursor := []byte(nil); ; {
			page, err := p.List(t.Context(), &provider.ListRequest{Cursor: cursor, PageSize: 2})
			if err != nil {
				t.Fatal(err)
			}
			for _, res := range page.Resources {
				names = append(names, res.URI)
			}
			if cursor = page.Next; cursor == nil {
				break
			}
		}
		want := []string{
			"renamed://files/file%200", "renamed://files/file%201", "renamed://files/file%202", "renamed://files/file%203", "renamed://files/file%204",
		}
		if d := cmp.Diff(want, names); d != "" {
			t.Errorf("list (-want +got):\n%s", d)
		}
		values, err := p.Complete(t.Context(), &provider.CompleteRequest{Template: "renamed://files/{+path}", TemplateIndex: 1, Argument: "path"})
		if err != nil || len(values.Values) != 5 || values.Total == nil || *values.Total != 5 || values.HasMore {
			t.Errorf("complete = %+v, %v", values, err)
		}
	})
	t.Run("a config that Init refuses", func(t *testing.T) {
		cfg.Config, cfg.Wasm = []byte(`{"greeting":"moin"}`), wasm
		_, err := r.Load(t.Context(), &cfg)
		if err == nil || !strings.Contains(err.Error(), `config /greeting: got "moin", want one of "hello" "servus"`) {
			t.Errorf("Load = %v", err)
		}
	})
}
