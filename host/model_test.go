package host_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// truth is the model: what each resource holds, and what was announced of it. A content names its reader, its resource and its version, so
// that any answer tells whether it may be given.
type truth struct {
	mu        sync.Mutex // guards both
	version   map[string]int
	announced map[string]int
}

func (m *truth) write(uri string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version[uri]++
	return m.version[uri]
}

func (m *truth) now(uri string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version[uri]
}

func (m *truth) announce(uri string, v int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.announced[uri] = max(m.announced[uri], v)
}

func (m *truth) least(uri string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.announced[uri]
}

// modelProvider answers from the truth, slowly, as the model says.
func modelProvider(m *truth, delay time.Duration) watching {
	p := docs("docs")
	p.info.Watch, p.info.SeesCaller = true, true
	p.read = func(ctx context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		v := m.now(req.URI)
		select { // what was read may be old when it arrives
		case <-time.After(delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if v%5 == 4 {
			return nil, provider.Errorf(provider.Unavailable, "version %d fails", v)
		}
		etag := fmt.Sprintf("%s-%d", req.Principal.Subject, v)
		if req.IfETag == etag {
			return &provider.ReadResult{NotModified: true, Cache: ttl(time.Minute)}, nil
		}
		res := text(fmt.Sprintf("%s %s %d", req.Principal.Subject, req.URI, v))
		res.Contents[0].ETag, res.Cache = etag, provider.Cache{TTL: time.Minute, Set: true, Public: v%2 == 0}
		return res, nil
	}
	return watching{p}
}

// TestCacheModel drives cache and hub with readers, writers, changes, reloads and subscribers at the same time, and holds what each
// sees against the model: no reader gets what is another's, nor what is older than what was announced before it asked; every
// announcement is followed by a delivery to who watched before it; and nothing is left in the end.
func TestCacheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) { synctest.Test(t, func(t *testing.T) { cacheModel(t, rt) }) })
}

func cacheModel(t *testing.T, rt *rapid.T) {
	m := &truth{version: map[string]int{}, announced: map[string]int{}}
	p := modelProvider(m, time.Second)
	h, err := host.New(&host.Options{
		Cache:  host.CacheRules{Public: []string{"docs"}, Stale: 10 * time.Second, StaleIfError: time.Minute, Missing: time.Second},
		Limits: host.Limits{CacheBytes: 4000},
	})
	if err != nil {
		rt.Fatal(err)
	}
	if err := h.Add(p, nil); err != nil {
		rt.Fatal(err)
	}
	base, end := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var failures sync.Map
	fail := func(format string, args ...any) { failures.Store(fmt.Sprintf(format, args...), true) }
	uris := rapid.SampledFrom([]string{"docs://a", "docs://b", "docs://c"})
	who := rapid.SampledFrom([]string{"", "ann", "bob"})
	watched := map[string]*heard{}

	read := func(ctx context.Context, subject, uri string) {
		least := m.least(uri)
		res, err := h.Read(ctx, &host.Principal{Subject: subject}, uri)
		if err != nil {
			if c := provider.CodeOf(err); c != provider.Unavailable && c != provider.Canceled && c != provider.Timeout {
				fail("read %s as %q: %v", uri, subject, err)
			}
			return
		}
		got := string(res.Contents[0].Body)
		var version int
		if rest, ok := strings.CutPrefix(got, subject+" "+uri+" "); !ok {
			fail("%q read %s and got %q", subject, uri, got)
		} else if _, err := fmt.Sscan(rest, &version); err != nil || version < least {
			fail("%q read version %d of %s after %d was announced", subject, version, uri, least)
		}
	}
	for range rapid.IntRange(1, 60).Draw(rt, "steps") {
		uri, subject := uris.Draw(rt, "uri"), who.Draw(rt, "subject")
		switch rapid.IntRange(0, 9).Draw(rt, "step") {
		case 0, 1, 2, 3:
			ctx, cancel := context.WithTimeout(base, time.Duration(rapid.IntRange(200, 5000).Draw(rt, "patience"))*time.Millisecond)
			wg.Go(func() {
				defer cancel()
				read(ctx, subject, uri)
			})
		case 4, 5:
			v := m.write(uri)
			events := p.events
			wg.Go(func() {
				events.Updated(uri)
				m.announce(uri, v)
			})
		case 6:
			if watched[uri] == nil {
				w := &heard{}
				watched[uri] = w
				wg.Go(func() { w.listen(base, h, uri) })
			}
		case 7:
			q := modelProvider(m, time.Second)
			if err := h.Replace(base, q, nil); err != nil {
				rt.Fatal(err)
			}
			p = q
		case 8:
			time.Sleep(time.Duration(rapid.IntRange(1, 90_000).Draw(rt, "ms")) * time.Millisecond)
		case 9:
			synctest.Wait()
		}
	}
	// The last change of each watched resource is told to who watches.
	synctest.Wait()
	for uri, w := range watched {
		before := w.count()
		v := m.write(uri)
		p.events.Updated(uri)
		m.announce(uri, v)
		synctest.Wait()
		if w.count() == before {
			fail("a change of %s was not told", uri)
		}
	}
	for _, subject := range []string{"", "ann", "bob"} {
		read(base, subject, "docs://a")
	}
	end()
	wg.Wait()
	if s := h.CacheStats(); s.Bytes > 4000 {
		fail("the cache holds %d bytes", s.Bytes)
	}
	if err := h.Close(context.Background()); err != nil {
		fail("close: %v", err)
	}
	failures.Range(func(what, _ any) bool {
		rt.Errorf("%s", what)
		return true
	})
}

// heard counts what one subscriber was told.
type heard struct {
	mu sync.Mutex // guards n
	n  int
}

func (w *heard) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

func (w *heard) listen(ctx context.Context, h *host.Host, uri string) {
	for c, err := range h.Watch(ctx, nil, uri) {
		if err != nil {
			return
		}
		if c.URI == uri {
			w.mu.Lock()
			w.n++
			w.mu.Unlock()
		}
	}
}
