package meter

import "strconv"

// write puts the result together.
func (m *module) write(o Options) *Result {
	if m.wrapTypes == nil { // no code section
		m.addWrapTypes()
	}
	res := &Result{Memory: m.memory != nil, Fresh: m.fresh}
	out := make([]byte, 0, len(m.code)+len(m.data)+len(m.elements)+len(m.src)/4+1024)
	out = append(out, "\x00asm\x01\x00\x00\x00"...)
	out = appendSection(out, secType, m.typeBytes())
	out = appendSection(out, secImport, m.importBytes())
	out = appendSection(out, secFunction, m.functionBytes())
	if len(m.tables) > 0 {
		b := appendU32(nil, uint32(len(m.tables)))
		for _, t := range m.tables {
			b = t.limits.encode(append(b, t.typ.encode()))
		}
		out = appendSection(out, secTable, b)
	}
	if m.memory != nil {
		out = appendSection(out, secMemory, m.memory.encode([]byte{1}))
	}
	out = appendSection(out, secGlobal, m.globalBytes(o))
	out = appendSection(out, secExport, m.exportBytes(res))
	if m.start >= 0 {
		out = appendSection(out, secStart, appendU32(nil, m.shift(uint32(m.start))))
	}
	if len(m.elemTypes) > 0 {
		out = appendSection(out, secElement, append(appendU32(nil, uint32(len(m.elemTypes))), m.elements...))
	}
	if m.dataCount >= 0 {
		out = appendSection(out, secDataCount, appendU32(nil, uint32(m.dataCount)))
	}
	out = m.appendCode(out)
	if m.datas > 0 {
		n := appendU32(nil, uint32(m.datas))
		out = appendU32(append(out, secData), uint32(len(n)+len(m.data)))
		out = append(append(out, n...), m.data...)
	}
	out = appendSection(out, secCustom, m.nameSection(m.helperNames()))
	res.Wasm, res.Stats = out, m.stats
	res.Stats.Size = len(out)
	return res
}

func (m *module) typeBytes() []byte {
	b := appendU32(nil, uint32(len(m.types)+len(m.helpers.types)))
	for _, ts := range [2][]funcType{m.types, m.helpers.types} {
		for _, t := range ts {
			b = encodeTypes(encodeTypes(append(b, 0x60), t.params), t.results)
		}
	}
	return b
}

func encodeTypes(b []byte, types string) []byte {
	b = appendU32(b, uint32(len(types)))
	for i := range len(types) {
		b = append(b, valType(types[i]).encode())
	}
	return b
}

func (m *module) importBytes() []byte {
	b := appendU32(nil, uint32(len(m.imports)+1))
	for _, i := range m.imports {
		b = appendU32(append(appendName(appendName(b, i.module), i.name), 0), i.typ)
	}
	return appendU32(append(appendName(appendName(b, YieldModule), YieldName), 0), m.helpers.typeCharge)
}

func (m *module) functionBytes() []byte {
	funcs := m.funcs[len(m.imports):]
	b := appendU32(nil, uint32(len(funcs)+helpCount))
	for _, t := range funcs {
		b = appendU32(b, t)
	}
	for i := range helpCount {
		switch {
		case i < helpBytes:
			b = appendU32(b, m.helpers.typeVoid)
		case i >= helpFill:
			b = appendU32(b, m.helpers.typeBulk)
		default:
			b = appendU32(b, m.helpers.typeCharge)
		}
	}
	return b
}

func (l *limits) encode(b []byte) []byte {
	if l.hasMax {
		return appendU32(appendU32(append(b, 1), l.min), l.max)
	}
	return appendU32(append(b, 0), l.min)
}

func (m *module) globalBytes(o Options) []byte {
	added := 2
	if m.memory != nil {
		added++
	}
	b := appendU32(nil, uint32(len(m.globals)+added))
	for _, g := range m.globals {
		b = append(b, g.typ.encode(), 0)
		if g.mut {
			b[len(b)-1] = 1
		}
		b = append(b, g.init...)
	}
	// Fuel starts at 0: the first charge asks the host.
	b = append(b, i32.encode(), 1, opI32Const, 0, opEnd)
	b = append(b, i32.encode(), 1, opI32Const)
	b = append(appendS64(b, int64(o.Stack)), opEnd)
	if m.memory != nil {
		b = append(b, i32.encode(), 1, opI32Const)
		b = append(appendS64(b, int64(m.memory.min)), opEnd)
	}
	return b
}

// exportBytes adds the counters and the globals that a reset restores.
func (m *module) exportBytes(res *Result) []byte {
	var b []byte
	n := uint32(len(m.exports))
	for _, e := range m.exports {
		if e.kind == 0 {
			e.idx = m.shift(e.idx)
		}
		b = appendU32(append(appendName(b, e.name), e.kind), e.idx)
	}
	put := func(name string, index uint32) {
		b = appendU32(append(appendName(b, name), 3), index)
		n++
	}
	for i, g := range m.globals {
		if g.mut && g.typ != v128 && !g.typ.isRef() {
			name := ExportPrefix + "global." + strconv.Itoa(i)
			put(name, uint32(i))
			res.Globals = append(res.Globals, name)
		}
	}
	if m.memory != nil {
		put(PagesExport, m.helpers.pages)
		res.Globals = append(res.Globals, PagesExport)
	}
	put(FuelExport, m.helpers.fuel)
	put(StackExport, m.helpers.stack)
	return append(appendU32(nil, n), b...)
}

func (m *module) appendCode(out []byte) []byte {
	n := appendU32(nil, uint32(m.bodies+helpCount))
	var added []byte
	for _, body := range m.helperBodies() {
		added = appendU32(added, uint32(len(body)+2))
		added = append(append(append(added, 0), body...), opEnd)
	}
	out = appendU32(append(out, secCode), uint32(len(n)+len(m.code)+len(added)))
	return append(append(append(out, n...), m.code...), added...)
}

func (m *module) helperNames() []funcName {
	names := make([]funcName, helpCount)
	for i, n := range [helpCount]string{"refuel", "enter", "charge_bytes", "memory_grow", "charge_items", "charge_grow", "charge_fill", "charge_copy", "long_fill", "long_copy"} {
		names[i] = funcName{index: m.helpers.first + uint32(i), name: n}
	}
	return names
}
