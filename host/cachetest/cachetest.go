// Package cachetest holds every cache.Store to the same behaviour. A store's test is five lines:
//
//	func TestStore(t *testing.T) {
//		cachetest.Run(t, func(t *testing.T) cache.Store { return mystore.New(t.TempDir()) })
//	}
//
// Only tests import it. A store that is wrong fails the test.
package cachetest

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/reshost/reshost/host/cache"
	"github.com/reshost/reshost/host/provider"
)

// Run tests stores that open returns, each empty and with room for 1 MiB at least. It may be called in several tests.
func Run(t *testing.T, open func(t *testing.T) cache.Store) {
	t.Run("KeepsAllOfAnEntry", func(t *testing.T) { keepsAll(t, open(t)) })
	t.Run("TellsKeysApart", func(t *testing.T) { tellsApart(t, open(t)) })
	t.Run("ReplacesAndDeletes", func(t *testing.T) { replaces(t, open(t)) })
	t.Run("CountsWhatItHolds", func(t *testing.T) { counts(t, open(t)) })
	t.Run("IsSafeForConcurrentUse", func(t *testing.T) { hammer(t, open(t)) })
}

func key(n int) (k cache.Key) {
	k[0], k[31] = byte(n>>8), byte(n)
	return k
}

func keepsAll(t *testing.T, s cache.Store) {
	total := int64(7)
	entries := []*cache.Entry{
		{Body: []byte("contents\x00\xff"), ETag: `"v1"`, Public: true, Retrieved: time.Unix(1700000000, 5), TTL: time.Minute, Epoch: 42},
		{Missing: true, Retrieved: time.Unix(1, 0), TTL: time.Second},
		{List: &provider.ListResult{Resources: []provider.Resource{{URI: "a:b", Name: "n"}}, Next: []byte{}, Cache: provider.Cache{Set: true}}},
		{Completion: &provider.CompleteResult{Values: []string{"x", ""}, Total: &total, HasMore: true}},
	}
	for i, e := range entries {
		s.Set(t.Context(), key(i), e)
	}
	for i, want := range entries {
		got := s.Get(t.Context(), key(i))
		if got == nil {
			t.Fatalf("entry %d is not there", i)
		}
		if !bytes.Equal(got.Body, want.Body) || got.ETag != want.ETag || got.Public != want.Public || got.Missing != want.Missing ||
			!got.Retrieved.Equal(want.Retrieved) || got.TTL != want.TTL || got.Epoch != want.Epoch {
			t.Errorf("entry %d: got %+v, want %+v", i, got, want)
		}
		if a, b := fmt.Sprintf("%+v", got.List), fmt.Sprintf("%+v", want.List); a != b || (got.List == nil) != (want.List == nil) {
			t.Errorf("entry %d: list %s, want %s", i, a, b)
		}
		if (got.List != nil) && (got.List.Next == nil) != (want.List.Next == nil) {
			t.Errorf("entry %d: an empty cursor leads on, and none does not", i)
		}
		if c := want.Completion; c != nil {
			if got.Completion == nil || len(got.Completion.Values) != 2 || got.Completion.Total == nil || *got.Completion.Total != 7 || !got.Completion.HasMore {
				t.Errorf("entry %d: completion %+v", i, got.Completion)
			}
		}
	}
}

func tellsApart(t *testing.T, s cache.Store) {
	s.Set(t.Context(), key(1), &cache.Entry{Body: []byte("one")})
	if e := s.Get(t.Context(), key(2)); e != nil {
		t.Errorf("another key: %+v", e)
	}
	s.Set(t.Context(), key(256), &cache.Entry{Body: []byte("two")})
	if e := s.Get(t.Context(), key(1)); e == nil || string(e.Body) != "one" {
		t.Errorf("after a set of another key: %+v", e)
	}
}

func replaces(t *testing.T, s cache.Store) {
	s.Delete(t.Context(), key(1))
	s.Set(t.Context(), key(1), &cache.Entry{Body: []byte("old")})
	s.Set(t.Context(), key(1), &cache.Entry{Body: []byte("new")})
	if e := s.Get(t.Context(), key(1)); e == nil || string(e.Body) != "new" {
		t.Errorf("after a second set: %+v", e)
	}
	s.Delete(t.Context(), key(1))
	if e := s.Get(t.Context(), key(1)); e != nil {
		t.Errorf("after a delete: %+v", e)
	}
}

func counts(t *testing.T, s cache.Store) {
	for i := range 10 {
		s.Set(t.Context(), key(i), &cache.Entry{Body: make([]byte, 1000)})
	}
	if st := s.Stats(); st.Entries != 10 || st.Bytes < 10_000 {
		t.Errorf("ten entries of 1,000 bytes: %+v", st)
	}
	for i := range 10 {
		s.Delete(t.Context(), key(i))
	}
	if st := s.Stats(); st.Entries != 0 || st.Bytes != 0 || st.Evicted != 0 {
		t.Errorf("all deleted: %+v", st)
	}
}

func hammer(t *testing.T, s cache.Store) {
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 500 {
				k := (i*7 + w) % 32
				switch i % 4 {
				case 0:
					s.Set(t.Context(), key(k), &cache.Entry{Body: fmt.Appendf(nil, "%d", k)})
				case 1:
					s.Delete(t.Context(), key((k+1)%32))
				default:
					if e := s.Get(t.Context(), key(k)); e != nil {
						e.Hit()
						if string(e.Body) != fmt.Sprint(k) {
							t.Errorf("key %d holds %q", k, e.Body)
						}
					}
				}
				s.Stats()
			}
		})
	}
	wg.Wait()
}
