package host_test

import (
	"fmt"
	"testing"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/memprovider"
	"github.com/reshost/reshost/host/provider"
)

// notes returns a host with n small notes and one of 1 MiB.
func notes(b testing.TB, n int, opts *host.Options) *host.Host {
	b.Helper()
	p, err := memprovider.New("notes", nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if err := p.SetText(fmt.Sprintf("n/%05d.md", i), "text/markdown", "# A note\n\nwith a little text.\n"); err != nil {
			b.Fatal(err)
		}
	}
	if err := p.Set("big", provider.Resource{}, provider.Content{Body: make([]byte, 1<<20)}); err != nil {
		b.Fatal(err)
	}
	return newHost(b, opts, p)
}

func BenchmarkRead(b *testing.B) {
	allow := policyFunc(func(*host.PolicyRequest) bool { return true })
	for _, bm := range []struct {
		name, uri string
		opts      *host.Options
	}{
		{name: "small", uri: "notes://n/00001.md"},
		{name: "small-policy", uri: "notes://n/00001.md", opts: &host.Options{Policy: allow}},
		{name: "missing", uri: "notes://n/nope"},
		{name: "1MiB", uri: "notes://big"},
	} {
		b.Run(bm.name, func(b *testing.B) {
			h := notes(b, 100, bm.opts)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = h.Read(b.Context(), nil, bm.uri)
			}
		})
	}
}

func BenchmarkReadParallel(b *testing.B) {
	h := notes(b, 100, nil)
	who := &host.Principal{Issuer: "i", Subject: "s"}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := h.Read(b.Context(), who, "notes://n/00001.md"); err != nil && provider.CodeOf(err) != provider.Unavailable {
				b.Error(err)
			}
		}
	})
}

func BenchmarkReadHTTP(b *testing.B) {
	h := notes(b, 100, nil)
	b.ReportAllocs()
	for b.Loop() {
		if w := post(h.Handler(), "127.0.0.1:1", "resources/read", "notes://n/00001.md", `"uri":"notes://n/00001.md"`); w.Code != 200 {
			b.Fatal(w.Body)
		}
	}
}

// BenchmarkListPage lists the middle page of 15,000 entries.
func BenchmarkListPage(b *testing.B) {
	h := notes(b, 15000, nil)
	first, err := h.List(b.Context(), nil, "")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.List(b.Context(), nil, first.Next); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkComplete(b *testing.B) {
	h := notes(b, 15000, nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Complete(b.Context(), nil, &host.CompleteRequest{Template: "notes://{+path}", Argument: "path", Value: "n/0"}); err != nil {
			b.Fatal(err)
		}
	}
}

// The host's own share of a read must stay small: a slip here costs every request.
func TestReadAllocations(t *testing.T) {
	h := notes(t, 1, nil)
	allocs := testing.AllocsPerRun(200, func() {
		if _, err := h.Read(t.Context(), nil, "notes://n/00000.md"); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 50 {
		t.Errorf("%v allocations a read, want at most 50", allocs)
	}
}
