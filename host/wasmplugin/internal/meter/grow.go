package meter

// Instructions of the growth helper alone.
const (
	opI32Eq  = 0x46
	opI32GtS = 0x4a
)

// growBody is memory.grow(delta) over a size of the guest's own, the pages
// global, which memory.size reads too. The engine's memory cannot shrink; when
// a reset puts the global back and clears what lies above, the guest grows
// into the pages that are there before it asks the engine for more.
//
//	if delta > MaxPages { return -1 }
//	charge for memory.size + delta: the engine may copy what there is
//	if pages+delta > memory.size && memory.grow(pages+delta-memory.size) == -1 { return -1 }
//	pages += delta
//	return pages - delta
func (h *helpers) growBody() []byte {
	result := i32.encode()
	failed := []byte{opIf, result, opI32Const, 0x7f, opElse}
	missing := append(h.appendGrown(nil), opMemorySize, 0, opI32Sub)

	b := append(appendS64([]byte{opLocalGet, 0, opI32Const}, MaxPages), opI32GtU)
	b = append(b, failed...)
	b = appendU32(append(b, opGlobalGet), h.fuel)
	b = append(b, opMemorySize, 0, opLocalGet, 0, opI32Add, opI32Const, pageUnits, opI32Shl)
	b = h.refuelIfBelowZero(h.taken(b, h.fuel))
	b = append(append(b, missing...), opI32Const, 0, opI32GtS, opIf, result)
	b = append(append(b, missing...), opMemoryGrow, 0, opI32Const, 0x7f, opI32Eq)
	b = append(b, opElse, opI32Const, 0, opEnd)
	b = append(b, failed...)
	b = appendU32(append(h.appendGrown(b), opGlobalSet), h.pages)
	b = appendU32(append(b, opGlobalGet), h.pages)
	return append(b, opLocalGet, 0, opI32Sub, opEnd, opEnd)
}

// appendGrown puts pages + delta on the stack.
func (h *helpers) appendGrown(b []byte) []byte {
	return append(appendU32(append(b, opGlobalGet), h.pages), opLocalGet, 0, opI32Add)
}
