package wasmplugin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// manifestSection is the name of the custom section that holds the manifest.
const manifestSection = "reshost.manifest"

const (
	// maxModule bounds a module, in bytes.
	maxModule = 32 << 20
	// maxManifest bounds the manifest section, in bytes.
	maxManifest = 256 << 10
	// maxNames bounds the imports, and the exports, of a module.
	maxNames = 100_000
)

// Section ids and external kinds of the binary format (WebAssembly core specification, 5.5).
const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionMemory   = 5
	sectionExport   = 7
	sectionLast     = 13

	kindFunc   = 0
	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3
	kindTag    = 4
)

// funcType is a function's signature, in the bytes of the binary format.
type funcType struct{ params, results string }

// Value types of the binary format.
const (
	i32 = "\x7f"
	i64 = "\x7e"
)

func (t funcType) equal(params, results string) bool {
	return t.params == params && t.results == results
}

// String writes a signature as "(i32, i64) -> i32".
func (t funcType) String() string {
	return "(" + typeNames(t.params) + ") -> (" + typeNames(t.results) + ")"
}

func typeNames(types string) string {
	var s []byte
	for i := range len(types) {
		if i > 0 {
			s = append(s, ", "...)
		}
		switch types[i] {
		case 0x7f:
			s = append(s, "i32"...)
		case 0x7e:
			s = append(s, "i64"...)
		case 0x7d:
			s = append(s, "f32"...)
		case 0x7c:
			s = append(s, "f64"...)
		case 0x7b:
			s = append(s, "v128"...)
		case 0x70:
			s = append(s, "funcref"...)
		default:
			s = append(s, "externref"...)
		}
	}
	return string(s)
}

// moduleImport is one entry of the import section. typ holds for functions only.
type moduleImport struct {
	module, name string
	kind         byte
	typ          funcType
}

// moduleExport is one entry of the export section. typ holds for functions only.
type moduleExport struct {
	name string
	kind byte
	typ  funcType
}

// moduleInfo is what the outside of a module says, read without compiling or running it.
type moduleInfo struct {
	imports  []moduleImport
	exports  []moduleExport
	memories []moduleMemory
	// manifest is a view into the module; nil when there is no such section. from and to are the section's place in
	// the file, its id included.
	manifest []byte
	from, to int

	types []funcType
	funcs []uint32 // type index of each function, imported ones first
}

// moduleMemory is a memory's limits in pages; max is math.MaxUint32 where it has none.
type moduleMemory struct {
	min, max uint32
	shared   bool
}

func (m *moduleInfo) export(name string) (moduleExport, bool) {
	i := slices.IndexFunc(m.exports, func(e moduleExport) bool { return e.name == name })
	if i < 0 {
		return moduleExport{}, false
	}
	return m.exports[i], true
}

// scanModule reads the sections that say how a module meets its host. It checks what it reads, and no more: code is
// checked by the engine. Work and memory are linear in the module's size.
func scanModule(wasm []byte) (*moduleInfo, error) {
	if len(wasm) > maxModule {
		return nil, fmt.Errorf("the module has %d bytes, more than the limit of %d", len(wasm), maxModule)
	}
	if err := checkMagic(wasm); err != nil {
		return nil, err
	}
	m := &moduleInfo{}
	r := &binReader{b: wasm, off: 8}
	for r.off < len(wasm) {
		from := r.off
		id := r.byte()
		size := r.u32()
		if r.err == nil && uint64(size) > uint64(len(wasm)-r.off) {
			r.fail("section %d of %d bytes is longer than the file", id, size)
		}
		if r.err == nil && id > sectionLast {
			r.off = from
			r.fail("unknown section %d", id)
		}
		if r.err != nil {
			return nil, r.err
		}
		end := r.off + int(size)
		if err := m.section(id, &binReader{b: wasm[:end], off: r.off}, from); err != nil {
			return nil, err
		}
		r.off = end
	}
	return m, nil
}

func checkMagic(wasm []byte) error {
	switch {
	case len(wasm) >= 8 && string(wasm[:8]) == "\x00asm\x01\x00\x00\x00":
		return nil
	case len(wasm) >= 8 && string(wasm[:4]) == "\x00asm" && wasm[6] == 1 && wasm[7] == 0:
		return errors.New("this is a WebAssembly component, not a core module: build a core module for wasip1 or wasm32-unknown-unknown")
	case len(wasm) >= 4 && string(wasm[:4]) == "\x00asm":
		return errors.New("this is WebAssembly of another version than 1")
	case len(wasm) == 0:
		return errors.New("the file is empty, not a WebAssembly module")
	default:
		return errors.New(`this is not a WebAssembly module (it does not begin with "\0asm")`)
	}
}

func (m *moduleInfo) section(id byte, r *binReader, from int) error {
	switch id {
	case sectionCustom:
		if r.name() == manifestSection && r.err == nil {
			if m.manifest != nil {
				r.fail("a second section %q; one is allowed", manifestSection)
				break
			}
			m.manifest, m.from, m.to = r.b[r.off:len(r.b):len(r.b)], from, len(r.b)
			if m.manifest == nil {
				m.manifest = []byte{}
			}
			if len(m.manifest) > maxManifest {
				r.fail("section %q has %d bytes, more than the limit of %d", manifestSection, len(m.manifest), maxManifest)
			}
		}
	case sectionType:
		r.vector(func() { m.types = append(m.types, r.funcType()) })
	case sectionImport:
		r.vector(func() { m.readImport(r) })
	case sectionFunction:
		r.vector(func() { m.funcs = append(m.funcs, r.u32()) })
	case sectionMemory:
		r.vector(func() { m.memories = append(m.memories, r.memory()) })
	case sectionExport:
		r.vector(func() { m.readExport(r) })
	}
	return r.err
}

func (m *moduleInfo) readImport(r *binReader) {
	if len(m.imports) >= maxNames {
		r.fail("more than %d imports", maxNames)
		return
	}
	i := moduleImport{module: r.name(), name: r.name(), kind: r.byte()}
	switch i.kind {
	case kindFunc:
		t := r.u32()
		i.typ = m.typeAt(r, t)
		m.funcs = append(m.funcs, t)
	case kindTable:
		r.byte()
		r.limits()
	case kindMemory:
		r.memory()
	case kindGlobal:
		r.byte()
		r.byte()
	default:
		r.fail("unknown kind %d of import %q %q", i.kind, i.module, i.name)
	}
	if r.err == nil {
		m.imports = append(m.imports, i)
	}
}

func (m *moduleInfo) readExport(r *binReader) {
	if len(m.exports) >= maxNames {
		r.fail("more than %d exports", maxNames)
		return
	}
	e := moduleExport{name: r.name(), kind: r.byte()}
	index := r.u32()
	switch {
	case r.err != nil:
		return
	case e.kind > kindTag:
		r.fail("unknown kind %d of export %q", e.kind, e.name)
		return
	case e.kind == kindFunc && uint64(index) >= uint64(len(m.funcs)):
		r.fail("export %q names function %d of %d", e.name, index, len(m.funcs))
		return
	case e.kind == kindFunc:
		e.typ = m.typeAt(r, m.funcs[index])
	}
	m.exports = append(m.exports, e)
}

func (m *moduleInfo) typeAt(r *binReader, i uint32) funcType {
	if r.err == nil && uint64(i) >= uint64(len(m.types)) {
		r.fail("type index %d of %d", i, len(m.types))
	}
	if r.err != nil {
		return funcType{}
	}
	return m.types[i]
}

// binReader reads the binary format from b at off. The first fault sticks in err; reads then give zero values.
type binReader struct {
	b   []byte
	off int
	err error
}

func (r *binReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("malformed module at offset %d: %s", r.off, fmt.Sprintf(format, args...))
	}
}

func (r *binReader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.off >= len(r.b) {
		r.fail("unexpected end")
		return 0
	}
	c := r.b[r.off]
	r.off++
	return c
}

// uleb reads an unsigned LEB128 number of at most bits bits.
func (r *binReader) uleb(bits uint) uint64 {
	var v uint64
	for shift := uint(0); shift < bits; shift += 7 {
		c := r.byte()
		if r.err != nil {
			return 0
		}
		if left := bits - shift; left < 7 && c>>left != 0 {
			break
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail("number longer than %d bits", bits)
	return 0
}

func (r *binReader) u32() uint32 { return uint32(r.uleb(32)) }

func (r *binReader) bytes(n uint32) []byte {
	if r.err != nil {
		return nil
	}
	if uint64(n) > uint64(len(r.b)-r.off) {
		r.fail("%d bytes are wanted, %d are left", n, len(r.b)-r.off)
		return nil
	}
	b := r.b[r.off : r.off+int(n)]
	r.off += int(n)
	return b
}

func (r *binReader) name() string {
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.fail("a name is not UTF-8")
		return ""
	}
	return string(b)
}

// vector calls item as often as the vector's length says. Each item takes at least one byte, so a lying length ends
// with the section.
func (r *binReader) vector(item func()) {
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		item()
	}
}

func (r *binReader) funcType() funcType {
	if form := r.byte(); r.err == nil && form != 0x60 {
		r.off--
		r.fail("type of form %#x (only function types are supported)", form)
	}
	return funcType{params: r.valueTypes(), results: r.valueTypes()}
}

func (r *binReader) valueTypes() string {
	b := r.bytes(r.u32())
	for _, c := range b {
		if (c < 0x7b || c > 0x7f) && c != 0x70 && c != 0x6f {
			r.fail("unknown value type %#x", c)
			return ""
		}
	}
	return string(b)
}

// limits reads limits, and whether they are those of something shared.
func (r *binReader) limits() (lo, hi uint32, shared bool) {
	flags := r.byte()
	if r.err == nil && flags > 3 {
		r.fail("unknown limits %#x (64-bit memories are not supported)", flags)
		return 0, 0, false
	}
	lo, hi = r.u32(), math.MaxUint32
	if flags&1 != 0 {
		hi = r.u32()
	}
	return lo, hi, flags&2 != 0
}

func (r *binReader) memory() moduleMemory {
	lo, hi, shared := r.limits()
	return moduleMemory{min: lo, max: hi, shared: shared}
}
