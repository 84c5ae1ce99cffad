//go:build linux && (amd64 || arm64)

package wasmplugin

import (
	"os"

	"golang.org/x/sys/unix"
)

// reserve makes room for size bytes: all of the limit at once, as address space only.
func (m *memory) reserve(uint64) bool {
	if m.all != nil {
		return true
	}
	b, err := unix.Mmap(-1, 0, int(max(m.limit, pageSize)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return false
	}
	// A huge page would make 2 MiB of the first byte that is touched. Where the system has none, so much the better.
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	m.all = b
	return true
}

// release gives the reservation back to the system.
func (m *memory) release() {
	if m.all != nil {
		// It fails for a slice that was not mapped, and this one was.
		_ = unix.Munmap(m.all)
	}
}

// clearedByHand is up to how many bytes are cleared by writing zeroes: beyond, the system drops the pages, and the next
// call pays for having them again.
const clearedByHand = 4 << 20

// zero clears the memory from an offset on.
func (m *memory) zero(from uint64) {
	b := m.bytes()
	page := uint64(os.Getpagesize())
	whole := (from + page - 1) &^ (page - 1)
	if m.size < whole+clearedByHand {
		clear(b[from:])
		return
	}
	clear(b[from:whole])
	if unix.Madvise(b[whole:], unix.MADV_DONTNEED) != nil {
		clear(b[whole:])
	}
}
