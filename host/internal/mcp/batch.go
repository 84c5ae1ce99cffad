package mcp

import (
	"context"
	"net/http"

	"github.com/reshost/reshost/host/internal/jsonrpc"
)

// HandleBatch answers an array of messages, one after the other, by an array of their answers. It reports false where the
// request's session may not send one: in every revision but 2025-03-26 (rule H5), and without a session.
func (s *Server) HandleBatch(ctx context.Context, req *Request, data []byte) (Response, bool) {
	if !jsonrpc.IsBatch(data) {
		return Response{}, false
	}
	c := call{server: s, req: req}
	if session, err := c.findSession(); err != nil || session == nil || !session.rev.batch {
		return Response{}, false
	}
	messages, err := jsonrpc.SplitBatch(data)
	if err != nil {
		return Response{Body: jsonrpc.AppendError(req.Buf, nil, err), Status: http.StatusBadRequest}, true
	}
	out := append(req.Buf, '[')
	begin := len(out)
	for _, text := range messages {
		before := len(out)
		if before > begin {
			out = append(out, ',')
		}
		one := *req
		one.Buf = out
		m, err := s.Decode(text)
		if err != nil {
			out = jsonrpc.AppendError(out, m.ID, err)
			continue
		}
		one.Message = m
		n := len(out)
		out = s.Handle(ctx, &one).Body
		if len(out) == n {
			out = out[:before] // no answer, no comma
		}
	}
	if len(out) == begin {
		return Response{Body: req.Buf, Status: http.StatusAccepted}, true
	}
	return Response{Body: append(out, ']'), Status: http.StatusOK}, true
}
