package host

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/reshost/reshost/host/cache"
	"github.com/reshost/reshost/host/provider"
)

// Kinds of questions, so that no two share a key.
const (
	askRead     = 'r'
	askList     = 'l'
	askComplete = 'c'
)

// keyParts is what an answer in the cache depends on, beside who asks.
type keyParts struct {
	kind byte
	view *view
	// texts are all parts of the question in the order of its kind.
	texts []string
	// meta is what the provider gets of the request's `_meta`.
	meta provider.JSON
}

// cacheKeys are the two places where an answer can be.
type cacheKeys struct {
	// private is that of the caller's partition, public that of everybody; zero where nothing can be public.
	private, public cache.Key
	mayShare        bool
}

// keysOf returns the keys of a question. It fails where the policy does not say which rules hold: nothing may be shared then.
func (h *Host) keysOf(c *caller, q *keyParts, mayShare bool) (k cacheKeys, err error) {
	var room [512]byte
	b := append(room[:0], h.keySalt[:]...)
	b = binary.BigEndian.AppendUint64(append(b, q.kind), q.view.gen)
	b = binary.AppendUvarint(b, uint64(len(q.texts)))
	for _, s := range q.texts {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	b = append(binary.AppendUvarint(b, uint64(len(q.meta))), q.meta...)
	if k.mayShare = mayShare; mayShare {
		k.public = sha256.Sum256(append(b, partitionPublic))
	}
	if b, err = h.appendPartition(append(b, partitionPrivate), c, q.view); err != nil {
		return k, err
	}
	k.private = sha256.Sum256(b)
	return k, nil
}

const (
	partitionPublic  = '*'
	partitionPrivate = '1'
)

// appendPartition appends whom a private answer is for: the principal and, where they may have had a part in it, its claims and the
// rules as they are. Nothing of it is a token's text.
func (h *Host) appendPartition(b []byte, c *caller, v *view) ([]byte, error) {
	b = c.principal.AppendPartition(b)
	if h.opts.Policy == nil && !v.info.SeesCaller {
		return append(b, 0), nil
	}
	claims := c.principal.Claims
	b = append(binary.AppendUvarint(append(b, 1), uint64(len(claims))), claims...)
	rules, err := h.policyRevision()
	return append(b, rules...), err
}
