package wasmplugin

const pageSize = 64 << 10

// memory is one instance's linear memory: at most limit bytes, all of them counted. It is the engine's
// experimental.LinearMemory. Where the system allows, room for the limit is reserved at once, and the system provides what
// is touched: growth then moves nothing, so that it takes no time which nobody could interrupt.
//
//	0                     size                 limit
//	|======================|---------------------|
//	      the engine's          reserved
//
// It belongs to its instance: the engine's Free says nothing, drop ends it.
type memory struct {
	limit  uint64
	budget *budget

	all  []byte // what is reserved
	size uint64 // what the engine has; the engine never gives any back
	// refused says that growth met the instance's limit, or the budget.
	refused bool
	// start is the file mapping that the memory begins with; see snapshot. nil: none.
	start   *startImage
	entries []byte // room for what the system says about the pages
}

// Reallocate grows the memory to size bytes, or returns nil where the limit or the budget forbids it. It may have more
// already: an instance begins with the memory that its first one had after its start.
func (m *memory) Reallocate(size uint64) []byte {
	if size > m.limit {
		m.refused = true
		return nil
	}
	if size > m.size || m.all == nil {
		more := int64(size - m.size)
		if !m.budget.take(more) {
			m.refused = true
			return nil
		}
		if !m.reserve(size) {
			m.budget.give(more)
			m.refused = true
			return nil
		}
		m.size = size
	}
	return m.bytes()
}

// bytes are what the engine has.
func (m *memory) bytes() []byte { return m.all[:m.size:m.size] }

// Free does nothing: the engine calls it when it closes a module, which may be while the guest still runs.
func (m *memory) Free() {}

// drop gives the bytes back. Nothing may run in the memory any more.
func (m *memory) drop() {
	m.budget.give(int64(m.size))
	m.release()
	m.all, m.size, m.start, m.entries = nil, 0, nil, nil
}
