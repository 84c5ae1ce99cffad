package meter

// Instructions of the bulk helpers alone.
const (
	opI32GtU        = 0x4b
	opI32LeU        = 0x4d
	opI64LeU        = 0x58
	opI32And        = 0x71
	opI64Add        = 0x7c
	opI64Shl        = 0x86
	opI64ExtendI32U = 0xad
)

// The parameters of memory.fill and memory.copy.
const (
	bulkTo = iota
	bulkFrom
	bulkLen
	bulkValue = bulkFrom // of memory.fill
)

// bulkBody stands before a memory.fill or memory.copy and has its three
// operands: it charges for the length and hands them on. What is longer than a
// chunk goes through long first, which does the most of it and hands back the
// rest. It is apart so that short ones, by far the most, stay fast.
func (h *helpers) bulkBody(long uint32) []byte {
	b := appendS64([]byte{opLocalGet, bulkLen, opI32Const}, chunk)
	b = append(b, opI32GtU, opIf, typeVoid, opLocalGet, bulkTo, opLocalGet, bulkFrom, opLocalGet, bulkLen, opCall)
	b = appendU32(b, h.first+long)
	b = append(b, opLocalSet, bulkLen, opLocalSet, bulkFrom, opLocalSet, bulkTo, opEnd)
	b = appendU32(append(b, opGlobalGet), h.fuel)
	b = append(b, opLocalGet, bulkLen, opI32Const, bytesPerUnit, opI32ShrU)
	return appendOperands(h.refuelIfBelowZero(h.taken(b, h.fuel)))
}

func appendOperands(b []byte) []byte {
	return append(b, opLocalGet, bulkTo, opLocalGet, bulkFrom, opLocalGet, bulkLen)
}

// fillBody is memory.fill(to, value, len), charged, a chunk at a time as long
// as more than one is left. What does not lie within the memory is left to the
// instruction as it is, which traps before it writes.
func (h *helpers) fillBody() []byte {
	b := appendWithin(appendWhileLong(nil), bulkTo)
	b = append(b, opIf, typeVoid)
	b = h.appendChargeChunk(b)
	b = appendS64(append(b, opLocalGet, bulkTo, opLocalGet, bulkValue, opI32Const), chunk)
	b = append(b, opMiscPrefix, miscMemoryFill, 0)
	b = appendStep(b, bulkTo, opI32Add)
	return appendOperands(appendAgain(b))
}

// copyBody is memory.copy(to, from, len), likewise: from the front when the
// destination is the lower one, else from the back, so that no chunk
// overwrites what a later one reads.
func (h *helpers) copyBody() []byte {
	b := appendWithin(appendWhileLong(nil), bulkTo)
	b = append(appendWithin(b, bulkFrom), opI32And, opIf, typeVoid)
	b = h.appendChargeChunk(b)
	b = append(b, opLocalGet, bulkTo, opLocalGet, bulkFrom, opI32LeU, opIf, typeVoid)
	b = appendS64(append(b, opLocalGet, bulkTo, opLocalGet, bulkFrom, opI32Const), chunk)
	b = append(b, opMiscPrefix, miscMemoryCopy, 0, 0)
	b = appendStep(appendStep(b, bulkTo, opI32Add), bulkFrom, opI32Add)
	b = append(b, opElse)
	for _, p := range [2]byte{bulkTo, bulkFrom} { // p + len - chunk
		b = append(b, opLocalGet, p, opLocalGet, bulkLen, opI32Add, opI32Const)
		b = append(appendS64(b, chunk), opI32Sub)
	}
	b = append(appendS64(append(b, opI32Const), chunk), opMiscPrefix, miscMemoryCopy, 0, 0, opEnd)
	return appendOperands(appendAgain(b))
}

// appendWhileLong opens "loop { if len > chunk {".
func appendWhileLong(b []byte) []byte {
	b = append(b, opLoop, typeVoid, opLocalGet, bulkLen, opI32Const)
	return append(appendS64(b, chunk), opI32GtU, opIf, typeVoid)
}

// appendWithin puts on the stack whether the len bytes at parameter p lie
// within the memory.
func appendWithin(b []byte, p byte) []byte {
	b = append(b, opLocalGet, p, opI64ExtendI32U, opLocalGet, bulkLen, opI64ExtendI32U, opI64Add)
	return append(b, opMemorySize, 0, opI64ExtendI32U, opI64Const, 16, opI64Shl, opI64LeU)
}

func (h *helpers) appendChargeChunk(b []byte) []byte {
	b = appendS64(append(b, opI32Const), chunk)
	return append(appendU32(append(b, opCall), h.first+helpBytes), opDrop)
}

// appendStep moves parameter p by a chunk.
func appendStep(b []byte, p, op byte) []byte {
	b = appendS64(append(b, opLocalGet, p, opI32Const), chunk)
	return append(b, op, opLocalSet, p)
}

// appendAgain ends an inner if and what appendWhileLong opened, going back to
// the loop from the inner one.
func appendAgain(b []byte) []byte {
	b = appendStep(b, bulkLen, opI32Sub)
	return append(b, opBr, 2, opEnd, opEnd, opEnd)
}
