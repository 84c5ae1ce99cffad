package reshost_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

// reading returns a plugin whose one template is served by read, and direct resources a and b with a media type.
func reading(read reshost.ReadFunc) *reshost.Plugin {
	return &reshost.Plugin{
		Name: "t", Schemes: []string{"t"},
		Resources: []reshost.Resource{
			{URI: "t://direct", Name: "direct", MIMEType: "text/markdown", Read: read},
			{URI: "t://plain", Name: "plain", Read: read},
		},
		Templates: []reshost.Template{{
			URITemplate: "t://x/{id}{?q}", Name: "x", Vars: []reshost.Var{{Name: "id"}, {Name: "q"}}, Read: read,
		}},
	}
}

// TestBodies: the media types that a body has by default, and what a part can say.
func TestBodies(t *testing.T) {
	part := func(mime string, text bool, body string) reshosttest.Part {
		return reshosttest.Part{MIMEType: mime, Text: text, Body: []byte(body), TTLMillis: -1, SizeHint: int64(len(body))}
	}
	tests := []struct {
		name, uri string
		read      func(out *reshost.Response) error
		want      []reshosttest.Part
	}{
		{
			"text", "t://plain", func(o *reshost.Response) error { return o.Text("é") },
			[]reshosttest.Part{part("text/plain", true, "é")},
		},
		{
			"text of a typed resource", "t://direct", func(o *reshost.Response) error { return o.TextBytes([]byte("# a")) },
			[]reshosttest.Part{part("text/markdown", true, "# a")},
		},
		{
			"bytes", "t://plain", func(o *reshost.Response) error { return o.Bytes([]byte{0, 255}) },
			[]reshosttest.Part{part("application/octet-stream", false, "\x00\xff")},
		},
		{
			"empty text (FS-09)", "t://plain", func(o *reshost.Response) error { return o.Text("") },
			[]reshosttest.Part{part("text/plain", true, "")},
		},
		{
			"json", "t://plain", func(o *reshost.Response) error { return o.JSON([]byte(`{"a":1}`)) },
			[]reshosttest.Part{part("application/json", true, `{"a":1}`)},
		},
		{"parts, streamed", "t://direct", func(o *reshost.Response) error {
			o.SetTTL(0)
			o.SetETag("v1")
			o.SetPublic()
			err := o.Part(reshost.Part{URI: "t://x/1", Text: true, Meta: `{"k":1}`})
			for range 3 {
				_, e := o.WriteString("ab")
				err = errors.Join(err, e)
			}
			return errors.Join(err, o.Part(reshost.Part{MIMEType: "image/png", ETag: "v2", Size: reshost.Bytes(9)}))
		}, []reshosttest.Part{
			{URI: "t://x/1", MIMEType: "text/plain", Text: true, Body: []byte("ababab"), Meta: `{"k":1}`, ETag: "v1", Public: true},
			{MIMEType: "image/png", Body: []byte{}, ETag: "v2", Public: true, SizeHint: 9},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := reshosttest.New(t, reading(func(_ *reshost.ReadRequest, o *reshost.Response) error { return tt.read(o) }), nil)
			got, err := g.Read(tt.uri)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got.Parts); d != "" {
				t.Errorf("parts (-want +got):\n%s", d)
			}
		})
	}
}

// TestFailures: what a handler returns, and what the host gets.
func TestFailures(t *testing.T) {
	tests := []struct {
		name string
		read reshost.ReadFunc
		want reshosttest.Failure
	}{
		{
			"not found", func(*reshost.ReadRequest, *reshost.Response) error { return reshost.NotFound("no 1") },
			reshosttest.Failure{Code: reshost.CodeNotFound, Message: "no 1"},
		},
		{
			"denied", func(*reshost.ReadRequest, *reshost.Response) error { return reshost.Denied("") },
			reshosttest.Failure{Code: reshost.CodeDenied, Message: "denied"},
		},
		{
			"unavailable", func(*reshost.ReadRequest, *reshost.Response) error { return reshost.Unavailable("later", 1500) },
			reshosttest.Failure{Code: reshost.CodeUnavailable, Message: "later", RetryAfterMillis: 1500},
		},
		{"detail", func(*reshost.ReadRequest, *reshost.Response) error {
			return &reshost.Error{Code: reshost.CodeInvalid, Message: "m", Detail: `{"line":3}`}
		}, reshosttest.Failure{Code: reshost.CodeInvalid, Message: "m", Detail: `{"line":3}`}},
		{
			"unsupported", func(*reshost.ReadRequest, *reshost.Response) error { return reshost.Unsupported("no") },
			reshosttest.Failure{Code: reshost.CodeUnsupported, Message: "no"},
		},
		{
			"any other error", func(*reshost.ReadRequest, *reshost.Response) error { return errors.New("secret") },
			reshosttest.Failure{Code: reshost.CodeInternal, Message: "secret"},
		},
		{
			"an error without a code", func(*reshost.ReadRequest, *reshost.Response) error { return &reshost.Error{Message: "m"} },
			reshosttest.Failure{Code: reshost.CodeInternal, Message: "m"},
		},
		{
			"no part", func(*reshost.ReadRequest, *reshost.Response) error { return nil },
			reshosttest.Failure{Code: reshost.CodeInternal, Message: "the handler of t://x/1 wrote no part"},
		},
		{"a variable that is not declared", func(r *reshost.ReadRequest, o *reshost.Response) error {
			return o.Text(r.Var("ide"))
		}, reshosttest.Failure{
			Code:    reshost.CodeInternal,
			Message: `the handler of t://x/{id}{?q} asked for the variable "ide", which Vars does not declare`,
		}},
		{
			"over the limit", func(_ *reshost.ReadRequest, o *reshost.Response) error { return o.Text(strings.Repeat("a", 101)) },
			reshosttest.Failure{Code: reshost.CodeTooLarge},
		},
		{"over the limit, and the handler goes on", func(_ *reshost.ReadRequest, o *reshost.Response) error {
			_ = o.Text(strings.Repeat("a", 101))
			return nil
		}, reshosttest.Failure{Code: reshost.CodeTooLarge}},
		{"a long message is cut between characters", func(*reshost.ReadRequest, *reshost.Response) error {
			return reshost.Invalid("a" + strings.Repeat("é", 1000))
		}, reshosttest.Failure{Code: reshost.CodeInvalid, Message: "a" + strings.Repeat("é", 511)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := reshosttest.New(t, reading(tt.read), &reshosttest.Options{MaxBytes: 100})
			_, err := g.Read("t://x/1")
			var f *reshosttest.Failure
			if !errors.As(err, &f) {
				t.Fatalf("Read = %v, want a Failure", err)
			}
			if d := cmp.Diff(tt.want, *f); d != "" {
				t.Errorf("failure (-want +got):\n%s", d)
			}
		})
	}
}

// TestStop proves that a handler hears of the limit, and what of.
func TestStop(t *testing.T) {
	var seen error
	g := reshosttest.New(t, reading(func(_ *reshost.ReadRequest, o *reshost.Response) error {
		if err := o.Part(reshost.Part{}); err != nil {
			return err
		}
		for range 1000 {
			if _, seen = o.Write(make([]byte, 10)); seen != nil {
				return seen
			}
		}
		return nil
	}), &reshosttest.Options{MaxBytes: 100})
	if _, err := g.Read("t://plain"); err == nil || seen != reshost.ErrStop {
		t.Errorf("Read = %v, the handler saw %v; want an error and ErrStop", err, seen)
	}
}

// TestRejected: a record that breaks the ABI's rules fails the read.
func TestRejected(t *testing.T) {
	for name, read := range map[string]func(o *reshost.Response) error{
		"write before a part":    func(o *reshost.Response) error { _, err := o.WriteString("x"); return err },
		"media type":             func(o *reshost.Response) error { return o.Part(reshost.Part{MIMEType: "text"}) },
		"meta is not an object":  func(o *reshost.Response) error { return o.Part(reshost.Part{Meta: "1"}) },
		"etag of many lines":     func(o *reshost.Response) error { return o.Part(reshost.Part{ETag: "a\nb"}) },
		"state too large":        func(o *reshost.Response) error { return o.InputRequired(make([]byte, 8<<10+1)) },
		"text that is not UTF-8": func(o *reshost.Response) error { return o.Text("\xff") },
	} {
		t.Run(name, func(t *testing.T) {
			g := reshosttest.New(t, reading(func(_ *reshost.ReadRequest, o *reshost.Response) error { return read(o) }), nil)
			if got, err := g.Read("t://plain"); err == nil {
				t.Errorf("Read = %+v, want an error", got)
			}
		})
	}
}

func TestVars(t *testing.T) {
	var got []string
	g := reshosttest.New(t, reading(func(r *reshost.ReadRequest, o *reshost.Response) error {
		q, defined := r.LookupVar("q")
		got = []string{r.URI, r.Template, r.Var("id"), q, map[bool]string{true: "defined"}[defined]}
		return o.Text("x")
	}), nil)
	for uri, want := range map[string][]string{
		"t://x/a%20b":      {"t://x/a%20b", "t://x/{id}{?q}", "a b", "", ""},
		"t://x/a?q=":       {"t://x/a?q=", "t://x/{id}{?q}", "a", "", "defined"},
		"t://x/a?q=%2F%3F": {"t://x/a?q=%2F%3F", "t://x/{id}{?q}", "a", "/?", "defined"},
		"t://plain":        {"t://plain", "", "", "", ""},
	} {
		if _, err := g.Read(uri); err != nil {
			t.Fatalf("Read(%s) = %v", uri, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("Read(%s) (-want +got):\n%s", uri, d)
		}
	}
	if _, err := g.Read("t://nowhere"); !isCode(err, reshost.CodeNotFound) {
		t.Errorf("Read of a URI that nothing matches = %v", err)
	}
}

func isCode(err error, code reshost.Code) bool {
	var f *reshosttest.Failure
	return errors.As(err, &f) && f.Code == code
}

func TestNotModified(t *testing.T) {
	g := reshosttest.New(t, reading(func(r *reshost.ReadRequest, o *reshost.Response) error {
		if r.IfETag == "v1" {
			return reshost.ErrNotModified
		}
		o.SetETag("v1")
		return o.Text("x")
	}), nil)
	got, err := g.ReadWith("t://plain", reshosttest.ReadOptions{IfETag: "v1"})
	if err != nil || !got.NotModified {
		t.Errorf("with the etag: %+v, %v; want not modified", got, err)
	}
	got, err = g.ReadWith("t://plain", reshosttest.ReadOptions{IfETag: "v0"})
	if err != nil || got.NotModified || got.Parts[0].ETag != "v1" {
		t.Errorf("with another etag: %+v, %v; want the content", got, err)
	}
}

// TestInputRequired: a read asks, and the retry has state and answers (rule R4).
func TestInputRequired(t *testing.T) {
	const method = "elicitation/create"
	g := reshosttest.New(t, reading(func(r *reshost.ReadRequest, o *reshost.Response) error {
		answer, ok := r.Answer("who")
		if !ok {
			if !r.CanAsk(method) {
				return reshost.Unsupported("the client cannot be asked")
			}
			return o.InputRequired([]byte{0, 1}, reshost.Question{Key: "who", Method: method, Params: `{"message":"Who?"}`})
		}
		return o.Text(answer + string(r.State))
	}), nil)
	can := []string{method}
	got, err := g.ReadWith("t://plain", reshosttest.ReadOptions{InputMethods: can})
	if err != nil {
		t.Fatal(err)
	}
	want := []reshost.Question{{Key: "who", Method: method, Params: `{"message":"Who?"}`}}
	if d := cmp.Diff(want, got.Questions); d != "" || string(got.State) != "\x00\x01" {
		t.Errorf("questions (-want +got):\n%s; state %q", d, got.State)
	}
	got, err = g.ReadWith("t://plain", reshosttest.ReadOptions{
		InputMethods: can, State: got.State, Answers: []reshost.Answer{{Key: "who", JSON: `{"action":"decline"}`}},
	})
	if err != nil || got.Text() != `{"action":"decline"}`+"\x00\x01" {
		t.Errorf("retry = %+v, %v", got, err)
	}
	if _, err = g.Read("t://plain"); !isCode(err, reshost.CodeUnsupported) {
		t.Errorf("a client that cannot be asked: %v", err)
	}
}

func TestCallerAndChanges(t *testing.T) {
	caller := reshost.Caller{
		Issuer: "i", Subject: "s", Tenant: "t", Scopes: []string{"a", ""}, Claims: `{"c":1}`, Meta: `{"m":1}`,
	}
	var got reshost.Caller
	var now, deadline int64
	g := reshosttest.New(t, reading(func(r *reshost.ReadRequest, o *reshost.Response) error {
		got, now, deadline = r.Caller, r.NowMillis, r.DeadlineMillis
		r.Updated("t://x/1")
		r.ListChanged()
		r.Progress(1, 0, "")
		r.Progress(2, 3, "page")
		r.Log(reshost.LevelWarning, "line")
		return o.Text("x")
	}), &reshosttest.Options{NowMillis: 77})
	res, err := g.ReadWith("t://plain", reshosttest.ReadOptions{Caller: caller})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(caller, got); d != "" {
		t.Errorf("caller (-want +got):\n%s", d)
	}
	if now != 77 || deadline <= 0 {
		t.Errorf("now %d, deadline %d", now, deadline)
	}
	if d := cmp.Diff(reshosttest.Changes{Updated: []string{"t://x/1"}, ListChanged: 1}, res.Changes); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"1", "2/3 page"}, res.Progress); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
}

// TestRename: the operator renames a scheme; requests carry the new name and the plugin builds with it.
func TestRename(t *testing.T) {
	g := reshosttest.New(t, reading(func(r *reshost.ReadRequest, o *reshost.Response) error {
		return o.Text(r.Scheme("t") + " " + r.Scheme("other") + " " + r.Template + " " + r.Var("id"))
	}), &reshosttest.Options{Schemes: map[string]string{"t": "renamed"}})
	for uri, want := range map[string]string{
		"renamed://plain": "renamed other  ",
		"renamed://x/1":   "renamed other renamed://x/{id}{?q} 1",
	} {
		got, err := g.Read(uri)
		if err != nil || got.Text() != want {
			t.Errorf("Read(%s) = %q, %v; want %q", uri, got.Text(), err, want)
		}
	}
}
