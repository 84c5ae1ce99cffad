package reshosttest

import "github.com/reshost/reshost/abi"

const (
	maxKey   = 512
	maxValue = 1 << 20
)

// store serves the kv capability. Nothing expires in it.
type store struct {
	// values by partition and key; that of polls is "".
	values map[[2]string][]byte
	used   int
}

// partition is where the call that runs writes; false where it may not.
func (h *host) partition() (string, bool) {
	switch h.export {
	case abi.ExportPoll:
		return "", true
	case abi.ExportRead, abi.ExportList, abi.ExportComplete:
		return "caller " + h.caller.Issuer + "\x00" + h.caller.Subject + "\x00" + h.caller.Tenant, true
	}
	return "", false
}

// kvKey says what is wrong with a call; 0: nothing.
func (h *host) kvKey(key string) abi.Status {
	switch {
	case h.opts.KVQuota == 0 || h.export == abi.ExportInit:
		return abi.StatusDenied
	case key == "" || len(key) > maxKey:
		return abi.StatusInvalid
	}
	return 0
}

// KVGet answers get.
func (h *host) KVGet(key string, buf []byte) int {
	if s := h.kvKey(key); s != 0 {
		return -int(s)
	}
	own, _ := h.partition()
	v, ok := h.kv.values[[2]string{own, key}]
	if !ok {
		v, ok = h.kv.values[[2]string{"", key}]
	}
	if !ok {
		return -int(abi.StatusNotFound)
	}
	return fill(buf, v)
}

// KVPut answers put.
func (h *host) KVPut(key string, value []byte, ttlMillis int64) int {
	if s := h.kvKey(key); s != 0 {
		return -int(s)
	}
	own, ok := h.partition()
	at := [2]string{own, key}
	size := h.kv.used + len(value)
	if old, ok := h.kv.values[at]; ok {
		size -= len(old)
	} else {
		size += len(key)
	}
	switch {
	case !ok:
		return -int(abi.StatusDenied)
	case ttlMillis < 0:
		return -int(abi.StatusInvalid)
	case len(value) > maxValue || size > h.opts.KVQuota:
		return -int(abi.StatusTooLarge)
	}
	if h.kv.values == nil {
		h.kv.values = make(map[[2]string][]byte)
	}
	h.kv.values[at], h.kv.used = append([]byte(nil), value...), size
	return 0
}

// KVDel answers del.
func (h *host) KVDel(key string) int {
	if s := h.kvKey(key); s != 0 {
		return -int(s)
	}
	own, ok := h.partition()
	if !ok {
		return -int(abi.StatusDenied)
	}
	at := [2]string{own, key}
	if old, ok := h.kv.values[at]; ok {
		h.kv.used -= len(old) + len(key)
		delete(h.kv.values, at)
	}
	return 0
}
