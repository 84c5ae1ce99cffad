package wasmplugin

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/abi"
)

const httpManifest = `"capabilities":[{"name":"http"},{"name":"fs","optional":true}]`

// httpImports are the functions of the capability in a guest.
type httpImports struct{ send, head, read, close int }

func importHTTP(g *guest) httpImports {
	return httpImports{
		g.importFunc(abi.ModuleHTTP, abi.ImportHTTPSend, i32+i32, i32), g.importFunc(abi.ModuleHTTP, abi.ImportHTTPHead, i32+i32+i32, i32),
		g.importFunc(abi.ModuleHTTP, abi.ImportHTTPRead, i32+i32+i32, i32), g.importFunc(abi.ModuleHTTP, abi.ImportHTTPClose, i32, i32),
	}
}

// sending is a guest that sends req, and answers with the outcome of what code does then.
func sending(req []byte, code func(g *guest, f httpImports, send []byte) []byte) *guest {
	g := newGuest(manifestWith(httpManifest))
	f := importHTTP(g)
	ptr, n := g.bytesAt(req)
	return g.read(outcome(g, code(g, f, slices.Concat(i32c(ptr), i32c(n), callf(f.send)))), ok())
}

func httpServer(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func httpGrant(url string) Grants {
	return Grants{HTTP: &HTTPGrant{CIDR: []string{"127.0.0.0/8"}, Allow: []HTTPAllow{{
		URL: url + "/v1/", Headers: map[string]HTTPHeader{"X-Key": {Value: "key of the operator", Secrets: []string{"key of the operator"}}},
	}}}}
}

// TestHTTP sends, waits and reads; the operator's header arrives, and comes back blank.
func TestHTTP(t *testing.T) {
	url := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("X-Key"))
		w.Header().Del("Date")
		b, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("X-Mine")+" "+r.Header.Get("X-Key")+string(b))
	})
	req := (&abi.HTTPRequest{URL: url + "/v1/a?b", Headers: []abi.Var{{Name: "X-Mine", Value: "mine"}}, TimeoutMillis: 5000}).Append(nil)
	p, _ := loadGuest(t, sending(req, func(_ *guest, f httpImports, send []byte) []byte {
		return slices.Concat(send, set(1), get(1), i32c(bufAt), i32c(bufSize), callf(f.head), opDrop, get(1), i32c(bufAt), i32c(bufSize), callf(f.read))
	}), Config{Grants: httpGrant(url)})
	if n, got := replyOf(t, p); got != "GET /v1/a?b mine *******************" || int(n) != len(got) {
		t.Errorf("%d, %q", n, got)
	}
	p, _ = loadGuest(t, sending(req, func(_ *guest, f httpImports, send []byte) []byte {
		return slices.Concat(send, i32c(bufAt), i32c(bufSize), callf(f.head))
	}), Config{Grants: httpGrant(url)})
	_, got := replyOf(t, p)
	var head abi.HTTPResponse
	if err := head.Decode(got); err != nil {
		t.Fatal(err)
	}
	head.Headers = slices.DeleteFunc(head.Headers, func(h abi.Var) bool { return h.Name == "date" })
	if d := cmp.Diff(abi.HTTPResponse{Status: 200, URL: url + "/v1/a?b", Headers: []abi.Var{
		{Name: "content-length", Value: "36"}, {Name: "content-type", Value: "text/plain; charset=utf-8"}, {Name: "x-echo", Value: "*******************"},
	}}, head); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestHTTPHandles: handles that are none, of another capability, closed, leaked.
func TestHTTPHandles(t *testing.T) {
	url := httpServer(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x") })
	good := (&abi.HTTPRequest{URL: url + "/v1/"}).Append(nil)
	invalid, tooLarge, denied := -int32(abi.StatusInvalid), -int32(abi.StatusTooLarge), -int32(abi.StatusDenied)
	for _, tt := range []struct {
		name string
		req  []byte
		code func(g *guest, f httpImports, send []byte) []byte
		want int32
	}{
		{"head of nothing", good, func(_ *guest, f httpImports, _ []byte) []byte {
			return slices.Concat(i32c(7), i32c(0), i32c(0), callf(f.head))
		}, invalid},
		{"read of nothing", good, func(_ *guest, f httpImports, _ []byte) []byte {
			return slices.Concat(i32c(-1), i32c(0), i32c(8), callf(f.read))
		}, invalid},
		{"close of nothing", good, func(_ *guest, f httpImports, _ []byte) []byte { return slices.Concat(i32c(0), callf(f.close)) }, invalid},
		{"closed", good, func(_ *guest, f httpImports, send []byte) []byte {
			return slices.Concat(send, op(0x22, 1), callf(f.close), opDrop, get(1), i32c(0), i32c(8), callf(f.read))
		}, invalid},
		{"no number twice", good, func(_ *guest, f httpImports, send []byte) []byte {
			return slices.Concat(send, callf(f.close), opDrop, send)
		}, 2},
		{"read before head", good, func(_ *guest, f httpImports, send []byte) []byte {
			return slices.Concat(send, i32c(bufAt), i32c(bufSize), callf(f.read))
		}, 1},
		{"read into nothing", good, func(_ *guest, f httpImports, send []byte) []byte {
			return slices.Concat(send, i32c(bufAt), i32c(0), callf(f.read))
		}, 0},
		{"leaked, and one too many", good, func(_ *guest, _ httpImports, send []byte) []byte {
			return slices.Concat(times(abi.MaxHandles, 1, send, opDrop), send)
		}, tooLarge},
		{"malformed", []byte("\xff\xff"), func(_ *guest, _ httpImports, send []byte) []byte { return send }, invalid},
		{"empty", nil, func(_ *guest, _ httpImports, send []byte) []byte { return send }, invalid},
		{"not granted", (&abi.HTTPRequest{URL: url + "/v2/"}).Append(nil), func(_ *guest, _ httpImports, send []byte) []byte { return send }, denied},
		{
			"not the plugin's header", (&abi.HTTPRequest{URL: url + "/v1/", Headers: []abi.Var{{Name: "authorization", Value: "x"}}}).Append(nil),
			func(_ *guest, _ httpImports, send []byte) []byte { return send }, denied,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, log := loadGuest(t, sending(tt.req, tt.code), Config{Name: "mine", Grants: httpGrant(url), Isolation: "shared"})
			for range 2 {
				if got, _ := replyOf(t, p); got != tt.want {
					t.Errorf("%d, want %d", got, tt.want)
				}
			}
			if tt.want == denied && !strings.Contains(log.String(), "plugin=mine") {
				t.Errorf("the log does not say so: %s", log)
			}
		})
	}
	p, _ := loadGuest(t, sending(good, func(_ *guest, f httpImports, _ []byte) []byte {
		return slices.Concat(i32c(0x7fffffff), i32c(100), callf(f.send))
	}),
		Config{Grants: httpGrant(url)})
	if _, err := readURI(t.Context(), p, "letters://a"); err == nil || !strings.Contains(err.Error(), "pointer out of range") {
		t.Errorf("a bad pointer: %v", err)
	}
}

// TestHTTPSideBySide: ten slow servers cost one's time, and sixteen such calls and a computing neighbour do not starve each
// other.
func TestHTTPSideBySide(t *testing.T) {
	const pause = 300 * time.Millisecond
	var most, now atomic.Int32
	url := httpServer(t, func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(pause)
		now.Add(-1)
		io.WriteString(w, "x")
	})
	req := (&abi.HTTPRequest{URL: url + "/v1/"}).Append(nil)
	r, _ := testRuntime(t, nil)
	p := load(t, r, sending(req, func(_ *guest, f httpImports, send []byte) []byte {
		var heads []byte
		for h := range int64(10) {
			heads = slices.Concat(heads, i32c(h+1), i32c(bufAt), i32c(bufSize), callf(f.head), opDrop)
		}
		return slices.Concat(times(10, 1, send, opDrop), heads, i32c(10), i32c(bufAt), i32c(bufSize), callf(f.read))
	}).bytes(), Config{Name: "fetching", Grants: httpGrant(url)})
	start := time.Now()
	if n, _ := replyOf(t, p); n != 1 {
		t.Errorf("answer %d", n)
	}
	if d := time.Since(start); d > 5*pause {
		t.Errorf("ten requests of %s took %s", pause, d)
	}
	if most.Load() < 2 {
		t.Errorf("at most %d ran at once", most.Load())
	}
	g := newGuest(letters)
	busy := load(t, r, g.read(times(200_000, 0), g.text("t"), ok()).bytes(), Config{Name: "computing"})
	var wg sync.WaitGroup
	var computed atomic.Int32
	done := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if _, err := readURI(t.Context(), busy, "letters://a"); err != nil {
				t.Error(err)
				return
			}
			computed.Add(1)
		}
	})
	start = time.Now()
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			if _, err := readURI(t.Context(), p, "letters://a"); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	took := time.Since(start)
	close(done)
	wg.Wait()
	if took > 8*time.Second {
		t.Errorf("sixteen calls took %s beside a computing neighbour", took)
	}
	if computed.Load() < 3 {
		t.Errorf("the neighbour was answered %d times in %s", computed.Load(), took)
	}
	t.Logf("16 calls of 10 requests of %s: %s; the neighbour was answered %d times", pause, took, computed.Load())
}

// TestHTTPGone: a call that ends at its deadline, or with its plugin, leaves nothing behind.
func TestHTTPGone(t *testing.T) {
	gone := make(chan struct{}, 8)
	url := httpServer(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); gone <- struct{}{} })
	req := (&abi.HTTPRequest{URL: url + "/v1/"}).Append(nil)
	p, _ := loadGuest(t, sending(req, func(_ *guest, f httpImports, send []byte) []byte {
		return slices.Concat(send, i32c(bufAt), i32c(bufSize), callf(f.head))
	}), Config{Grants: httpGrant(url), Limits: Limits{Timeout: 200 * time.Millisecond}})
	_, err := readURI(t.Context(), p, "letters://a")
	if err == nil {
		t.Fatal("no error")
	}
	<-gone
}

func FuzzHTTPRequest(f *testing.F) {
	f.Add((&abi.HTTPRequest{Method: "GET", URL: "http://192.0.2.1/v1/", Headers: []abi.Var{{Name: "A", Value: "b"}}, TimeoutMillis: 1}).Append(nil))
	h, err := openHTTP(&HTTPGrant{Allow: []HTTPAllow{{URL: "https://api.invalid/v1/"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := fetchRequest(b)
		if err != nil {
			return
		}
		x, err := h.client.Start(t.Context(), r, nil)
		if err == nil {
			x.Close()
		}
	})
}
