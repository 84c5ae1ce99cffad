package httpd

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/internal/mcp"
)

// readBody reads the body into buf; it answers and reports false where that fails. Memory grows with what has come, never
// with what a header promises.
func (x *exchange) readBody(buf *[]byte) bool {
	limit := x.h.opts.MaxBody
	if x.r.ContentLength > limit {
		x.tooLarge(x.findID())
		return false
	}
	first := int64(4 << 10)
	if n := x.r.ContentLength; n >= 0 {
		first = min(first, n+1)
	}
	*buf = slices.Grow(*buf, int(first))
	for {
		n, err := x.r.Body.Read((*buf)[len(*buf):cap(*buf)])
		*buf = (*buf)[:len(*buf)+n]
		switch {
		case int64(len(*buf)) > limit:
			x.tooLarge(jsonrpc.FindID(*buf))
			return false
		case errors.Is(err, io.EOF):
			x.untimed()
			return true
		case errors.Is(err, os.ErrDeadlineExceeded) && x.h.ending.Err() != nil:
			x.shut(jsonrpc.FindID(*buf))
			return false
		case errors.Is(err, os.ErrDeadlineExceeded):
			x.reject(http.StatusRequestTimeout, "the body took too long", jsonrpc.FindID(*buf))
			return false
		case err != nil:
			x.reject(http.StatusBadRequest, "the body could not be read", nil)
			return false
		}
		if len(*buf) == cap(*buf) {
			*buf = slices.Grow(*buf, 1)
		}
	}
}

// deadline bounds the reading of the body from now on, and the end of the handler cuts it at once. A transport without
// deadlines is left as it is.
func (x *exchange) deadline(d time.Duration) {
	x.ctl.SetReadDeadline(time.Now().Add(d))
	if x.h.ending.Err() != nil {
		x.expire()
	}
}

// expire ends the reading of the body.
func (x *exchange) expire() { x.ctl.SetReadDeadline(time.Now().Add(-time.Second)) }

// untimed ends the bound on reading. Left in force, it would end the request when it passes: the server reads on to notice a
// client that leaves. A handler that has ended meanwhile takes no request, and the bound may stay.
func (x *exchange) untimed() {
	if x.cut() {
		x.ctl.SetReadDeadline(time.Time{})
	}
}

// shut answers a request that comes when the handler has ended.
func (x *exchange) shut(id jsonrpc.ID) {
	x.w.Header().Set("Connection", "close")
	x.busy(&mcp.Refusal{RetryAfterMillis: 1000}, id)
}

func (x *exchange) tooLarge(id jsonrpc.ID) {
	x.w.Header().Set("Connection", "close")
	x.reject(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", x.h.opts.MaxBody), id)
}

// findID looks for the id in the beginning of a body that is refused. It is bounded in bytes, in time and in how many do
// so at once: without an id such an answer is worth less, but still an answer.
func (x *exchange) findID() jsonrpc.ID {
	select {
	case x.h.lookups <- struct{}{}:
		defer func() { <-x.h.lookups }()
	default:
		return nil
	}
	x.deadline(time.Second)
	defer x.deadline(x.h.opts.ReadTimeout)
	data, _ := io.ReadAll(io.LimitReader(x.r.Body, jsonrpc.IDWindow)) // what came before a failure may hold it
	return jsonrpc.FindID(data)
}

// reject answers a request that was not dispatched.
func (x *exchange) reject(status int, message string, id jsonrpc.ID) {
	e := &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message}
	x.answer(status, jsonrpc.AppendError(nil, id, e))
}

// refuse answers a request for which there is no room.
func (x *exchange) refuse(r *mcp.Refusal) { x.busy(r, x.findID()) }

func (x *exchange) busy(r *mcp.Refusal, id jsonrpc.ID) {
	resp := r.Respond(nil, id)
	if resp.RetryAfter > 0 {
		x.w.Header().Set("Retry-After", fmt.Sprint(resp.RetryAfter))
	}
	x.answer(resp.Status, resp.Body)
}

func (h *Handler) buffer() *[]byte {
	b := h.buffers.Get().(*[]byte)
	*b = (*b)[:0]
	return b
}

func (h *Handler) recycle(b *[]byte) {
	const keep = 2 << 20 // the largest buffer that is used again
	if cap(*b) <= keep {
		h.buffers.Put(b)
	}
}
