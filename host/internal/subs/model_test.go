package subs_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reshost/reshost/host/internal/subs"
)

// modelStream is what a stream should be: the URIs it watches, and what waits.
type modelStream struct {
	stream  *subs.Stream
	watched map[string]bool
	waiting []string
}

// covers is the rule of delivery, said otherwise than in the hub: by the segments of the path.
func covers(watched, uri string) bool {
	if watched == uri {
		return true
	}
	path, _, _ := strings.Cut(uri, "?")
	w := strings.Split(strings.TrimSuffix(watched, "/"), "/")
	u := strings.Split(path, "/")
	return path != watched && len(u) > len(w) && slices.Equal(u[:len(w)], w)
}

// TestModel runs random steps against the hub and a simple model of it.
func TestModel(t *testing.T) {
	uris := []string{"d://a", "d://a/", "d://a/b", "d://a/b/c", "d://ab", "d://b", "d://b?q=/x", "d://a/b?q"}
	rapid.Check(t, func(rt *rapid.T) {
		var failure any // rapid wants its panics on its own goroutine
		defer func() {
			if failure != nil {
				panic(failure)
			}
		}()
		synctest.Test(t, func(t *testing.T) {
			defer func() { failure = recover() }()
			const most = 4 // URIs a stream, and the least that a queue holds
			src := [2]*source{newSource(t, "0"), newSource(t, "1")}
			leads := map[string]int{} // absent: nowhere
			for _, u := range uris {
				leads[u] = 0
			}
			var mu sync.Mutex
			h := subs.New(func(uri string) subs.Target {
				mu.Lock()
				defer mu.Unlock()
				if i, ok := leads[uri]; ok {
					return subs.Target{Source: src[i], URI: uri}
				}
				return subs.Target{}
			}, &subs.Options{StreamURIs: most})
			defer h.Wait()
			defer h.Close()
			var model []*modelStream
			push := func(m *modelStream, uri, watched string) {
				if len(m.waiting) >= most {
					uri = watched
				}
				if !slices.Contains(m.waiting, uri) {
					m.waiting = append(m.waiting, uri)
				}
			}
			pick := func(rt *rapid.T) *modelStream {
				if len(model) == 0 {
					return nil
				}
				return model[rapid.IntRange(0, len(model)-1).Draw(rt, "stream")]
			}
			uri := rapid.SampledFrom(uris)
			rt.Repeat(map[string]func(*rapid.T){
				"open": func(rt *rapid.T) {
					if s, err := h.Open(subs.Owner{}, false); err != nil {
						rt.Fatal(err)
					} else {
						model = append(model, &modelStream{stream: s, watched: map[string]bool{}})
					}
				},
				"attach": func(rt *rapid.T) {
					m, u := pick(rt), uri.Draw(rt, "uri")
					if m == nil {
						return
					}
					_, served := leads[u]
					want := served && (m.watched[u] || len(m.watched) < most)
					err := m.stream.Attach(context.Background(), []string{u})[0]
					if (err == nil) != want {
						rt.Fatalf("attach %s: %v", u, err)
					}
					if want {
						m.watched[u] = true
					}
				},
				"detach": func(rt *rapid.T) {
					if m := pick(rt); m != nil {
						u := uri.Draw(rt, "uri")
						if m.stream.Detach(u) != m.watched[u] {
							rt.Fatalf("detach %s", u)
						}
						delete(m.watched, u)
					}
				},
				"close": func(rt *rapid.T) {
					if m := pick(rt); m != nil {
						m.stream.Close()
						model = slices.DeleteFunc(model, func(x *modelStream) bool { return x == m })
					}
				},
				"update": func(rt *rapid.T) {
					u := uri.Draw(rt, "uri")
					h.Updated(u)
					for _, m := range model {
						// From the longest down, as the hub looks them up: which one stands in for a full queue depends on it.
						w := slices.SortedFunc(maps.Keys(m.watched), func(a, b string) int { return len(b) - len(a) })
						if i := slices.Index(w, u); i > 0 {
							w = slices.Insert(slices.Delete(w, i, i+1), 0, u)
						}
						for _, w := range w {
							if covers(w, u) {
								push(m, u, w)
							}
						}
					}
				},
				"take": func(rt *rapid.T) {
					m := pick(rt)
					if m == nil {
						return
					}
					ctx, cancel := context.WithCancel(context.Background())
					if len(m.waiting) == 0 {
						cancel()
					}
					e, err := m.stream.Next(ctx)
					cancel()
					if len(m.waiting) == 0 {
						if err == nil {
							rt.Fatalf("took %q from an empty queue", e.URI)
						}
						return
					}
					if err != nil || e.URI != m.waiting[0] {
						rt.Fatalf("took %q, %v; want %q", e.URI, err, m.waiting[0])
					}
					m.waiting = m.waiting[1:]
				},
				"move": func(rt *rapid.T) {
					u, to := uri.Draw(rt, "uri"), rapid.IntRange(-1, 1).Draw(rt, "to")
					mu.Lock()
					was, ok := leads[u]
					if to < 0 {
						delete(leads, u)
					} else {
						leads[u] = to
					}
					mu.Unlock()
					h.Reroute()
					synctest.Wait()
					if to < 0 || ok && was == to {
						return
					}
					for _, m := range model {
						if m.watched[u] {
							push(m, u, u)
						}
					}
				},
				"": func(rt *rapid.T) { // what holds after each step
					synctest.Wait()
					want := [2][]string{{}, {}}
					for _, u := range uris {
						watched := slices.ContainsFunc(model, func(m *modelStream) bool { return m.watched[u] })
						if i, ok := leads[u]; ok && watched {
							want[i] = append(want[i], u)
						}
					}
					for i := range src {
						slices.Sort(want[i])
						if d := cmp.Diff(want[i], src[i].watches()); d != "" {
							rt.Fatalf("source %d watches (-want +got):\n%s", i, d)
						}
					}
					if n := h.Stats().Streams; n != len(model) {
						rt.Fatalf("%d streams, want %d", n, len(model))
					}
				},
			})
			for _, m := range model {
				m.stream.Close()
			}
			synctest.Wait()
			if st := h.Stats(); st.Streams != 0 || st.URIs != 0 {
				rt.Fatalf("left: %+v", st)
			}
		})
	})
}

// TestHammer: every update of a watched URI is followed by a delivery after it, whatever else goes on, and nothing is left.
func TestHammer(t *testing.T) {
	src := newSource(t, "s")
	h := newHub(t, src, nil)
	const writers, readers, rounds = 4, 8, 300
	var versions [16]struct {
		sync.Mutex
		n int
	}
	var work, noise sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	last := make([][16]int, readers)
	ready := make(chan struct{}, readers)
	for i := range readers {
		work.Go(func() {
			s, err := h.Open(subs.Owner{}, i%2 == 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			uris := make([]string, 16)
			for j := range uris {
				uris[j] = fmt.Sprintf("d://%d", j)
			}
			for _, err := range s.Attach(ctx, uris) {
				if err != nil {
					t.Error(err)
				}
			}
			ready <- struct{}{}
			for {
				e, err := s.Next(ctx)
				if errors.Is(err, subs.ErrEnded) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				var j int
				if _, err := fmt.Sscanf(e.URI, "d://%d", &j); err == nil {
					versions[j].Lock()
					last[i][j] = versions[j].n // what a read would find
					versions[j].Unlock()
				}
			}
		})
	}
	for range readers {
		<-ready
	}
	for range 4 {
		noise.Go(func() {
			for ctx.Err() == nil {
				s, err := h.Open(subs.Owner{Subject: "noise"}, true)
				if errors.Is(err, subs.ErrEnded) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				s.Attach(ctx, []string{fmt.Sprintf("d://%d", rand.IntN(20)), "d://x"})
				s.Detach("d://x")
				h.ListChanged()
				h.Reroute()
				h.UpdatedAll(nil)
				s.Close()
			}
		})
	}
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for range rounds {
				j := rand.IntN(16)
				versions[j].Lock()
				versions[j].n++
				versions[j].Unlock()
				h.Updated(fmt.Sprintf("d://%d", j))
			}
		})
	}
	writing.Wait()
	h.Close() // what waits is still taken
	work.Wait()
	stop()
	noise.Wait()
	for i := range last {
		for j := range versions {
			if last[i][j] != versions[j].n {
				t.Errorf("reader %d saw version %d of %d last, want %d", i, last[i][j], j, versions[j].n)
			}
		}
	}
	h.Wait()
	if st := h.Stats(); st.Streams != 0 {
		t.Errorf("left: %+v", st)
	}
}

// BenchmarkUpdate shows that an update costs by its own listeners, not by all.
func BenchmarkUpdate(b *testing.B) {
	for _, others := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("others=%d", others), func(b *testing.B) {
			h := newHub(b, newSource(b, "s"), &subs.Options{Streams: 1 << 20, SourceURIs: 1 << 20})
			for i := range others {
				defer open(b, h, fmt.Sprintf("d://other/%d", i)).Close()
			}
			for range 10 {
				defer open(b, h, "d://mine").Close()
			}
			b.ReportAllocs()
			for b.Loop() {
				h.Updated("d://mine")
			}
		})
	}
}
