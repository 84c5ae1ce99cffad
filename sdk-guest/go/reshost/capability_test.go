package reshost_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

// TestHTTP sends several requests side by side and reads the answers.
func TestHTTP(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Seen", r.Method+" "+r.URL.String()+" "+r.Header.Get("X-Mine"))
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, strings.Repeat("x", 100_000)+string(b))
	})
	run := func(h http.Handler, f func(c reshost.HTTP) error) error {
		g := reshosttest.New(t, reading(func(r *reshost.ReadRequest, o *reshost.Response) error {
			if err := f(r.HTTP()); err != nil {
				return err
			}
			return o.Text("x")
		}), &reshosttest.Options{HTTP: h})
		_, err := g.Read("t://plain")
		return err
	}
	err := run(handler, func(c reshost.HTTP) error {
		var open []*reshost.Exchange
		for _, body := range []string{"a", "b"} {
			x, err := c.Send(&reshost.HTTPRequest{Method: "POST", URL: "https://api.test/v1?q", Headers: []reshost.Header{{Name: "X-Mine", Value: "m"}}, Body: body})
			if err != nil {
				return err
			}
			open = append(open, x)
		}
		for i, x := range open {
			res, err := x.Response()
			if err != nil || res.Status != http.StatusTeapot || res.Header("x-seen") != "POST https://api.test/v1?q m" || res.Header("none") != "" {
				t.Errorf("Response = %+v, %v", res, err)
			}
			b, err := x.ReadAll(1 << 20)
			if err != nil || len(b) != 100_001 || b[100_000] != "ab"[i] {
				t.Errorf("ReadAll: %d bytes, %v", len(b), err)
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
			if err := x.Close(); reshost.CodeOf(err) != reshost.CodeInvalid {
				t.Errorf("Close again = %v", err)
			}
		}
		if _, _, err := c.Get("https://api.test/?secret", 10); reshost.CodeOf(err) != reshost.CodeTooLarge {
			t.Errorf("Get over the limit = %v", err)
		}
		if _, err := c.Send(&reshost.HTTPRequest{URL: "https://api.test/?secret", Headers: []reshost.Header{{Name: "Host", Value: "x"}}}); reshost.CodeOf(err) != reshost.CodeDenied || strings.Contains(err.Error(), "secret") {
			t.Errorf("a header that is not the plugin's = %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	err = run(nil, func(c reshost.HTTP) error { _, _, err := c.Get("https://api.test/", 10); return err })
	if !isCode(err, reshost.CodeDenied) {
		t.Errorf("not granted: %v", err)
	}
}

// TestKV: callers have their own values, and polls write for all.
func TestKV(t *testing.T) {
	p := reading(func(r *reshost.ReadRequest, o *reshost.Response) error {
		if b, err := r.KV().Get("k"); err == nil {
			return o.Text(string(b))
		} else if reshost.CodeOf(err) != reshost.CodeNotFound {
			return err
		}
		return o.Text("put " + errText(r.KV().Put("k", []byte("of "+r.IfETag), 0)))
	})
	g := reshosttest.New(t, p, &reshosttest.Options{KVQuota: 100})
	read := func(who string) string {
		res, err := g.ReadWith("t://plain", reshosttest.ReadOptions{Caller: reshost.Caller{Subject: who}, IfETag: who})
		if err != nil {
			t.Fatal(err)
		}
		return res.Text()
	}
	for _, tt := range [][2]string{{"ada", "put "}, {"ada", "of ada"}, {"bob", "put "}, {strings.Repeat("x", 200), "put kv put k: too_large"}} {
		if got := read(tt[0]); got != tt[1] {
			t.Errorf("%.10s: %q, want %q", tt[0], got, tt[1])
		}
	}
	g = reshosttest.New(t, p, nil)
	if _, err := g.Read("t://plain"); !isCode(err, reshost.CodeDenied) {
		t.Errorf("not granted: %v", err)
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
