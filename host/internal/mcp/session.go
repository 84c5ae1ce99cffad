package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/provider"
)

// Session is what a legacy client negotiated by initialize (rules E1 to E3). Modern requests beside it know nothing of it.
type Session struct {
	id  string
	rev *revision
	// owner is who began it: nobody else may use it.
	owner identity
	// remote is the address that an anonymous owner called from; empty for a principal's session, and on a pipe.
	remote string
	// can is what the client can be asked.
	can ability

	mu sync.Mutex // guards what follows
	// level is the least severity of log lines that the client wants; -1 for none.
	level int
	used  time.Time
	// calls are the requests in flight, for notifications/cancelled. Two may share an id: on HTTP nothing forbids it.
	calls map[*call]context.CancelCauseFunc
	// questions are what the client was asked and has not answered, by the key of the request's id; asked counts them.
	questions map[string]pending
	asked     uint64
	// sub is what the session hears of, nil until that is needed; pushers are the streams that carry it, expiry ends it when
	// nobody uses the session. ended says that the session is over.
	sub     Subscription
	pushers map[*byte]context.CancelFunc
	expiry  *time.Timer
	ended   bool
}

// identity is the part of a principal that does not change from request to request.
type identity struct{ issuer, subject, tenant string }

func identityOf(p *provider.Principal) identity {
	if p == nil {
		return identity{}
	}
	return identity{p.Issuer, p.Subject, p.Tenant}
}

// Conn is a connection whose requests share a session once one has begun: a pipe.
type Conn struct {
	mu      sync.Mutex // guards session
	session *Session
}

// Now returns the connection as it is: a message that came before initialize is read as one, even where it is handled
// later. nil when it has no session.
func (c *Conn) Now() *Conn {
	if c.get() == nil {
		return nil
	}
	return c // it never changes from then on
}

// get returns the session; nil for none.
func (c *Conn) get() *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// sessions holds the sessions that HTTP clients name by their id.
type sessions struct {
	max int
	// each bounds the sessions of one caller: of a principal, or of an anonymous address.
	each int
	idle time.Duration

	mu   sync.Mutex // guards byID
	byID map[string]*Session
}

// add begins a session. Where there are too many, of this caller's or of all, it ends the one that was idle longest; it reports
// false when each of those is in use.
func (l *sessions) add(s *Session) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := 0
	for _, other := range l.byID {
		if s.sameCaller(other) {
			own++
		}
	}
	if own >= l.each && !l.evict(s.sameCaller) {
		return false
	}
	if len(l.byID) >= l.max && !l.evict(func(*Session) bool { return true }) {
		return false
	}
	s.id = rand.Text()
	l.byID[s.id] = s
	return true
}

// evict ends, of the sessions that from names and that have nothing in flight, the one that was idle longest. It reports false
// when there is none. The lock is held.
func (l *sessions) evict(from func(*Session) bool) bool {
	var oldest *Session
	var since time.Time
	for _, s := range l.byID {
		if !from(s) {
			continue
		}
		if used, idle := s.idleSince(); idle && (oldest == nil || used.Before(since)) {
			oldest, since = s, used
		}
	}
	if oldest == nil {
		return false
	}
	delete(l.byID, oldest.id)
	oldest.close()
	return true
}

// get returns a live session of that owner's, and counts it as used. One of somebody else's looks like none.
func (l *sessions) get(id string, owner identity) *Session {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.byID[id]
	if s != nil && s.expired(l.idle) {
		delete(l.byID, id)
		s.close()
		s = nil
	}
	if s == nil || s.owner != owner {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
	return s
}

// remove ends a session, with its requests.
func (l *sessions) remove(s *Session) {
	l.mu.Lock()
	delete(l.byID, s.id)
	l.mu.Unlock()
	s.close() // first, so that no call begins after the others were cancelled
	s.cancel(nil, errSessionEnded)
}

// errSessionEnded is the cause of a call's end when its session ended before.
var errSessionEnded = errors.New("the session has ended")

// sameCaller reports whether two sessions count against one caller's share.
func (s *Session) sameCaller(other *Session) bool {
	return s.owner == other.owner && s.remote == other.remote
}

// callerAddr returns the address that an anonymous caller's sessions are counted by: of IPv6 the network, whose addresses are all
// one machine's to choose from.
func callerAddr(p *provider.Principal, remote string) string {
	if p != nil {
		return ""
	}
	addr, err := netip.ParseAddr(remote)
	if err != nil || addr.Unmap().Is4() {
		return remote
	}
	const network = 64
	prefix, err := addr.WithZone("").Prefix(network)
	if err != nil {
		return remote
	}
	return prefix.String()
}

// expired reports whether nobody used the session for that long.
func (s *Session) expired(idle time.Duration) bool {
	since, free := s.idleSince()
	return free && time.Since(since) >= idle
}

// idleSince returns when the session was used last, and whether it is idle: a request in flight is use, and so is a stream.
func (s *Session) idleSince() (since time.Time, idle bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used, len(s.calls) == 0 && len(s.pushers) == 0
}

// begin counts a call in and returns the context that its cancellation ends.
func (s *Session) begin(ctx context.Context, c *call) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c] = cancel
	if s.ended {
		cancel(errSessionEnded)
	}
	return ctx
}

// end counts a call out.
func (s *Session) end(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.calls[c]; cancel != nil {
		cancel(nil)
		delete(s.calls, c)
	}
	s.used = time.Now()
}

// cancel ends the calls with that id, all for nil, for a cause.
func (s *Session) cancel(id jsonrpc.ID, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c, cancel := range s.calls {
		if id == nil || c.req.Message.ID.Key() == id.Key() {
			cancel(cause)
		}
	}
}

func (s *Session) setLevel(level int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}

func (s *Session) logLevel() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// session returns the session that a legacy message belongs to; nil and no error where none is named.
func (c *call) findSession() (*Session, error) {
	if c.req.Conn != nil {
		return c.req.Conn.get(), nil
	}
	h := c.req.Header
	if h == nil || len(h.Session) == 0 || c.server.newestLegacy() == nil {
		return nil, nil
	}
	var s *Session
	if len(h.Session) == 1 {
		s = c.server.sessions.get(h.Session[0], identityOf(c.req.Principal))
	}
	if s == nil {
		return nil, noSession()
	}
	for _, v := range h.ProtocolVersion {
		if r := c.server.revision(v); r == nil || r.modern {
			return nil, c.server.unsupported("Unsupported protocol version", v)
		}
		if v != s.rev.name {
			// What a message means depends on it: two readers of the message must not differ about that.
			return nil, c.server.unsupported("Unsupported protocol version: this session negotiated "+s.rev.name, v)
		}
	}
	return s, nil
}

// noSession is the answer to a request of a session that is not there. The client then begins a new one (2025-11-25,
// basic/transports, Session Management).
func noSession() *failure {
	return &failure{wire: jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the session is unknown or has ended"}, status: http.StatusNotFound}
}

// EndSession ends the session that an HTTP DELETE names, and returns the status of its answer.
func (s *Server) EndSession(h *Header, p *provider.Principal) int {
	if s.newestLegacy() == nil {
		return http.StatusMethodNotAllowed
	}
	if len(h.Session) != 1 {
		return http.StatusBadRequest
	}
	session := s.sessions.get(h.Session[0], identityOf(p))
	if session == nil {
		return http.StatusNotFound
	}
	s.sessions.remove(session)
	return http.StatusNoContent
}

// Legacy reports whether the server serves a revision that begins with initialize.
func (s *Server) Legacy() bool { return s.newestLegacy() != nil }

func (s *Server) newestLegacy() *revision {
	for _, r := range s.revisions {
		if !r.modern {
			return r
		}
	}
	return nil
}

// initialize begins a session (rule E2). The version is the one asked for when it is served, else the newest.
func (c *call) initialize(context.Context) error {
	var requested, capabilities []byte
	for o := jsonrpc.Members(c.req.Message.Params); o.Next(); {
		switch {
		case o.Is("protocolVersion"):
			requested = o.Value
		case o.Is("capabilities"):
			capabilities = o.Value
		}
	}
	if jsonrpc.KindOf(requested) != jsonrpc.Text {
		return badParams(`"protocolVersion" must be a string`)
	}
	if jsonrpc.KindOf(capabilities) != jsonrpc.Map {
		return badParams(`"capabilities" must be an object`)
	}
	c.rev = c.server.newestLegacy()
	if r := c.server.revision(jsonrpc.String(requested)); r != nil && !r.modern {
		c.rev = r
	}
	if err := c.beginSession(abilities(capabilities) & c.rev.asks); err != nil {
		return err
	}
	f := c.server.backend.Features(context.Background(), &c.caller)
	out := jsonrpc.AppendResultHead(c.out, c.req.Message.ID)
	out = jsonrpc.AppendString(append(out, `{"protocolVersion":`...), c.rev.name)
	out = c.appendCapabilities(append(out, `,"capabilities":`...), &f)
	out = appendImplementation(append(out, `,"serverInfo":`...), &c.server.opts, c.rev.title)
	c.out = append(appendText(out, `,"instructions":`, c.server.opts.Instructions), "}}"...)
	return nil
}

// beginSession makes the session of the revision chosen, for the pipe or under a new id. A second initialize is refused, and the
// first stays in force.
func (c *call) beginSession(can ability) error {
	s := &Session{
		rev: c.rev, can: can, owner: identityOf(c.req.Principal), remote: callerAddr(c.req.Principal, c.req.Remote),
		level: -1, used: time.Now(), calls: make(map[*call]context.CancelCauseFunc),
	}
	if conn := c.req.Conn; conn != nil {
		conn.mu.Lock()
		defer conn.mu.Unlock()
		if conn.session != nil {
			return c.initializedBefore()
		}
		conn.session = s
		return nil
	}
	if c.session != nil {
		return c.initializedBefore()
	}
	if !c.server.sessions.add(s) {
		return refused(&Refusal{RetryAfterMillis: 60_000})
	}
	c.sessionID = s.id
	return nil
}

func (c *call) initializedBefore() error {
	return &failure{wire: jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the session is initialized already"}, status: http.StatusBadRequest}
}

// ping answers ping.
func (c *call) ping(context.Context) error {
	c.out = append(jsonrpc.AppendResultHead(c.out, c.req.Message.ID), "{}}"...)
	return nil
}

// setLevel answers logging/setLevel.
func (c *call) setLevel(ctx context.Context) error {
	for o := jsonrpc.Members(c.req.Message.Params); o.Next(); {
		if level := severity(jsonrpc.String(o.Value)); o.Is("level") && level >= 0 {
			c.session.setLevel(level)
			return c.ping(ctx)
		}
	}
	return badParams(`"level" must be one of the levels of RFC 5424`)
}
