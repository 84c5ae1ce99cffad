package meter

import "fmt"

// Error says in one line why a module was refused. Every error of
// [Instrument] is an *Error.
type Error struct {
	Offset int    // where in the module, in bytes from its start
	Reason string // what is wrong; for a limit, what there is too much of
	Have   int    // when a limit is exceeded: how much there is
	Limit  int    // when a limit is exceeded: the limit; 0 otherwise
}

func (e *Error) Error() string {
	if e.Limit != 0 {
		return fmt.Sprintf("offset %#x: %s: %d, over the limit of %d", e.Offset, e.Reason, e.Have, e.Limit)
	}
	return fmt.Sprintf("offset %#x: %s", e.Offset, e.Reason)
}

func errorAt(offset int, format string, args ...any) *Error {
	return &Error{Offset: offset, Reason: fmt.Sprintf(format, args...)}
}
