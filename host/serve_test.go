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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// message returns a modern request.
func message(id, method, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id, method, params)
}

// post sends a modern request to the handler as from address. The header Able makes the client one that can be asked.
func post(h http.Handler, address, method, name, params string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(message("7", method, params)))
	r.RemoteAddr = address
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2026-07-28")
	r.Header.Set("Mcp-Method", method)
	if name != "" {
		r.Header.Set("Mcp-Name", name)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	if r.Header.Get("Able") != "" {
		able := strings.Replace(message("7", method, params), `Capabilities":{}`, `Capabilities":{"elicitation":{}}`, 1)
		r.Body = io.NopCloser(strings.NewReader(able))
		r.ContentLength = int64(len(able))
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const remote = "192.0.2.7:1234"

// answer is a JSON-RPC response as far as these tests look at it.
type answer struct {
	ID     int `json:"id"`
	Result *struct {
		Contents   []map[string]any `json:"contents"`
		Resources  []map[string]any `json:"resources"`
		NextCursor string           `json:"nextCursor"`
		CacheScope string           `json:"cacheScope"`
		ResultType string           `json:"resultType"`

		InputRequests map[string]map[string]any `json:"inputRequests"`
		RequestState  string                    `json:"requestState"`
		Completion    *struct {
			Values []string `json:"values"`
		} `json:"completion"`
	} `json:"result"`
	Error *struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	} `json:"error"`
}

func decode(t testing.TB, body []byte) *answer {
	t.Helper()
	a := &answer{}
	if err := json.Unmarshal(body, a); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return a
}

func bearer(r *http.Request) (host.Principal, error) {
	name, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return host.Principal{}, errors.New("no token")
	}
	return host.Principal{Issuer: "https://idp.test", Subject: name}, nil
}

// A provider can tell anonymous callers apart, by their addresses; those in process have none.
func TestRemoteReachesProvider(t *testing.T) {
	var got []string
	p := listing(docs("docs"), "docs://a")
	inner := p.list
	p.list = func(ctx context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
		got = append(got, req.Remote)
		return inner(ctx, req)
	}
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		got = append(got, req.Remote)
		return text("x"), nil
	}
	h := newHost(t, nil, p)
	post(h.Handler(), remote, "resources/read", "docs://a", `"uri":"docs://a"`)
	post(h.Handler(), remote, "resources/list", "", "")
	if _, err := h.Read(t.Context(), nil, "docs://a"); err != nil {
		t.Error(err)
	}
	if want := []string{"192.0.2.7", "192.0.2.7", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Two principals with equal request ids never meet: not in results, cursors or denials.
func TestHTTPPrincipals(t *testing.T) {
	p := listing(docs("docs"), "docs://ann-1", "docs://bob-1", "docs://ann-2", "docs://bob-2")
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		return text("for " + req.Principal.Subject), nil
	}
	own := policyFunc(func(r *host.PolicyRequest) bool {
		return strings.HasPrefix(r.URI, "docs://"+r.Principal.Subject+"-")
	})
	h := newHost(t, &host.Options{Policy: own, Principal: bearer, PageSize: 1}, p)

	var wg sync.WaitGroup
	for _, who := range []string{"ann", "bob"} {
		other := map[string]string{"ann": "bob", "bob": "ann"}[who]
		wg.Go(func() {
			for range 50 {
				auth := []string{"Authorization", "Bearer " + who}
				mine, theirs := "docs://"+who+"-1", "docs://"+other+"-1"
				w := post(h.Handler(), remote, "resources/read", mine, `"uri":"`+mine+`"`, auth...)
				if a := decode(t, w.Body.Bytes()); a.Result == nil || a.Result.Contents[0]["text"] != "for "+who || a.Result.CacheScope != "private" {
					t.Errorf("%s: %s", who, w.Body)
				}
				denied := post(h.Handler(), remote, "resources/read", theirs, `"uri":"`+theirs+`"`, auth...)
				missing := post(h.Handler(), remote, "resources/read", "docs://x/y", `"uri":"docs://x/y"`, auth...)
				if got, want := strings.ReplaceAll(denied.Body.String(), theirs, "docs://x/y"), missing.Body.String(); got != want || denied.Code != missing.Code {
					t.Errorf("%s tells a denied one from a missing one: %s, %s", who, got, want)
				}
				w = post(h.Handler(), remote, "resources/list", "", "", auth...)
				first := decode(t, w.Body.Bytes())
				if first.Result == nil || len(first.Result.Resources) != 1 || first.Result.Resources[0]["uri"] != mine || first.Result.NextCursor == "" {
					t.Errorf("%s lists %s", who, w.Body)
					return
				}
				stolen := post(h.Handler(), remote, "resources/list", "", `"cursor":"`+first.Result.NextCursor+`"`, "Authorization", "Bearer "+other)
				if a := decode(t, stolen.Body.Bytes()); a.Error == nil || a.Error.Code != -32602 {
					t.Errorf("%s walks on with %s's cursor: %s", other, who, stolen.Body)
				}
			}
		})
	}
	wg.Wait()
	if w := post(h.Handler(), remote, "resources/list", "", ""); w.Code != http.StatusUnauthorized {
		t.Errorf("without a principal: %d, want 401", w.Code)
	}
}

// Over a limit: 503 for all, 429 for one caller, with the id and Retry-After, and nobody else notices.
func TestHTTPLimits(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	p := docs("docs")
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		if strings.HasPrefix(req.URI, "docs://slow") {
			inside <- struct{}{}
			<-leave
		}
		return text("x"), nil
	}
	h := newHost(t, &host.Options{Limits: host.Limits{Requests: 4, PrincipalRequests: 2}, Principal: func(r *http.Request) (host.Principal, error) {
		if r.Header.Get("Authorization") == "" {
			return host.Principal{}, nil
		}
		return bearer(r)
	}}, p)
	var wg sync.WaitGroup
	slows := 0
	slow := func(from string, header ...string) {
		slows++ // equal reads would share a call
		uri := fmt.Sprintf("docs://slow%d", slows)
		wg.Go(func() {
			if w := post(h.Handler(), from, "resources/read", uri, fmt.Sprintf(`"uri":%q`, uri), header...); w.Code != http.StatusOK {
				t.Errorf("a request within the limit: %d %s", w.Code, w.Body)
			}
		})
		<-inside
	}
	expect := func(name string, want int, from string, header ...string) {
		t.Helper()
		w := post(h.Handler(), from, "resources/read", "docs://fast", `"uri":"docs://fast"`, header...)
		if w.Code != want {
			t.Errorf("%s: HTTP %d, want %d: %s", name, w.Code, want, w.Body)
		}
		if a := decode(t, w.Body.Bytes()); want != http.StatusOK && (a.ID != 7 || a.Error == nil || w.Header().Get("Retry-After") == "") {
			t.Errorf("%s: without id, error or Retry-After: %v %s", name, w.Header(), w.Body)
		}
	}
	ann, bob := []string{"Authorization", "Bearer ann"}, []string{"Authorization", "Bearer bob"}
	slow(remote, ann...)
	slow("198.51.100.1:1", ann...)
	expect("the same principal, whatever its address", http.StatusTooManyRequests, "198.51.100.2:1", ann...)
	expect("another principal at that address", http.StatusOK, remote, bob...)
	expect("an anonymous caller", http.StatusOK, remote)
	slow(remote)
	slow(remote)
	expect("all slots taken", http.StatusServiceUnavailable, "198.51.100.9:1", bob...)
	for range 2 {
		leave <- struct{}{}
	}
	close(leave)
	wg.Wait()
	expect("free again", http.StatusOK, remote, ann...)

	slowAnon := make(chan struct{})
	leave2 := make(chan struct{})
	q := docs("docs")
	q.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		if strings.HasPrefix(req.URI, "docs://slow") {
			slowAnon <- struct{}{}
			<-leave2
		}
		return text("x"), nil
	}
	h2 := newHost(t, &host.Options{Limits: host.Limits{PrincipalRequests: 1}}, q)
	for i, from := range []string{remote, "127.0.0.1:1", "127.0.0.1:2", "[::1]:3"} {
		uri := fmt.Sprintf("docs://slow%d", i)
		wg.Go(func() { post(h2.Handler(), from, "resources/read", uri, fmt.Sprintf(`"uri":%q`, uri)) })
		<-slowAnon
	}
	for from, want := range map[string]int{
		"192.0.2.7:99": http.StatusTooManyRequests, "192.0.2.8:1": http.StatusOK, "127.0.0.1:9": http.StatusOK,
	} {
		if w := post(h2.Handler(), from, "resources/read", "docs://fast", `"uri":"docs://fast"`); w.Code != want {
			t.Errorf("anonymous from %s: %d, want %d", from, w.Code, want)
		}
	}
	close(leave2)
	wg.Wait()
}

// Calls in process are refused with a code, too.
func TestInProcessLimits(t *testing.T) {
	inside, leave := make(chan struct{}), make(chan struct{})
	p := docs("docs")
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		inside <- struct{}{}
		<-leave
		return text("x"), nil
	}
	h := newHost(t, &host.Options{Limits: host.Limits{Requests: 3, PrincipalRequests: 2}}, p)
	ann := &host.Principal{Subject: "ann"}
	var wg sync.WaitGroup
	for _, uri := range []string{"docs://a", "docs://b"} { // equal reads would share a call
		wg.Go(func() { h.Read(context.Background(), ann, uri) })
		<-inside
	}
	_, err := h.Read(t.Context(), ann, "docs://a")
	var e *provider.Error
	if !errors.As(err, &e) || e.Code != provider.Unavailable || e.RetryAfter != time.Second || !strings.Contains(e.Message, "caller") {
		t.Errorf("the principal's limit: %v", err)
	}
	wg.Go(func() { h.Read(context.Background(), nil, "docs://a") })
	<-inside
	if _, err := h.List(t.Context(), nil, ""); codeOf(err) != "unavailable" {
		t.Errorf("the limit of all: %v", err)
	}
	close(leave)
	wg.Wait()
	if _, err := h.List(t.Context(), ann, ""); err != nil {
		t.Errorf("free again: %v", err)
	}
}

func TestServeStdio(t *testing.T) {
	h := newHost(t, nil, listing(docs("docs"), "docs://a"))
	in := message("1", "resources/read", `"uri":"DOCS://a"`) + "\nnonsense\n" + message(`"two"`, "resources/list", "") + "\n"
	var out bytes.Buffer
	if err := h.ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3: %s", len(lines), out.String())
	}
	all := out.String()
	for _, want := range []string{`"uri":"DOCS://a"`, `-32700`, `"id":"two"`, `docs://index`} {
		if !strings.Contains(all, want) {
			t.Errorf("the output lacks %q: %s", want, all)
		}
	}
}

// Close ends a session over stdio that waits for its client, which is no error of the session's.
func TestCloseEndsStdio(t *testing.T) {
	h := newHost(t, nil, docs("docs"))
	r, w := io.Pipe()
	outR, outW := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- h.ServeStdio(context.Background(), r, outW) }()
	go io.WriteString(w, message("1", "resources/read", `"uri":"docs://a"`)+"\n")
	if line, err := bufio.NewReader(outR).ReadString('\n'); err != nil || !strings.Contains(line, `"id":1`) {
		t.Fatalf("%q, %v", line, err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Errorf("ServeStdio: %v", err)
	}
	w.Close()
	outR.Close()
}

func TestHTTPAfterClose(t *testing.T) {
	h := newHost(t, nil, docs("docs"))
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w := post(h.Handler(), remote, "resources/list", "", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("HTTP %d, want 503", w.Code)
	}
}

// The headers that PublicURL, Hosts and Origins let through (rule H4).
func TestHTTPHostsAndOrigins(t *testing.T) {
	h := newHost(t, &host.Options{
		PublicURL: "https://mcp.example.test/mcp", Hosts: []string{"inner.test:8080"}, Origins: []string{"https://app.test"},
	}, docs("docs"))
	tests := []struct {
		host, origin string
		want         bool
	}{
		{host: "mcp.example.test", want: true},
		{host: "inner.test", want: true},
		{host: "localhost", want: true},
		{host: "127.0.0.1:8642", want: true},
		{host: "evil.test"},
		{host: "mcp.example.test", origin: "https://app.test", want: true},
		{host: "mcp.example.test", origin: "https://mcp.example.test", want: true},
		{host: "mcp.example.test", origin: "https://evil.test"},
		{host: "mcp.example.test", origin: "null"},
	}
	for _, tt := range tests {
		t.Run(tt.host+" "+tt.origin, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "http://"+tt.host+"/mcp", strings.NewReader(message("1", "resources/list", "")))
			for k, v := range map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "resources/list", "Origin": tt.origin} {
				if v != "" {
					r.Header.Set(k, v)
				}
			}
			w := httptest.NewRecorder()
			h.Handler().ServeHTTP(w, r)
			if got := w.Code == http.StatusOK; got != tt.want {
				t.Errorf("HTTP %d: %s", w.Code, w.Body)
			}
		})
	}
}

// A provider sees the `_meta` keys that were granted to it, and no others.
func TestMetaKeys(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []string
		want provider.JSON
	}{
		{name: "none", want: nil},
		{name: "one", keys: []string{"com.example/b"}, want: provider.JSON(`{"com.example/b":[1,"<"]}`)},
		{name: "one that is absent", keys: []string{"com.example/c"}, want: nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got provider.JSON
			p := docs("docs")
			p.info.MetaKeys = tt.keys
			p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
				got = req.Meta
				return text("x"), nil
			}
			h := newHost(t, nil, p)
			body := strings.Replace(message("1", "resources/read", `"uri":"docs://a"`), `"_meta":{`, `"_meta":{"com.example/a":1,"com.example/b":[1,"<"],`, 1)
			var out bytes.Buffer
			if err := h.ServeStdio(t.Context(), strings.NewReader(body+"\n"), &out); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), `"text":"x"`) {
				t.Fatal(out.String())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// Limits of messages reach the transports.
func TestMessageLimits(t *testing.T) {
	deep := message("7", "resources/list", `"x":`+strings.Repeat("[", 80)+strings.Repeat("]", 80))
	for _, tt := range []struct {
		name string
		give host.Limits
		want string
	}{
		{name: "default depth", want: "-32600"},
		{name: "deeper", give: host.Limits{JSONDepth: 100}, want: "docs://index"},
		{name: "off", give: host.Limits{JSONDepth: -1}, want: "docs://index"},
		{name: "a short message", give: host.Limits{JSONDepth: -1, RequestBytes: 100}, want: "error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, &host.Options{Limits: tt.give}, docs("docs"))
			var out bytes.Buffer
			if err := h.ServeStdio(t.Context(), strings.NewReader(deep+"\n"), &out); err != nil || !strings.Contains(out.String(), tt.want) {
				t.Errorf("stdio: %s, %v", out.String(), err)
			}
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(deep))
			for k, v := range map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "resources/list"} {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			h.Handler().ServeHTTP(w, r)
			if !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("HTTP %d: %s", w.Code, w.Body)
			}
		})
	}
}

// A failed request is one line in the log, whichever way it came.
func TestOneLogLine(t *testing.T) {
	var log logBuffer
	p := docs("docs")
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
		return nil, errors.New("the cause")
	}
	h := newHost(t, &host.Options{Logger: log.logger()}, p)
	if w := post(h.Handler(), remote, "resources/read", "docs://a", `"uri":"docs://a"`); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "cause") {
		t.Errorf("HTTP %d: %s", w.Code, w.Body)
	}
	if lines := log.lines(); len(lines) != 1 || !strings.Contains(lines[0], "the cause") {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
}
