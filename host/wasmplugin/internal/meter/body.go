package meter

import "fmt"

// frame is an open block. The outermost stands for the function.
type frame struct {
	op              byte // opBlock, opLoop, opIf or opElse
	params, results string
	height          int  // of the operand stack below the block
	unreachable     bool // the rest of the block is never run
	charge          int  // index of the charge that pays for what comes next
	sets            int  // funcPass.sets when the block was opened
}

// label is what a branch to the frame carries.
func (f *frame) label() string {
	if f.op == opLoop {
		return f.params
	}
	return f.results
}

// charge is a place where fuel is taken. Everything that it pays for is
// reached only through it.
type charge struct {
	weight int
	at     int // where in the output its constant stands; -1: at the entry
}

// funcPass checks one body, following the types on the operand stack as the
// specification's validation algorithm does, and writes the metered body. One
// is used for all bodies of a module, one after the other.
type funcPass struct {
	m      *module
	r      reader
	fn     uint32 // original index
	typ    *funcType
	locals []valType // parameters first
	head   []byte    // local declarations, encoded
	out    []byte    // the rest of the body
	stack  []valType
	ctrl   []frame
	labels []uint32 // of a br_table

	charges []charge
	op      string // instruction being checked, for errors
	at      int    // where it starts
	height  int    // greatest height of the stack
	passed  int    // greatest number of values passed to and from a call
	calls   bool
	spill   spill
	joins   int
	moves   int
	length  int64 // value of the constant just pushed, or -1
}

// codeSection checks and rewrites all bodies into m.code.
func (m *module) codeSection(r *reader) {
	n := r.count("bodies", MaxFunctions, 3)
	if have := len(m.funcs) - len(m.imports); r.ok() && n != have {
		r.fail(r.pos, "%d functions declared, %d bodies", have, n)
		return
	}
	m.addWrapTypes()
	m.code = make([]byte, 0, 2*r.len()+64*n)
	f := &funcPass{m: m}
	for ; m.bodies < n; m.bodies++ {
		start := r.pos
		size := int(r.u32())
		if size > MaxBody {
			r.limit(start, fmt.Sprintf("function %d: bytes of the body", len(m.imports)+m.bodies), size, MaxBody)
		}
		body := r.sub(size)
		if r.ok() {
			f.body(body, uint32(len(m.imports)+m.bodies))
			r.err = f.r.err
		}
		if !r.ok() {
			return
		}
	}
}

// body runs the pass over one function. An error is left in f.r.
func (f *funcPass) body(r reader, fn uint32) {
	f.r, f.fn, f.typ = r, fn, f.m.funcType(fn)
	f.out, f.stack, f.ctrl = f.out[:0], f.stack[:0], f.ctrl[:0]
	f.height, f.passed, f.calls, f.joins, f.moves = 0, 0, false, 0, 0
	f.spill, f.length = spill{}, -1
	f.charges = append(f.charges[:0], charge{weight: 1, at: -1})
	f.readLocals()
	f.move(len(f.typ.params) + len(f.typ.results))
	f.ctrl = append(f.ctrl, frame{op: opBlock, results: f.typ.results})
	for len(f.ctrl) > 0 && f.r.ok() {
		f.instruction()
	}
	f.r.done("the body, after its end")
	if m := f.m; f.r.ok() {
		m.joins += f.joins
		m.moves += f.moves
		if m.joins > MaxModuleJoins {
			f.r.limit(r.pos, "locals × blocks of all functions so far", m.joins, MaxModuleJoins)
		}
		if m.moves > MaxModuleMoves {
			f.r.limit(r.pos, "values moved by calls and branches of all functions so far", m.moves, MaxModuleMoves)
		}
	}
	if f.r.err != nil {
		f.r.err.Reason = fmt.Sprintf("function %d: %s", fn, f.r.err.Reason)
		return
	}
	f.write()
}

func (f *funcPass) readLocals() {
	start := f.r.pos
	f.locals = f.locals[:0]
	for i := range f.typ.params {
		f.locals = append(f.locals, valType(f.typ.params[i]))
	}
	groups := f.r.count("groups of locals", MaxBody, 2)
	f.head = appendU32(f.head[:0], uint32(groups))
	for range groups {
		n := f.r.u32()
		if have := int64(len(f.locals)) + int64(n); have > MaxLocals {
			f.r.limit(start, "parameters and locals", int(have), MaxLocals)
			return
		}
		t := readValType(&f.r)
		if !f.r.ok() {
			return
		}
		f.head = append(appendU32(f.head, n), t.encode())
		for range n {
			f.locals = append(f.locals, t)
		}
	}
}

func (f *funcPass) top() *frame { return &f.ctrl[len(f.ctrl)-1] }

func (f *funcPass) weigh(w int) { f.charges[f.top().charge].weight += w }

// instruction checks and copies one instruction.
func (f *funcPass) instruction() {
	f.at = f.r.pos
	op := f.r.byte()
	if f.charges[f.top().charge].weight >= segment && op != opEnd && op != opElse {
		f.top().charge = f.writeCharge()
	}
	length := f.length
	f.length = -1
	if in := &plain[op]; in.name != "" {
		f.out = append(f.out, op)
		f.plain(in)
		return
	}
	switch op {
	case opVecPrefix:
		f.vector()
	case opMiscPrefix:
		f.misc(length)
	case opRefNull, opRefIsNull, opRefFunc, opTableGet, opTableSet:
		f.weigh(1)
		f.reference(op)
	case opDrop, opSelect, opSelectTyped:
		f.weigh(1)
		f.parametric(op)
	case opLocalGet, opLocalSet, opLocalTee, opGlobalGet, opGlobalSet:
		f.weigh(1)
		f.variable(op)
	case opMemorySize, opMemoryGrow:
		f.weigh(1)
		f.memorySizeOrGrow(op)
	default:
		f.weigh(1)
		f.control(op)
	}
}

func (f *funcPass) fail(format string, args ...any) {
	f.r.fail(f.at, "%s: %s", f.op, fmt.Sprintf(format, args...))
}

func (f *funcPass) push(t valType) {
	if len(f.stack) >= registers {
		f.spill.values++
	}
	f.stack = append(f.stack, t)
	if len(f.stack) > f.height {
		f.height = len(f.stack)
	}
}

func (f *funcPass) pushAll(ts string) {
	for i := range len(ts) {
		f.push(valType(ts[i]))
	}
}

// pop takes a value of the wanted type off the stack, of any if it is unknown.
func (f *funcPass) pop(want valType) valType {
	top, n := f.top(), len(f.stack)
	if n == top.height {
		if !top.unreachable {
			f.fail("%s wanted, the stack is empty", want)
		}
		return unknown
	}
	have := f.stack[n-1]
	f.stack = f.stack[:n-1]
	f.spill.kept = min(f.spill.kept, n-1)
	if have != want && have != unknown && want != unknown {
		f.fail("%s wanted, %s on the stack", want, have)
	}
	return have
}

func (f *funcPass) popAll(ts string) {
	for i := len(ts) - 1; i >= 0 && f.r.ok(); i-- {
		f.pop(valType(ts[i]))
	}
}

// unreachable marks the rest of the block as never run.
func (f *funcPass) unreachable() {
	top := f.top()
	f.stack = f.stack[:top.height]
	f.spill.kept = min(f.spill.kept, top.height)
	top.unreachable = true
}

// move counts values that a call or branch carries.
func (f *funcPass) move(n int) {
	if f.moves += n; f.moves > MaxMoves {
		f.r.limit(f.at, "values moved by calls and branches", f.moves, MaxMoves)
	}
}

// enter opens a block whose parameters are on the stack.
func (f *funcPass) enter(op byte, params, results string) {
	f.move(2 * (len(params) + len(results)))
	f.join(len(params) + len(results))
	f.popAll(params)
	if len(f.ctrl) > MaxNesting {
		f.r.limit(f.at, "blocks open at once", len(f.ctrl), MaxNesting)
	}
	f.ctrl = append(f.ctrl, frame{
		op: op, params: params, results: results, height: len(f.stack), charge: f.top().charge,
		sets: f.spill.sets,
	})
	f.pushAll(params)
}

// join counts a place where control flow meets: the engine merges every local
// there, and the values that the block carries.
func (f *funcPass) join(values int) {
	if f.joins += len(f.locals) + values; f.joins > MaxJoins {
		f.r.limit(f.at, "locals × blocks", f.joins, MaxJoins)
	}
}

// leave checks the results at a block's end and takes them off.
func (f *funcPass) leave() frame {
	top := *f.top()
	f.popAll(top.results)
	if f.r.ok() && len(f.stack) != top.height {
		f.fail("%d values too many on the stack", len(f.stack)-top.height)
	}
	return top
}
