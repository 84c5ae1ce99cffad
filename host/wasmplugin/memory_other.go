//go:build !linux || !(amd64 || arm64)

package wasmplugin

// reserve makes room for size bytes. It doubles what there is, so that growing page by page copies little.
func (m *memory) reserve(size uint64) bool {
	if m.all != nil && size <= uint64(len(m.all)) {
		return true
	}
	all := make([]byte, min(m.limit, max(size, 2*uint64(len(m.all)))))
	copy(all, m.all[:m.size])
	m.all = all
	return true
}

// release leaves the bytes to the collector.
func (m *memory) release() {}

// zero clears the memory from an offset on.
func (m *memory) zero(from uint64) { clear(m.bytes()[from:]) }

// startImage is for systems that can map memory; here it is always nil.
type startImage struct{ size uint64 }

func newStartImage([]byte) *startImage   { return nil }
func (s *startImage) close()             {}
func (m *memory) begin(*startImage) bool { return false }
func (m *memory) again() bool            { return false }
