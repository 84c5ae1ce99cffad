package meter

// plain checks an instruction of the tables; its opcode is written already.
func (f *funcPass) plain(in *instr) {
	f.op = in.name
	w := int(in.weight)
	f.weigh(max(w, 1))
	f.immediate(in)
	f.popAll(in.in)
	f.pushAll(in.out)
}

// immediate reads what follows an opcode and writes it in its shortest form,
// so that the engine never reads an encoding of the guest's choice.
func (f *funcPass) immediate(in *instr) {
	r := &f.r
	switch in.imm {
	case immMem:
		f.memoryArg(in)
	case immMemLane:
		f.memoryArg(in)
		f.lane(in)
	case immLane:
		f.lane(in)
	case imm4:
		f.out = append(f.out, r.bytes(4)...)
	case imm8:
		f.out = append(f.out, r.bytes(8)...)
	case imm16:
		f.out = append(f.out, r.bytes(16)...)
	case immI32:
		v := r.s32()
		f.length = int64(uint32(v))
		f.out = appendS64(f.out, int64(v))
	case immI64:
		f.out = appendS64(f.out, r.s64())
	case immLanes16:
		lanes := r.bytes(16)
		for _, l := range lanes {
			if l >= 32 {
				f.fail("lane %d of 32", l)
			}
		}
		f.out = append(f.out, lanes...)
	}
}

func (f *funcPass) memoryArg(in *instr) {
	f.needMemory()
	align := f.r.u32()
	if f.r.ok() && align > uint32(in.align) {
		f.fail("alignment 2^%d over its size", align)
	}
	f.out = appendU32(appendU32(f.out, align), f.r.u32())
}

func (f *funcPass) needMemory() {
	if f.m.memory == nil {
		f.fail("memory index 0 of 0 memories")
	}
}

func (f *funcPass) lane(in *instr) {
	l := f.r.byte()
	if f.r.ok() && l >= in.lanes {
		f.fail("lane %d of %d", l, in.lanes)
	}
	f.out = append(f.out, l)
}

// vector reads the second part of a vector instruction. The engine reads it as
// one byte, so that an encoding other than the shortest would be another
// instruction to it.
func (f *funcPass) vector() {
	start := f.r.pos
	sub := f.r.u32()
	if f.r.ok() && (sub >= uint32(len(vector)) || vector[sub].name == "" || f.r.pos-start != 1+int(sub>>7)) {
		f.r.fail(f.at, "unknown vector instruction %#x", sub)
	}
	if f.r.ok() {
		f.out = appendU32(append(f.out, opVecPrefix), sub)
		f.plain(&vector[sub])
	}
}

// parametric is drop and the two selects.
func (f *funcPass) parametric(op byte) {
	if op == opDrop {
		f.op = "drop"
		f.out = append(f.out, op)
		f.pop(unknown)
		return
	}
	f.op = "select"
	f.out = append(f.out, op)
	if op == opSelectTyped {
		if n := f.r.u32(); f.r.ok() && n != 1 {
			f.fail("%d types in place of one", n)
		}
		t := readValType(&f.r)
		f.out = append(f.out, 1, t.encode())
		f.pop(i32)
		f.pop(t)
		f.pop(t)
		f.push(t)
		return
	}
	f.pop(i32)
	b, a := f.pop(unknown), f.pop(unknown)
	switch {
	case a.isRef() || b.isRef():
		f.fail("a reference needs the select that names its type")
	case a == unknown:
		a = b
	case b != unknown && a != b:
		f.fail("%s and %s", a, b)
	}
	f.push(a)
}

func (f *funcPass) variable(op byte) {
	start := f.r.pos
	i := f.r.u32()
	f.out = appendU32(append(f.out, op), i)
	if op >= opGlobalGet {
		f.globalVariable(op, start, i)
		return
	}
	f.op = "local.get"
	if f.r.ok() && i >= uint32(len(f.locals)) {
		f.r.fail(start, "local index %d of %d locals", i, len(f.locals))
	}
	if !f.r.ok() {
		return
	}
	t := f.locals[i]
	switch op {
	case opLocalGet:
		f.push(t)
	case opLocalSet:
		f.op = "local.set"
		f.spill.sets++
		f.pop(t)
	case opLocalTee:
		f.op = "local.tee"
		f.spill.sets++
		f.pop(t)
		f.push(t)
	}
}

func (f *funcPass) globalVariable(op byte, start int, i uint32) {
	if f.r.ok() && i >= uint32(len(f.m.globals)) {
		f.r.fail(start, "global index %d of %d globals", i, len(f.m.globals))
	}
	if !f.r.ok() {
		return
	}
	g := &f.m.globals[i]
	if op == opGlobalGet {
		f.op = "global.get"
		f.push(g.typ)
		return
	}
	f.op = "global.set"
	if !g.mut {
		f.fail("global %d cannot be changed", i)
	}
	f.pop(g.typ)
}

func (f *funcPass) memorySizeOrGrow(op byte) {
	f.op = "memory.size"
	if op == opMemoryGrow {
		f.op = "memory.grow"
	}
	f.needMemory()
	f.zero("memory index")
	if op == opMemoryGrow {
		f.pop(i32)
		f.callHelper(helpPages)
	} else {
		f.out = appendU32(append(f.out, opGlobalGet), f.m.helpers.pages)
	}
	f.push(i32)
}

// zero reads an index that can only be 0, in one byte.
func (f *funcPass) zero(what string) {
	if b := f.r.byte(); f.r.ok() && b != 0 {
		f.r.fail(f.r.pos-1, "%s %d of 1", what, b)
	}
}

func (f *funcPass) reference(op byte) {
	switch op {
	case opRefNull:
		f.op = "ref.null"
		t := readRefType(&f.r)
		f.out = append(f.out, op, t.encode())
		f.push(t)
	case opRefIsNull:
		f.op = "ref.is_null"
		f.out = append(f.out, op)
		if t := f.pop(unknown); t != unknown && !t.isRef() {
			f.fail("%s is no reference", t)
		}
		f.push(i32)
	case opRefFunc:
		f.refFunc()
	default:
		f.op = "table.get"
		tab := f.m.tableIndex(&f.r)
		f.out = appendU32(append(f.out, op), tab)
		if !f.r.ok() {
			return
		}
		t := f.m.tables[tab].typ
		if op == opTableGet {
			f.pop(i32)
			f.push(t)
			return
		}
		f.op = "table.set"
		f.m.needFresh(f.op, f.at)
		f.pop(t)
		f.pop(i32)
	}
}

func (f *funcPass) refFunc() {
	f.op = "ref.func"
	f.weigh(weightRefFn)
	fn := f.m.funcIndex(&f.r)
	if f.r.ok() && (int(fn) >= len(f.m.declared) || !f.m.declared[fn]) {
		f.fail("function %d is named nowhere outside of bodies", fn)
	}
	f.out = appendU32(append(f.out, opRefFunc), f.m.shift(fn))
	f.push(funcref)
}
