package reshost

import "github.com/reshost/reshost/abi"

// CompleteFunc proposes values for a variable, best first.
type CompleteFunc func(req *CompleteRequest, out *Completion) error

// CompleteRequest asks for values of a variable.
type CompleteRequest struct {
	Call
	Caller
	// Template is the template's text as listed.
	Template string
	// Argument is the variable's name, and Value what was typed so far, possibly empty.
	Argument, Value string

	context []abi.Var
}

// Known returns the value of another variable if the client knows it already.
func (r *CompleteRequest) Known(name string) (string, bool) {
	for i := range r.context {
		if r.context[i].Name == name {
			return r.context[i].Value, true
		}
	}
	return "", false
}

// MaxValues is how many values of a completion reach the client.
const MaxValues = 100

// Completion takes the proposals.
type Completion struct {
	in    *Instance
	count int
	more  bool
	total abi.Optional
	info  abi.Info
}

// Add proposes a value, raw (not percent-encoded). It reports false when no more are wanted, since MaxValues were taken: the
// handler may then return, or go on to count what it has for SetTotal. A handler that adds all its values needs nothing
// else: the client learns the total if they all fitted, and else that there are more.
func (w *Completion) Add(value string) bool {
	if w.count == MaxValues {
		w.more = true
		return false
	}
	w.in.rec = (&abi.Value{Value: value}).Append(w.in.rec[:0])
	switch w.in.emit(abi.KindValue) {
	case abi.ReplyStop:
		w.more = true
		return false
	case abi.ReplyContinue:
		w.count++
	}
	return true
}

// SetTotal says how many values there are in all.
func (w *Completion) SetTotal(n int) { w.total = abi.Some(uint64(max(n, 0))) }

// SetMore says that there are more values than those added.
func (w *Completion) SetMore() { w.more = true }

// SetTTL says how long the proposals may be reused.
func (w *Completion) SetTTL(millis int64) { w.info.TTLMillis = abi.Some(uint64(max(millis, 0))) }

// SetPublic says that every caller gets the same values. It counts only where the operator allows it.
func (w *Completion) SetPublic() { w.info.Scope = abi.ScopePublic }
