package main

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/memprovider"
)

// notesHost is a host with one note that may be reused.
func notesHost(t *testing.T) *host.Host {
	t.Helper()
	p, err := memprovider.New("notes", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.SetText("a", "text/plain", "hello"); err != nil {
		t.Fatal(err)
	}
	h, err := host.New(&host.Options{Cache: host.CacheRules{TTL: 1e9 * 3600}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(t.Context()) })
	if err := h.Add(p, nil); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestAdmin(t *testing.T) {
	h := notesHost(t)
	if _, err := h.Read(t.Context(), &host.Principal{Subject: "ann"}, "notes://a"); err != nil {
		t.Fatal(err)
	}
	handler := loopbackOnly(adminHandler(h), false)
	for _, tt := range []struct {
		name, host, path string
		status           int
		want             string
	}{
		{"health", "127.0.0.1:1", pathHealth, 200, "ok\n"},
		{"a name that leads here", "evil.test", pathHealth, 403, "this machine alone"},
		{"IPv6", "[::1]:1", pathHealth, 200, "ok\n"},
		{"stats", "localhost", pathStats, 200, `"hit":0,"miss":1`},
		{"who read it", "localhost", pathExplain + "?uri=notes://a&subject=ann", 200, `"state":"fresh"`},
		{"who did not", "localhost", pathExplain + "?uri=notes://a&subject=bob", 200, `"state":"absent"`},
		{"nothing", "localhost", pathExplain + "?uri=other://a", 404, `"error"`},
		{"no URI", "localhost", pathExplain, 400, `"error"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "http://"+tt.host+tt.path, nil)
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%d %s, want %d and %s", w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

func TestExplainRemote(t *testing.T) {
	srv := httptest.NewServer(loopbackOnly(adminHandler(notesHost(t)), false))
	defer srv.Close()
	var out bytes.Buffer
	a := &app{stdout: &out}
	addr := strings.TrimPrefix(srv.URL, "http://")
	if err := a.explainRemote(t.Context(), addr, "notes://a", &host.Principal{}); err != nil || !strings.Contains(out.String(), "state      absent") {
		t.Errorf("%v: %s", err, &out)
	}
	if err := a.explainRemote(t.Context(), addr, "none://a", &host.Principal{}); exitCode(err) != exitCode(notFound{}) {
		t.Errorf("nothing served: %v", err)
	}
}

func TestParsePrincipal(t *testing.T) {
	got, err := parsePrincipal("issuer=i,ann,scope=a,scope=b,group=g,tenant=t")
	want := &host.Principal{Issuer: "i", Subject: "ann", Tenant: "t", Scopes: []string{"a", "b"}, Groups: []string{"g"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	if _, err := parsePrincipal("role=admin"); err == nil {
		t.Error("an unknown part is taken")
	}
}
