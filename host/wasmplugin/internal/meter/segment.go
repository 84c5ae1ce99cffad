package meter

// constExpr checks a constant expression of the wanted type and appends it,
// with function indexes shifted, to out. Imports are functions only, so no
// global can be read in one.
func (m *module) constExpr(r *reader, out []byte, want valType) []byte {
	start := r.pos
	op := r.byte()
	out = append(out, op)
	var have valType
	switch op {
	case opI32Const:
		have = i32
		out = appendS64(out, int64(r.s32()))
	case opI64Const:
		have = i64
		out = appendS64(out, r.s64())
	case opF32Const:
		have = f32
		out = append(out, r.bytes(4)...)
	case opF64Const:
		have = f64
		out = append(out, r.bytes(8)...)
	case opRefNull:
		have = readRefType(r)
		out = append(out, have.encode())
	case opRefFunc:
		have = funcref
		f := m.funcIndex(r)
		if r.ok() {
			m.declare(f)
		}
		out = appendU32(out, m.shift(f))
	case opVecPrefix:
		have = v128
		if sub := r.byte(); r.ok() && sub != opV128Const {
			r.fail(start, "vector instruction %#x in a constant expression", sub)
		}
		out = append(append(out, opV128Const), r.bytes(16)...)
	case opGlobalGet:
		r.fail(start, "a constant expression reads global %d, which is not imported", r.u32())
	default:
		r.fail(start, "instruction %#x in a constant expression", op)
	}
	if r.ok() && have != want {
		r.fail(start, "constant expression of type %s, wanted %s", have, want)
	}
	end := r.pos
	if b := r.byte(); r.ok() && b != opEnd {
		r.fail(end, "constant expression goes on after its value")
	}
	return append(out, opEnd)
}

// elementSection reads segments in all their eight forms and writes each in
// the form that it had.
func (m *module) elementSection(r *reader) {
	n := r.count("element segments", MaxElements, 2)
	for range n {
		m.element(r)
		if !r.ok() {
			return
		}
	}
}

// Bits of an element segment's flags.
const (
	elemPassive  = 1 // or declared
	elemExplicit = 2 // table index given; with elemPassive: declared
	elemExprs    = 4 // expressions in place of function indexes
)

func (m *module) element(r *reader) {
	start := r.pos
	flags := r.u32()
	if flags > 7 {
		r.fail(start, "element segment flags %#x", flags)
		return
	}
	out := appendU32(m.elements, flags)
	tab, tabAt := uint32(0), r.pos
	if flags&elemPassive == 0 {
		if flags&elemExplicit != 0 {
			tab = m.tableIndex(r)
			out = appendU32(out, tab)
		} else if len(m.tables) == 0 {
			r.fail(start, "element segment for table 0 of 0 tables")
		}
		out = m.constExpr(r, out, i32)
	}
	typ := funcref
	if flags&(elemPassive|elemExplicit) != 0 {
		if flags&elemExprs != 0 {
			typ = readRefType(r)
			out = append(out, typ.encode())
		} else {
			if b := r.byte(); b != 0 {
				r.fail(r.pos-1, "element kind %#x", b)
			}
			out = append(out, 0)
		}
	}
	if r.ok() && flags&elemPassive == 0 && m.tables[tab].typ != typ {
		r.fail(tabAt, "element segment of %s for a table of %s", typ, m.tables[tab].typ)
	}
	m.elements = m.elementItems(r, out, flags, typ)
	m.elemTypes = append(m.elemTypes, typ)
}

func (m *module) elementItems(r *reader, out []byte, flags uint32, typ valType) []byte {
	start := r.pos
	n := r.count("entries of an element segment", MaxElementItems, 1)
	if m.elemItems += n; m.elemItems > MaxElementItems {
		r.limit(start, "entries of all element segments", m.elemItems, MaxElementItems)
		return out
	}
	out = appendU32(out, uint32(n))
	for range n {
		if flags&elemExprs != 0 {
			out = m.constExpr(r, out, typ)
			continue
		}
		f := m.funcIndex(r)
		if r.ok() {
			m.declare(f)
		}
		out = appendU32(out, m.shift(f))
	}
	return out
}

func (m *module) dataSection(r *reader) {
	n := r.count("data segments", MaxData, 2)
	for m.datas = 0; m.datas < n && r.ok(); m.datas++ {
		start := r.pos
		flags := r.u32()
		switch flags {
		case 2:
			if at, i := r.pos, r.u32(); i != 0 {
				r.fail(at, "memory index %d of a data segment", i)
			}
			flags = 0 // the same, with memory 0 left out
			fallthrough
		case 0:
			if m.memory == nil {
				r.fail(start, "data segment for memory 0 of 0 memories")
			}
			m.data = m.constExpr(r, append(m.data, 0), i32)
		case 1:
			m.data = append(m.data, 1)
		default:
			r.fail(start, "data segment flags %#x", flags)
		}
		b := r.bytes(int(r.u32()))
		m.data = append(appendU32(m.data, uint32(len(b))), b...)
	}
}
