package host

import (
	"encoding/binary"
	"sync"
	"time"

	"github.com/reshost/reshost/host/cache"
)

// verdicts remember why results were not kept, for who asks later. They are few: a later one takes the place of an earlier one.
type verdicts struct {
	mu    sync.Mutex // guards slots
	slots [1 << 10]verdict
}

type verdict struct {
	key cache.Key
	why string
	at  time.Time
}

func (v *verdicts) slot(key cache.Key) *verdict {
	return &v.slots[binary.BigEndian.Uint64(key[:])%uint64(len(v.slots))]
}

func (v *verdicts) note(key cache.Key, why string, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	*v.slot(key) = verdict{key, why, at}
}

func (v *verdicts) find(key cache.Key) (verdict, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := *v.slot(key)
	return s, s.key == key && s.why != ""
}
