package reshost

// KV keeps values across calls and reloads, up to the operator's quota. It needs [CapabilityKV].
//
// What [Plugin.Poll] puts, every caller gets and none changes. What another call puts, only calls for the same caller get, before
// what a poll put. A key is 1 to 512 bytes, a value at most 1 MiB.
//
// Methods fail with an [*Error]: [CodeNotFound], [CodeDenied] (not granted, or in Describe), [CodeInvalid] (the key),
// [CodeTooLarge] (the value, or the quota).
type KV struct{ in *Instance }

// Get returns a value.
func (kv KV) Get(key string) ([]byte, error) {
	buf := kv.in.buffer()
	n := kv.in.h.kvGet(key, buf)
	for n > len(buf) { // it may have grown since
		buf = make([]byte, n)
		n = kv.in.h.kvGet(key, buf)
	}
	if n < 0 {
		return nil, fsError("kv get", key, n)
	}
	return append([]byte(nil), buf[:n]...), nil
}

// Put keeps a value for so long; 0 milliseconds: it does not expire.
func (kv KV) Put(key string, value []byte, ttlMillis int64) error {
	if n := kv.in.h.kvPut(key, value, ttlMillis); n < 0 {
		return fsError("kv put", key, n)
	}
	return nil
}

// Delete removes a value. What is not there is no error.
func (kv KV) Delete(key string) error {
	if n := kv.in.h.kvDel(key); n < 0 {
		return fsError("kv del", key, n)
	}
	return nil
}
