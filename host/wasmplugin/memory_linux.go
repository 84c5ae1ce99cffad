//go:build linux && (amd64 || arm64)

package wasmplugin

import (
	"os"
	"unsafe"

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

// clearedByCopy is up to how many bytes are cleared by writing zeroes: beyond, it is cheaper to have the system drop
// the pages.
const clearedByCopy = 64 << 10

// zero clears the memory from an offset on, and gives what stands there back to the system.
func (m *memory) zero(from uint64) {
	b := m.bytes()
	page := uint64(os.Getpagesize())
	whole := (from + page - 1) &^ (page - 1)
	if m.size < whole+clearedByCopy {
		clear(b[from:])
		return
	}
	clear(b[from:whole])
	if unix.Madvise(b[whole:], unix.MADV_DONTNEED) != nil {
		clear(b[whole:])
	}
}

// startImage is a file in memory, without a name, that holds what instances begin with. Each maps it privately: pages
// are shared until they are written to, and putting the memory back means dropping those that were.
type startImage struct {
	file *os.File
	size uint64 // whole pages
}

// imageFrom is from how many bytes on an image pays: below, copying is faster than the faults of the first touch.
const imageFrom = 512 << 10

// newStartImage returns an image of b, or nil where the system refuses.
func newStartImage(b []byte) *startImage {
	if len(b) < imageFrom {
		return nil
	}
	fd, err := unix.MemfdCreate("reshost-start", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), "reshost-start")
	size := (uint64(len(b)) + pageSize - 1) &^ (pageSize - 1)
	if _, err = f.Write(b); err == nil {
		err = f.Truncate(int64(size))
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	}
	if err != nil {
		f.Close()
		return nil
	}
	return &startImage{file: f, size: size}
}

func (s *startImage) close() {
	if s != nil {
		s.file.Close()
	}
}

// begin maps the image over the memory's beginning.
func (m *memory) begin(s *startImage) bool {
	if s == nil || s.size > m.size {
		return false
	}
	_, err := unix.MmapPtr(int(s.file.Fd()), 0, unsafe.Pointer(unsafe.SliceData(m.all)), uintptr(s.size),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_NORESERVE)
	if err != nil {
		return false
	}
	m.start = s
	return true
}

// again puts a memory that began with an image back to its beginning.
func (m *memory) again() bool {
	return m.start != nil && unix.Madvise(m.bytes(), unix.MADV_DONTNEED) == nil
}
