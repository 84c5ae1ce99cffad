package wasmplugin

import (
	"context"
	"encoding/binary"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// kvStore keeps what plugins put, by plugin, partition and key. It outlives the plugins that use it. Safe for concurrent use;
// it keeps no slice that it is given, and gives none that it keeps.
type kvStore interface {
	// get returns a value and whether it is there.
	get(plugin, partition, key string) (string, bool)
	// put stores a value until it expires (zero: never). It reports false where that would pass the plugin's quota, in bytes, or
	// the partition's share of it.
	put(plugin, partition, key, value string, expires time.Time, quota int64) bool
	// del removes a value.
	del(plugin, partition, key string)
}

const (
	// kvShared is the partition that polls write and everybody reads. No caller's begins so.
	kvShared = "shared"
	// maxKey and maxValue bound a key and a value, in bytes.
	maxKey   = 512
	maxValue = 1 << 20
	// kvEntry is what an entry costs besides the bytes of its key and value.
	kvEntry      = 128
	defaultQuota = 16 << 20
)

// memoryKV is a kvStore in memory.
type memoryKV struct {
	mu      sync.Mutex // guards the rest
	plugins map[string]*kvPlugin
}

type kvPlugin struct {
	used  int64
	parts map[string]*kvPart
}

type kvPart struct {
	used    int64
	entries map[string]kvValue
}

type kvValue struct {
	text    string
	expires time.Time
}

func newMemoryKV() *memoryKV { return &memoryKV{plugins: map[string]*kvPlugin{}} }

func (v kvValue) over(now time.Time) bool { return !v.expires.IsZero() && !now.Before(v.expires) }

func (s *memoryKV) get(plugin, partition, key string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plugins[plugin]
	if p == nil || p.parts[partition] == nil {
		return "", false
	}
	v, ok := p.parts[partition].entries[key]
	if ok && v.over(time.Now()) {
		p.remove(partition, key)
		return "", false
	}
	return v.text, ok
}

func (s *memoryKV) put(plugin, partition, key, value string, expires time.Time, quota int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plugins[plugin]
	if p == nil {
		p = &kvPlugin{parts: map[string]*kvPart{}}
		s.plugins[plugin] = p
	}
	if !p.fits(partition, key, value, quota) {
		p.sweep()
		if !p.fits(partition, key, value, quota) {
			return false
		}
	}
	p.remove(partition, key)
	part := p.parts[partition]
	if part == nil {
		part = &kvPart{entries: map[string]kvValue{}}
		p.parts[partition] = part
	}
	part.entries[key] = kvValue{value, expires}
	part.used += kvCost(key, value)
	p.used += kvCost(key, value)
	return true
}

func (s *memoryKV) del(plugin, partition, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.plugins[plugin]; p != nil {
		p.remove(partition, key)
	}
}

func kvCost(key, value string) int64 { return int64(len(key)+len(value)) + kvEntry }

// fits reports whether a value may be put. No caller has more than a half of the quota, so that one alone does not use it up.
func (p *kvPlugin) fits(partition, key, value string, quota int64) bool {
	more, used := kvCost(key, value), int64(0)
	if part := p.parts[partition]; part != nil {
		used = part.used
		if old, ok := part.entries[key]; ok {
			more -= kvCost(key, old.text)
		}
	}
	share := quota
	if partition != kvShared {
		share = quota / 2
	}
	return p.used+more <= quota && used+more <= share
}

func (p *kvPlugin) remove(partition, key string) {
	part := p.parts[partition]
	if part == nil {
		return
	}
	if v, ok := part.entries[key]; ok {
		delete(part.entries, key)
		part.used -= kvCost(key, v.text)
		p.used -= kvCost(key, v.text)
	}
	if len(part.entries) == 0 {
		delete(p.parts, partition)
	}
}

// sweep removes what has expired.
func (p *kvPlugin) sweep() {
	now := time.Now()
	for partition, part := range p.parts {
		for key, v := range part.entries {
			if v.over(now) {
				p.remove(partition, key)
			}
		}
	}
}

// kvPartition names a caller's partition: all that says who it is, each part with its length, so that no two callers share one.
func kvPartition(caller *provider.Caller) string {
	if caller == nil {
		return ""
	}
	who := caller.Principal
	if who.Anonymous() {
		return "anonymous"
	}
	b := []byte("caller")
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	list := func(l []string) {
		b = binary.AppendUvarint(b, uint64(len(l)))
		for _, s := range slices.Sorted(slices.Values(l)) {
			text(s)
		}
	}
	text(who.Issuer)
	text(who.Subject)
	text(who.Tenant)
	list(who.Scopes)
	list(who.Groups)
	return string(b)
}

// guestKV answers reshost_kv_v1.
type guestKV struct{ quota int64 }

func openKV(g *KVGrant) *guestKV {
	k := &guestKV{quota: g.Quota}
	if k.quota <= 0 {
		k.quota = defaultQuota
	}
	return k
}

func (g *guestKV) kvModule() hostModule {
	return hostModule{abi.ImportKVGet: {fn: g.get}, abi.ImportKVPut: {fn: g.put}, abi.ImportKVDel: {fn: g.del}}
}

// key takes the key that each of the functions begins with.
func (g *guestKV) key(c *call, m guestMemory, stack []uint64) (string, bool) {
	b := m.view(uint32(stack[0]), uint32(stack[1]))
	if !admit(c, stack) {
		return "", false
	}
	if len(b) == 0 || len(b) > maxKey {
		stack[0] = result(-int32(abi.StatusInvalid))
		return "", false
	}
	return string(b), true
}

// writes returns the partition that the call writes to: the shared one in a poll, else the caller's; "" for none.
func (c *call) writes() string {
	if c.export == abi.ExportPoll {
		return kvShared
	}
	return c.partition
}

// get is get(key, klen, buf, cap) -> the value's length: the caller's own, else the shared one.
func (g *guestKV) get(_ context.Context, c *call, m guestMemory, stack []uint64) {
	key, ok := g.key(c, m, stack)
	if !ok {
		return
	}
	store, own := c.plugin.runtime.kv, c.writes()
	v, found := "", false
	if own != "" {
		if v, found = store.get(c.plugin.name, own, key); found && own != kvShared {
			c.private = true
		}
	}
	if !found && own != kvShared {
		v, found = store.get(c.plugin.name, kvShared, key)
	}
	if !found {
		stack[0] = result(-int32(abi.StatusNotFound))
		return
	}
	stack[0] = result(m.fill(uint32(stack[2]), uint32(stack[3]), []byte(v)))
}

// put is put(key, klen, val, vlen, ttl_ms) -> status.
func (g *guestKV) put(_ context.Context, c *call, m guestMemory, stack []uint64) {
	key, ok := g.key(c, m, stack)
	if !ok {
		return
	}
	b, ttl := m.view(uint32(stack[2]), uint32(stack[3])), int64(stack[4])
	to := c.writes()
	switch {
	case to == "":
		stack[0] = result(-int32(abi.StatusDenied))
		return
	case ttl < 0:
		stack[0] = result(-int32(abi.StatusInvalid))
		return
	}
	var expires time.Time
	if ttl > 0 {
		expires = time.Now().Add(time.Duration(min(ttl, int64(100*365*24*time.Hour/time.Millisecond))) * time.Millisecond)
	}
	if len(b) > maxValue || !c.plugin.runtime.kv.put(c.plugin.name, to, key, string(b), expires, g.quota) {
		c.plugin.log.line(slog.LevelWarn, "a kv value is over the quota", slog.String("export", c.export), slog.Int("bytes", len(b)), slog.Int64("quota", g.quota))
		stack[0] = result(-int32(abi.StatusTooLarge))
		return
	}
	c.private = c.private || to != kvShared
	stack[0] = 0
}

// del is del(key, klen) -> status. What is not there is deleted already.
func (g *guestKV) del(_ context.Context, c *call, m guestMemory, stack []uint64) {
	key, ok := g.key(c, m, stack)
	if !ok {
		return
	}
	to := c.writes()
	if to == "" {
		stack[0] = result(-int32(abi.StatusDenied))
		return
	}
	c.plugin.runtime.kv.del(c.plugin.name, to, key)
	stack[0] = 0
}
