package mcp

import (
	"context"
	"errors"
	"net/http"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/provider"
)

// filter is what a listen request asks for (rule S1). Kinds that no server of resources has are not kept: what is not
// acknowledged is not served.
type filter struct {
	list bool
	// uris are without doubles; subscribed says that the member was there, even empty.
	uris       []string
	subscribed bool
}

// listen answers subscriptions/listen (rules S1 to S5): it acknowledges, tells of changes until someone ends it, and then says
// so.
func (c *call) listen(ctx context.Context) error {
	want, err := c.filter()
	if err != nil {
		return err
	}
	if c.req.Stream == nil {
		return &failure{
			wire:   jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Accept must list text/event-stream: the answer is a stream"},
			status: http.StatusNotAcceptable,
		}
	}
	f := c.server.backend.Features(ctx, &c.caller)
	want.list = want.list && f.ListChanged
	sub, err := c.server.backend.Listen(ctx, &c.caller, want.list)
	if err != nil {
		return err
	}
	var failed error
	defer func() { sub.Close(failed) }()
	if want.uris, err = honoured(want.uris, sub.Attach(ctx, want.uris)); err != nil {
		return err
	}
	c.settle()
	l := listener{id: c.req.Message.ID, stream: c.req.Stream}
	if failed = l.acknowledge(&want); failed == nil {
		failed = tell(ctx, c.req.Ending, sub, &l)
	}
	if !errors.Is(failed, ErrEnded) {
		return nil // the client is gone, or does not read: nothing more can be said to it
	}
	failed = nil
	c.ended = true
	out := append(c.appendHead(), `,"_meta":{"`+metaServerInfo+`":`...)
	out = appendImplementation(out, &c.server.opts, true)
	c.out = append(append(append(out, `,"`+metaSubscription+`":`...), l.id...), "}}}"...)
	return nil
}

// settle gives back what a request holds and a stream need not, its place among the requests too.
func (c *call) settle() {
	c.detach()
	c.req.Message.Method = methodListen
	c.caller = Caller{}
	if c.release != nil {
		c.release()
		c.release = nil
	}
}

// filter reads what a listen request asks for.
func (c *call) filter() (f filter, err error) {
	var notifications []byte
	for o := jsonrpc.Members(c.req.Message.Params); o.Next(); {
		if o.Is("notifications") {
			notifications = o.Value
		}
	}
	if jsonrpc.KindOf(notifications) != jsonrpc.Map {
		return f, badParams(`"notifications" is missing, or is no object`)
	}
	for o := jsonrpc.Members(notifications); o.Next(); {
		switch kind := jsonrpc.KindOf(o.Value); {
		case o.Is("resourcesListChanged"):
			if kind != jsonrpc.True && kind != jsonrpc.False {
				return f, badParams(`"resourcesListChanged" must be a boolean`)
			}
			f.list = kind == jsonrpc.True
		case o.Is("resourceSubscriptions"):
			if kind != jsonrpc.Array {
				return f, badParams(`"resourceSubscriptions" must be an array`)
			}
			if f.uris, err = distinct(o.Value); err != nil {
				return f, err
			}
			f.subscribed = true
		}
	}
	return f, nil
}

// distinct returns the strings of an array, each once.
func distinct(array []byte) ([]string, error) {
	var list []string
	seen := map[string]bool{}
	for e := jsonrpc.Elements(array); e.Next(); {
		if jsonrpc.KindOf(e.Value) != jsonrpc.Text {
			return nil, badParams(`"resourceSubscriptions" must hold strings`)
		}
		if s := jsonrpc.String(e.Value); !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list, nil
}

// honoured returns the URIs that were attached. Those that were not look alike, whether refused or unknown; only too many of
// them are an error.
func honoured(uris []string, errs []error) ([]string, error) {
	kept := uris[:0:0]
	for i, err := range errs {
		switch {
		case err == nil:
			kept = append(kept, uris[i])
		case provider.CodeOf(err) == provider.TooLarge, errors.Is(err, context.Canceled):
			return nil, err
		}
	}
	return kept, nil
}

// teller writes a change to a client.
type teller interface{ tell(Change) error }

// tell passes changes on until one cannot be written, ctx is done, or the subscription ends: [ErrEnded]. ending ends it too,
// gracefully; it may be nil.
func tell(ctx, ending context.Context, sub Subscription, t teller) error {
	if ending == nil {
		return tellAll(ctx, sub, t)
	}
	joined, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ending, cancel)()
	err := tellAll(joined, sub, t)
	if ctx.Err() == nil && ending.Err() != nil && errors.Is(err, context.Canceled) {
		return ErrEnded
	}
	return err
}

func tellAll(ctx context.Context, sub Subscription, t teller) error {
	for {
		change, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if err := t.tell(change); err != nil {
			sub.Return(change)
			return err
		}
	}
}

// listener writes the messages of a modern stream. Each carries the id of its request (rule S2).
type listener struct {
	id     jsonrpc.ID
	stream Stream
	buf    []byte
}

// acknowledge writes the stream's first message: what of the filter is served.
func (l *listener) acknowledge(f *filter) error {
	out := jsonrpc.AppendRequestHead(nil, nil, notifyAcknowledged)
	out = append(out, `,"params":{"notifications":{`...)
	if f.list {
		out = append(out, `"resourcesListChanged":true`...)
	}
	if f.subscribed {
		if f.list {
			out = append(out, ',')
		}
		out = appendStrings(append(out, `"resourceSubscriptions":`...), f.uris)
	}
	return l.stream.Send(append(l.appendMeta(append(out, '}')), "}}"...))
}

// appendMeta writes the stream's mark, after other parameters.
func (l *listener) appendMeta(out []byte) []byte {
	return append(append(append(out, `,"_meta":{"`+metaSubscription+`":`...), l.id...), '}')
}

func (l *listener) tell(change Change) error {
	out := l.buf[:0]
	if change.URI == "" {
		out = jsonrpc.AppendRequestHead(out, nil, notifyListChanged)
		out = append(append(append(out, `,"params":{"_meta":{"`+metaSubscription+`":`...), l.id...), "}}}"...)
	} else {
		out = jsonrpc.AppendRequestHead(out, nil, notifyUpdated)
		out = jsonrpc.AppendString(append(out, `,"params":{"uri":`...), change.URI)
		out = append(l.appendMeta(out), "}}"...)
	}
	l.buf = keepSmall(out)
	return l.stream.Send(out)
}

// keepSmall returns a buffer for the next message, unless it has grown: most streams are idle most of the time.
func keepSmall(buf []byte) []byte {
	const most = 1 << 10
	if cap(buf) > most {
		return nil
	}
	return buf[:0]
}

// AppendCancelled appends the notification that on a pipe follows the last message of a subscription which the server ended
// (rule S5).
func AppendCancelled(dst []byte, id jsonrpc.ID) []byte {
	dst = jsonrpc.AppendRequestHead(dst, nil, notifyCancelled)
	return append(append(append(dst, `,"params":{"requestId":`...), id...), "}}"...)
}
