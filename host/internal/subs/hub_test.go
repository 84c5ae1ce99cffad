package subs_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/reshost/reshost/host/internal/subs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// source records what is watched and fails the test when Watch and Unwatch of a URI do not alternate.
type source struct {
	t    testing.TB
	name string
	// fail and hold shape Watch; nil for none.
	fail func(uri string) error
	hold chan struct{}

	mu      sync.Mutex
	watched map[string]bool
	calls   int
}

func newSource(t testing.TB, name string) *source {
	return &source{t: t, name: name, watched: map[string]bool{}}
}

func (s *source) Watch(ctx context.Context, uri string) error {
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if s.fail != nil {
		if err := s.fail(uri); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.watched[uri] {
		s.t.Errorf("%s: Watch(%s) twice", s.name, uri)
	}
	s.watched[uri] = true
	return nil
}

func (s *source) Unwatch(uri string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.watched[uri] {
		s.t.Errorf("%s: Unwatch(%s), which is not watched", s.name, uri)
	}
	delete(s.watched, uri)
}

func (s *source) watches() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []string{}
	for u := range s.watched {
		list = append(list, u)
	}
	slices.Sort(list)
	return list
}

func newHub(t testing.TB, src subs.Source, opts *subs.Options) *subs.Hub {
	h := subs.New(func(uri string) subs.Target { return subs.Target{Source: src, URI: uri} }, opts)
	t.Cleanup(func() {
		h.Close()
		h.Wait()
	})
	return h
}

func open(t testing.TB, h *subs.Hub, uris ...string) *subs.Stream {
	t.Helper()
	s, err := h.Open(subs.Owner{}, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, err := range s.Attach(t.Context(), uris) {
		if err != nil {
			t.Fatalf("attach %s: %v", uris[i], err)
		}
	}
	return s
}

// pending takes what waits in a stream.
func pending(s *subs.Stream) []string {
	list := []string{}
	done, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(20*time.Millisecond, cancel)
	defer timer.Stop()
	defer cancel()
	for {
		e, err := s.Next(done)
		if err != nil {
			return list
		}
		list = append(list, e.URI)
	}
}

func TestDelivery(t *testing.T) {
	for _, tt := range []struct {
		name    string
		watched []string
		updates []string
		want    []string
	}{
		{"its own", []string{"docs://a"}, []string{"docs://a", "docs://b"}, []string{"docs://a"}},
		{"once while nobody reads", []string{"docs://a"}, []string{"docs://a", "docs://a", "docs://a"}, []string{"docs://a"}},
		{"in order of first change", []string{"docs://a", "docs://b"}, []string{"docs://b", "docs://a", "docs://b"}, []string{"docs://b", "docs://a"}},
		{"below, S3", []string{"docs://a"}, []string{"docs://a/b", "docs://a/b/c?q=1", "docs://ab", "docs://a?q", "docs://"}, []string{"docs://a/b", "docs://a/b/c?q=1"}},
		{"below a folder with its slash", []string{"docs://a/"}, []string{"docs://a/b", "docs://a", "docs://a/"}, []string{"docs://a/b", "docs://a/"}},
		{"below the root", []string{"file:///"}, []string{"file:///etc/x"}, []string{"file:///etc/x"}},
		{"not by a slash in a query", []string{"docs://a?x="}, []string{"docs://a?x=/b"}, []string{}},
		{"once by two that cover it", []string{"docs://a", "docs://a/b"}, []string{"docs://a/b"}, []string{"docs://a/b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHub(t, newSource(t, "s"), nil)
			s := open(t, h, tt.watched...)
			defer s.Close()
			for _, u := range tt.updates {
				h.Updated(u)
			}
			if d := cmp.Diff(tt.want, pending(s)); d != "" {
				t.Errorf("delivered (-want +got):\n%s", d)
			}
		})
	}
}

// The first subscriber of a URI attaches it, the last one detaches it; a URI given twice counts once.
func TestFirstAttachesLastDetaches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t, "s")
		h := newHub(t, src, nil)
		a := open(t, h, "docs://a", "docs://a")
		b := open(t, h, "docs://a", "docs://b")
		if src.calls != 2 {
			t.Errorf("Watch was called %d times for two URIs", src.calls)
		}
		a.Close()
		a.Close()
		synctest.Wait()
		if d := cmp.Diff([]string{"docs://a", "docs://b"}, src.watches()); d != "" {
			t.Errorf("watched (-want +got):\n%s", d)
		}
		if !b.Detach("docs://b") || b.Detach("docs://b") {
			t.Error("Detach reports what it did not do")
		}
		b.Close()
		synctest.Wait()
		if got := src.watches(); len(got) > 0 {
			t.Errorf("watched still: %v", got)
		}
		if st := h.Stats(); st.Streams != 0 || st.URIs != 0 {
			t.Errorf("left: %+v", st)
		}
	})
}

// SUB-02: what changes between attach and the first Next is kept.
func TestNothingIsLostBeforeTheFirstRead(t *testing.T) {
	h := newHub(t, newSource(t, "s"), nil)
	s := open(t, h, "docs://a")
	defer s.Close()
	h.Updated("docs://a")
	if got := pending(s); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestLimits(t *testing.T) {
	h := newHub(t, newSource(t, "s"), &subs.Options{Streams: 3, OwnerStreams: 1, StreamURIs: 2, SourceURIs: 3})
	owner := subs.Owner{Subject: "u"}
	one, err := h.Open(owner, false)
	if err != nil {
		t.Fatal(err)
	}
	var over *subs.LimitError
	if _, err := h.Open(owner, false); !errors.As(err, &over) || !over.Owner {
		t.Errorf("a second stream of one owner: %v", err)
	}
	errs := one.Attach(t.Context(), []string{"docs://1", "docs://2", "docs://3"})
	if errs[0] != nil || errs[1] != nil || !errors.As(errs[2], &over) || !over.Owner {
		t.Errorf("three URIs in one stream: %v", errs)
	}
	two := open(t, h, "docs://3")
	if err := two.Attach(t.Context(), []string{"docs://4"})[0]; !errors.As(err, &over) || over.Owner {
		t.Errorf("a fourth URI of the source: %v", err)
	}
	if err := two.Attach(t.Context(), []string{"docs://1"})[0]; err != nil {
		t.Errorf("a URI that is watched already: %v", err)
	}
	three := open(t, h)
	if _, err := h.Open(subs.Owner{}, false); !errors.As(err, &over) || over.Owner {
		t.Errorf("a fourth stream: %v", err)
	}
	one.Close()
	again, err := h.Open(owner, false)
	if err != nil {
		t.Errorf("after one is closed: %v", err)
	}
	for _, s := range []*subs.Stream{two, three, again} {
		s.Close()
	}
}

// A queue is bounded: the watched URI then stands for all below it.
func TestQueueIsBounded(t *testing.T) {
	h := newHub(t, newSource(t, "s"), &subs.Options{StreamURIs: 10})
	s := open(t, h, "docs://a")
	defer s.Close()
	for i := range 10_000 {
		h.Updated(fmt.Sprintf("docs://a/%d", i))
	}
	got := pending(s)
	if len(got) != 11 || got[10] != "docs://a" {
		t.Errorf("%d waited, the last %q", len(got), got[len(got)-1])
	}
}

func TestWatchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t, "s")
		broken := errors.New("broken")
		src.fail = func(uri string) error {
			switch uri {
			case "docs://panic":
				panic("boom")
			case "docs://bad":
				return broken
			}
			return nil
		}
		h := newHub(t, src, nil)
		s := open(t, h)
		defer s.Close()
		errs := s.Attach(t.Context(), []string{"docs://bad", "docs://good", "docs://panic"})
		if !errors.Is(errs[0], broken) || errs[1] != nil || errs[2] == nil {
			t.Errorf("errors: %v", errs)
		}
		src.fail = nil
		if err := s.Attach(t.Context(), []string{"docs://bad"})[0]; err != nil {
			t.Errorf("again, once it works: %v", err)
		}
	})
}

// A Watch that hangs holds up its own URI alone, and no longer than the deadline; who leaves meanwhile leaves nothing behind.
func TestWatchHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(t, "s")
		src.hold = make(chan struct{})
		h := newHub(t, src, &subs.Options{Watch: time.Minute})
		s := open(t, h)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Attach(ctx, []string{"docs://a"})[0]; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		s.Close()
		close(src.hold)
		synctest.Wait()
		if st := h.Stats(); st.URIs != 0 || len(src.watches()) != 0 {
			t.Errorf("left: %+v, %v", st, src.watches())
		}
	})
}

// A burst of list changes is told once, however long it is at the latest after Longest.
func TestListChangesOnceABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub(t, newSource(t, "s"), nil)
		s, err := h.Open(subs.Owner{}, true)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		other := open(t, h)
		defer other.Close()
		count := func(s *subs.Stream) (n int) {
			for _, u := range pending(s) {
				if u == "" {
					n++
				}
			}
			return n
		}
		for range 10_000 {
			h.ListChanged()
		}
		time.Sleep(time.Second)
		if n := count(s); n != 1 {
			t.Errorf("a burst was told %d times", n)
		}
		told := make(chan time.Duration, 1)
		begun := time.Now()
		go func() {
			if _, err := s.Next(t.Context()); err == nil {
				told <- time.Since(begun)
			}
		}()
		for range 100 { // for two seconds without a pause
			h.ListChanged()
			time.Sleep(20 * time.Millisecond)
		}
		if d := <-told; d > 600*time.Millisecond {
			t.Errorf("a burst without end was told after %v", d)
		}
		if n := count(other); n != 0 {
			t.Errorf("one who did not ask was told %d times", n)
		}
	})
}

// URIs that lead elsewhere after a change are attached there, and count as updated.
func TestReroute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, young := newSource(t, "old"), newSource(t, "young")
		var now subs.Source = old
		var mu sync.Mutex
		set := func(s subs.Source) { mu.Lock(); now = s; mu.Unlock() }
		h := subs.New(func(uri string) subs.Target {
			mu.Lock()
			defer mu.Unlock()
			return subs.Target{Source: now, URI: uri}
		}, nil)
		defer h.Wait()
		defer h.Close()
		s := open(t, h, "docs://a")
		defer s.Close()
		h.Reroute()
		synctest.Wait()
		if got := pending(s); len(got) != 0 {
			t.Errorf("nothing moved, and told: %v", got)
		}
		set(young)
		h.Reroute()
		synctest.Wait()
		if len(old.watches()) != 0 || len(young.watches()) != 1 {
			t.Errorf("old %v, young %v", old.watches(), young.watches())
		}
		if d := cmp.Diff([]string{"docs://a"}, pending(s)); d != "" {
			t.Errorf("told (-want +got):\n%s", d)
		}
		set(nil)
		h.Reroute()
		synctest.Wait()
		if len(young.watches()) != 0 {
			t.Errorf("young %v", young.watches())
		}
		set(old)
		h.Reroute()
		synctest.Wait()
		if len(old.watches()) != 1 {
			t.Error("not attached again after somebody serves it again")
		}
	})
}

// Closing lets each stream take what waits, then ErrEnded, whoever waits at that moment.
func TestCloseEndsGracefully(t *testing.T) {
	h := newHub(t, newSource(t, "s"), nil)
	s, idle := open(t, h, "docs://a"), open(t, h)
	defer s.Close()
	defer idle.Close()
	waiting := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := idle.Next(context.Background())
			waiting <- err
		}()
	}
	h.Updated("docs://a")
	h.Close()
	h.Updated("docs://a")
	if e, err := s.Next(t.Context()); err != nil || e.URI != "docs://a" {
		t.Errorf("got %v, %v", e, err)
	}
	for range 2 {
		if _, err := s.Next(t.Context()); !errors.Is(err, subs.ErrEnded) {
			t.Errorf("at the end: %v", err)
		}
		if err := <-waiting; !errors.Is(err, subs.ErrEnded) {
			t.Errorf("one who waited: %v", err)
		}
	}
	if _, err := h.Open(subs.Owner{}, true); !errors.Is(err, subs.ErrEnded) {
		t.Errorf("Open after Close: %v", err)
	}
}

// Two readers of one stream get different events; one that fails gives its event back.
func TestReturn(t *testing.T) {
	h := newHub(t, newSource(t, "s"), nil)
	s := open(t, h, "docs://a")
	h.Updated("docs://a")
	e, err := s.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Return(e)
	if d := cmp.Diff([]string{"docs://a"}, pending(s)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	s.Fail(fmt.Errorf("write: %w", os.ErrDeadlineExceeded))
	if n := h.Stats().Stalled; n != 1 {
		t.Errorf("stalled: %d", n)
	}
}
