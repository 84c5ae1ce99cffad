package meter

// What the rewritten module asks of its host. An original module that imports
// from [YieldModule] or exports a name starting with [ExportPrefix] is refused.
const (
	// YieldModule and YieldName name the added import, of type (i32) -> i32:
	// the fuel that is left (below zero: owed) in, the new fuel out.
	YieldModule = "reshost_meter"
	YieldName   = "yield"

	// ExportPrefix starts every export that the pass adds.
	ExportPrefix = "reshost_meter."
	// FuelExport is a mutable i32: units left before the next yield.
	FuelExport = ExportPrefix + "fuel"
	// StackExport is a mutable i32: bytes left of the call's stack budget.
	// Below zero after a trap, it says that the budget was the reason.
	StackExport = ExportPrefix + "stack"
	// PagesExport is a mutable i32 of a module with a memory: its size in pages
	// as the guest sees it. After a reset the memory itself may be larger.
	PagesExport = ExportPrefix + "pages"
)

// What a host puts into the two counters.
const (
	// Slice is the greatest number of units that a guest may run between two
	// yields. The host sets no more than that.
	Slice = 100_000
	// StackBudget is the stack of one call, in bytes: 8 MiB less what is kept
	// for the small leaf functions, which do not count themselves.
	StackBudget = 8<<20 - leafReserve
)

// The limits of a module, fixed: what is over one of them is refused.
const (
	MaxModule       = 32 << 20   // bytes of a module
	MaxBody         = 1 << 20    // bytes of a function's body
	MaxLocals       = 4_096      // parameters and locals of a function
	MaxJoins        = 1_000_000  // locals × blocks of a function
	MaxModuleJoins  = 20_000_000 // locals × blocks of all functions
	MaxMoves        = 2_000_000  // values moved by a function's calls and branches, as written
	MaxModuleMoves  = 40_000_000 // the same of all functions
	MaxTable        = 100_000    // elements of all tables; maxima are lowered to it
	MaxTables       = 100
	MaxTypes        = 100_000
	MaxTypeValues   = 1_000     // parameters, and results, of one type
	MaxTypesValues  = 1_000_000 // parameters and results of all types
	MaxImports      = 1_000
	MaxFunctions    = 500_000
	MaxGlobals      = 10_000
	MaxExports      = 10_000
	MaxElements     = 100_000 // element segments
	MaxElementItems = 500_000 // entries of all element segments
	MaxData         = 100_000 // data segments
	MaxNesting      = 10_000  // blocks open at once
	MaxPages        = 65_536  // pages of memory
)

// Options are for [Instrument]; nil means the defaults.
type Options struct {
	// Stack is the stack budget that an instance starts with, in bytes. It is
	// what a start function gets; before every call the host sets the global.
	// 0 means [StackBudget].
	Stack int32
}

// Result is a rewritten module and what the host must know about it.
type Result struct {
	// Wasm is the module to compile in place of the original.
	Wasm []byte
	// Memory says that the module has one. (An instance without one hands out an
	// api.Memory that panics.)
	Memory bool
	// Globals are the exports that a reset puts back: the guest's own mutable
	// globals of a number type, under names that the pass gave them, and
	// PagesExport. FuelExport and StackExport are not among them.
	Globals []string
	// Fresh says why memory and Globals do not hold all that a call can
	// change, so that each call needs an instance of its own. Empty when a
	// reset suffices.
	Fresh []Feature
	// Stats are for logs and benchmarks.
	Stats Stats
}

// Feature is one kind of thing that forces fresh instances.
type Feature struct {
	Name   string // "table.set", "data.drop", "mutable v128 global" …
	Offset int    // where in the original it is met first
}

// Stats counts what the pass met and did.
type Stats struct {
	Functions int // that have a body
	Loops     int
	Charges   int // places where fuel is charged
	Leaves    int // functions that need no stack accounting
	Size      int // bytes of the result
}

// Instrument checks a module and rewrites it. It keeps nothing of wasm, which
// it does not change. The error is an [*Error]. It may be called concurrently,
// and takes time and memory linear in the module's size.
func Instrument(wasm []byte, opts *Options) (*Result, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Stack == 0 {
		o.Stack = StackBudget
	}
	m, err := parse(wasm)
	if err != nil {
		return nil, err
	}
	return m.write(o), nil
}

// Refill is the fuel to answer a yield with: a slice, less what is owed. After
// one long operation the next charge yields again at once, and only once.
func Refill(left int32) int32 {
	if left > 0 { // not asked for by the guest's own code
		left = 0
	}
	return max(left+Slice, 0)
}

// Charge is the fuel after work of a host function for the guest, in units
// (eight bytes copied are one). The guest yields at its next charge when
// it is below zero.
func Charge(left int32, units int64) int32 {
	return int32(max(int64(left)-max(units, 0), -1<<30))
}
