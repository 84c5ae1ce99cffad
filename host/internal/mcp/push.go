package mcp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/provider"
)

// maxPushers bounds the GET streams of one session: each costs a connection, and one is enough.
const maxPushers = 4

// Push sends a legacy session what it subscribed to, until the client leaves, or the session or the server ends. Over HTTP it is
// the GET stream, of a session named by its header; of several streams each message goes to one. On a pipe it is called once
// a session has begun. It returns the status of the answer: 200 when req.Stream was used.
func (s *Server) Push(ctx context.Context, req *Request) (status int) {
	c := call{server: s, req: req}
	if req.Header != nil {
		if s.newestLegacy() == nil {
			return http.StatusMethodNotAllowed
		}
		if len(req.Header.Session) == 0 {
			return http.StatusBadRequest
		}
	}
	session, err := c.findSession()
	if err != nil {
		return c.failure(err).status
	}
	if session == nil {
		return http.StatusBadRequest
	}
	ctx, done, ok := session.beginPush(ctx)
	if !ok {
		return http.StatusConflict
	}
	defer done()
	sub, err := s.subscription(ctx, session, &Caller{Principal: req.Principal, Remote: req.Remote})
	if err != nil {
		return s.pushFailure(err)
	}
	if o, ok := req.Stream.(Opener); ok && o.Open() != nil {
		return http.StatusOK
	}
	err = tell(ctx, req.Ending, sub, &pusher{stream: req.Stream})
	if err != nil && !errors.Is(err, ErrEnded) && ctx.Err() == nil {
		s.log.Debug("a session's stream ended", "error", err)
	}
	return http.StatusOK
}

func (s *Server) pushFailure(err error) int {
	var r *Refusal
	if errors.As(err, &r) {
		return r.failure().status
	}
	s.log.Error("a session cannot subscribe", "error", err)
	return http.StatusServiceUnavailable
}

// Opener is a [Stream] that has something to send before the first message, such as the head of a response.
type Opener interface{ Open() error }

// pusher writes the messages of a legacy session.
type pusher struct {
	stream Stream
	buf    []byte
}

func (p *pusher) tell(change Change) error {
	out := p.buf[:0]
	if change.URI == "" {
		out = append(jsonrpc.AppendRequestHead(out, nil, notifyListChanged), '}')
	} else {
		out = jsonrpc.AppendRequestHead(out, nil, notifyUpdated)
		out = append(jsonrpc.AppendString(append(out, `,"params":{"uri":`...), change.URI), "}}"...)
	}
	p.buf = keepSmall(out)
	return p.stream.Send(out)
}

// subscription returns what the session hears of, which begins when it is first needed.
func (s *Server) subscription(ctx context.Context, session *Session, caller *Caller) (Subscription, error) {
	session.mu.Lock()
	sub, ended := session.sub, session.ended
	session.mu.Unlock()
	if ended {
		return nil, ErrEnded
	}
	if sub != nil {
		return sub, nil
	}
	sub, err := s.backend.Listen(ctx, caller, true)
	if err != nil {
		return nil, err
	}
	session.mu.Lock()
	defer session.mu.Unlock()
	if session.ended || session.sub != nil { // another was faster
		sub.Close(nil)
		if session.ended {
			return nil, ErrEnded
		}
		return session.sub, nil
	}
	session.sub = sub
	if session.id != "" {
		session.expiry = time.AfterFunc(s.sessions.idle, func() { s.sessions.expire(session) })
	}
	return sub, nil
}

// subscribe answers resources/subscribe (rule E2).
func (c *call) subscribe(ctx context.Context) error {
	if err := c.findURI(); err != nil {
		return err
	}
	sub, err := c.server.subscription(ctx, c.session, &c.caller)
	if errors.Is(err, ErrEnded) {
		return provider.Wrap(provider.Unavailable, err, "the session has ended")
	}
	if err != nil {
		return err
	}
	if err := sub.Attach(ctx, []string{c.uri})[0]; err != nil {
		return err
	}
	return c.ping(ctx)
}

// unsubscribe answers resources/unsubscribe. A URI that was not subscribed to changes nothing.
func (c *call) unsubscribe(ctx context.Context) error {
	if err := c.findURI(); err != nil {
		return err
	}
	c.session.mu.Lock()
	sub := c.session.sub
	c.session.mu.Unlock()
	if sub != nil {
		sub.Detach(c.uri)
	}
	return c.ping(ctx)
}

// beginPush counts a stream of the session in; done counts it out. The session's end ends it.
func (s *Session) beginPush(ctx context.Context) (_ context.Context, done func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(s.pushers) >= maxPushers {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	key := new(byte)
	if s.pushers == nil {
		s.pushers = map[*byte]context.CancelFunc{}
	}
	s.pushers[key] = cancel
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pushers, key)
		s.used = time.Now()
	}, true
}

// close ends the session's streams and its subscription.
func (s *Session) close() {
	s.mu.Lock()
	s.ended = true
	sub := s.sub
	s.sub = nil
	for _, cancel := range s.pushers {
		cancel()
	}
	if s.expiry != nil {
		s.expiry.Stop()
	}
	s.mu.Unlock()
	if sub != nil {
		sub.Close(nil)
	}
}

// expire ends a session that holds a subscription and that nobody uses, or looks again later.
func (l *sessions) expire(s *Session) {
	if s.expired(l.idle) {
		l.remove(s)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.expiry.Reset(max(l.idle-time.Since(s.used), time.Second))
	}
}

// Close ends a connection's session. The transport calls it when the client is gone.
func (c *Conn) Close() {
	if s := c.get(); s != nil {
		s.close()
	}
}

// Begun reports whether the connection has a session.
func (c *Conn) Begun() bool { return c.get() != nil }
