package meter

import "fmt"

// controlNames are for errors; it is never written to.
var controlNames = [...]string{
	opUnreachable: "unreachable", opNop: "nop", opBlock: "block", opLoop: "loop", opIf: "if", opElse: "else",
	opEnd: "end", opBr: "br", opBrIf: "br_if", opBrTable: "br_table", opReturn: "return", opCall: "call",
	opCallIndirect: "call_indirect",
}

func (f *funcPass) control(op byte) {
	if int(op) >= len(controlNames) || controlNames[op] == "" {
		f.r.fail(f.at, "%s", unknownInstruction(op))
		return
	}
	f.op = controlNames[op]
	switch op {
	case opUnreachable:
		f.out = append(f.out, op)
		f.unreachable()
	case opNop:
		f.out = append(f.out, op)
	case opBlock, opLoop, opIf:
		f.block(op)
	case opElse:
		f.elseArm()
	case opEnd:
		f.end()
	case opBr, opBrIf:
		f.branch(op)
	case opBrTable:
		f.branchTable()
	case opReturn:
		f.move(len(f.typ.results))
		f.popAll(f.typ.results)
		f.unreachable()
		// The stack budget is given back at the one end of the body.
		f.out = appendU32(append(f.out, opBr), uint32(len(f.ctrl)-1))
	case opCall:
		fn := f.m.funcIndex(&f.r)
		f.out = appendU32(append(f.out, op), f.m.shift(fn))
		if f.r.ok() {
			f.call(f.m.funcType(fn))
		}
	case opCallIndirect:
		f.callIndirect()
	}
}

func unknownInstruction(op byte) string {
	switch op {
	case 0x06, 0x07, 0x08, 0x09, 0x0a, 0x18, 0x19, 0x1f:
		return fmt.Sprintf("exception handling (instruction %#x) is not supported", op)
	case 0x12, 0x13, 0x15:
		return fmt.Sprintf("tail calls (instruction %#x) are not supported", op)
	case 0x14, 0xd3, 0xd4, 0xd5, 0xd6:
		return fmt.Sprintf("typed function references (instruction %#x) are not supported", op)
	case 0xfb:
		return "garbage collection (instruction 0xfb) is not supported"
	case 0xfe:
		return "threads (instruction 0xfe) are not supported"
	}
	return fmt.Sprintf("unknown instruction %#x", op)
}

func (f *funcPass) block(op byte) {
	params, results := f.blockType(op)
	if op == opIf {
		f.pop(i32)
	}
	if !f.r.ok() {
		return
	}
	f.enter(op, params, results)
	if op == opLoop {
		f.m.stats.Loops++
		f.top().charge = f.writeCharge()
	}
}

// blockType reads a block's type and writes it after the instruction.
func (f *funcPass) blockType(op byte) (params, results string) {
	f.out = append(f.out, op)
	if f.r.pos < f.r.end {
		b := f.r.buf[f.r.pos]
		t := decodeValType(b)
		if t != 0 || b == typeVoid {
			f.r.pos++
			f.out = append(f.out, b)
			if t != 0 {
				results = t.letter()
			}
			return "", results
		}
	}
	start := f.r.pos
	i := f.r.s33()
	if f.r.ok() && (i < 0 || i >= int64(len(f.m.types))) {
		f.r.fail(start, "block type index %d of %d types", i, len(f.m.types))
	}
	if !f.r.ok() {
		return "", ""
	}
	f.out = appendS64(f.out, i)
	return f.m.types[i].params, f.m.types[i].results
}

func (f *funcPass) elseArm() {
	f.out = append(f.out, opElse)
	if f.top().op != opIf {
		f.fail("no if is open")
		return
	}
	top := f.leave()
	f.join(0)
	parent := f.ctrl[len(f.ctrl)-2].charge
	*f.top() = frame{
		op: opElse, params: top.params, results: top.results, height: top.height, charge: parent, sets: top.sets,
	}
	f.pushAll(top.params)
}

func (f *funcPass) end() {
	f.out = append(f.out, opEnd)
	top := f.leave()
	if top.op == opIf && top.params != top.results {
		f.fail("an if without else must leave what it takes")
	}
	f.spill.merges += min(f.spill.sets-top.sets, len(f.locals)) + len(top.params) + len(top.results)
	f.ctrl = f.ctrl[:len(f.ctrl)-1]
	if len(f.ctrl) > 0 {
		f.pushAll(top.results)
	}
}

// labelIndex reads the index of an open block.
func (f *funcPass) labelIndex() uint32 {
	start := f.r.pos
	l := f.r.u32()
	if f.r.ok() && int64(l) >= int64(len(f.ctrl)) {
		f.r.fail(start, "label index %d of %d labels", l, len(f.ctrl))
		return 0
	}
	return l
}

func (f *funcPass) target(label uint32) *frame { return &f.ctrl[len(f.ctrl)-1-int(label)] }

func (f *funcPass) branch(op byte) {
	l := f.labelIndex()
	f.out = appendU32(append(f.out, op), l)
	if op == opBrIf {
		f.pop(i32)
	}
	types := f.target(l).label()
	f.move(len(types))
	f.popAll(types)
	if op == opBr {
		f.unreachable()
	} else {
		f.pushAll(types)
	}
}

func (f *funcPass) branchTable() {
	n := f.r.count("labels of a br_table", MaxBody, 1)
	f.labels = f.labels[:0]
	f.out = appendU32(append(f.out, opBrTable), uint32(n))
	for i := 0; i <= n && f.r.ok(); i++ { // the default comes last
		l := f.labelIndex()
		f.labels = append(f.labels, l)
		f.out = appendU32(f.out, l)
	}
	f.pop(i32)
	if !f.r.ok() {
		return
	}
	types := f.target(f.labels[n]).label()
	f.move((n + 1) * len(types))
	base := len(f.stack)
	for _, l := range f.labels {
		other := f.target(l).label()
		if len(other) != len(types) {
			f.fail("labels that take %d and %d values", len(types), len(other))
		}
		if !f.r.ok() {
			return
		}
		f.checkTop(other)
	}
	f.stack = f.stack[:base]
	f.unreachable()
}

// checkTop checks the values on the stack without taking them off.
func (f *funcPass) checkTop(types string) {
	top := f.top()
	for i := range len(types) {
		want, at := valType(types[len(types)-1-i]), len(f.stack)-1-i
		if at < top.height {
			if !top.unreachable {
				f.fail("%s wanted, the stack is empty", want)
			}
			return
		}
		if have := f.stack[at]; have != want && have != unknown {
			f.fail("%s wanted, %s on the stack", want, have)
			return
		}
	}
}

func (f *funcPass) call(t *funcType) {
	f.weigh(weightCall)
	f.calls = true
	f.passed = max(f.passed, len(t.params)+len(t.results))
	f.move(len(t.params) + len(t.results))
	f.popAll(t.params)
	f.spill.call(len(f.stack))
	f.pushAll(t.results)
}

func (f *funcPass) callIndirect() {
	typ := f.m.typeIndex(&f.r)
	tabAt := f.r.pos
	tab := f.m.tableIndex(&f.r)
	f.out = appendU32(appendU32(append(f.out, opCallIndirect), typ), tab)
	if !f.r.ok() {
		return
	}
	if f.m.tables[tab].typ != funcref {
		f.r.fail(tabAt, "call_indirect: table %d holds %s", tab, f.m.tables[tab].typ)
		return
	}
	f.pop(i32)
	f.call(&f.m.types[typ])
}
