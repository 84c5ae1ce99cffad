package wasmplugin

import (
	"encoding/binary"
	"slices"

	"github.com/reshost/reshost/abi"
)

// asm writes WebAssembly modules for tests: odd and hostile ones that no compiler makes, and ones that need no
// toolchain. Imports come before functions.
type asm struct {
	types            []string
	imports, exports [][]byte
	funcs, bodies    [][]byte
	nImports, nFuncs int
	minPages         uint32
	maxPages         uint32 // 0: none
	noMemory         bool
	start            int // a function's index plus one; 0: none
	data             [][]byte
	table            uint32 // elements of a table of functions; 0: none
	global           bool   // a mutable i32
	custom           []namedSection
}

type namedSection struct {
	name string
	body []byte
}

func uleb(v uint64) []byte { return binary.AppendUvarint(nil, v) }

func sleb(v int64) []byte {
	var b []byte
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func lenPrefixed(s string) []byte { return append(uleb(uint64(len(s))), s...) }

func (a *asm) typ(params, results string) uint64 {
	t := "\x60" + string(lenPrefixed(params)) + string(lenPrefixed(results))
	if i := slices.Index(a.types, t); i >= 0 {
		return uint64(i)
	}
	a.types = append(a.types, t)
	return uint64(len(a.types) - 1)
}

// importFunc imports a function and returns its index.
func (a *asm) importFunc(module, name, params, results string) int {
	b := append(lenPrefixed(module), lenPrefixed(name)...)
	b = append(b, kindFunc)
	a.imports = append(a.imports, append(b, uleb(a.typ(params, results))...))
	a.nImports++
	return a.nImports - 1
}

// fn defines a function, exports it where it has a name, and returns its index. locals are of the types given.
func (a *asm) fn(export, params, results, locals string, code ...[]byte) int {
	a.funcs = append(a.funcs, uleb(a.typ(params, results)))
	body := uleb(uint64(len(locals)))
	for i := range len(locals) {
		body = append(body, 1, locals[i])
	}
	body = append(body, slices.Concat(code...)...)
	body = append(body, 0x0b)
	a.bodies = append(a.bodies, append(uleb(uint64(len(body))), body...))
	a.nFuncs++
	i := a.nImports + a.nFuncs - 1
	if export != "" {
		a.export(export, kindFunc, i)
	}
	return i
}

func (a *asm) export(name string, kind byte, index int) {
	b := append(lenPrefixed(name), kind)
	a.exports = append(a.exports, append(b, uleb(uint64(index))...))
}

// put places bytes in memory before the guest runs.
func (a *asm) put(at uint32, b []byte) {
	d := append([]byte{0, 0x41}, sleb(int64(at))...)
	d = append(d, 0x0b)
	a.data = append(a.data, append(d, lenPrefixed(string(b))...))
}

func vec(items [][]byte) []byte {
	return append(uleb(uint64(len(items))), slices.Concat(items...)...)
}

// bytes writes the module.
func (a *asm) bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, body []byte) {
		out = append(out, id)
		out = append(out, lenPrefixed(string(body))...)
	}
	var types [][]byte
	for _, t := range a.types {
		types = append(types, []byte(t))
	}
	section(sectionType, vec(types))
	section(sectionImport, vec(a.imports))
	section(sectionFunction, vec(a.funcs))
	if a.table > 0 {
		section(4, vec([][]byte{append([]byte{0x70, 0}, uleb(uint64(a.table))...)}))
	}
	exports := a.exports
	if !a.noMemory {
		limits := append([]byte{0}, uleb(uint64(a.minPages))...)
		if a.maxPages > 0 {
			limits = slices.Concat([]byte{1}, uleb(uint64(a.minPages)), uleb(uint64(a.maxPages)))
		}
		section(sectionMemory, vec([][]byte{limits}))
		exports = append(slices.Clone(exports), append(lenPrefixed("memory"), kindMemory, 0))
	}
	if a.global {
		section(6, []byte{1, 0x7f, 1, 0x41, 0, 0x0b})
	}
	section(sectionExport, vec(exports))
	if a.start > 0 {
		section(8, uleb(uint64(a.start-1)))
	}
	section(10, vec(a.bodies))
	section(11, vec(a.data))
	for _, c := range a.custom {
		section(sectionCustom, append(lenPrefixed(c.name), c.body...))
	}
	return out
}

// Instructions.
func i32c(v int64) []byte { return append([]byte{0x41}, sleb(v)...) }
func i64c(v int64) []byte { return append([]byte{0x42}, sleb(v)...) }
func callf(i int) []byte  { return append([]byte{0x10}, uleb(uint64(i))...) }
func get(i int) []byte    { return append([]byte{0x20}, uleb(uint64(i))...) }
func set(i int) []byte    { return append([]byte{0x21}, uleb(uint64(i))...) }
func op(b ...byte) []byte { return b }

var (
	opDrop        = op(0x1a)
	opUnreachable = op(0x00)
	opAdd         = op(0x6a)
	opSub         = op(0x6b)
	opLoad8       = op(0x2d, 0, 0)
	opLoad32      = op(0x28, 2, 0)
	opStore32     = op(0x36, 2, 0)
	opStore8      = op(0x3a, 0, 0)
	opGrow        = op(0x40, 0)
	opFill        = op(0xfc, 0x0b, 0)
)

// loop runs code for ever.
func loop(code ...[]byte) []byte {
	return slices.Concat(op(0x03, 0x40), slices.Concat(code...), op(0x0c, 0, 0x0b), opUnreachable)
}

// times runs code n times, counting down in a local of type i32.
func times(n int64, local int, code ...[]byte) []byte {
	return slices.Concat(i32c(n), set(local), op(0x03, 0x40), slices.Concat(code...),
		get(local), i32c(1), opSub, op(0x22), uleb(uint64(local)), op(0x0d, 0, 0x0b))
}

// Addresses in a guest's memory.
const (
	requestAt = 0x8000
	requestIn = 0x8000 // bytes of room for it
	freeAt    = 0x400  // what a guest's data begins at
)

// guest is an asm with the core imports and a manifest.
type guest struct {
	asm
	req, emit, write, log int
	random, poll          int // where a test imports them
	free                  uint32
}

// letters is a manifest with one template and one direct resource.
const letters = `{"abi":"reshost_v1","name":"letters","schemes":["letters"],
	"resources":[{"uri":"letters://index","name":"index"}],
	"templates":[{"uriTemplate":"letters://{name}","name":"letter","vars":{"name":{"complete":true}}}]}`

// newGuest returns a guest whose manifest is the text, none when it is empty.
func newGuest(manifest string) *guest {
	g := &guest{free: freeAt}
	g.minPages = 2
	g.req = g.importFunc(abi.Module, abi.ImportReq, i32+i32, i32)
	g.emit = g.importFunc(abi.Module, abi.ImportEmit, i32+i32+i32, i32)
	g.write = g.importFunc(abi.Module, abi.ImportWrite, i32+i32, i32)
	g.log = g.importFunc(abi.Module, abi.ImportLog, i32+i32+i32, "")
	if manifest != "" {
		g.custom = append(g.custom, namedSection{manifestSection, []byte(manifest)})
	}
	return g
}

// bytesAt places b somewhere and returns where.
func (g *guest) bytesAt(b []byte) (ptr, n int64) {
	at := g.free
	g.put(at, b)
	g.free += uint32(len(b)+7) &^ 7
	return int64(at), int64(len(b))
}

// record emits a record and drops the reply.
func (g *guest) record(kind abi.Kind, b []byte) []byte {
	ptr, n := g.bytesAt(b)
	return slices.Concat(i32c(int64(kind)), i32c(ptr), i32c(n), callf(g.emit), opDrop)
}

// body writes bytes to the open part.
func (g *guest) body(s string) []byte {
	ptr, n := g.bytesAt([]byte(s))
	return slices.Concat(i32c(ptr), i32c(n), callf(g.write), opDrop)
}

// text emits a part of text.
func (g *guest) text(s string) []byte {
	return slices.Concat(g.record(abi.KindContent, (&abi.Content{MIMEType: "text/plain", Text: true}).Append(nil)), g.body(s))
}

// takeRequest copies the request to requestAt.
func (g *guest) takeRequest() []byte {
	return slices.Concat(i32c(requestAt), i32c(requestIn), callf(g.req), opDrop)
}

// exported defines an export of type () -> i32 with two spare locals of type i32.
func (g *guest) exported(name string, code ...[]byte) *guest {
	g.fn(name, "", i32, i32+i32, code...)
	return g
}

// read defines rh_read, and the exports that the manifest letters needs.
func (g *guest) read(code ...[]byte) *guest {
	g.exported(abi.ExportRead, code...)
	g.exported(abi.ExportComplete, i32c(0))
	return g
}
