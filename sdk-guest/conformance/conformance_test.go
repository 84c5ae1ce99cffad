package conformance_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/wasmplugin"
)

// TestConformance runs the guest of each SDK, which does all that the SDK can, renamed and with files: README.md has the
// behaviour that all of them share.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and compiles guests")
	}
	for _, l := range languages() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, &l)
			t.Run("manifest", s.manifest)
			t.Run("direct resource", s.direct)
			t.Run("parts", s.parts)
			t.Run("bodies", s.bodies)
			t.Run("variables", s.variables)
			t.Run("not modified", s.notModified)
			t.Run("described at load", s.described)
			t.Run("failures", s.failures)
			t.Run("faults", s.faults)
			t.Run("input", s.input)
			t.Run("changes", s.changes)
			t.Run("list", s.list)
			t.Run("completion", s.completion)
			t.Run("poll", s.poll)
			t.Run("init refuses", s.initRefuses)
		})
	}
}

// subject is the loaded guest of one language.
type subject struct {
	p      *wasmplugin.Plugin
	r      *wasmplugin.Runtime
	cfg    wasmplugin.Config
	log    *lockedBuffer
	events chan string
}

// Updated and ListChanged make it a provider.Events.
func (s *subject) Updated(uri string) { s.events <- uri }
func (s *subject) ListChanged()       { s.events <- "list" }

// fileName is the name of one of the five files, which have characters that a URI does not.
func fileName(i int) string { return fmt.Sprintf("file %d %%é.txt", i) }

func newSubject(t *testing.T, l *language) *subject {
	t.Helper()
	files := t.TempDir()
	for i := range 5 {
		if err := os.WriteFile(filepath.Join(files, fileName(i)), []byte(strings.Repeat("x", 100_000*i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &subject{events: make(chan string, 1000)}
	s.r, s.log = newRuntime(t)
	s.cfg = wasmplugin.Config{
		Name: l.name, Schemes: map[string]string{"sdk": "renamed"}, Config: []byte(`{"greeting":"servus"}`),
		Wasm:   guest(t, s.r, l),
		Grants: wasmplugin.Grants{FS: &wasmplugin.FSGrant{Roots: map[string]wasmplugin.FSRoot{"main": {Path: files}}}},
		Limits: wasmplugin.Limits{Timeout: time.Minute, EventRate: -1},
	}
	p, err := s.r.Load(t.Context(), &s.cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.p = p
	p.Attach(s)
	return s
}

// read reads by a template, or a direct resource when template is empty.
func (s *subject) read(t *testing.T, template string, req provider.ReadRequest, vars ...provider.Var) (*provider.ReadResult, error) {
	t.Helper()
	req.Template, req.TemplateIndex, req.Vars, req.MaxBytes = template, s.templateIndex(template), vars, 4<<20
	return s.p.Read(t.Context(), &req)
}

func (s *subject) templateIndex(template string) int {
	for i, tpl := range s.p.Info().Templates {
		if tpl.URITemplate == template {
			return i
		}
	}
	return -1
}

// do reads renamed://do/WHAT.
func (s *subject) do(t *testing.T, what string, req provider.ReadRequest, vars ...provider.Var) (*provider.ReadResult, error) {
	t.Helper()
	req.URI = "renamed://do/" + what
	return s.read(t, "renamed://do/{what}{?n}", req, append([]provider.Var{{Name: "what", Value: what}}, vars...)...)
}

// body is the body of a read of one part.
func body(t *testing.T, got *provider.ReadResult, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Contents) != 1 {
		t.Fatalf("%d parts", len(got.Contents))
	}
	return string(got.Contents[0].Body)
}

func wantCode(t *testing.T, err error, want provider.Code) *provider.Error {
	t.Helper()
	if got := provider.CodeOf(err); err == nil || got != want {
		t.Fatalf("code %s (%v), want %s", got, err, want)
	}
	e, _ := err.(*provider.Error)
	return e
}

func (s *subject) manifest(t *testing.T) {
	info := s.p.Info()
	var templates []string
	for _, tpl := range info.Templates {
		templates = append(templates, tpl.URITemplate+" "+tpl.Name+" "+tpl.MIMEType)
	}
	want := []string{
		"renamed://do/{what}{?n} do text/plain", "renamed://files/{+path} files ", "renamed://pair/{first}/{second} pair text/plain",
		"renamed://late/{key} late ",
	}
	if d := cmp.Diff(want, templates); d != "" {
		t.Errorf("templates (-want +got):\n%s", d)
	}
	if len(info.Resources) != 1 || info.Resources[0].Title != `Hello "you"` || !info.List || !info.Watch {
		t.Errorf("info %+v", info)
	}
}

// The second read meets the same memory as the first.
func (s *subject) direct(t *testing.T) {
	for range 2 {
		got, err := s.read(t, "", provider.ReadRequest{URI: "renamed://hello"})
		if err != nil {
			t.Fatal(err)
		}
		want := []provider.Content{{MIMEType: "application/json", Text: true, Body: []byte(`{"greeting":"servus","calls":1}`)}}
		if d := cmp.Diff(want, got.Contents); d != "" {
			t.Errorf("contents (-want +got):\n%s", d)
		}
	}
}

func (s *subject) parts(t *testing.T) {
	got, err := s.do(t, "parts", provider.ReadRequest{})
	if err != nil {
		t.Fatal(err)
	}
	want := &provider.ReadResult{
		Contents: []provider.Content{
			{URI: "renamed://hello", MIMEType: "text/x-test", Text: true, Body: []byte("ééé"), Meta: provider.JSON(`{"test.example/a":1}`), ETag: "v1"},
			{MIMEType: "application/octet-stream", Body: []byte{0, 255}, ETag: "v1"},
		},
		Cache: provider.Cache{TTL: 1500 * time.Millisecond, Set: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("result (-want +got):\n%s", d)
	}
}

func (s *subject) bodies(t *testing.T) {
	got, err := s.do(t, "large", provider.ReadRequest{})
	if b := body(t, got, err); b != strings.Repeat("0123456789abcdef", 65536) {
		t.Errorf("%d bytes", len(b))
	}
	got, err = s.do(t, "empty", provider.ReadRequest{})
	if b := body(t, got, err); b != "" || got.Contents[0].MIMEType != "text/plain" {
		t.Errorf("contents %+v", got.Contents[0])
	}
	_, err = s.do(t, "flood", provider.ReadRequest{}) // ends, since it is told to stop
	wantCode(t, err, provider.TooLarge)
}

func (s *subject) variables(t *testing.T) {
	for _, v := range []struct{ first, second string }{
		{"a", "b"},
		{"../x\\y", "ü €𝄞"},
		{strings.Repeat("long ", 1000), "\x01\x7f"}, // a request of more than a first buffer's size
	} {
		got, err := s.read(t, "renamed://pair/{first}/{second}", provider.ReadRequest{URI: "renamed://pair/-/-"},
			provider.Var{Name: "first", Value: v.first}, provider.Var{Name: "second", Value: v.second})
		if b := body(t, got, err); b != v.first+"|"+v.second {
			t.Errorf("%q, %q: %q", v.first, v.second, b)
		}
	}
	// A query variable that the URI does not have is not an empty one.
	for _, n := range []struct {
		want string
		vars []provider.Var
	}{{"none", nil}, {"", []provider.Var{{Name: "n"}}}, {"5", []provider.Var{{Name: "n", Value: "5"}}}} {
		got, err := s.do(t, "changed", provider.ReadRequest{}, n.vars...)
		if b := body(t, got, err); b != n.want {
			t.Errorf("n: %q, want %q", b, n.want)
		}
	}
	s.drain()
}

func (s *subject) notModified(t *testing.T) {
	got, err := s.do(t, "etag", provider.ReadRequest{})
	if body(t, got, err) != "tagged" || got.Contents[0].ETag != "v1" || !got.Cache.Public {
		t.Errorf("result %+v", got)
	}
	got, err = s.do(t, "etag", provider.ReadRequest{IfETag: "v1"})
	if err != nil || !got.NotModified {
		t.Errorf("with the etag: %+v, %v", got, err)
	}
	got, err = s.do(t, "etag", provider.ReadRequest{IfETag: "v0"})
	if body(t, got, err) != "tagged" {
		t.Errorf("with another etag: %+v", got)
	}
}

func (s *subject) described(t *testing.T) {
	got, err := s.read(t, "renamed://late/{key}", provider.ReadRequest{URI: "renamed://late/a"}, provider.Var{Name: "key", Value: "a"})
	if b := body(t, got, err); b != "renamed://late/{key} a" {
		t.Errorf("body %q", b)
	}
}

func (s *subject) failures(t *testing.T) {
	for what, want := range map[string]provider.Code{
		"invalid": provider.Invalid, "denied": provider.Denied, "unavailable": provider.Unavailable, "internal": provider.Internal,
		"too-large": provider.TooLarge, "unsupported": provider.Unsupported, "no-such-thing": provider.NotFound,
	} {
		_, err := s.do(t, what, provider.ReadRequest{})
		e := wantCode(t, err, want)
		switch want {
		case provider.Unavailable:
			if e.Message != "later" || e.RetryAfter != 1500*time.Millisecond {
				t.Errorf("%s: %+v", what, e)
			}
		case provider.Invalid, provider.TooLarge, provider.Unsupported:
			if e.Message != "the reason" {
				t.Errorf("%s: %+v", what, e)
			}
		}
	}
}

// A handler's own mistakes are faults of the plugin, and the log says which.
func (s *subject) faults(t *testing.T) {
	for what, logged := range map[string]string{"nothing": "no part", "typing": "declare", "trap": "on purpose"} {
		_, err := s.do(t, what, provider.ReadRequest{})
		wantCode(t, err, provider.Internal)
		if all := s.log.String() + err.Error(); !strings.Contains(all, logged) {
			t.Errorf("%s: %q is not in the log and not in %v", what, logged, err)
		}
	}
}

func (s *subject) input(t *testing.T) {
	_, err := s.do(t, "ask", provider.ReadRequest{})
	wantCode(t, err, provider.Unsupported)
	got, err := s.do(t, "ask", provider.ReadRequest{InputMethods: []string{"sampling/createMessage", "elicitation/create"}})
	if err != nil {
		t.Fatal(err)
	}
	want := &provider.InputRequired{
		Requests: []provider.InputRequest{{Key: "k", Method: "elicitation/create", Params: provider.JSON(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)}},
		State:    []byte("s"),
	}
	if d := cmp.Diff(want, got.Input); d != "" {
		t.Fatalf("input (-want +got):\n%s", d)
	}
	got, err = s.do(t, "ask", provider.ReadRequest{State: got.Input.State, Inputs: []provider.InputResponse{{Key: "k", Result: provider.JSON(`{}`)}}})
	if b := body(t, got, err); b != "{}s" {
		t.Errorf("retry: %q", b)
	}
}

func (s *subject) changes(t *testing.T) {
	var progress, line string
	got, err := s.do(t, "changed", provider.ReadRequest{
		Progress: func(done, total uint64, message string) { progress = fmt.Sprint(done, total, message) },
		Log:      func(level, message string) { line = level + " " + message },
	})
	if b := body(t, got, err); b != "none" {
		t.Errorf("body %q", b)
	}
	if progress != "1 2half" || line != "warning a line" {
		t.Errorf("progress %q, log %q", progress, line)
	}
	s.await(t, "renamed://hello")
	s.await(t, "list")
}

// await waits for an event and passes over others.
func (s *subject) await(t *testing.T, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		select {
		case got := <-s.events:
			if got == want {
				return
			}
		case <-ctx.Done():
			t.Fatalf("no event %s", want)
		}
	}
}

func (s *subject) drain() {
	for {
		select {
		case <-s.events:
		default:
			return
		}
	}
}

func (s *subject) list(t *testing.T) {
	var names, want []string
	for cursor := []byte(nil); ; {
		page, err := s.p.List(t.Context(), &provider.ListRequest{Cursor: cursor, PageSize: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range page.Resources {
			names = append(names, fmt.Sprint(res.URI, "=", res.Name, ":", *res.Size))
		}
		if cursor = page.Next; cursor == nil {
			break
		}
	}
	for i := range 5 {
		want = append(want, fmt.Sprintf("renamed://files/file%%20%d%%20%%25%%C3%%A9.txt=%s:%d", i, fileName(i), 100_000*i))
	}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("list (-want +got):\n%s", d)
	}
	got, err := s.read(t, "renamed://files/{+path}", provider.ReadRequest{URI: "renamed://files/-"}, provider.Var{Name: "path", Value: fileName(3)})
	if b := body(t, got, err); len(b) != 300_000 {
		t.Errorf("%d bytes", len(b))
	}
	_, err = s.read(t, "renamed://files/{+path}", provider.ReadRequest{URI: "renamed://files/-"}, provider.Var{Name: "path", Value: "none"})
	wantCode(t, err, provider.NotFound)
}

func (s *subject) completion(t *testing.T) {
	req := provider.CompleteRequest{Template: "renamed://files/{+path}", Argument: "path"}
	req.TemplateIndex = s.templateIndex(req.Template)
	got, err := s.p.Complete(t.Context(), &req)
	if err != nil || len(got.Values) != 5 || got.Values[4] != fileName(4) || got.Total == nil || *got.Total != 5 || got.HasMore {
		t.Errorf("files: %+v, %v", got, err)
	}
	req = provider.CompleteRequest{Template: "renamed://pair/{first}/{second}", Argument: "second", Value: "ü"}
	req.TemplateIndex = s.templateIndex(req.Template)
	for _, c := range []struct {
		want    string
		context []provider.Var
	}{{"?-ü", nil}, {"one-ü", []provider.Var{{Name: "first", Value: "one"}}}} {
		req.Context = c.context
		got, err := s.p.Complete(t.Context(), &req)
		if err != nil || len(got.Values) == 0 || got.Values[0] != c.want || got.Total == nil || *got.Total != 7 {
			t.Errorf("second: %+v, %v", got, err)
		}
	}
}

// The state of a poll comes back in the next one: the third reports a changed list.
func (s *subject) poll(t *testing.T) {
	s.drain()
	if err := s.p.Watch(t.Context(), "renamed://hello"); err != nil {
		t.Fatal(err)
	}
	defer s.p.Unwatch("renamed://hello")
	s.await(t, "renamed://hello")
	s.await(t, "list")
}

func (s *subject) initRefuses(t *testing.T) {
	cfg := s.cfg
	cfg.Config = []byte(`{"greeting":"moin"}`)
	_, err := s.r.Load(t.Context(), &cfg)
	if err == nil || !strings.Contains(err.Error(), `config /greeting: got "moin", want one of "hello" "servus"`) {
		t.Errorf("Load = %v", err)
	}
}
