package wasmplugin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

func ok() []byte { return i32c(0) }

func TestReadResult(t *testing.T) {
	content := func(c abi.Content) []byte { return c.Append(nil) }
	tests := []struct {
		name string
		code func(g *guest) [][]byte
		want *provider.ReadResult
	}{
		{"text", func(g *guest) [][]byte { return [][]byte{g.text("hello"), ok()} }, &provider.ReadResult{
			Contents: []provider.Content{{MIMEType: "text/plain", Text: true, Body: []byte("hello")}},
		}},
		{"an empty part has a body (FS-09)", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, nil), ok()}
		}, &provider.ReadResult{Contents: []provider.Content{{Body: []byte{}}}}},
		{"streamed", func(g *guest) [][]byte {
			return [][]byte{g.text("a"), g.body("b"), g.body("c"), ok()}
		}, &provider.ReadResult{Contents: []provider.Content{{MIMEType: "text/plain", Text: true, Body: []byte("abc")}}}},
		{"parts: least ttl, private if any is", func(g *guest) [][]byte {
			return [][]byte{
				g.record(abi.KindContent, content(abi.Content{TTLMillis: abi.Some(5000), Scope: abi.ScopePublic, ETag: "e1"})), g.body("1"),
				g.record(abi.KindContent, content(abi.Content{URI: "letters://b", TTLMillis: abi.Some(1000)})), g.body("2"), ok(),
			}
		}, &provider.ReadResult{
			Contents: []provider.Content{{Body: []byte("1"), ETag: "e1"}, {URI: "letters://b", Body: []byte("2")}},
			Cache:    provider.Cache{TTL: time.Second, Set: true},
		}},
		{"public", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, content(abi.Content{Scope: abi.ScopePublic})), ok()}
		}, &provider.ReadResult{Contents: []provider.Content{{Body: []byte{}}}, Cache: provider.Cache{Public: true}}},
		{"reserved _meta keys are dropped", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, content(abi.Content{
				MetaJSON: `{"com.example/a": {"b" : 1e0}, "io.modelcontextprotocol/x": 1, "traceparent": "t", "-bad": 2}`,
			})), ok()}
		}, &provider.ReadResult{Contents: []provider.Content{{Body: []byte{}, Meta: provider.JSON(`{"com.example/a":{"b":1e0}}`)}}}},
		{"not modified", func(*guest) [][]byte { return [][]byte{i32c(9)} }, &provider.ReadResult{NotModified: true}},
		{"input required (R4)", func(g *guest) [][]byte {
			return [][]byte{
				g.record(abi.KindInput, (&abi.Input{Key: "k", Method: "elicitation/create", ParamsJSON: `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`}).Append(nil)),
				g.record(abi.KindState, (&abi.State{Data: "s"}).Append(nil)), i32c(8),
			}
		}, &provider.ReadResult{Input: &provider.InputRequired{
			Requests: []provider.InputRequest{{Key: "k", Method: "elicitation/create", Params: provider.JSON(`{"message":"m","requestedSchema":{"type":"object","properties":{}}}`)}}, State: []byte("s"),
		}}},
		{"an unknown kind is ignored", func(g *guest) [][]byte {
			return [][]byte{g.record(99, []byte("x")), g.record(2, nil), g.text("t"), ok()}
		}, &provider.ReadResult{Contents: []provider.Content{{MIMEType: "text/plain", Text: true, Body: []byte("t")}}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(letters)
			g.read(tt.code(g)...)
			p, _ := loadGuest(t, g, Config{})
			got, err := p.Read(t.Context(), &provider.ReadRequest{URI: "letters://a", TemplateIndex: 0, Template: "letters://{name}", IfETag: "x"})
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("result (-want +got):\n%s", d)
			}
		})
	}
}

// TestReadErrors shows that any sign of an error is one (WSM-13), and what the client may learn of it.
func TestReadErrors(t *testing.T) {
	errorRecord := func(g *guest, e abi.Error) []byte { return g.record(abi.KindError, e.Append(nil)) }
	secret := "user \x1b[31m\u202ered\n" + strings.Repeat("x", 5000)
	tests := []struct {
		name    string
		code    func(g *guest) [][]byte
		code2   provider.Code
		message string // exact
		log     string // part of the whole error
	}{
		{"status 0 with ERROR", func(g *guest) [][]byte {
			return [][]byte{g.text("t"), errorRecord(g, abi.Error{Message: "boom"}), ok()}
		}, provider.Internal, "", "status 0 with ERROR: boom"},
		{"status 0 without CONTENT", func(*guest) [][]byte { return [][]byte{ok()} }, provider.Internal, "", "status 0 without CONTENT"},
		{"status 8 without INPUT or STATE", func(*guest) [][]byte { return [][]byte{i32c(8)} }, provider.Internal, "", "without INPUT or STATE"},
		{"unknown status", func(g *guest) [][]byte { return [][]byte{g.text("t"), i32c(77)} }, provider.Internal, "", "status 77"},
		{"negative status", func(g *guest) [][]byte { return [][]byte{g.text("t"), i32c(-1)} }, provider.Internal, "", "status -1"},
		{"contents are dropped", func(g *guest) [][]byte { return [][]byte{g.text("t"), i32c(1)} }, provider.NotFound, "", ""},
		{"not_found keeps its text to the log", func(g *guest) [][]byte {
			return [][]byte{errorRecord(g, abi.Error{Message: "row 7"}), i32c(1)}
		}, provider.NotFound, "", "row 7"},
		{"denied keeps its text to the log", func(g *guest) [][]byte {
			return [][]byte{errorRecord(g, abi.Error{Message: "row 7"}), i32c(3)}
		}, provider.Denied, "", "row 7"},
		{"invalid says why", func(g *guest) [][]byte {
			return [][]byte{errorRecord(g, abi.Error{Message: "no such month"}), i32c(2)}
		}, provider.Invalid, "no such month", ""},
		{"unsupported", func(*guest) [][]byte { return [][]byte{i32c(7)} }, provider.Unsupported, "", ""},
		{"internal text is for the log, cut and escaped", func(g *guest) [][]byte {
			return [][]byte{errorRecord(g, abi.Error{Message: secret}), i32c(5)}
		}, provider.Internal, "", `user \x1b[31m\u202ered\nxxx`},
		{"client text is cut and escaped", func(g *guest) [][]byte {
			return [][]byte{errorRecord(g, abi.Error{Message: secret}), i32c(6)}
		}, provider.TooLarge, `user \x1b[31m\u202ered\n` + strings.Repeat("x", 1024-len(`user \x1b[31m\u202ered\n`)), ""},
		{"text that is not UTF-8", func(g *guest) [][]byte { return [][]byte{g.text("a\xff"), ok()} }, provider.Internal, "", "not UTF-8"},
		{"write before CONTENT", func(g *guest) [][]byte { return [][]byte{g.body("x"), g.text("t"), ok()} }, provider.Internal, "", "write before CONTENT"},
		{"illegal kind", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindResource, (&abi.Resource{URI: "letters://a", Name: "a"}).Append(nil)), g.text("t"), ok()}
		}, provider.Internal, "", "RESOURCE is not legal here"},
		{"malformed record", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, []byte("\x0a\xff")), ok()}
		}, provider.Internal, "", "malformed"},
		{"foreign URI", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, (&abi.Content{URI: "other://a"}).Append(nil)), ok()}
		}, provider.Internal, "", "does not lead to this plugin"},
		{"bad media type", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, (&abi.Content{MIMEType: "text/plain\r\nX: y"}).Append(nil)), ok()}
		}, provider.Internal, "", "not a media type"},
		{"bad etag", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, (&abi.Content{ETag: "a\nb"}).Append(nil)), ok()}
		}, provider.Internal, "", "etag"},
		{"duplicate key in _meta", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, (&abi.Content{MetaJSON: `{"a":1,"a":2}`}).Append(nil)), ok()}
		}, provider.Internal, "", "duplicate"},
		{"deep _meta", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, (&abi.Content{MetaJSON: `{"a":` + strings.Repeat("[", 16) + strings.Repeat("]", 16) + `}`}).Append(nil)), ok()}
		}, provider.Internal, "", "deeper than 16"},
		{"state too long", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindState, (&abi.State{Data: strings.Repeat("s", abi.MaxState+1)}).Append(nil)), i32c(8)}
		}, provider.Internal, "", "STATE of 8193 bytes"},
		{"unknown method of INPUT", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindInput, (&abi.Input{Key: "k", Method: "tools/call"}).Append(nil)), i32c(8)}
		}, provider.Internal, "", "tools/call"},
		{"parts over the limit, and said to be all right", func(g *guest) [][]byte {
			return [][]byte{g.text("1"), g.text("2"), g.text("3"), ok()}
		}, provider.TooLarge, "the result is larger than the limit of 2", ""},
		{"bytes over the limit", func(g *guest) [][]byte {
			return [][]byte{g.text(strings.Repeat("a", 900)), g.body(strings.Repeat("b", 200)), ok()}
		}, provider.TooLarge, "the result is larger than the limit of 1000", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(letters)
			g.read(tt.code(g)...)
			p, _ := loadGuest(t, g, Config{Limits: Limits{Contents: 2, ReadBytes: 1000}})
			_, err := readURI(t.Context(), p, "letters://a")
			e := wantCode(t, err, tt.code2)
			if e.Message != tt.message {
				t.Errorf("message %q, want %q", e.Message, tt.message)
			}
			if !strings.Contains(err.Error(), tt.log) {
				t.Errorf("error %q, want it to hold %q", err, tt.log)
			}
			if len(err.Error()) > 3000 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
}

func TestReadNotModifiedNeedsETag(t *testing.T) {
	g := newGuest(letters)
	g.read(i32c(9))
	p, _ := loadGuest(t, g, Config{})
	_, err := readURI(t.Context(), p, "letters://a")
	wantCode(t, err, provider.Internal)
}

func TestReadUnavailable(t *testing.T) {
	g := newGuest(letters)
	g.read(g.record(abi.KindError, (&abi.Error{
		Message: "upstream is down", RetryAfterMillis: 1500, DetailJSON: `{"upstream": "a"}`,
	}).Append(nil)), i32c(4))
	p, _ := loadGuest(t, g, Config{})
	_, err := readURI(t.Context(), p, "letters://a")
	e := wantCode(t, err, provider.Unavailable)
	want := &provider.Error{
		Code: provider.Unavailable, Message: "upstream is down", RetryAfter: 1500 * time.Millisecond, Detail: provider.JSON(`{"upstream":"a"}`),
	}
	if d := cmp.Diff(want, e); d != "" {
		t.Errorf("error (-want +got):\n%s", d)
	}
}

// echo answers with its request as a blob.
func echo(g *guest) *guest {
	return g.read(g.record(abi.KindContent, nil),
		i32c(requestAt), i32c(requestIn), callf(g.req), set(0),
		i32c(requestAt), get(0), callf(g.write), opDrop, ok())
}

func TestReadRequest(t *testing.T) {
	p, _ := loadGuest(t, echo(newGuest(letters)), Config{
		Schemes: map[string]string{"letters": "mail"}, Limits: Limits{Timeout: 5 * time.Second},
		Grants: Grants{Meta: []string{"com.example/a"}, Principal: []string{"subject", "scope"}},
	})
	info := p.Info()
	if d := cmp.Diff([]string{"mail://index", "mail://{name}"}, []string{info.Resources[0].URI, info.Templates[0].URITemplate}); d != "" {
		t.Errorf("effective names (-want +got):\n%s", d)
	}
	if !info.SeesCaller {
		t.Error("a plugin with granted facts about the caller does not say so")
	}
	res, err := p.Read(t.Context(), &provider.ReadRequest{
		Caller: provider.Caller{
			Principal: &provider.Principal{Issuer: "iss", Subject: "sub", Tenant: "ten", Scopes: []string{"r", "w"}, Claims: provider.JSON(`{"a":1}`)},
			Meta:      provider.JSON(`{"com.example/a":{"x":1},"com.example/b":2}`),
		},
		URI: "mail://a%2Fb", Template: "mail://{name}", TemplateIndex: 0, Vars: []provider.Var{{Name: "name", Value: "a/b"}},
		MaxBytes: 4096, IfETag: "tag", State: []byte("st"), Inputs: []provider.InputResponse{{Key: "k", Result: provider.JSON(`{}`)}},
		InputMethods: []string{"roots/list"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got abi.ReadRequest
	if err := got.Decode(string(res.Contents[0].Body)); err != nil {
		t.Fatal(err)
	}
	if got.DeadlineMillis == 0 || got.DeadlineMillis > 5000 || got.NowMillis == 0 {
		t.Errorf("deadline %d ms, now %d ms", got.DeadlineMillis, got.NowMillis)
	}
	got.DeadlineMillis, got.NowMillis = 0, 0
	want := abi.ReadRequest{
		Common: abi.Common{Subject: "sub", Scopes: []string{"r", "w"}, MetaJSON: `{"com.example/a":{"x":1}}`},
		URI:    "mail://a%2Fb", TemplateIndex: 1, URITemplate: "mail://{name}", Vars: []abi.Var{{Name: "name", Value: "a/b"}},
		State: "st", Answers: []abi.Answer{{Key: "k", JSON: "{}"}}, InputMethods: []string{"roots/list"}, MaxBytes: 4096, IfETag: "tag",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("request (-want +got):\n%s", d)
	}
}

// TestNothingGrantedNothingSeen shows that a plugin without grants learns nothing about the caller.
func TestNothingGrantedNothingSeen(t *testing.T) {
	p, _ := loadGuest(t, echo(newGuest(letters)), Config{})
	res, err := p.Read(t.Context(), &provider.ReadRequest{
		Caller: provider.Caller{
			Principal: &provider.Principal{Issuer: "iss", Subject: "sub", Tenant: "ten", Scopes: []string{"r"}, Claims: provider.JSON(`{"a":1}`)},
			Meta:      provider.JSON(`{"com.example/a":1}`),
		},
		URI: "letters://index", TemplateIndex: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	var got abi.ReadRequest
	if err := got.Decode(string(res.Contents[0].Body)); err != nil {
		t.Fatal(err)
	}
	got.DeadlineMillis, got.NowMillis, got.MaxBytes = 0, 0, 0
	if d := cmp.Diff(abi.ReadRequest{URI: "letters://index"}, got); d != "" {
		t.Errorf("request (-want +got):\n%s", d)
	}
}

// TestReplies shows what emit and write answer, by a guest that writes the answers down.
func TestReplies(t *testing.T) {
	g := newGuest(letters)
	note := func(reply []byte, at int64) []byte { return append(append(i32c(at), reply...), opStore8...) }
	emit := func(kind abi.Kind, b []byte) []byte { r := g.record(kind, b); return r[:len(r)-1] }
	body := func(s string) []byte { r := g.body(s); return r[:len(r)-1] }
	big := strings.Repeat("x", 64)
	g.read(
		note(body("early"), 0x100),
		note(emit(99, nil), 0x101),
		note(emit(abi.KindValue, nil), 0x102),
		note(emit(abi.KindContent, nil), 0x103),
		note(body("0123456789"), 0x104),
		note(body(big), 0x105),
		note(body("a"), 0x106),
		note(emit(abi.KindContent, nil), 0x107),
		note(emit(abi.KindError, (&abi.Error{Message: string([]byte{0x10})}).Append(nil)), 0x108),
		i32c(3), i32c(0x100), i32c(9), callf(g.log), i32c(5))
	p, log := loadGuest(t, g, Config{Limits: Limits{ReadBytes: 32}})
	_, err := readURI(t.Context(), p, "letters://a")
	wantCode(t, err, provider.TooLarge)
	want := `\x03\x02\x03\x00\x00\x01\x01\x01\x00`
	if !strings.Contains(log.String(), want) {
		t.Errorf("log:\n%s\nwant it to hold %s", log, want)
	}
}

func TestProgressAndClientLog(t *testing.T) {
	g := newGuest(letters)
	progress := func(done uint64) []byte {
		return g.record(abi.KindProgress, (&abi.Progress{Done: done, Total: abi.Some(10), Message: "m"}).Append(nil))
	}
	ptr, n := g.bytesAt([]byte("hello"))
	g.read(progress(1), progress(5), progress(3), progress(7), i32c(4), i32c(ptr), i32c(n), callf(g.log), g.text("t"), ok())
	p, log := loadGuest(t, g, Config{Name: "mine"})
	var got []string
	_, err := p.Read(t.Context(), &provider.ReadRequest{
		URI: "letters://a", Template: "letters://{name}",
		Progress: func(done, total uint64, message string) {
			got = append(got, fmt.Sprintf("%d %d %s", done, total, message))
		},
		Log: func(level, message string) { got = append(got, level+" "+message) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"1 10 m", "5 10 m", "7 10 m", "warning hello"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if !strings.Contains(log.String(), `level=WARN msg=hello plugin=mine`) {
		t.Errorf("log: %s", log)
	}
}
