package host_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

const elicit = "elicitation/create"

// nameForm asks for a name.
const nameForm = `{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`

// asking is a provider whose resources ask for a name, and then tell the state and the answers that they got.
func asking(name string) *fake {
	f := docs(name)
	f.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		cache := provider.Cache{TTL: time.Hour, Set: true, Public: true}
		if len(req.Inputs) == 0 {
			return &provider.ReadResult{Cache: cache, Input: &provider.InputRequired{
				Requests: []provider.InputRequest{{Key: "who", Method: elicit, Params: provider.JSON(nameForm)}},
				State:    []byte("asked for " + req.URI),
			}}, nil
		}
		res := text(fmt.Sprintf("%s: %s=%s", req.State, req.Inputs[0].Key, req.Inputs[0].Result))
		res.Cache = cache
		return res, nil
	}
	return f
}

// ask reads as one who can be asked.
func ask(h *host.Host, who *host.Principal, uri string) (*host.ReadResult, error) {
	return h.ReadWith(context.Background(), who, uri, &host.ReadOptions{InputMethods: []string{elicit}})
}

// reply reads again with a state and the answer Ann.
func reply(h *host.Host, who *host.Principal, uri string, state []byte) (*host.ReadResult, error) {
	return h.ReadWith(context.Background(), who, uri, &host.ReadOptions{
		InputMethods: []string{elicit}, State: state,
		Inputs: []provider.InputResponse{{Key: "who", Result: provider.JSON(`{"action":"accept","content":{"name":"Ann"}}`)}},
	})
}

// R4, P6: a reader who can be asked gets the question and a state that it cannot read, and the contents when it has answered; they may
// be kept by nobody, whatever provider and operator say of other results.
func TestReadWithInput(t *testing.T) {
	h := newHost(t, &host.Options{Cache: host.CacheRules{Min: time.Minute, Public: []string{"docs"}}}, asking("docs"))
	asked, err := ask(h, nil, "docs://a")
	if err != nil {
		t.Fatal(err)
	}
	if asked.Contents != nil || asked.Input == nil || bytes.Contains(asked.Input.State, []byte("asked")) || asked.Cache != (host.CacheHint{}) {
		t.Fatalf("%+v", asked)
	}
	want := []provider.InputRequest{{Key: "who", Method: elicit, Params: provider.JSON(nameForm)}}
	if diff := cmp.Diff(want, asked.Input.Requests); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	got, err := reply(h, nil, "DOCS://a", asked.Input.State)
	if err != nil {
		t.Fatal(err)
	}
	if body, want := string(got.Contents[0].Body), `asked for docs://a: who={"action":"accept","content":{"name":"Ann"}}`; body != want {
		t.Errorf("got  %s\nwant %s", body, want)
	}
	if got.Cache != (host.CacheHint{}) {
		t.Errorf("the contents may be kept: %+v", got.Cache)
	}
	if again, err := reply(h, nil, "docs://a", nil); err != nil || !strings.HasPrefix(string(again.Contents[0].Body), ": who=") {
		t.Errorf("answers without a state do not reach the provider as such: %v", err)
	}
}

// Who cannot be asked gets a clear error, and the simple form stays what it was.
func TestReadOfWhatAsks(t *testing.T) {
	p := asking("docs")
	h := newHost(t, nil, p)
	_, err := h.Read(t.Context(), nil, "docs://a")
	if codeOf(err) != "unsupported" || !strings.Contains(err.Error(), elicit) {
		t.Errorf("%v", err)
	}
	_, err = h.ReadWith(t.Context(), nil, "docs://a", &host.ReadOptions{InputMethods: []string{"roots/list"}})
	if codeOf(err) != "unsupported" {
		t.Errorf("asked for what it does not answer: %v", err)
	}
	var seen []string
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		seen = req.InputMethods
		return &provider.ReadResult{Input: &provider.InputRequired{State: []byte("x")}}, nil
	}
	if _, err = h.Read(t.Context(), nil, "docs://a"); codeOf(err) != "unsupported" {
		t.Errorf("a state for one who does not read again: %v", err)
	}
	if res, err := ask(h, nil, "docs://a"); err != nil || res.Input == nil || len(seen) != 1 {
		t.Errorf("%v %v %v", res, err, seen)
	}
}

// versioned is a policy whose revision can be changed.
type versioned struct{ revision string }

func (versioned) Allow(_ context.Context, r *host.PolicyRequest) bool {
	return !strings.Contains(r.URI, "secret")
}
func (v *versioned) Revision() string { return v.revision }

// R4: a state is good for the principal, the URI, the provider and the rules that it was given under, and for a while; everything
// else is refused with one sentence, and the provider does not see it.
func TestStateIsBound(t *testing.T) {
	ann := host.Principal{Issuer: "https://idp.test", Subject: "ann", Tenant: "acme"}
	as := func(change func(*host.Principal)) *host.Principal {
		p := ann
		change(&p)
		return &p
	}
	policy := &versioned{"1"}
	one, two := asking("one"), asking("two")
	two.info.Schemes, two.info.Resources = []string{"cat"}, nil
	two.info.Templates = []provider.Template{template("cat://{name}", "name")}
	var calls atomic.Int32
	read := one.read
	one.read = func(ctx context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		calls.Add(1)
		return read(ctx, req)
	}
	key := bytes.Repeat([]byte("k"), 32)
	h := newHost(t, &host.Options{Policy: policy, Keys: [][]byte{key}}, one, two)
	asked, err := ask(h, &ann, "docs://a")
	if err != nil {
		t.Fatal(err)
	}
	state := asked.Input.State
	list := newHost(t, &host.Options{Keys: [][]byte{key}, PageSize: 1}, listing(docs("one"), "docs://1", "docs://2"))
	page, err := list.List(t.Context(), &ann, "")
	if err != nil || page.Next == "" {
		t.Fatal(page, err)
	}

	tests := []struct {
		name     string
		who      *host.Principal
		uri      string
		state    []byte
		revision string
		ok       bool
	}{
		{name: "as it was given", ok: true},
		{name: "a second time", ok: true},
		{name: "another spelling of the URI", uri: "DOCS://%61", ok: true},
		{name: "scopes and groups may change", who: as(func(p *host.Principal) { p.Scopes, p.Groups = []string{"x"}, []string{"y"} }), ok: true},
		{name: "another subject", who: as(func(p *host.Principal) { p.Subject = "bob" })},
		{name: "another issuer", who: as(func(p *host.Principal) { p.Issuer = "https://other.test" })},
		{name: "another tenant", who: as(func(p *host.Principal) { p.Tenant = "umbra" })},
		{name: "parts of the principal shifted", who: as(func(p *host.Principal) { p.Subject, p.Tenant = "annacme", "" })},
		{name: "anonymous", who: &host.Principal{}},
		{name: "another resource", uri: "docs://b"},
		{name: "another provider", uri: "cat://a"},
		{name: "other rules", revision: "2"},
		{name: "cut", state: state[:len(state)-1]},
		{name: "longer", state: append(bytes.Clone(state), 'A')},
		{name: "too long", state: bytes.Repeat([]byte("A"), 1<<20)},
		{name: "empty", state: []byte{}},
		{name: "no base64", state: []byte("asked for docs://a")},
		{name: "a cursor", state: []byte(page.Next)},
	}
	for i := range state {
		changed := bytes.Clone(state)
		changed[i] ^= 1
		tests = append(tests, struct {
			name     string
			who      *host.Principal
			uri      string
			state    []byte
			revision string
			ok       bool
		}{name: fmt.Sprintf("byte %d changed", i), state: changed})
	}
	for _, tt := range tests {
		who, uri, given := &ann, "docs://a", state
		if tt.who != nil {
			who = tt.who
		}
		if tt.uri != "" {
			uri = tt.uri
		}
		if tt.state != nil {
			given = tt.state
		}
		policy.revision = "1"
		if tt.revision != "" {
			policy.revision = tt.revision
		}
		before := calls.Load()
		_, err := reply(h, who, uri, given)
		if tt.ok {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if codeOf(err) != "invalid" || !strings.Contains(err.Error(), "read the resource again without it") {
			t.Errorf("%s: %v", tt.name, err)
		}
		if calls.Load() != before {
			t.Errorf("%s: the provider was asked", tt.name)
		}
	}
	if _, err := list.List(t.Context(), &ann, string(state)); codeOf(err) != "invalid" {
		t.Errorf("a state is taken for a cursor: %v", err)
	}
}

// A state outlives a restart with the same key and a change of keys, as long as its key is there, and nothing else.
func TestStateAndKeys(t *testing.T) {
	first, second := bytes.Repeat([]byte("1"), 32), bytes.Repeat([]byte("2"), 32)
	with := func(keys ...[]byte) *host.Host { return newHost(t, &host.Options{Keys: keys}, asking("docs")) }
	asked, err := ask(with(first), nil, "docs://a")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		h    *host.Host
		want string
	}{
		{"a restart with the same key", with(first), "ok"},
		{"a new key before it", with(second, first), "ok"},
		{"its key is gone", with(second), "invalid"},
		{"a random key", with(), "invalid"},
	} {
		if _, err := reply(tt.h, nil, "docs://a", asked.Input.State); codeOf(err) != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestStateExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, &host.Options{Limits: host.Limits{Input: time.Minute}}, asking("docs"))
		asked, err := ask(h, nil, "docs://a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute - time.Millisecond)
		if _, err := reply(h, nil, "docs://a", asked.Input.State); err != nil {
			t.Errorf("before its end: %v", err)
		}
		time.Sleep(time.Millisecond)
		if _, err := reply(h, nil, "docs://a", asked.Input.State); codeOf(err) != "invalid" || !strings.Contains(err.Error(), "expired") {
			t.Errorf("after its end: %v", err)
		}
	})
}

// The decision comes first: whatever state and answers come with it, a refused resource looks like a missing one.
func TestStateComesAfterDecision(t *testing.T) {
	h := newHost(t, &host.Options{Policy: &versioned{"1"}}, asking("docs"))
	_, missing := h.Read(t.Context(), nil, "docs://x/y")
	for _, state := range [][]byte{nil, []byte("forged")} {
		if _, err := reply(h, nil, "docs://secret", state); err == nil || err.Error() != missing.Error() {
			t.Errorf("%v, want %v", err, missing)
		}
	}
}

func TestInputsAreChecked(t *testing.T) {
	h := newHost(t, nil, asking("docs"))
	many := make([]provider.InputResponse, 17)
	for i := range many {
		many[i] = provider.InputResponse{Key: fmt.Sprint(i), Result: provider.JSON("{}")}
	}
	deep := strings.Repeat(`{"a":`, 16) + `{}` + strings.Repeat(`}`, 16)
	for _, tt := range []struct {
		name   string
		inputs []provider.InputResponse
	}{
		{"too many", many},
		{"no key", []provider.InputResponse{{Result: provider.JSON("{}")}}},
		{"long key", []provider.InputResponse{{Key: strings.Repeat("k", 257), Result: provider.JSON("{}")}}},
		{"a key that is not UTF-8", []provider.InputResponse{{Key: "\xff", Result: provider.JSON("{}")}}},
		{"no result", []provider.InputResponse{{Key: "a"}}},
		{"no object", []provider.InputResponse{{Key: "a", Result: provider.JSON("[]")}}},
		{"no JSON", []provider.InputResponse{{Key: "a", Result: provider.JSON("{")}}},
		{"a name twice", []provider.InputResponse{{Key: "a", Result: provider.JSON(`{"a":1,"a":2}`)}}},
		{"too deep", []provider.InputResponse{{Key: "a", Result: provider.JSON(deep)}}},
		{"too large", []provider.InputResponse{{Key: "a", Result: provider.JSON(`{"a":"` + strings.Repeat("x", 64<<10) + `"}`)}}},
	} {
		_, err := h.ReadWith(t.Context(), nil, "docs://a", &host.ReadOptions{InputMethods: []string{elicit}, Inputs: tt.inputs})
		if codeOf(err) != "invalid" {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// What a provider must not ask does not reach the client; the log says why.
func TestQuestionFaults(t *testing.T) {
	var log logBuffer
	p := docs("docs")
	var res *provider.ReadResult
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) { return res, nil }
	h := newHost(t, &host.Options{Logger: log.logger(), Limits: host.Limits{StateBytes: 100}}, p)
	form := provider.InputRequest{Key: "a", Method: elicit, Params: provider.JSON(nameForm)}
	for _, tt := range []struct {
		name, log string
		res       provider.ReadResult
	}{
		{"nothing", "asks nothing", provider.ReadResult{Input: &provider.InputRequired{}}},
		{"contents too", "answered too", provider.ReadResult{Input: &provider.InputRequired{State: []byte("x")}, Contents: text("x").Contents}},
		{"a long state", "more than 100 bytes", provider.ReadResult{Input: &provider.InputRequired{State: make([]byte, 101)}}},
		{"a key twice", "twice", provider.ReadResult{Input: &provider.InputRequired{Requests: []provider.InputRequest{form, form}}}},
		{"a secret", "never asks for a secret", provider.ReadResult{Input: &provider.InputRequired{Requests: []provider.InputRequest{{
			Key: "a", Method: elicit, Params: provider.JSON(strings.ReplaceAll(nameForm, `"name"`, `"pass_word"`)),
		}}}}},
	} {
		res = &tt.res
		_, err := ask(h, nil, "docs://a")
		if codeOf(err) != "internal" || strings.Contains(err.Error(), tt.log) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if lines := log.lines(); !strings.Contains(lines[len(lines)-1], tt.log) {
			t.Errorf("%s: the log says %s", tt.name, lines[len(lines)-1])
		}
	}
}

// A question is nobody else's: of equal reads at once each asks the provider, and each retry gets the answer to its own inputs.
func TestQuestionsAreNotShared(t *testing.T) {
	p := asking("docs")
	var calls atomic.Int32
	read := p.read
	p.read = func(ctx context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		calls.Add(1)
		return read(ctx, req)
	}
	h := newHost(t, &host.Options{Cache: host.CacheRules{TTL: time.Hour, Public: []string{"docs"}}}, p)
	const readers = 32
	var wg sync.WaitGroup
	for i := range readers {
		wg.Go(func() {
			asked, err := ask(h, nil, "docs://a")
			if err != nil || asked.Input == nil {
				t.Errorf("%v %v", asked, err)
				return
			}
			answer := fmt.Sprintf(`{"action":"accept","content":{"name":"%d"}}`, i)
			res, err := h.ReadWith(t.Context(), nil, "docs://a", &host.ReadOptions{
				State: asked.Input.State, Inputs: []provider.InputResponse{{Key: "who", Result: provider.JSON(answer)}},
			})
			if err != nil || !strings.HasSuffix(string(res.Contents[0].Body), answer) {
				t.Errorf("%v %v", res, err)
			}
		})
	}
	wg.Wait()
	if n := calls.Load(); n != 2*readers {
		t.Errorf("%d calls of the provider, want %d", n, 2*readers)
	}
}

// Over HTTP: the host's seal and the protocol's words together, and principals swapped.
func TestHTTPInput(t *testing.T) {
	h := newHost(t, &host.Options{Principal: bearer}, asking("docs"))
	read := func(who, rest string) *answer {
		w := post(h.Handler(), remote, "resources/read", "docs://a", `"uri":"docs://a"`+rest, "Authorization", "Bearer "+who, "Able", "yes")
		return decode(t, w.Body.Bytes())
	}
	asked := read("ann", "")
	if asked.Result == nil || asked.Result.ResultType != "input_required" || asked.Result.RequestState == "" || asked.Result.InputRequests["who"] == nil {
		t.Fatalf("%+v", asked)
	}
	again := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"who":{"action":"decline"}}`, asked.Result.RequestState)
	if a := read("ann", again); a.Result == nil || a.Result.Contents[0]["text"] != `asked for docs://a: who={"action":"decline"}` {
		t.Errorf("%+v", a.Error)
	}
	if a := read("bob", again); a.Error == nil || a.Error.Code != -32602 || !strings.Contains(a.Error.Message, "requestState") {
		t.Errorf("another principal goes on with the state: %+v", a)
	}
	w := post(h.Handler(), remote, "resources/read", "docs://a", `"uri":"docs://a"`, "Authorization", "Bearer ann")
	if a := decode(t, w.Body.Bytes()); w.Code != http.StatusBadRequest || a.Error == nil || a.Error.Code != -32021 || a.Error.Data["requiredCapabilities"] == nil {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A client of an older revision that leaves while it is asked holds nothing: the only place of those who wait is free again.
func TestAskedClientLeaves(t *testing.T) {
	h := newHost(t, &host.Options{Limits: host.Limits{Requests: 4}}, asking("docs"))
	server := httptest.NewServer(h.Handler())
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	send := func(session, body string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	resp := send("", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}`)
	resp.Body.Close()
	// read returns the first line of the answer, and leaves.
	read := func() string {
		stream := send(resp.Header.Get("Mcp-Session-Id"), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"docs://a"}}`)
		defer stream.Body.Close()
		line, err := bufio.NewReader(stream.Body).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		return line
	}
	for i := range 3 {
		line := read()
		for end := time.Now().Add(20 * time.Second); strings.Contains(line, "too many questions") && time.Now().Before(end); line = read() {
			time.Sleep(time.Millisecond)
		}
		if !strings.Contains(line, `"method":"elicitation/create"`) {
			t.Fatalf("read %d: %s", i, line)
		}
	}
}
