package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/provider"
)

// Options configure a [Server]. The zero value, and nil, work.
type Options struct {
	// Logger receives faults: a panic with its stack, the cause of an internal error. nil discards.
	Logger *slog.Logger
	// Name, Title and Version stand in serverInfo. Name defaults to "reshost"; the others may be empty.
	Name, Title, Version string
	// Instructions is a text for the model, sent by server/discover; empty for none.
	Instructions string
	// Revisions are the protocol revisions served, of those in [Revisions]. nil or empty: all.
	Revisions []string
	// MaxDepth is how deep a message's JSON may nest. 0: 64.
	MaxDepth int
	// MaxSessions bounds the sessions of legacy clients over HTTP, which end when SessionIdle passes without a request. One
	// caller may have a quarter of them. A new one takes the place of the one that was idle longest. 0: 1,000 and 30 min.
	MaxSessions int
	SessionIdle time.Duration
	// MaxBatchBytes bounds the answers to one batch, as they are encoded. 0: 16 MiB.
	MaxBatchBytes int
	// MaxAsking bounds the reads of legacy clients that wait for what their client was asked, and AskTimeout the time that one may
	// wait. 0: 256 and 10 min.
	MaxAsking  int
	AskTimeout time.Duration
	// MaxMeta is the size in bytes above which the backend hands on nothing of a request's `_meta`. 0: 64 KiB.
	MaxMeta int
	// Admit is asked before a request is dispatched, when its method is known. It returns a function that is called
	// when the request ends (it may be nil), or an error: a *[Refusal] says how, any other error counts as busy. nil
	// admits all.
	Admit func(ctx context.Context, c *Caller, method string) (release func(), err error)
}

// Refusal is why a request was not admitted.
type Refusal struct {
	// TooMany says that this caller asks too often (HTTP 429); otherwise the server is busy (HTTP 503).
	TooMany bool
	// RetryAfterMillis tells the client when to try again; 0 says nothing.
	RetryAfterMillis int64
}

// Error names the kind of refusal.
func (r *Refusal) Error() string {
	if r.TooMany {
		return "too many requests"
	}
	return "the server is busy"
}

// Server dispatches messages to a [Backend]. It holds nothing between the requests of modern clients (rule P2), and for
// legacy ones their sessions. Its methods
// may be called concurrently.
type Server struct {
	backend   Backend
	opts      Options
	log       *slog.Logger
	revisions []*revision
	// names lists the revisions for people, supported as a JSON array.
	names     string
	supported []byte
	// tail ends a complete result: the _meta that names the server, and the closing braces.
	tail     []byte
	sessions sessions
	// asking counts the reads that wait for their clients.
	asking atomic.Int64
}

// Decode decodes one message within the server's limits. On failure the message holds the id, when it could be read.
func (s *Server) Decode(data []byte) (jsonrpc.Message, *jsonrpc.Error) {
	return jsonrpc.DecodeDepth(data, s.opts.MaxDepth)
}

// NewServer returns a Server for b.
func NewServer(b Backend, opts *Options) *Server {
	s := &Server{backend: b}
	if opts != nil {
		s.opts = *opts
	}
	s.log = s.opts.Logger
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.opts.Name == "" {
		s.opts.Name = "reshost"
	}
	s.sessions = sessions{max: s.opts.MaxSessions, idle: s.opts.SessionIdle, byID: make(map[string]*Session)}
	if s.sessions.max <= 0 {
		s.sessions.max = 1000
	}
	s.sessions.each = max(s.sessions.max/4, 1)
	if s.opts.MaxBatchBytes <= 0 {
		s.opts.MaxBatchBytes = 16 << 20
	}
	if s.opts.MaxAsking <= 0 {
		s.opts.MaxAsking = 256
	}
	if s.opts.AskTimeout <= 0 {
		s.opts.AskTimeout = 10 * time.Minute
	}
	if s.opts.MaxMeta <= 0 {
		s.opts.MaxMeta = 64 << 10
	}
	if s.sessions.idle <= 0 {
		s.sessions.idle = 30 * time.Minute
	}
	s.revisions = served(s.opts.Revisions)
	var names []string
	for _, r := range s.revisions {
		names = append(names, r.name)
	}
	s.names = strings.Join(names, ", ")
	s.supported = appendStrings(nil, names)
	s.tail = append(s.tail, `,"_meta":{"`+metaServerInfo+`":`...)
	s.tail = append(appendImplementation(s.tail, &s.opts, true), "}}}"...)
	return s
}

// Request is one decoded message with what its transport knows about it.
type Request struct {
	Message jsonrpc.Message
	// Principal is nil for an anonymous caller. Remote is the client's address without a port, empty on stdio.
	Principal *provider.Principal
	Remote    string
	// Header is set by HTTP alone, Conn by transports whose connection is one client.
	Header *Header
	Conn   *Conn
	// Lasting is a context that a client's leaving does not end; nil where there is no such difference. A legacy request
	// runs under it: only notifications/cancelled cancels one.
	Lasting context.Context
	// Stream takes the notifications that belong to this request; nil where the client cannot receive any.
	Stream Stream
	// Ending is done when the transport wants its streams to end, each with its last message; nil where it never does.
	Ending context.Context
	// Detach is called once a request becomes a stream that may live for long. It gives back what the transport holds for a
	// request: the slot, and the bytes of Message and Buf, which are not used afterwards. It may be nil.
	Detach func()
	// Buf is what the response's body is appended to; it may be nil.
	Buf []byte
}

// Header holds the HTTP header lines that a revision checks against the body (rules H2, H3), as they came.
type Header struct {
	ProtocolVersion, Method, Name, Session []string
}

// Stream carries notifications to the client before the response of their request. Its methods may be called concurrently.
type Stream interface {
	// Send writes one whole message. The bytes are the caller's again on return. It fails when the client is gone.
	Send(message []byte) error
}

// Response is the answer to a message.
type Response struct {
	// Body is Request.Buf with the answer appended. With nothing appended there is none: the message was a notification, or
	// the request was cancelled.
	Body []byte
	// Status is the HTTP status that goes with Body; 202 for an accepted notification, 200 where a cancelled request has no
	// answer.
	Status int
	// RetryAfter is the HTTP header of that name in seconds; 0: none.
	RetryAfter int
	// SessionID is the HTTP header of a session that began; empty for none.
	SessionID string
	// Ended says that the answer ends a subscription: on a pipe notifications/cancelled for it follows (rule S5).
	Ended bool
}

// Handle answers one message. It returns soon after ctx is done, which is how a request is cancelled: then nothing is
// appended. A panic below it becomes an internal error and a log line.
func (s *Server) Handle(ctx context.Context, req *Request) (resp Response) {
	c := call{server: s, req: req, out: req.Buf, status: http.StatusOK}
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("panic in a request", "method", req.Message.Method, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			c.out = req.Buf
			c.fail(internalError())
		}
		c.end()
		resp = Response{Body: c.out, Status: c.status, RetryAfter: c.retryAfter, SessionID: c.sessionID, Ended: c.ended}
	}()
	switch m := &req.Message; {
	case m.IsResponse:
		c.response()
	case m.ID == nil:
		c.notification()
	default:
		c.ctx, c.client = ctx, ctx
		err := c.request()
		switch {
		case c.ctx.Err() != nil:
			c.out, c.ended = req.Buf, false // cancelled: nothing is sent for it, whatever it came to
			if errors.Is(context.Cause(c.ctx), errSessionEnded) {
				c.fail(noSession()) // unless nobody asked for its cancellation
			}
		case err != nil:
			c.out = req.Buf
			c.fail(c.failure(err))
		}
	}
	return resp
}

// call is one message on its way through the server.
type call struct {
	server *Server
	req    *Request
	// ctx ends when the request is cancelled; the call lives within one call of Handle.
	ctx context.Context
	// client ends when the client has left, also where that cancels nothing.
	client context.Context
	rev    *revision
	// session is a legacy request's.
	session *Session
	meta    requestMeta
	caller  Caller
	// uri is the resource that the request names; empty for none.
	uri string
	// notes sends the request's notifications; nil when it asked for none.
	notes   *notifier
	release func()
	// out, status and retryAfter make the response.
	out        []byte
	status     int
	retryAfter int
	sessionID  string
	ended      bool
}

// request answers a request or says why not.
func (c *call) request() error {
	if err := c.open(); err != nil {
		return err
	}
	if !c.rev.modern && c.req.Lasting != nil {
		c.ctx = c.req.Lasting
	}
	if c.session != nil {
		c.ctx = c.session.begin(c.ctx, c)
	}
	if err := c.ctx.Err(); err != nil {
		return err // cancelled before its turn
	}
	method := c.req.Message.Method
	handle := c.handler(method)
	if handle == nil {
		return &failure{wire: jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}, status: c.rev.unknownMethod}
	}
	c.caller = Caller{Principal: c.req.Principal, Remote: c.req.Remote, Meta: append(provider.JSON(nil), c.meta.raw...)}
	if c.server.opts.Admit != nil {
		release, err := c.server.opts.Admit(c.ctx, &c.caller, method)
		if err != nil {
			return refused(err)
		}
		c.release = release
	}
	return handle(c, c.ctx)
}

// detach gives back what the transport holds for a request that lasts: its place and the buffers. What of the message is still needed is
// copied.
func (c *call) detach() {
	m := &c.req.Message
	if c.session != nil {
		c.session.mu.Lock() // a cancellation looks for the id
	}
	m.ID, m.Params = slices.Clone(m.ID), nil
	if c.session != nil {
		c.session.mu.Unlock()
	}
	c.meta = requestMeta{}
	if c.req.Detach != nil {
		c.out, c.req.Buf = nil, nil
		c.req.Detach()
	}
}

// end gives back what the call holds.
func (c *call) end() {
	if c.notes != nil {
		c.notes.close()
	}
	if c.release != nil {
		c.release()
	}
	if c.session != nil {
		c.session.end(c)
	}
}

// notification takes a message that wants no answer. All are accepted: a client may send others than those with a meaning
// (rule P9).
func (c *call) notification() {
	c.status = http.StatusAccepted
	if h := c.req.Header; h != nil && len(h.Method) > 0 && (len(h.Method) > 1 || h.Method[0] != c.req.Message.Method) {
		c.fail(headerMismatch(HeaderMethod))
		return
	}
	if readMeta(c.req.Message.Params).version != nil {
		return
	}
	s, err := c.findSession()
	if err != nil {
		c.fail(c.failure(err))
		return
	}
	if id := CancelledID(&c.req.Message); id != nil && s != nil {
		s.cancel(id, nil)
	}
}

// response takes an answer to a request of the server's, which only legacy clients get (rule T2).
func (c *call) response() {
	s, err := c.findSession()
	switch {
	case err != nil:
		f := c.failure(err)
		f.noID = true
		c.fail(f)
	case s != nil:
		s.answer(&c.req.Message)
		c.status = http.StatusAccepted
	case c.req.Header != nil:
		c.fail(&failure{
			wire:   jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a response was sent where no request was pending"},
			status: http.StatusBadRequest, noID: true,
		})
	}
}

// fail makes f the answer.
func (c *call) fail(f *failure) {
	id := c.req.Message.ID
	if f.noID {
		id = nil
	}
	c.out = jsonrpc.AppendError(c.out, id, &f.wire)
	c.status, c.retryAfter = f.status, f.retryAfter
}

// failure returns what the client is told about err.
func (c *call) failure(err error) *failure {
	var f *failure
	if errors.As(err, &f) {
		return f
	}
	return c.providerFailure(err)
}

// Ordered reports whether a message must be answered before the next one of its connection is read, because it changes
// how that one is read.
func Ordered(m *jsonrpc.Message) bool { return m.Method == methodInitialize }

// CancelledID returns the id of the request that a notifications/cancelled message ends; nil for any other message and
// for one that names none.
func CancelledID(m *jsonrpc.Message) jsonrpc.ID {
	if m.IsResponse || m.ID != nil || m.Method != notifyCancelled {
		return nil
	}
	for o := jsonrpc.Members(m.Params); o.Next(); {
		if k := jsonrpc.KindOf(o.Value); o.Is("requestId") && (k == jsonrpc.Text || k == jsonrpc.Number) {
			return o.Value
		}
	}
	return nil
}
