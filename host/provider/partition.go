package provider

import (
	"encoding/binary"
	"slices"
)

// AppendPartition appends what tells p's share of anything kept per caller from that of everybody else: issuer, subject, tenant,
// groups and scopes, of which order and repetition do not count. Two principals that differ in any of them never get the same
// bytes, and nothing is followed by what could be read as part of it; the anonymous principal, nil too, has bytes of its own.
func (p *Principal) AppendPartition(dst []byte) []byte {
	if p == nil {
		p = &Principal{}
	}
	if p.Anonymous() {
		dst = append(dst, 'a')
	} else {
		dst = append(dst, 'v')
	}
	for _, s := range [...]string{p.Issuer, p.Subject, p.Tenant} {
		dst = appendPart(dst, s)
	}
	return appendSet(appendSet(dst, p.Groups), p.Scopes)
}

func appendPart(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendSet appends strings as a set.
func appendSet(dst []byte, set []string) []byte {
	if !increasing(set) {
		set = slices.Compact(slices.Sorted(slices.Values(set)))
	}
	dst = binary.AppendUvarint(dst, uint64(len(set)))
	for _, s := range set {
		dst = appendPart(dst, s)
	}
	return dst
}

func increasing(set []string) bool {
	for i := 1; i < len(set); i++ {
		if set[i-1] >= set[i] {
			return false
		}
	}
	return true
}
