//go:build linux && (amd64 || arm64)

package wasmplugin

import (
	"encoding/binary"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// startImage is a file in memory, without a name, that holds what instances begin with. Each maps it privately: pages
// are shared until they are written to. Putting a memory back means to ask the system which pages are the instance's own,
// and to write those few again.
type startImage struct {
	file *os.File
	size uint64 // whole pages
	// bytes is the image, to copy from.
	bytes []byte
	// pages is the system's page table of this process.
	pages *os.File
}

// imageFrom is from how many bytes on an image pays: below, copying everything is as fast as asking.
const imageFrom = 512 << 10

// mostOwn is how many pages an instance may have of its own and still have them written again. Beyond, all are dropped.
const mostOwn = 512

// Bits of an entry of /proc/self/pagemap (admin-guide/mm/pagemap of the kernel's documentation).
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// newStartImage returns an image of b, or nil where the system has no means for it.
func newStartImage(b []byte) *startImage {
	if len(b) < imageFrom {
		return nil
	}
	fd, err := unix.MemfdCreate("reshost-start", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil
	}
	s := &startImage{file: os.NewFile(uintptr(fd), "reshost-start"), size: (uint64(len(b)) + pageSize - 1) &^ (pageSize - 1)}
	if s.fill(b) != nil || !s.tells() {
		s.close()
		return nil
	}
	return s
}

func (s *startImage) fill(b []byte) error {
	if _, err := s.file.Write(b); err != nil {
		return err
	}
	if err := s.file.Truncate(int64(s.size)); err != nil {
		return err
	}
	_, err := unix.FcntlInt(s.file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	if err != nil {
		return err
	}
	if s.bytes, err = unix.Mmap(int(s.file.Fd()), 0, int(s.size), unix.PROT_READ, unix.MAP_PRIVATE); err != nil {
		return err
	}
	s.pages, err = os.Open("/proc/self/pagemap")
	return err
}

// tells tries whether the system says which pages were written to: nothing less may be relied on.
func (s *startImage) tells() bool {
	b, err := unix.Mmap(int(s.file.Fd()), 0, int(s.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	defer unix.Munmap(b)
	page := os.Getpagesize()
	b[0]++
	read := b[page] == s.bytes[page]
	entries := make([]byte, 8*len(b)/page)
	return read && s.ask(b, entries) == nil && own(entries, 0) && !own(entries, 1) && !own(entries, 2)
}

// ask fills entries with what the system says about the pages of b.
func (s *startImage) ask(b, entries []byte) error {
	at := int64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) / int64(os.Getpagesize())
	_, err := s.pages.ReadAt(entries, 8*at)
	return err
}

// own reports whether a page is neither the file's nor untouched.
func own(entries []byte, page int) bool {
	e := binary.LittleEndian.Uint64(entries[8*page:])
	return e&(pagePresent|pageSwapped) != 0 && e&pageOfFile == 0
}

func (s *startImage) close() {
	if s == nil {
		return
	}
	s.file.Close()
	if s.pages != nil {
		s.pages.Close()
	}
	if s.bytes != nil {
		_ = unix.Munmap(s.bytes)
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

// again puts a memory that began with an image back to its beginning: the image's pages as they were, those above zero.
func (m *memory) again() bool {
	if m.start == nil {
		return false
	}
	b, page := m.bytes(), os.Getpagesize()
	if need := 8 * len(b) / page; len(m.entries) != need {
		m.entries = make([]byte, need)
	}
	if m.start.ask(b, m.entries) != nil {
		return false
	}
	n := 0
	for i := range len(b) / page {
		if own(m.entries, i) {
			n++
		}
	}
	if n > mostOwn {
		return unix.Madvise(b, unix.MADV_DONTNEED) == nil
	}
	for i := range len(b) / page {
		switch at := i * page; {
		case !own(m.entries, i):
		case at < len(m.start.bytes):
			copy(b[at:at+page], m.start.bytes[at:])
		default:
			clear(b[at : at+page])
		}
	}
	return true
}
