// Package meter checks a WebAssembly module from a stranger and rewrites it so
// that its host can interrupt it anywhere, bound its stack, and restore it
// after a call. It is a function from bytes to bytes; host/wasmplugin, its only
// importer, compiles what it returns and never the original.
//
// The result accepts one more import, [YieldModule].[YieldName], of type
// (i32) -> i32, and exports two counters and the guest's mutable globals:
//
//	fuel      units of work left before the guest yields (one unit: one simple
//	          instruction, or eight bytes of a bulk operation)
//	stack     bytes left of the call's stack budget
//	global.N  the guest's global N
//	pages     the size of its memory as it sees it, one of the globals to restore
//
// # A call
//
// Before it, the host sets the fuel to 0 and the stack to [StackBudget]. Then
// the guest calls yield before its first instruction, and again before it has
// run [Slice] units more. The parameter is the fuel that is left, zero or
// below it; the result is the new fuel, made by [Refill]. A host function that
// works for the guest lowers the fuel through the export, by [Charge]. To end
// the call, yield panics: wazero turns that into the call's error and leaves
// the instance open. Its memory, globals and counters are then whatever they
// were; the host puts back memory and [Result.Globals] and sets both counters
// again, which makes the instance as good as new unless [Result.Fresh] says
// that a call can change more than that.
//
// A guest that exhausts its stack budget traps as unreachable with the stack
// counter below zero.
//
// # Errors
//
// Every module that is refused gives an [*Error]: one line with the offset,
// what is wrong there and, where a limit is exceeded, which.
//
//	res, err := meter.Instrument(wasm, nil)
//	if err != nil {
//		return fmt.Errorf("plugin %s: %w", name, err)
//	}
//	compiled, err := runtime.CompileModule(ctx, res.Wasm)
package meter
