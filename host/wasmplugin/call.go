package wasmplugin

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/internal/uri"
)

// call is one run of an export, from the host's side: its request, what the guest pushed, and what it holds. A call is
// used by one goroutine at a time, and dies with the run.
type call struct {
	plugin *Plugin
	// export is the name of the export that runs; "" for _initialize and a start function.
	export  string
	request []byte
	out     *output // the instance's: not to be touched once the run is over
	// stderr is the end of what the guest wrote there, once the run is over.
	stderr string
	// about is the URI or template that the call is about; "" for a list. outcome is what the call tells about the plugin, and
	// ran says that its guest has computed: both are for the breaker.
	about   string
	outcome sign
	ran     bool
	// sink takes the records that this export may emit; nil takes none.
	sink sink
	// served is what the plugin serves during this call.
	served *served
	// pack says that the guest runs to describe itself: no capability is granted.
	pack bool

	// stopped says that a limit is reached: only CURSOR, INFO and ERROR are still taken. limit is its value where the
	// result is too large by it.
	stopped bool
	limit   int64
	// rejected is the reason of the first record that was refused.
	rejected string
	// failure is the last ERROR record.
	failure *abi.Error

	// partition is the caller's share of the plugin's kv store; private says that the result depends on it.
	partition string
	private   bool

	changes changes
	held    *handles

	// deadline of the run, the zero time where there is none; turn is since when it has had the processor.
	deadline, turn time.Time
	// computing says that the call has a turn.
	computing bool
	// fuel of the instance, and what the host function that runs has cost so far.
	fuel  api.MutableGlobal
	units int64
	// clientLog sends a line to the client; nil for none.
	clientLog func(level, message string)
}

// sink takes the records of one export. take is called with kinds that are legal there, and never for ERROR, UPDATED and
// LIST_CHANGED, which are the same everywhere.
type sink interface {
	take(c *call, kind abi.Kind, data string) abi.Reply
	// write appends to the part that is open.
	write(c *call, b []byte) abi.Reply
}

// noWrite is for the sinks of exports that have no bodies.
type noWrite struct{}

func (noWrite) write(c *call, _ []byte) abi.Reply { return c.reject("write: there are no bodies here") }

// changes are what one call reports as changed.
type changes struct {
	uris []string
	seen map[string]bool
	// list says that the list changed, all that more changed than one call may report.
	list, all bool
}

type callKey struct{}

// withCall begins a run: host functions find the call, and its clock is ctx's.
func withCall(ctx context.Context, c *call) context.Context {
	c.deadline, _ = ctx.Deadline()
	c.turn = time.Now()
	return context.WithValue(ctx, callKey{}, c)
}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	if c == nil {
		panic(&trap{"a host function was called outside of a call"})
	}
	return c
}

// close releases what the call holds: handles live for one call.
func (c *call) close() {
	if c.held != nil {
		c.held.close()
		c.held = nil
	}
	c.out.flush()
	c.stderr = c.out.takeTail()
}

// reject refuses a record and says why in the log.
func (c *call) reject(format string, args ...any) abi.Reply {
	why := fmt.Sprintf(format, args...)
	if c.rejected == "" {
		c.rejected = why
	}
	c.plugin.log.line(slog.LevelWarn, "record rejected", slog.String("export", c.export), slog.String("reason", safeText(why, abi.MaxLogLine)))
	return abi.ReplyRejected
}

// takeState decodes a STATE record. Where it is rejected the reply says so.
func (c *call) takeState(data string) (string, abi.Reply) {
	var m abi.State
	if err := m.Decode(data); err != nil {
		return "", c.reject("%s: %v", abi.KindState, err)
	}
	if len(m.Data) > abi.MaxState {
		return "", c.reject("%s of %d bytes, more than %d", abi.KindState, len(m.Data), abi.MaxState)
	}
	return m.Data, abi.ReplyContinue
}

// stop ends what the guest may push. limit is the value that was met, where it makes the result too large.
func (c *call) stop(limit int64) abi.Reply {
	c.stopped = true
	if limit > 0 && c.limit == 0 {
		c.limit = limit
	}
	return abi.ReplyStop
}

// emit takes one record of size bytes, which data copies out of the guest.
func (c *call) emit(kind abi.Kind, size int, data func() string) abi.Reply {
	if kind.String() == "" {
		return abi.ReplyUnknown
	}
	if !kind.Legal(c.export) || c.sink == nil {
		return c.reject("%s is not legal here", kind)
	}
	bound := abi.MaxRecord
	if kind == abi.KindManifest {
		bound = abi.MaxManifest
	}
	if size > bound {
		return c.reject("%s of %d bytes, more than %d", kind, size, bound)
	}
	if c.stopped && kind != abi.KindCursor && kind != abi.KindInfo && kind != abi.KindError {
		return abi.ReplyStop
	}
	switch kind {
	case abi.KindError:
		return c.takeError(data())
	case abi.KindUpdated:
		return c.takeUpdated(data())
	case abi.KindListChanged:
		c.changes.list = true
		return abi.ReplyContinue
	}
	return c.sink.take(c, kind, data())
}

func (c *call) takeError(data string) abi.Reply {
	e := &abi.Error{}
	if err := e.Decode(data); err != nil {
		// Malformed or not: it is a sign of an error.
		c.failure = &abi.Error{}
		return c.reject("%s: %v", abi.KindError, err)
	}
	c.failure = e
	return abi.ReplyContinue
}

func (c *call) takeUpdated(data string) abi.Reply {
	var m abi.Updated
	if err := m.Decode(data); err != nil {
		return c.reject("%s: %v", abi.KindUpdated, err)
	}
	u, ok := c.served.resolve(m.URI)
	if !ok {
		return c.reject("%s: %.256q does not lead to this plugin", abi.KindUpdated, m.URI)
	}
	if c.changes.seen[u] || c.changes.all {
		return abi.ReplyContinue
	}
	if limit := c.plugin.limits.Events; limit >= 0 && len(c.changes.uris) >= limit {
		c.changes = changes{list: true, all: true}
		return abi.ReplyContinue
	}
	if c.changes.seen == nil {
		c.changes.seen = map[string]bool{}
	}
	c.changes.seen[u] = true
	c.changes.uris = append(c.changes.uris, u)
	return abi.ReplyContinue
}

// emittedURI checks a URI of a record and returns it in normal form.
func (c *call) emittedURI(kind abi.Kind, text string) (string, abi.Reply) {
	if text == "" {
		return "", c.reject("%s without a URI", kind)
	}
	if len(text) > uri.MaxLen {
		return "", c.reject("%s: a URI of %d bytes, more than %d", kind, len(text), uri.MaxLen)
	}
	u, ok := c.served.resolve(text)
	if !ok {
		return "", c.reject("%s: %.256q does not lead to this plugin", kind, text)
	}
	return u, abi.ReplyContinue
}
