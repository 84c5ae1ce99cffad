package reshost

import "github.com/reshost/reshost/abi"

// PollFunc looks for changes and reports them with [Call.Updated] and [Call.ListChanged].
type PollFunc func(req *PollRequest, out *PollResponse) error

// PollRequest is a tick of the watch, a change that the host saw, or a webhook.
type PollRequest struct {
	Call
	// Watched are the URIs that somebody watches.
	Watched []string
	// State is what the last poll gave to SetState, on whatever instance; empty at first and after a reload.
	State []byte
	// Changed are paths in granted folders that changed, each beginning with the root's name. One empty path means that
	// anything may have changed. Empty for a plain tick.
	Changed []string
	// Body and Headers are those of a webhook that the host verified.
	Body    []byte
	Headers []Header
}

// Header is a header field of a webhook or of HTTP.
type Header struct{ Name, Value string }

// PollResponse takes what a poll has to say beside the changes.
type PollResponse struct {
	in   *Instance
	info abi.Info
	err  error
}

// SetState keeps b, at most 8 KiB, for the next poll.
func (w *PollResponse) SetState(b []byte) {
	w.in.rec = (&abi.State{Data: stringOf(b)}).Append(w.in.rec[:0])
	if w.in.emit(abi.KindState) != abi.ReplyContinue {
		w.err = Internal("the host rejected the poll's state; its log says why")
	}
}

// SetNextPoll asks for the next poll after so many milliseconds. Without it the host uses Plugin.PollMillis.
func (w *PollResponse) SetNextPoll(millis int64) { w.info.NextPollMillis = uint64(max(millis, 0)) }
