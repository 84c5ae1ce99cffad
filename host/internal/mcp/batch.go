package mcp

import (
	"context"
	"fmt"
	"net/http"

	"github.com/reshost/reshost/host/internal/jsonrpc"
)

// HandleBatch answers an array of messages, one after the other, by an array of their answers. It reports false where the
// request's session may not send one: in every revision but 2025-03-26 (rule H5), and without a session.
//
// A batch costs no more than a few requests: [jsonrpc.MaxBatch] bounds its messages and Options.MaxBatchBytes the bytes of
// its answers; past that, requests are refused and not called. Nothing is called any more once ctx is done, and each request
// can be cancelled before its turn.
func (s *Server) HandleBatch(ctx context.Context, req *Request, data []byte) (Response, bool) {
	if !jsonrpc.IsBatch(data) {
		return Response{}, false
	}
	c := call{server: s, req: req}
	session, err := c.findSession()
	if err != nil || session == nil || !session.rev.batch {
		return Response{}, false
	}
	messages, jerr := jsonrpc.SplitBatch(data)
	if jerr != nil {
		return Response{Body: jsonrpc.AppendError(req.Buf, nil, jerr), Status: http.StatusBadRequest}, true
	}
	b := batch{server: s, req: req, out: append(req.Buf, '[')}
	b.begin = len(b.out)
	turns := b.queue(ctx, session, messages)
	defer func() {
		for i := range turns {
			session.end(&turns[i].call)
		}
	}()
	for i := range turns {
		if ctx.Err() != nil {
			return Response{Body: req.Buf, Status: http.StatusOK}, true
		}
		b.answer(&turns[i])
	}
	switch {
	case len(b.out) > b.begin:
		return Response{Body: append(b.out, ']'), Status: http.StatusOK}, true
	case b.requests:
		return Response{Body: req.Buf, Status: http.StatusOK}, true // all were cancelled
	}
	return Response{Body: req.Buf, Status: http.StatusAccepted}, true
}

// batch is the answer to one as it grows.
type batch struct {
	server *Server
	req    *Request
	// out is the answer up to now; begin is where its first element stands.
	out   []byte
	begin int
	// full says that the answers have reached their bound, requests that the batch has some.
	full, requests bool
}

// turn is one message of a batch. A request counts among its session's calls from the beginning.
type turn struct {
	call    call
	request Request
	ctx     context.Context // the turn lives within one call of HandleBatch
	err     *jsonrpc.Error
}

// queue decodes the messages.
func (b *batch) queue(ctx context.Context, session *Session, messages [][]byte) []turn {
	turns := make([]turn, len(messages))
	for i, text := range messages {
		t := &turns[i]
		t.request, t.ctx = *b.req, ctx
		t.request.Message, t.err = b.server.Decode(text)
		if t.err != nil || !t.request.Message.IsRequest() {
			continue
		}
		b.requests = true
		t.call.req = &t.request
		if b.req.Lasting == nil {
			t.ctx = session.begin(ctx, &t.call)
			continue
		}
		t.ctx = session.begin(b.req.Lasting, &t.call)
		t.request.Lasting = t.ctx
	}
	return turns
}

// answer appends the answer to a message, if it has one and there is room for it.
func (b *batch) answer(t *turn) {
	before := len(b.out)
	if before > b.begin {
		b.out = append(b.out, ',')
	}
	start := len(b.out)
	id := t.request.Message.ID
	switch {
	case t.err != nil:
		b.out = jsonrpc.AppendError(b.out, id, t.err)
		return
	case b.full && t.request.Message.IsRequest() && t.ctx.Err() == nil:
		b.out = jsonrpc.AppendError(b.out, id, b.tooLarge())
		return
	}
	t.request.Buf = b.out
	b.out = b.server.Handle(t.ctx, &t.request).Body
	if len(b.out) == start {
		b.out = b.out[:before] // no answer, no comma
		return
	}
	if len(b.out)-b.begin > b.server.opts.MaxBatchBytes {
		b.full = true
		b.out = jsonrpc.AppendError(b.out[:start], id, b.tooLarge())
	}
}

// tooLarge says that a batch's answers are too long together.
func (b *batch) tooLarge() *jsonrpc.Error {
	limit := b.server.opts.MaxBatchBytes
	return &jsonrpc.Error{
		Code:    jsonrpc.CodeInvalidParams,
		Message: fmt.Sprintf("The answers to a batch are longer than %d bytes together: send this request by itself", limit),
		Data:    fmt.Appendf(nil, `{"reason":"too_large","limit":%d}`, limit),
	}
}
