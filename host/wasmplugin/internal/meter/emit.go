package meter

// segment bounds what one charge pays for: code that goes on is charged again.
// Together with Slice it keeps the time between two yields short whatever the
// length of a straight line.
const segment = 10_000

// leafReserve is the part of a call's stack that is kept for one function that
// calls none: if its frame is at most half of it (the other half is for the
// helpers below), it does not count itself.
const leafReserve = 1 << 10

// Charges for bulk operations: weightBulk each, and a unit for eight bytes. A
// fill or copy of a constant length up to shortBulk is charged with the code
// around it; a long one is cut into chunks, so that it can be interrupted.
const (
	weightBulk   = 10
	bytesPerUnit = 3  // as a shift
	pageUnits    = 13 // of one page, as a shift
	shortBulk    = 4 << 10
	chunk        = 512 << 10
)

// The functions that the pass adds, in the order of their indexes.
const (
	helpRefuel   = iota // () -> ()
	helpEnter           // () -> (): a counter is below zero at a function's entry
	helpBytes           // (n) -> n: charge for bytes of memory
	helpPages           // memory.grow
	helpItems           // (n) -> n: charge for a table operation
	helpGrow            // (n) -> n: charge for table.grow
	helpFill            // (to, value, len) -> the same: charge for memory.fill
	helpCopy            // (to, from, len) -> the same: charge for memory.copy
	helpLongFill        // all but the last part of a long one
	helpLongCopy
	helpCount
)

// helpers are the indexes of what the pass adds, in the result.
type helpers struct {
	fuel, stack uint32 // globals
	pages       uint32 // global, in a module with a memory
	yield       uint32 // function
	first       uint32 // function: helpRefuel
	types       []funcType
	typeCharge  uint32 // type (i32) -> i32
	typeVoid    uint32 // type () -> ()
	typeBulk    uint32 // type (i32, i32, i32) -> (i32, i32, i32)
}

// addWrapTypes settles the indexes of everything that is added, and adds a
// type for every list of results that a block has to carry out of a body.
func (m *module) addWrapTypes() {
	h := &m.helpers
	h.fuel = uint32(len(m.globals))
	h.stack, h.pages = h.fuel+1, h.fuel+2
	h.yield = uint32(len(m.imports))
	h.first = uint32(len(m.funcs) + 1)
	h.types = []funcType{{params: "i", results: "i"}, {}, {params: "iii", results: "iii"}}
	h.typeCharge = uint32(len(m.types))
	h.typeVoid, h.typeBulk = h.typeCharge+1, h.typeCharge+2
	m.wrapTypes = make(map[string]uint32)
	for i, t := range m.types {
		if t.params == "" && len(t.results) > 1 {
			m.wrapTypes[t.results] = uint32(i)
		}
	}
	for _, i := range m.funcs[len(m.imports):] {
		r := m.types[i].results
		if _, ok := m.wrapTypes[r]; len(r) > 1 && !ok {
			m.wrapTypes[r] = uint32(len(m.types) + len(h.types))
			h.types = append(h.types, funcType{results: r})
		}
	}
}

// wrapType is the type of the block around a body.
func (m *module) wrapType(b []byte, results string) []byte {
	switch len(results) {
	case 0:
		return append(b, typeVoid)
	case 1:
		return append(b, valType(results[0]).encode())
	}
	return appendS64(b, int64(m.wrapTypes[results]))
}

// callHelper writes a call of a helper that takes the value on top of the
// stack and leaves it there.
func (f *funcPass) callHelper(helper uint32) {
	f.out = appendU32(append(f.out, opCall), f.m.helpers.first+helper)
}

// writeCharge writes a charge whose weight is filled in later and returns its
// index.
func (f *funcPass) writeCharge() int {
	h := &f.m.helpers
	b := h.take(f.out, h.fuel)
	f.charges = append(f.charges, charge{weight: 1, at: len(b)})
	b = append(b, 0, 0, 0)
	b = h.taken(b, h.fuel)
	f.out = h.refuelIfBelowZero(b)
	return len(f.charges) - 1
}

// take starts "global -= constant"; the constant follows.
func (h *helpers) take(b []byte, global uint32) []byte {
	return append(appendU32(append(b, opGlobalGet), global), opI32Const)
}

// taken ends what take started.
func (h *helpers) taken(b []byte, global uint32) []byte {
	return appendU32(append(b, opI32Sub, opGlobalSet), global)
}

// refuelIfBelowZero writes "if fuel < 0 { refuel() }".
func (h *helpers) refuelIfBelowZero(b []byte) []byte {
	b = appendU32(append(b, opGlobalGet), h.fuel)
	b = append(b, opI32Const, 0, opI32LtS, opIf, typeVoid, opCall)
	return append(appendU32(b, h.first+helpRefuel), opEnd)
}

// padded writes a constant in the three bytes that writeCharge left for it.
func padded(b []byte, v int) {
	b[0], b[1], b[2] = byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14)&0x3f
}

// write appends the finished body to the module's code.
func (f *funcPass) write() {
	m := f.m
	for _, c := range f.charges[1:] {
		padded(f.out[c.at:], c.weight)
	}
	m.stats.Functions++
	m.stats.Charges += len(f.charges)
	cost := f.frame()
	leaf := !f.calls && cost <= leafReserve/2
	var buf [128]byte
	head, tail := f.prologue(buf[:0:64], cost, leaf), []byte(nil)
	if leaf {
		m.stats.Leaves++
	} else {
		tail = m.helpers.giveBack(buf[64:64:128], cost)
	}
	m.code = appendU32(m.code, uint32(len(f.head)+len(head)+len(f.out)+len(tail)))
	m.code = append(append(append(append(m.code, f.head...), head...), f.out...), tail...)
}

// prologue takes stack and fuel, checks both at once, and opens the block that
// all ways out of the body lead to the end of: it stands where the function's
// own label stood, so that branches keep their indexes.
func (f *funcPass) prologue(b []byte, cost int64, leaf bool) []byte {
	h, weight := &f.m.helpers, int64(f.charges[0].weight)
	if leaf {
		b = h.taken(appendS64(h.take(b, h.fuel), weight), h.fuel)
		return h.refuelIfBelowZero(b)
	}
	b = h.taken(appendS64(h.take(b, h.stack), cost), h.stack)
	b = h.taken(appendS64(h.take(b, h.fuel), weight), h.fuel)
	b = appendU32(append(b, opGlobalGet), h.stack)
	b = appendU32(append(b, opGlobalGet), h.fuel)
	b = append(b, opI32Or, opI32Const, 0, opI32LtS, opIf, typeVoid, opCall)
	b = append(appendU32(b, h.first+helpEnter), opEnd, opBlock)
	return f.m.wrapType(b, f.typ.results)
}

func (h *helpers) giveBack(b []byte, cost int64) []byte {
	b = appendS64(h.take(b, h.stack), cost)
	return append(appendU32(append(b, opI32Add, opGlobalSet), h.stack), opEnd)
}

// helperBodies are the bodies of the added functions, without locals and the
// last end.
func (m *module) helperBodies() [helpCount][]byte {
	h := &m.helpers
	var b [helpCount][]byte

	refuel := appendU32([]byte{opGlobalGet}, h.fuel)
	refuel = appendU32(append(refuel, opCall), h.yield)
	b[helpRefuel] = appendU32(append(refuel, opGlobalSet), h.fuel)

	enter := appendU32([]byte{opGlobalGet}, h.stack)
	enter = append(enter, opI32Const, 0, opI32LtS, opIf, typeVoid, opUnreachable, opEnd, opCall)
	b[helpEnter] = appendU32(enter, h.first+helpRefuel)

	b[helpBytes] = h.chargeBody([]byte{opLocalGet, 0, opI32Const, bytesPerUnit, opI32ShrU})

	// A unit for an element; what is longer than any table traps.
	b[helpItems] = h.chargeBody(appendAtMost(nil, 1<<17))
	grow := appendS64(append(appendAtMost(nil, 1<<17), opI32Const), 1<<17)
	b[helpGrow] = h.chargeBody(append(grow, opI32Add))
	for i := range b {
		if b[i] == nil { // in a module without a memory nothing calls it
			b[i] = []byte{opUnreachable}
		}
	}
	if m.memory != nil {
		b[helpPages], b[helpFill], b[helpCopy] = h.growBody(), h.bulkBody(helpLongFill), h.bulkBody(helpLongCopy)
		b[helpLongFill], b[helpLongCopy] = h.fillBody(), h.copyBody()
	}
	return b
}

// appendAtMost puts the lesser of local 0 and limit, unsigned, on the stack.
func appendAtMost(b []byte, limit int64) []byte {
	b = appendS64(append(b, opLocalGet, 0, opI32Const), limit)
	b = appendS64(append(b, opLocalGet, 0, opI32Const), limit)
	return append(b, opI32LtU, opSelect)
}

// chargeBody takes from the fuel what units puts on the stack and returns
// local 0. No charge is greater than 2^30, and fuel never less than -2^30
// before one, so nothing wraps round.
func (h *helpers) chargeBody(units []byte) []byte {
	b := appendU32([]byte{opGlobalGet}, h.fuel)
	b = h.taken(append(b, units...), h.fuel)
	return append(h.refuelIfBelowZero(b), opLocalGet, 0)
}
