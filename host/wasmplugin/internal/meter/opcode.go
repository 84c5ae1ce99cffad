package meter

// Instructions that the pass treats one by one.
const (
	opUnreachable  = 0x00
	opNop          = 0x01
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opSelect       = 0x1b
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableGet     = 0x25
	opTableSet     = 0x26
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opRefNull      = 0xd0
	opRefIsNull    = 0xd1
	opRefFunc      = 0xd2
	opMiscPrefix   = 0xfc
	opVecPrefix    = 0xfd
	opV128Const    = 12 // after opVecPrefix
)

// Instructions after opMiscPrefix; 0 to 7 are the saturating conversions.
const (
	miscMemoryInit = 8
	miscDataDrop   = 9
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscElemDrop   = 13
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableSize  = 16
	miscTableFill  = 17
)

// Instructions that the pass writes itself.
const (
	opI32LtS  = 0x48
	opI32LtU  = 0x49
	opI32Add  = 0x6a
	opI32Sub  = 0x6b
	opI32Or   = 0x72
	opI32Shl  = 0x74
	opI32ShrU = 0x76
	typeVoid  = 0x40 // block type
)

// Weights in units of fuel; every instruction that is not named has weight 1.
const (
	weightDiv   = 20 // division, remainder, square root
	weightVec   = 4  // a vector instruction: some become twenty machine instructions
	weightCall  = 5
	weightRefFn = 50 // ref.func leaves the guest's code for the engine
)

// imm is the kind of an instruction's immediate.
type imm uint8

const (
	immNone    imm = iota
	immMem         // alignment and offset
	immLane        // a lane
	immMemLane     // alignment, offset and a lane
	imm4           // 4, 8 or 16 bytes as they are
	imm8
	imm16
	immI32 // signed LEB128
	immI64
	immLanes16 // i8x16.shuffle: 16 lanes below 32
)

// instr describes an instruction whose operands and results are fixed. An
// entry without a name is no such instruction.
type instr struct {
	name   string
	in     string // operands, a valType a byte, the last one on top of the stack
	out    string // results
	imm    imm
	align  uint8 // greatest exponent of the alignment
	lanes  uint8
	weight uint8 // 0 means 1
}

// plain is the table of the one-byte instructions. It is never written to.
var plain = [256]instr{
	0x28: {name: "i32.load", in: "i", out: "i", imm: immMem, align: 2},
	0x29: {name: "i64.load", in: "i", out: "l", imm: immMem, align: 3},
	0x2a: {name: "f32.load", in: "i", out: "f", imm: immMem, align: 2},
	0x2b: {name: "f64.load", in: "i", out: "d", imm: immMem, align: 3},
	0x2c: {name: "i32.load8_s", in: "i", out: "i", imm: immMem, align: 0},
	0x2d: {name: "i32.load8_u", in: "i", out: "i", imm: immMem, align: 0},
	0x2e: {name: "i32.load16_s", in: "i", out: "i", imm: immMem, align: 1},
	0x2f: {name: "i32.load16_u", in: "i", out: "i", imm: immMem, align: 1},
	0x30: {name: "i64.load8_s", in: "i", out: "l", imm: immMem, align: 0},
	0x31: {name: "i64.load8_u", in: "i", out: "l", imm: immMem, align: 0},
	0x32: {name: "i64.load16_s", in: "i", out: "l", imm: immMem, align: 1},
	0x33: {name: "i64.load16_u", in: "i", out: "l", imm: immMem, align: 1},
	0x34: {name: "i64.load32_s", in: "i", out: "l", imm: immMem, align: 2},
	0x35: {name: "i64.load32_u", in: "i", out: "l", imm: immMem, align: 2},
	0x36: {name: "i32.store", in: "ii", out: "", imm: immMem, align: 2},
	0x37: {name: "i64.store", in: "il", out: "", imm: immMem, align: 3},
	0x38: {name: "f32.store", in: "if", out: "", imm: immMem, align: 2},
	0x39: {name: "f64.store", in: "id", out: "", imm: immMem, align: 3},
	0x3a: {name: "i32.store8", in: "ii", out: "", imm: immMem, align: 0},
	0x3b: {name: "i32.store16", in: "ii", out: "", imm: immMem, align: 1},
	0x3c: {name: "i64.store8", in: "il", out: "", imm: immMem, align: 0},
	0x3d: {name: "i64.store16", in: "il", out: "", imm: immMem, align: 1},
	0x3e: {name: "i64.store32", in: "il", out: "", imm: immMem, align: 2},

	0x41: {name: "i32.const", out: "i", imm: immI32},
	0x42: {name: "i64.const", out: "l", imm: immI64},
	0x43: {name: "f32.const", out: "f", imm: imm4},
	0x44: {name: "f64.const", out: "d", imm: imm8},

	0x45: {name: "i32.eqz", in: "i", out: "i"},
	0x46: {name: "i32.eq", in: "ii", out: "i"},
	0x47: {name: "i32.ne", in: "ii", out: "i"},
	0x48: {name: "i32.lt_s", in: "ii", out: "i"},
	0x49: {name: "i32.lt_u", in: "ii", out: "i"},
	0x4a: {name: "i32.gt_s", in: "ii", out: "i"},
	0x4b: {name: "i32.gt_u", in: "ii", out: "i"},
	0x4c: {name: "i32.le_s", in: "ii", out: "i"},
	0x4d: {name: "i32.le_u", in: "ii", out: "i"},
	0x4e: {name: "i32.ge_s", in: "ii", out: "i"},
	0x4f: {name: "i32.ge_u", in: "ii", out: "i"},
	0x50: {name: "i64.eqz", in: "l", out: "i"},
	0x51: {name: "i64.eq", in: "ll", out: "i"},
	0x52: {name: "i64.ne", in: "ll", out: "i"},
	0x53: {name: "i64.lt_s", in: "ll", out: "i"},
	0x54: {name: "i64.lt_u", in: "ll", out: "i"},
	0x55: {name: "i64.gt_s", in: "ll", out: "i"},
	0x56: {name: "i64.gt_u", in: "ll", out: "i"},
	0x57: {name: "i64.le_s", in: "ll", out: "i"},
	0x58: {name: "i64.le_u", in: "ll", out: "i"},
	0x59: {name: "i64.ge_s", in: "ll", out: "i"},
	0x5a: {name: "i64.ge_u", in: "ll", out: "i"},
	0x5b: {name: "f32.eq", in: "ff", out: "i"},
	0x5c: {name: "f32.ne", in: "ff", out: "i"},
	0x5d: {name: "f32.lt", in: "ff", out: "i"},
	0x5e: {name: "f32.gt", in: "ff", out: "i"},
	0x5f: {name: "f32.le", in: "ff", out: "i"},
	0x60: {name: "f32.ge", in: "ff", out: "i"},
	0x61: {name: "f64.eq", in: "dd", out: "i"},
	0x62: {name: "f64.ne", in: "dd", out: "i"},
	0x63: {name: "f64.lt", in: "dd", out: "i"},
	0x64: {name: "f64.gt", in: "dd", out: "i"},
	0x65: {name: "f64.le", in: "dd", out: "i"},
	0x66: {name: "f64.ge", in: "dd", out: "i"},
	0x67: {name: "i32.clz", in: "i", out: "i"},
	0x68: {name: "i32.ctz", in: "i", out: "i"},
	0x69: {name: "i32.popcnt", in: "i", out: "i"},
	0x6a: {name: "i32.add", in: "ii", out: "i"},
	0x6b: {name: "i32.sub", in: "ii", out: "i"},
	0x6c: {name: "i32.mul", in: "ii", out: "i"},
	0x6d: {name: "i32.div_s", in: "ii", out: "i", weight: weightDiv},
	0x6e: {name: "i32.div_u", in: "ii", out: "i", weight: weightDiv},
	0x6f: {name: "i32.rem_s", in: "ii", out: "i", weight: weightDiv},
	0x70: {name: "i32.rem_u", in: "ii", out: "i", weight: weightDiv},
	0x71: {name: "i32.and", in: "ii", out: "i"},
	0x72: {name: "i32.or", in: "ii", out: "i"},
	0x73: {name: "i32.xor", in: "ii", out: "i"},
	0x74: {name: "i32.shl", in: "ii", out: "i"},
	0x75: {name: "i32.shr_s", in: "ii", out: "i"},
	0x76: {name: "i32.shr_u", in: "ii", out: "i"},
	0x77: {name: "i32.rotl", in: "ii", out: "i"},
	0x78: {name: "i32.rotr", in: "ii", out: "i"},
	0x79: {name: "i64.clz", in: "l", out: "l"},
	0x7a: {name: "i64.ctz", in: "l", out: "l"},
	0x7b: {name: "i64.popcnt", in: "l", out: "l"},
	0x7c: {name: "i64.add", in: "ll", out: "l"},
	0x7d: {name: "i64.sub", in: "ll", out: "l"},
	0x7e: {name: "i64.mul", in: "ll", out: "l"},
	0x7f: {name: "i64.div_s", in: "ll", out: "l", weight: weightDiv},
	0x80: {name: "i64.div_u", in: "ll", out: "l", weight: weightDiv},
	0x81: {name: "i64.rem_s", in: "ll", out: "l", weight: weightDiv},
	0x82: {name: "i64.rem_u", in: "ll", out: "l", weight: weightDiv},
	0x83: {name: "i64.and", in: "ll", out: "l"},
	0x84: {name: "i64.or", in: "ll", out: "l"},
	0x85: {name: "i64.xor", in: "ll", out: "l"},
	0x86: {name: "i64.shl", in: "ll", out: "l"},
	0x87: {name: "i64.shr_s", in: "ll", out: "l"},
	0x88: {name: "i64.shr_u", in: "ll", out: "l"},
	0x89: {name: "i64.rotl", in: "ll", out: "l"},
	0x8a: {name: "i64.rotr", in: "ll", out: "l"},
	0x8b: {name: "f32.abs", in: "f", out: "f"},
	0x8c: {name: "f32.neg", in: "f", out: "f"},
	0x8d: {name: "f32.ceil", in: "f", out: "f"},
	0x8e: {name: "f32.floor", in: "f", out: "f"},
	0x8f: {name: "f32.trunc", in: "f", out: "f"},
	0x90: {name: "f32.nearest", in: "f", out: "f"},
	0x91: {name: "f32.sqrt", in: "f", out: "f", weight: weightDiv},
	0x92: {name: "f32.add", in: "ff", out: "f"},
	0x93: {name: "f32.sub", in: "ff", out: "f"},
	0x94: {name: "f32.mul", in: "ff", out: "f"},
	0x95: {name: "f32.div", in: "ff", out: "f", weight: weightDiv},
	0x96: {name: "f32.min", in: "ff", out: "f"},
	0x97: {name: "f32.max", in: "ff", out: "f"},
	0x98: {name: "f32.copysign", in: "ff", out: "f"},
	0x99: {name: "f64.abs", in: "d", out: "d"},
	0x9a: {name: "f64.neg", in: "d", out: "d"},
	0x9b: {name: "f64.ceil", in: "d", out: "d"},
	0x9c: {name: "f64.floor", in: "d", out: "d"},
	0x9d: {name: "f64.trunc", in: "d", out: "d"},
	0x9e: {name: "f64.nearest", in: "d", out: "d"},
	0x9f: {name: "f64.sqrt", in: "d", out: "d", weight: weightDiv},
	0xa0: {name: "f64.add", in: "dd", out: "d"},
	0xa1: {name: "f64.sub", in: "dd", out: "d"},
	0xa2: {name: "f64.mul", in: "dd", out: "d"},
	0xa3: {name: "f64.div", in: "dd", out: "d", weight: weightDiv},
	0xa4: {name: "f64.min", in: "dd", out: "d"},
	0xa5: {name: "f64.max", in: "dd", out: "d"},
	0xa6: {name: "f64.copysign", in: "dd", out: "d"},
	0xa7: {name: "i32.wrap_i64", in: "l", out: "i"},
	0xa8: {name: "i32.trunc_f32_s", in: "f", out: "i"},
	0xa9: {name: "i32.trunc_f32_u", in: "f", out: "i"},
	0xaa: {name: "i32.trunc_f64_s", in: "d", out: "i"},
	0xab: {name: "i32.trunc_f64_u", in: "d", out: "i"},
	0xac: {name: "i64.extend_i32_s", in: "i", out: "l"},
	0xad: {name: "i64.extend_i32_u", in: "i", out: "l"},
	0xae: {name: "i64.trunc_f32_s", in: "f", out: "l"},
	0xaf: {name: "i64.trunc_f32_u", in: "f", out: "l"},
	0xb0: {name: "i64.trunc_f64_s", in: "d", out: "l"},
	0xb1: {name: "i64.trunc_f64_u", in: "d", out: "l"},
	0xb2: {name: "f32.convert_i32_s", in: "i", out: "f"},
	0xb3: {name: "f32.convert_i32_u", in: "i", out: "f"},
	0xb4: {name: "f32.convert_i64_s", in: "l", out: "f"},
	0xb5: {name: "f32.convert_i64_u", in: "l", out: "f"},
	0xb6: {name: "f32.demote_f64", in: "d", out: "f"},
	0xb7: {name: "f64.convert_i32_s", in: "i", out: "d"},
	0xb8: {name: "f64.convert_i32_u", in: "i", out: "d"},
	0xb9: {name: "f64.convert_i64_s", in: "l", out: "d"},
	0xba: {name: "f64.convert_i64_u", in: "l", out: "d"},
	0xbb: {name: "f64.promote_f32", in: "f", out: "d"},
	0xbc: {name: "i32.reinterpret_f32", in: "f", out: "i"},
	0xbd: {name: "i64.reinterpret_f64", in: "d", out: "l"},
	0xbe: {name: "f32.reinterpret_i32", in: "i", out: "f"},
	0xbf: {name: "f64.reinterpret_i64", in: "l", out: "d"},
	0xc0: {name: "i32.extend8_s", in: "i", out: "i"},
	0xc1: {name: "i32.extend16_s", in: "i", out: "i"},
	0xc2: {name: "i64.extend8_s", in: "l", out: "l"},
	0xc3: {name: "i64.extend16_s", in: "l", out: "l"},
	0xc4: {name: "i64.extend32_s", in: "l", out: "l"},
}

// saturating is the table of the conversions after opMiscPrefix. It is never
// written to.
var saturating = [8]instr{
	0x00: {name: "i32.trunc_sat_f32_s", in: "f", out: "i"},
	0x01: {name: "i32.trunc_sat_f32_u", in: "f", out: "i"},
	0x02: {name: "i32.trunc_sat_f64_s", in: "d", out: "i"},
	0x03: {name: "i32.trunc_sat_f64_u", in: "d", out: "i"},
	0x04: {name: "i64.trunc_sat_f32_s", in: "f", out: "l"},
	0x05: {name: "i64.trunc_sat_f32_u", in: "f", out: "l"},
	0x06: {name: "i64.trunc_sat_f64_s", in: "d", out: "l"},
	0x07: {name: "i64.trunc_sat_f64_u", in: "d", out: "l"},
}
