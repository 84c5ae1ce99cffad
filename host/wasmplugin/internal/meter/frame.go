package meter

// What one activation of a function takes of the stack budget: a fixed part,
// a slot for every parameter, local, operand and value passed to a call, and
// for every value that the engine may have to move out of a register. The
// engine gives each such value a place of its own in the frame, which it never
// uses for another, so that the first part alone falls short sixfold in honest
// programs and without bound in others.
const (
	frameBytes = 96
	slotBytes  = 16 // a vector
	spillBytes = 8
	mergeBytes = 1 // most merges are never live; see README.md
	registers  = 6 // operands below this height are taken to be in registers
)

// spill counts values that may be moved out of a register.
type spill struct {
	sets   int // values given to locals
	values int // operands that are high on the stack or live across a call
	kept   int // operands, from the bottom, that were counted at the last call
	merges int // values that meet where blocks end
}

// call counts the operands below a call's arguments.
func (s *spill) call(height int) {
	s.values += max(height-s.kept, 0)
	s.kept = height
}

// frame is the function's cost in bytes.
func (f *funcPass) frame() int64 {
	return frameBytes + slotBytes*int64(len(f.locals)+f.height+f.passed) +
		spillBytes*int64(f.spill.sets+f.spill.values) + mergeBytes*int64(f.spill.merges)
}
