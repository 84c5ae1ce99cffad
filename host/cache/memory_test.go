package cache_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/reshost/reshost/host/cache"
	"github.com/reshost/reshost/host/cachetest"
)

func TestMemory(t *testing.T) {
	cachetest.Run(t, func(*testing.T) cache.Store { return cache.NewMemory(1 << 20) })
}

// The bound is of bytes, and holds after each Set.
func TestMemoryIsBounded(t *testing.T) {
	const bound = 1 << 20
	m := cache.NewMemory(bound)
	for i := range 5000 {
		var k cache.Key
		binary.BigEndian.PutUint64(k[:], uint64(i))
		m.Set(t.Context(), k, &cache.Entry{Body: make([]byte, i%7000)})
		if st := m.Stats(); st.Bytes > bound {
			t.Fatalf("after %d entries: %+v", i+1, st)
		}
	}
	if st := m.Stats(); st.Entries == 0 || st.Evicted == 0 || st.Bytes < bound/2 {
		t.Errorf("%+v: the room is not used", st)
	}
}

func TestMemoryOfNothing(t *testing.T) {
	for _, size := range []int64{0, -1} {
		m := cache.NewMemory(size)
		m.Set(t.Context(), cache.Key{1}, &cache.Entry{Body: []byte("x")})
		if st := m.Stats(); st.Entries != 0 {
			t.Errorf("%d bytes hold %+v", size, st)
		}
	}
}

func ExampleNewMemory() {
	store := cache.NewMemory(64 << 20)
	store.Set(context.Background(), cache.Key{1}, &cache.Entry{Body: []byte("contents")})
	fmt.Printf("%s\n", store.Get(context.Background(), cache.Key{1}).Body)
	// Output: contents
}
