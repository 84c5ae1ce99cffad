package meter

import (
	"bytes"
	"math"
	"strings"
)

// Section ids of the binary format.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
)

// sectionRank is the order that sections must come in: the data count, which
// came late to the format, stands before the code.
const sectionRank = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0b\x0c\x0a"

// module is what the pass keeps of a checked module. Function indexes in the
// parts that are already encoded (inits, elements, code) are shifted; the rest
// hold the original ones.
type module struct {
	src     []byte
	types   []funcType
	imports []funcImport
	funcs   []uint32 // type of each function, imported ones first
	tables  []table
	memory  *limits
	globals []global
	exports []export
	start   int // function index, -1 without a start function

	declared  []bool    // functions that ref.func may name
	elemTypes []valType // of each element segment
	elements  []byte    // the segments, encoded
	dataCount int       // -1 without a data count section
	datas     int       // data segments met
	data      []byte    // the segments, encoded

	code       []byte // the bodies, encoded
	bodies     int
	joins      int // see MaxModuleJoins
	moves      int // see MaxModuleMoves
	elemItems  int
	typeValues int
	fresh      []Feature
	helpers    helpers
	wrapTypes  map[string]uint32 // results of a function -> type [] -> results
	moduleName string
	funcNames  []funcName
	stats      Stats
}

type funcType struct{ params, results string } // a valType a byte

type funcImport struct {
	module, name string
	typ          uint32
}

type limits struct {
	min, max uint32
	hasMax   bool
}

type table struct {
	typ valType
	limits
}

type global struct {
	typ  valType
	mut  bool
	init []byte // encoded
}

type export struct {
	name string
	kind byte
	idx  uint32
}

// shift is a function's index after the pass: the added import comes last of
// the imports.
func (m *module) shift(f uint32) uint32 {
	if f < uint32(len(m.imports)) {
		return f
	}
	return f + 1
}

func (m *module) funcType(f uint32) *funcType { return &m.types[m.funcs[f]] }

func (m *module) needFresh(name string, offset int) {
	for _, f := range m.fresh {
		if f.Name == name {
			return
		}
	}
	m.fresh = append(m.fresh, Feature{Name: name, Offset: offset})
}

// parse checks a whole module and rewrites its code on the way.
func parse(wasm []byte) (*module, error) {
	m := &module{src: wasm, start: -1, dataCount: -1}
	if len(wasm) > MaxModule {
		return nil, &Error{Reason: "bytes of a module", Have: len(wasm), Limit: MaxModule}
	}
	r := &reader{buf: wasm, end: len(wasm)}
	m.header(r)
	rank, named := byte(0), false
	for r.ok() && r.pos < r.end {
		start := r.pos
		id := r.byte()
		size := int(r.u32())
		s := r.sub(size)
		if s.err != nil {
			return nil, s.err
		}
		switch {
		case id == secCustom:
			m.custom(&s, &named)
		case int(id) >= len(sectionRank):
			s.fail(start, "unknown section %d", id)
		case sectionRank[id] <= rank:
			s.fail(start, "section %d twice or out of order", id)
		default:
			rank = sectionRank[id]
			m.section(id, &s)
			s.done("section")
		}
		if s.err != nil {
			return nil, s.err
		}
	}
	if r.ok() {
		m.finish(r)
	}
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}

func (m *module) header(r *reader) {
	if !bytes.HasPrefix(m.src, []byte("\x00asm")) {
		r.fail(0, "not a WebAssembly module: no \\0asm at its start")
		return
	}
	r.pos = 4
	switch v := r.bytes(4); {
	case v == nil:
	case v[2] == 1 && v[3] == 0:
		r.fail(4, "a WebAssembly component, not a core module")
	case !bytes.Equal(v, []byte{1, 0, 0, 0}):
		r.fail(4, "unknown version % x of WebAssembly", v)
	}
}

func (m *module) section(id byte, r *reader) {
	switch id {
	case secType:
		m.typeSection(r)
	case secImport:
		m.importSection(r)
	case secFunction:
		m.functionSection(r)
	case secTable:
		m.tableSection(r)
	case secMemory:
		m.memorySection(r)
	case secGlobal:
		m.globalSection(r)
	case secExport:
		m.exportSection(r)
	case secStart:
		m.startSection(r)
	case secElement:
		m.elementSection(r)
	case secDataCount:
		m.dataCount = r.count("data segments", MaxData, 0)
	case secCode:
		m.codeSection(r)
	case secData:
		m.dataSection(r)
	}
}

// finish checks what only the whole module shows.
func (m *module) finish(r *reader) {
	if have := len(m.funcs) - len(m.imports); m.bodies != have {
		r.fail(r.end, "%d functions declared, %d bodies", have, m.bodies)
	}
	if m.dataCount >= 0 && m.dataCount != m.datas {
		r.fail(r.end, "%d data segments counted, %d there", m.dataCount, m.datas)
	}
}

func (m *module) typeSection(r *reader) {
	n := r.count("types", MaxTypes, 3)
	m.types = make([]funcType, 0, n)
	for len(m.types) < n && r.ok() {
		start := r.pos
		if b := r.byte(); b != 0x60 {
			r.fail(start, "type %d: form %#x is not a function type", len(m.types), b)
			return
		}
		t := funcType{params: m.resultType(r, "parameters of a type"), results: m.resultType(r, "results of a type")}
		m.types = append(m.types, t)
		if m.typeValues += len(t.params) + len(t.results); m.typeValues > MaxTypesValues {
			r.limit(start, "parameters and results of all types", m.typeValues, MaxTypesValues)
		}
	}
}

func (m *module) resultType(r *reader, what string) string {
	n := r.count(what, MaxTypeValues, 1)
	var s strings.Builder
	for range n {
		s.WriteByte(byte(readValType(r)))
	}
	return s.String()
}

func (m *module) typeIndex(r *reader) uint32 {
	start := r.pos
	t := r.u32()
	if r.ok() && t >= uint32(len(m.types)) {
		r.fail(start, "type index %d of %d types", t, len(m.types))
		return 0
	}
	return t
}

func (m *module) importSection(r *reader) {
	n := r.count("imports", MaxImports, 4)
	for range n {
		start := r.pos
		i := funcImport{module: r.name("import module"), name: r.name("import name")}
		kindAt := r.pos
		kind := r.byte()
		if !r.ok() {
			return
		}
		switch {
		case i.module == "":
			r.fail(start, "import of %q from a module without a name", i.name)
		case i.module == YieldModule:
			r.fail(start, "import module %q is the host's own", i.module)
		case kind != 0:
			r.fail(kindAt, "import %q.%q is a %s: only functions can be imported", i.module, i.name, kindName(kind))
		}
		i.typ = m.typeIndex(r)
		m.imports = append(m.imports, i)
		m.funcs = append(m.funcs, i.typ)
	}
}

func kindName(kind byte) string {
	switch kind {
	case 0:
		return "function"
	case 1:
		return "table"
	case 2:
		return "memory"
	case 3:
		return "global"
	case 4:
		return "tag"
	}
	return "thing of an unknown kind"
}

func (m *module) functionSection(r *reader) {
	n := r.count("functions", MaxFunctions, 1)
	for range n {
		t := m.typeIndex(r)
		if !r.ok() {
			return
		}
		m.funcs = append(m.funcs, t)
	}
}

func (m *module) tableSection(r *reader) {
	n := r.count("tables", MaxTables, 3)
	sum := 0
	for range n {
		start := r.pos
		t := table{typ: readRefType(r)}
		t.limits = readLimits(r, math.MaxUint32)
		if !r.ok() {
			return
		}
		if sum += int(t.min); sum > MaxTable {
			r.limit(start, "elements of all tables", sum, MaxTable)
		}
		m.tables = append(m.tables, t)
	}
	m.lowerTables(MaxTable - sum)
}

// lowerTables gives every table that can grow an equal part of the elements
// that are left, so that all together stay within MaxTable.
func (m *module) lowerTables(left int) {
	growing := 0
	for _, t := range m.tables {
		if !t.hasMax || t.max > t.min {
			growing++
		}
	}
	for i := range m.tables {
		t := &m.tables[i]
		if t.hasMax && t.max == t.min {
			continue
		}
		highest := t.min + uint32(left/growing)
		if !t.hasMax || t.max > highest {
			t.max, t.hasMax = highest, true
		}
	}
}

func (m *module) memorySection(r *reader) {
	start := r.pos
	n := r.count("memories", math.MaxInt32, 2)
	if n > 1 {
		r.fail(start, "%d memories: only one can be had", n)
	}
	for range n {
		l := readLimits(r, MaxPages)
		m.memory = &l
	}
}

// readLimits reads minimum and maximum; highest bounds both.
func readLimits(r *reader, highest uint32) limits {
	start := r.pos
	var l limits
	switch flag := r.byte(); flag {
	case 0:
		l.min = r.u32()
	case 1:
		l.hasMax = true
		l.min = r.u32()
		l.max = r.u32()
	case 2, 3:
		r.fail(start, "shared memory (threads)")
	default:
		r.fail(start, "limits flag %#x", flag)
	}
	if l.min > highest || l.max > highest {
		r.limit(start, "pages of memory", int(max(l.min, l.max)), int(highest))
	}
	if l.hasMax && l.max < l.min {
		r.fail(start, "minimum %d over maximum %d", l.min, l.max)
	}
	return l
}

func (m *module) globalSection(r *reader) {
	n := r.count("globals", MaxGlobals, 4)
	m.declared = make([]bool, len(m.funcs))
	for range n {
		start := r.pos
		g := global{typ: readValType(r)}
		switch b := r.byte(); b {
		case 0:
		case 1:
			g.mut = true
		default:
			r.fail(r.pos-1, "mutability %#x of a global", b)
		}
		g.init = m.constExpr(r, nil, g.typ)
		if !r.ok() {
			return
		}
		if g.mut && g.typ == v128 {
			m.needFresh("mutable v128 global", start)
		}
		if g.mut && g.typ.isRef() {
			m.needFresh("mutable reference global", start)
		}
		m.globals = append(m.globals, g)
	}
}

func (m *module) exportSection(r *reader) {
	n := r.count("exports", MaxExports, 3)
	seen := make(map[string]bool, n)
	for range n {
		start := r.pos
		e := export{name: r.name("export name"), kind: r.byte()}
		if !r.ok() {
			return
		}
		switch {
		case seen[e.name]:
			r.fail(start, "export %q twice", e.name)
		case strings.HasPrefix(e.name, ExportPrefix):
			r.fail(start, "export %q: names with %s are the host's own", e.name, ExportPrefix)
		}
		seen[e.name] = true
		at := r.pos
		e.idx = r.u32()
		m.checkExport(r, at, e)
		m.exports = append(m.exports, e)
	}
}

func (m *module) checkExport(r *reader, at int, e export) {
	have := 0
	switch e.kind {
	case 0:
		if have = len(m.funcs); int64(e.idx) < int64(have) && r.ok() {
			m.declare(e.idx)
		}
	case 1:
		have = len(m.tables)
	case 2:
		if m.memory != nil {
			have = 1
		}
	case 3:
		have = len(m.globals)
	default:
		r.fail(at-1, "export %q of kind %#x", e.name, e.kind)
	}
	if int64(e.idx) >= int64(have) {
		r.fail(at, "export %q: %s index %d of %d", e.name, kindName(e.kind), e.idx, have)
	}
}

// declare lets ref.func name a function.
func (m *module) declare(f uint32) {
	if m.declared == nil {
		m.declared = make([]bool, len(m.funcs))
	}
	m.declared[f] = true
}

func (m *module) startSection(r *reader) {
	start := r.pos
	f := m.funcIndex(r)
	if !r.ok() {
		return
	}
	if t := m.funcType(f); t.params != "" || t.results != "" {
		r.fail(start, "start function %d takes or returns values", f)
		return
	}
	m.start = int(f)
}

func (m *module) funcIndex(r *reader) uint32 {
	start := r.pos
	f := r.u32()
	if r.ok() && f >= uint32(len(m.funcs)) {
		r.fail(start, "function index %d of %d functions", f, len(m.funcs))
		return 0
	}
	return f
}

func (m *module) tableIndex(r *reader) uint32 {
	start := r.pos
	t := r.u32()
	if r.ok() && t >= uint32(len(m.tables)) {
		r.fail(start, "table index %d of %d tables", t, len(m.tables))
		return 0
	}
	return t
}
