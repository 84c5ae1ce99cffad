package meter

// miscNames are for errors and reports; it is never written to.
var miscNames = [...]string{
	miscMemoryInit: "memory.init", miscDataDrop: "data.drop", miscMemoryCopy: "memory.copy", miscMemoryFill: "memory.fill",
	miscTableInit: "table.init", miscElemDrop: "elem.drop", miscTableCopy: "table.copy", miscTableGrow: "table.grow",
	miscTableSize: "table.size", miscTableFill: "table.fill",
}

// misc is the instructions after opMiscPrefix: saturating conversions, bulk
// memory and table operations. Those with a length have it on top of the
// stack; a helper charges for it before they run. length is what the
// instruction before pushed, if that was a constant, else -1.
func (f *funcPass) misc(length int64) {
	sub := f.r.u32()
	if !f.r.ok() {
		return
	}
	if sub < uint32(len(saturating)) {
		f.out = append(f.out, opMiscPrefix, byte(sub))
		f.plain(&saturating[sub])
		return
	}
	if sub >= uint32(len(miscNames)) {
		f.r.fail(f.at, "unknown instruction 0xfc %#x", sub)
		return
	}
	f.op = miscNames[sub]
	f.weigh(weightBulk)
	if sub >= miscTableInit || sub == miscDataDrop {
		if sub != miscTableSize {
			f.m.needFresh(f.op, f.at)
		}
	}
	switch sub {
	case miscMemoryInit, miscMemoryCopy, miscMemoryFill:
		f.bulkMemory(byte(sub), length)
	case miscDataDrop:
		f.out = appendU32(append(f.out, opMiscPrefix, byte(sub)), f.dataIndex())
	case miscElemDrop:
		f.out = appendU32(append(f.out, opMiscPrefix, byte(sub)), f.elemIndex())
	default:
		f.tableOp(byte(sub))
	}
}

func (f *funcPass) bulkMemory(sub byte, length int64) {
	f.needMemory()
	var tail []byte
	switch sub {
	case miscMemoryInit:
		tail = appendU32(nil, f.dataIndex())
	case miscMemoryCopy:
		f.zero("memory index")
		tail = []byte{0}
	}
	f.zero("memory index")
	f.popAll("iii")
	switch {
	case length >= 0 && length <= shortBulk:
		f.weigh(int(length >> bytesPerUnit))
	case sub == miscMemoryFill:
		f.callHelper(helpFill)
	case sub == miscMemoryCopy:
		f.callHelper(helpCopy)
	default:
		f.callHelper(helpBytes)
	}
	f.out = append(append(append(f.out, opMiscPrefix, sub), tail...), 0)
}

func (f *funcPass) tableOp(sub byte) {
	var elem valType
	prefix := [...]byte{opMiscPrefix, sub}
	var tail []byte
	switch sub {
	case miscTableInit:
		seg := f.elemIndex()
		if f.r.ok() {
			elem = f.m.elemTypes[seg]
		}
		tail = appendU32(nil, seg)
	case miscTableCopy:
		// The destination comes first; the source is read below.
		dst := f.m.tableIndex(&f.r)
		if f.r.ok() {
			elem = f.m.tables[dst].typ
		}
		tail = appendU32(nil, dst)
	}
	tab := f.m.tableIndex(&f.r)
	if !f.r.ok() {
		return
	}
	t := f.m.tables[tab].typ
	if elem != 0 && elem != t {
		f.fail("%s and %s", elem, t)
	}
	switch sub {
	case miscTableInit, miscTableCopy, miscTableFill:
		f.callHelper(helpItems)
	case miscTableGrow:
		f.callHelper(helpGrow)
	}
	f.out = append(append(f.out, prefix[:]...), tail...)
	f.out = appendU32(f.out, tab)
	switch sub {
	case miscTableInit, miscTableCopy:
		f.popAll("iii")
	case miscTableGrow:
		f.pop(i32)
		f.pop(t)
		f.push(i32)
	case miscTableSize:
		f.push(i32)
	case miscTableFill:
		f.pop(i32)
		f.pop(t)
		f.pop(i32)
	}
}

func (f *funcPass) dataIndex() uint32 {
	start := f.r.pos
	i := f.r.u32()
	if f.r.ok() && int64(i) >= int64(f.m.dataCount) {
		f.r.fail(start, "data index %d of %d counted segments", i, max(f.m.dataCount, 0))
		return 0
	}
	return i
}

func (f *funcPass) elemIndex() uint32 {
	start := f.r.pos
	i := f.r.u32()
	if f.r.ok() && int64(i) >= int64(len(f.m.elemTypes)) {
		f.r.fail(start, "element index %d of %d segments", i, len(f.m.elemTypes))
		return 0
	}
	return i
}
