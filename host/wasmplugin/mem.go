package wasmplugin

import (
	"encoding/binary"
	"fmt"

	"github.com/tetratelabs/wazero/api"
)

// guestMemory is one guest's memory during one host call. Only this file reads and writes guest memory. Pointers and
// lengths are the guest's: each access checks them, and a range that is not the guest's ends the call.
//
//	0                         ptr          ptr+n            size
//	|-------------------------|=============|----------------|
//	                           view(ptr, n)
//
// A view is dead when the guest runs again: what is kept is copied before.
type guestMemory struct {
	mem  api.Memory
	call *call // pays for what is looked at
}

// trap ends the guest's call by panicking with itself: the engine unwinds the guest and returns it as an error.
type trap struct{ reason string }

func (t *trap) Error() string { return t.reason }

// view returns n bytes at ptr as they stand in the guest.
func (m guestMemory) view(ptr, n uint32) []byte {
	b, ok := m.mem.Read(ptr, n)
	if !ok {
		panic(&trap{fmt.Sprintf("pointer out of range: %d bytes at %#x of %#x", n, ptr, m.mem.Size())})
	}
	m.call.charge(len(b))
	return b
}

// maxPath bounds a path or pointer that a guest hands over, in bytes.
const maxPath = 8 << 10

// path copies a path of n bytes at ptr. It reports false for one that is too long.
func (m guestMemory) path(ptr, n uint32) (string, bool) {
	b := m.view(ptr, n)
	if len(b) > maxPath {
		return "", false
	}
	return string(b), true
}

// fill copies b to ptr if the guest's buffer of size n holds it, and returns its length.
func (m guestMemory) fill(ptr, n uint32, b []byte) int32 {
	if uint64(len(b)) <= uint64(n) {
		copy(m.view(ptr, uint32(len(b))), b)
	}
	return int32(len(b))
}

func (m guestMemory) putUint32(ptr, v uint32) { binary.LittleEndian.PutUint32(m.view(ptr, 4), v) }
func (m guestMemory) putUint64(ptr uint32, v uint64) {
	binary.LittleEndian.PutUint64(m.view(ptr, 8), v)
}
func (m guestMemory) uint32(ptr uint32) uint32 { return binary.LittleEndian.Uint32(m.view(ptr, 4)) }
