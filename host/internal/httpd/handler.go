// Package httpd serves the Model Context Protocol over HTTP (Streamable HTTP): one endpoint, wherever it is mounted.
//
// host imports it. It knows HTTP: who may call from where, what may be sent, how large, how long; what a message means
// is host/internal/mcp's. Whatever can be refused by the head of a request is refused before its body is read.
//
//	h := httpd.New(server, nil)
//	http.Handle("/mcp", h)
//	defer h.Close(ctx)
//
// # Errors
//
// A refused request gets the HTTP status of its kind and a JSON-RPC error as its body, with the request's id wherever it
// could be found: some clients lose one without the other.
package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// Options configure a [Handler]. The zero value, and nil, work.
type Options struct {
	// Logger receives what goes wrong. nil discards.
	Logger *slog.Logger
	// Principal identifies the caller from the request's head, before the body is read. An error answers 401, or as an
	// *[AuthError] says. nil: every caller is anonymous.
	Principal func(*http.Request) (*provider.Principal, error)
	// Origins are the web origins that may call, such as "https://app.example", as [ParseOrigin] accepts them; others are
	// ignored. A request with any other Origin header is answered 403 (rule H4). Empty: no web page may.
	Origins []string
	// Hosts are the values of the Host header that are accepted, without a port. Empty: on a connection to a loopback
	// address "localhost" and loopback addresses (against DNS rebinding), elsewhere any. A public name that a proxy on
	// the same machine passes on must be named here.
	Hosts []string
	// MaxBody bounds a request's body in bytes. 0: 4 MiB.
	MaxBody int64
	// MaxConcurrent bounds the requests in flight. 0: 1,024.
	MaxConcurrent int
	// ReadTimeout bounds the reading of a body. 0: 30 s.
	ReadTimeout time.Duration
	// WriteTimeout is how long a client may take without accepting a byte. 0: 10 s.
	WriteTimeout time.Duration
	// KeepAlive is after how much silence a stream carries a comment (rule S6). 0: 15 s.
	KeepAlive time.Duration
}

// AuthError is how a Principal function says more than 401.
type AuthError struct {
	// Status is 400, 401 or 403. 0: 401.
	Status int
	// Challenge is the value of WWW-Authenticate. Empty: "Bearer" with 401, none with others.
	Challenge string
	// Message is shown to the client.
	Message string
}

// Error returns the message.
func (e *AuthError) Error() string { return e.Message }

// Handler is an http.Handler for the endpoint.
type Handler struct {
	server  *mcp.Server
	opts    Options
	log     *slog.Logger
	origins map[string]bool
	hosts   map[string]bool
	slots   chan struct{}
	// lookups bounds how many refused requests are read for their id at once.
	lookups chan struct{}
	buffers sync.Pool
	// ctx ends when what is in flight must end.
	ctx    context.Context
	cancel context.CancelFunc
	// ending ends when streams must end, each with its last message.
	ending    context.Context
	endStream context.CancelFunc

	mu     sync.Mutex // guards what follows
	closed bool
	active int
	// idle is closed when the handler is closed and nothing is in flight.
	idle chan struct{}
}

// New returns a Handler that passes messages to s.
func New(s *mcp.Server, opts *Options) *Handler {
	h := &Handler{server: s, idle: make(chan struct{}), lookups: make(chan struct{}, 256)}
	if opts != nil {
		h.opts = *opts
	}
	o := &h.opts
	setDefault(&o.MaxBody, 4<<20)
	setDefault(&o.MaxConcurrent, 1024)
	setDefault(&o.ReadTimeout, 30*time.Second)
	setDefault(&o.WriteTimeout, 10*time.Second)
	setDefault(&o.KeepAlive, 15*time.Second)
	h.log = o.Logger
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	h.slots = make(chan struct{}, o.MaxConcurrent)
	h.origins, h.hosts = originSet(o.Origins), hostSet(o.Hosts)
	h.buffers.New = func() any { return new([]byte) }
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.ending, h.endStream = context.WithCancel(h.ctx)
	return h
}

func setDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}

// NewServer returns an http.Server for h with limits on what comes before a handler runs: the time for a request's head,
// its size, and an idle connection's life. Reading and writing bodies are the handler's matter: a limit here would cut
// long streams.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
	}
}

// Close refuses new requests (503), lets streams end, waits for what is in flight, and cancels what is left when ctx is done;
// it then returns the context's error. Later calls do the same.
func (h *Handler) Close(ctx context.Context) error {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		if h.active == 0 {
			close(h.idle)
		}
	}
	h.mu.Unlock()
	h.endStream()
	defer h.cancel()
	select {
	case <-h.idle:
		return nil
	case <-ctx.Done():
	}
	h.cancel()
	// What was cancelled ends soon, unless a provider ignores its context.
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-h.idle:
	case <-timer.C:
		h.log.Warn("requests go on although they were cancelled")
	}
	return ctx.Err()
}

// enter counts a request in; it reports false when the handler is closed.
func (h *Handler) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.active++
	return true
}

func (h *Handler) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active--
	if h.closed && h.active == 0 {
		close(h.idle)
	}
}

// ServeHTTP answers one request. The order of its checks is that of their cost, and nothing is read from a caller that may
// not call.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchange{h: h, w: w, r: r, ctl: http.NewResponseController(w)}
	x.deadline(h.opts.ReadTimeout) // also where the body is only read to be passed over, by net/http
	x.cut = context.AfterFunc(h.ending, x.expire)
	defer x.cut()
	header := w.Header()
	header["X-Content-Type-Options"] = []string{"nosniff"}
	allowed, known := h.checkHost(r)
	if !allowed {
		x.reject(http.StatusForbidden, "the Host header is not allowed", nil)
		return
	}
	if !h.checkOrigin(header, r, known) {
		x.reject(http.StatusForbidden, "the Origin header is not allowed", nil)
		return
	}
	if h.ending.Err() != nil {
		x.shut(x.findID())
		return
	}
	if r.Method == http.MethodPost {
		x.post()
		return
	}
	if r.Body == nil || r.Body == http.NoBody {
		x.untimed()
	} else {
		header.Set("Connection", "close") // nobody wants such a body, nor waits for it
		x.expire()
	}
	if !h.enter() {
		x.shut(nil)
		return
	}
	defer h.leave()
	switch r.Method {
	case http.MethodOptions:
		x.options()
	case http.MethodGet:
		x.get()
	case http.MethodDelete:
		x.delete()
	default:
		x.methodNotAllowed()
	}
}

// allow names the methods of the endpoint.
func (h *Handler) allow() string {
	if h.server.Legacy() {
		return "GET, POST, DELETE, OPTIONS"
	}
	return "POST, OPTIONS"
}

// exchange is one HTTP request with its answer.
type exchange struct {
	h   *Handler
	w   http.ResponseWriter
	r   *http.Request
	ctl *http.ResponseController
	// cut takes back that the end of the handler cuts the body, and reports whether it had not done so.
	cut func() bool
}

// post answers a message.
func (x *exchange) post() {
	principal, ok := x.authenticate()
	if !ok {
		return
	}
	if !contentTypeOK(x.r.Header) {
		x.reject(http.StatusUnsupportedMediaType, "the body must be application/json in UTF-8, not encoded", x.findID())
		return
	}
	accept := parseAccept(x.r.Header["Accept"])
	if !accept.json {
		x.reject(http.StatusNotAcceptable, "Accept must list application/json and text/event-stream", x.findID())
		return
	}
	select {
	case x.h.slots <- struct{}{}:
	default:
		x.refuse(&mcp.Refusal{RetryAfterMillis: 1000})
		return
	}
	held := holding{h: x.h, in: x.h.buffer()}
	defer held.release()
	if !x.readBody(held.in) {
		return
	}
	// Only a whole request is in flight: Close need not wait for a body that may never come.
	if !x.h.enter() {
		x.shut(jsonrpc.FindID(*held.in))
		return
	}
	defer x.h.leave()
	m, err := x.h.server.Decode(*held.in)
	if err != nil && !jsonrpc.IsBatch(*held.in) {
		x.answer(http.StatusBadRequest, jsonrpc.AppendError(nil, m.ID, err))
		return
	}
	x.handle(&m, err, &held, principal, accept.events)
}

// holding is what a request holds while it is answered: a slot, the buffer of its body, and that of its answer. A request that
// becomes a stream gives it back.
type holding struct {
	h       *Handler
	in, out *[]byte
}

func (l *holding) release() {
	if l.in == nil {
		return
	}
	<-l.h.slots
	l.h.recycle(l.in)
	if l.out != nil {
		l.h.recycle(l.out)
	}
	l.in, l.out = nil, nil
}

// handle passes a message on, or a batch, and writes the answer. refusal is why the body is not one message, nil when it is.
func (x *exchange) handle(m *jsonrpc.Message, refusal *jsonrpc.Error, held *holding, principal *provider.Principal, events bool) {
	held.out = x.h.buffer()
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(x.h.ctx, cancel)()
	req := mcp.Request{
		Message: *m, Principal: principal, Remote: remote(x.r.RemoteAddr), Header: x.header(), Buf: *held.out, Ending: x.h.ending,
	}
	if req.Header.Session != nil {
		lasting, cancel := context.WithCancel(context.WithoutCancel(x.r.Context()))
		defer cancel()
		defer context.AfterFunc(x.h.ctx, cancel)()
		req.Lasting = lasting
	}
	var stream *eventStream
	if events && m.IsRequest() {
		stream = &eventStream{x: x, broken: cancel}
		req.Stream = stream
		req.Detach = func() {
			held.release()
			stream.keepAlive()
		}
	}
	var resp mcp.Response
	if refusal == nil {
		resp = x.h.server.Handle(ctx, &req)
	} else if batch, ok := x.h.server.HandleBatch(ctx, &req, *held.in); ok {
		resp = batch
	} else {
		resp = mcp.Response{Body: jsonrpc.AppendError(*held.out, nil, refusal), Status: http.StatusBadRequest}
	}
	if len(resp.Body) == 0 && resp.Status != http.StatusAccepted && held.out != nil && x.h.ctx.Err() != nil {
		resp = (&mcp.Refusal{}).Respond(*held.out, m.ID) // cancelled by Close
	}
	if held.out != nil {
		*held.out = resp.Body
	}
	x.respond(&resp, stream)
}

// respond writes the answer to a message: the end of the stream where one has begun, else plain JSON.
func (x *exchange) respond(resp *mcp.Response, stream *eventStream) {
	if stream.started() {
		stream.end(resp.Body)
		return
	}
	if len(resp.Body) == 0 && resp.Status != http.StatusAccepted {
		abort() // the client is gone, or it cancelled the request
	}
	if resp.RetryAfter > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(resp.RetryAfter))
	}
	if resp.SessionID != "" {
		x.w.Header().Set(mcp.HeaderSession, resp.SessionID)
	}
	x.answer(resp.Status, resp.Body)
}

// header returns the lines of the headers that have a meaning in the protocol.
func (x *exchange) header() *mcp.Header {
	h := x.r.Header
	return &mcp.Header{
		ProtocolVersion: h["Mcp-Protocol-Version"], Method: h["Mcp-Method"], Name: h["Mcp-Name"], Session: h["Mcp-Session-Id"],
	}
}

// methodNotAllowed answers a method without a message, and so without a JSON-RPC error (rule H3).
func (x *exchange) methodNotAllowed() {
	x.w.Header().Set("Allow", x.h.allow())
	x.answer(http.StatusMethodNotAllowed, nil)
}

// get answers GET: the stream of a legacy client's session.
func (x *exchange) get() {
	if !x.h.server.Legacy() {
		x.methodNotAllowed()
		return
	}
	principal, ok := x.authenticate()
	if !ok {
		return
	}
	if !parseAccept(x.r.Header["Accept"]).events {
		x.reject(http.StatusNotAcceptable, "Accept must list text/event-stream", nil)
		return
	}
	header := x.header()
	if len(header.Session) == 0 {
		x.methodNotAllowed() // only a session has such a stream (rule H3)
		return
	}
	ctx, cancel := context.WithCancel(x.r.Context())
	defer cancel()
	defer context.AfterFunc(x.h.ctx, cancel)()
	stream := &eventStream{x: x, broken: cancel}
	status := x.h.server.Push(ctx, &mcp.Request{
		Principal: principal, Remote: remote(x.r.RemoteAddr), Header: header, Stream: stream, Ending: x.h.ending,
	})
	if stream.started() {
		stream.end(nil)
		return
	}
	if status == http.StatusOK {
		abort() // the client was gone before it began
	}
	x.reject(status, "no stream for this session", nil)
}

// delete ends a legacy client's session.
func (x *exchange) delete() {
	principal, ok := x.authenticate()
	if !ok {
		return
	}
	switch status := x.h.server.EndSession(x.header(), principal); status {
	case http.StatusNoContent:
		x.w.WriteHeader(status)
	case http.StatusMethodNotAllowed:
		x.methodNotAllowed()
	default:
		x.reject(status, "no such session", nil)
	}
}

// authenticate asks who the caller is; it answers and reports false where that fails.
func (x *exchange) authenticate() (*provider.Principal, bool) {
	if x.h.opts.Principal == nil {
		return nil, true
	}
	p, err := x.h.opts.Principal(x.r)
	if err == nil {
		return p, true
	}
	e := &AuthError{Message: "authentication is required"}
	errors.As(err, &e)
	status, challenge := e.Status, e.Challenge
	if status == 0 {
		status = http.StatusUnauthorized
	}
	if challenge == "" && status == http.StatusUnauthorized {
		challenge = "Bearer"
	}
	if challenge != "" {
		x.w.Header().Set("WWW-Authenticate", challenge)
	}
	x.reject(status, e.Message, nil)
	return nil, false
}

// remote returns the address of a client without its port; empty where it has none, as on a Unix socket.
func remote(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return ""
	}
	return host
}
