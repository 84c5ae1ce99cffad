package meter

// funcName is an entry of the name section; index is the original one.
type funcName struct {
	index uint32
	name  string
}

// Subsections of the name section that the engine reads.
const (
	nameModule = iota
	nameFunctions
	nameLocals
)

// custom reads a custom section. All but the name section are left out of the
// result: what they say of the code (debug lines) is wrong after the pass.
func (m *module) custom(r *reader, named *bool) {
	start := r.pos
	if r.name("custom section name") != "name" || !r.ok() {
		return
	}
	if *named {
		r.fail(start, "name section twice")
		return
	}
	*named = true
	for r.ok() && r.pos < r.end {
		id := r.byte()
		size := int(r.u32())
		s := r.sub(size)
		m.nameSubsection(id, &s)
		if s.err != nil {
			r.err = s.err
		}
	}
	if r.err != nil {
		r.err.Reason = "name section: " + r.err.Reason
	}
}

func (m *module) nameSubsection(id byte, r *reader) {
	switch id {
	case nameModule:
		m.moduleName = r.name("module name")
	case nameFunctions:
		m.funcNames = m.funcNames[:0]
		readNameMap(r, MaxFunctions+MaxImports, func(f funcName) { m.funcNames = append(m.funcNames, f) })
	case nameLocals:
		n := r.count("functions with local names", MaxFunctions+MaxImports, 2)
		for i := 0; i < n && r.ok(); i++ {
			r.u32()
			readNameMap(r, MaxModule, func(funcName) {})
		}
	default:
		return
	}
	r.done("a name subsection")
}

func readNameMap(r *reader, limit int, keep func(funcName)) {
	n := r.count("names", limit, 2)
	for i := 0; i < n && r.ok(); i++ {
		f := funcName{index: r.u32(), name: r.name("name")}
		if r.ok() {
			keep(f)
		}
	}
}

// nameSection writes the functions' names under their new indexes, the
// engine's traps name functions by it. Entries that are out of range or out of
// order are dropped. The pass names its own functions too.
func (m *module) nameSection(added []funcName) []byte {
	var names []byte
	n, next := uint32(0), uint32(0)
	put := func(index uint32, name string) {
		names = appendName(appendU32(names, index), name)
		n++
	}
	imports := uint32(len(m.imports))
	yieldNamed := false
	for _, f := range m.funcNames {
		if f.index < next || f.index >= uint32(len(m.funcs)) {
			continue
		}
		if f.index >= imports && !yieldNamed {
			put(imports, ExportPrefix+YieldName)
			yieldNamed = true
		}
		put(m.shift(f.index), f.name)
		next = f.index + 1
	}
	if !yieldNamed {
		put(imports, ExportPrefix+YieldName)
	}
	for _, f := range added {
		put(f.index, ExportPrefix+f.name)
	}
	body := appendName(nil, "name")
	if m.moduleName != "" {
		body = appendSection(body, nameModule, appendName(nil, m.moduleName))
	}
	return appendSection(body, nameFunctions, append(appendU32(nil, n), names...))
}
