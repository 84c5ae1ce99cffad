package mcp

import (
	"context"
	"log/slog"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/provider"
)

// Options configure a [Server]. The zero value, and nil, work.
type Options struct {
	// Logger receives faults (a panic with its stack, a provider's internal error). nil discards.
	Logger *slog.Logger
	// Name, Title and Version stand in serverInfo. Name defaults to "reshost"; the others may be empty.
	Name, Title, Version string
	// Instructions is a text for the model, sent by server/discover; empty for none.
	Instructions string
	// Revisions are the protocol revisions served, of those in [Revisions]. nil or empty: all.
	Revisions []string
	// Admit is asked before a request is dispatched, when its method is known. It returns a function that is called
	// when the request ends, or an error: a *[Refusal] says how, any other error counts as busy. nil admits all.
	Admit func(ctx context.Context, c *Caller, method string) (release func(), err error)
}

// Refusal is why a request was not admitted.
type Refusal struct {
	// TooMany says that this caller asks too often (HTTP 429); otherwise the server is busy (HTTP 503).
	TooMany bool
	// RetryAfter tells the client when to try again, in milliseconds; 0 says nothing.
	RetryAfterMillis int64
}

// Error names the kind of refusal.
func (r *Refusal) Error() string {
	if r.TooMany {
		return "too many requests"
	}
	return "server busy"
}

// Server dispatches messages to a [Backend]. It holds no state of its callers. Its methods may be called concurrently.
type Server struct {
	backend Backend
	opts    Options
}

// NewServer returns a Server for b.
func NewServer(b Backend, opts *Options) *Server {
	s := &Server{backend: b}
	if opts != nil {
		s.opts = *opts
	}
	return s
}

// Request is one decoded message with what its transport knows about it.
type Request struct {
	Message jsonrpc.Message
	// Principal is nil for an anonymous caller. Remote is the client's address without a port, empty on stdio.
	Principal *provider.Principal
	Remote    string
	// Header is set by HTTP alone.
	Header *Header
	// Stream takes the notifications that belong to this request; nil where the client cannot receive any.
	Stream Stream
}

// Header holds the HTTP header lines that a revision checks against the body (rules H2, H3), as they came.
type Header struct {
	ProtocolVersion, Method, Name []string
}

// Stream carries notifications to the client before the response of their request.
type Stream interface {
	// Send writes one whole message. The bytes are the caller's again on return. It fails when the client is gone.
	Send(message []byte) error
}

// Response is the answer to a request. An empty Body means that there is none: the message was a notification, or the
// request was cancelled.
type Response struct {
	Body []byte
	// Status is the HTTP status that goes with Body.
	Status int
	// RetryAfter is the value of the HTTP header of that name in seconds; 0: none.
	RetryAfter int
}
