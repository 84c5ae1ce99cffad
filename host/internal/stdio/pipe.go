package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/internal/mcp"
)

// pipe is one client on a pair of streams.
type pipe struct {
	server *mcp.Server
	opts   Options
	conn   *mcp.Conn
	ctx    context.Context // of all requests; the pipe lives within one call of Serve
	// ending ends when subscriptions must end, each with its last message.
	ending    context.Context
	endStream context.CancelFunc

	// out carries whole lines to the writer. flush, when closed, asks it to end when out is empty; stop ends it at once
	// and makes further output vanish.
	out         chan line
	flush, stop chan struct{}
	buffers     sync.Pool
	calls       sync.WaitGroup
	turns       chan struct{} // has one element for each request that is being served

	mu       sync.Mutex // guards what follows
	inflight map[string]*entry
	// active counts requests until their answer is in the writer's hands: a client that does not read must not pile them up.
	// Subscriptions are not counted.
	active int
	// closing says that no request is taken any more; pushing that the session's own stream has begun.
	closing, pushing bool
}

// entry is a request in flight.
type entry struct {
	cancel context.CancelFunc
	// cancelled says that nothing may be sent for it any more (rule N1).
	cancelled atomic.Bool
}

// line is one message to write, newline included. entry is nil where it belongs to no request.
type line struct {
	text  *[]byte
	entry *entry
}

// queue is how many lines may wait for the writer; a client that does not read then stops the reader.
const queue = 64

func newPipe(ctx context.Context, s *mcp.Server, opts Options) *pipe {
	p := &pipe{
		server: s, opts: opts, conn: new(mcp.Conn), ctx: ctx,
		out: make(chan line, queue), flush: make(chan struct{}), stop: make(chan struct{}),
		buffers:  sync.Pool{New: func() any { return new([]byte) }},
		inflight: make(map[string]*entry),
		turns:    make(chan struct{}, min(opts.MaxRunning, opts.MaxConcurrent, 1<<20)),
	}
	p.ending, p.endStream = context.WithCancel(ctx)
	return p
}

// read takes lines until the stream ends or fails.
func (p *pipe) read(r io.Reader) error {
	in := newLineReader(r, p.opts.MaxMessage)
	for {
		text, long, err := in.next()
		if p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		if long {
			p.sendError(jsonrpc.FindID(text), &jsonrpc.Error{
				Code:    jsonrpc.CodeInvalidRequest,
				Message: fmt.Sprintf("the message is longer than %d bytes", p.opts.MaxMessage),
			})
		} else if len(bytes.TrimSpace(text)) > 0 {
			p.message(text)
		}
		if err != nil {
			return err
		}
	}
}

// message takes one line, which belongs to it.
func (p *pipe) message(text []byte) {
	m, err := p.server.Decode(text)
	if err != nil && jsonrpc.IsBatch(text) {
		p.batch(text, err)
		return
	}
	if err != nil {
		p.sendError(m.ID, err)
		return
	}
	if m.IsRequest() {
		p.request(m)
		return
	}
	if id := mcp.CancelledID(&m); id != nil {
		p.cancel(id)
	}
	p.server.Handle(p.ctx, &mcp.Request{Message: m, Principal: p.opts.Principal, Conn: p.conn})
}

// batch starts a line that is an array; it counts as one request.
func (p *pipe) batch(text []byte, refusal *jsonrpc.Error) {
	p.mu.Lock()
	full := p.active >= p.opts.MaxConcurrent || p.closing
	if !full {
		p.active++
		p.calls.Add(1)
	}
	p.mu.Unlock()
	if full {
		buf := p.buffer()
		*buf = (&mcp.Refusal{}).Respond(*buf, nil).Body
		p.send(buf, nil)
		return
	}
	go p.runBatch(p.conn.Now(), text, refusal)
}

// runBatch answers a batch.
func (p *pipe) runBatch(conn *mcp.Conn, text []byte, refusal *jsonrpc.Error) {
	defer p.calls.Done()
	defer p.release()
	buf := p.buffer()
	resp, ok := p.server.HandleBatch(p.ctx, &mcp.Request{Principal: p.opts.Principal, Conn: conn, Buf: *buf}, text)
	if !ok {
		p.sendError(nil, refusal)
		return
	}
	if *buf = resp.Body; len(*buf) > 0 {
		p.send(buf, nil)
	}
}

// request starts a request, unless its id is in flight (rule P8) or there are too many.
func (p *pipe) request(m jsonrpc.Message) {
	ctx, cancel := context.WithCancel(p.ctx)
	e, key := &entry{cancel: cancel}, m.ID.Key()
	p.mu.Lock()
	_, taken := p.inflight[key]
	full := p.active >= p.opts.MaxConcurrent || p.closing
	if !taken && !full {
		p.inflight[key] = e
		p.active++
		p.calls.Add(1)
	}
	p.mu.Unlock()
	switch {
	case taken:
		cancel()
		p.sendError(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a request with this id is in flight"})
		return
	case full:
		cancel()
		buf := p.buffer()
		*buf = (&mcp.Refusal{}).Respond(*buf, m.ID).Body
		p.send(buf, nil)
		return
	}
	if mcp.Ordered(&m) {
		p.run(ctx, p.conn, m, e, key)
		return
	}
	go p.run(ctx, p.conn.Now(), m, e, key)
}

// run answers a request. conn is the connection as it was when the request came.
func (p *pipe) run(ctx context.Context, conn *mcp.Conn, m jsonrpc.Message, e *entry, key string) {
	defer p.calls.Done()
	held := !mcp.Ordered(&m) && p.turn(ctx)
	detach := sync.OnceFunc(func() {
		if held {
			<-p.turns
		}
		p.release()
	})
	defer detach()
	defer e.cancel()
	buf := p.buffer()
	resp := p.server.Handle(ctx, &mcp.Request{
		Message: m, Principal: p.opts.Principal, Conn: conn, Stream: &stream{p, e}, Buf: *buf,
		Ending: p.ending, Detach: detach,
	})
	*buf = resp.Body
	// The id is free before its answer can be seen: a client may use it again at once.
	p.remove(key, e)
	if len(*buf) == 0 {
		return
	}
	if resp.Ended {
		// In one piece, so that no other message of that id comes between.
		*buf = mcp.AppendCancelled(append(*buf, '\n'), m.ID)
	}
	p.send(buf, e)
	if mcp.Ordered(&m) {
		p.push()
	}
}

// turn waits until the request may be served. A client that writes a thousand requests at once is one caller: they wait
// here, where they cost nothing, and not in the queue of a plugin, which has a bound that all callers share.
func (p *pipe) turn(ctx context.Context) bool {
	select {
	case p.turns <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// push begins to send a legacy session what it subscribes to, once there is one.
func (p *pipe) push() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pushing || p.closing || !p.conn.Begun() {
		return
	}
	p.pushing = true
	p.calls.Go(func() {
		p.server.Push(p.ctx, &mcp.Request{Principal: p.opts.Principal, Conn: p.conn, Stream: &stream{p, new(entry)}, Ending: p.ending})
	})
}

func (p *pipe) remove(key string, e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inflight[key] == e {
		delete(p.inflight, key)
	}
}

// release gives a request's place back.
func (p *pipe) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active--
}

// cancel ends a request; an id that is not in flight changes nothing.
func (p *pipe) cancel(id jsonrpc.ID) {
	key := id.Key()
	p.mu.Lock()
	e := p.inflight[key]
	delete(p.inflight, key)
	p.mu.Unlock()
	if e != nil {
		e.cancelled.Store(true)
		e.cancel()
	}
}

// stream sends a request's notifications.
type stream struct {
	p *pipe
	e *entry
}

// Send queues a copy of the message.
func (s *stream) Send(message []byte) error {
	if s.e.cancelled.Load() {
		return context.Canceled
	}
	buf := s.p.buffer()
	*buf = append(*buf, message...)
	if !s.p.send(buf, s.e) {
		return errors.New("the pipe is closed")
	}
	return nil
}

func (p *pipe) sendError(id jsonrpc.ID, e *jsonrpc.Error) {
	buf := p.buffer()
	*buf = jsonrpc.AppendError(*buf, id, e)
	p.send(buf, nil)
}

// send queues a message for the writer, which owns the buffer from then on. It reports false when there is no writer
// any more.
func (p *pipe) send(text *[]byte, e *entry) bool {
	*text = append(*text, '\n')
	select {
	case p.out <- line{text, e}:
		return true
	case <-p.stop:
		return false
	}
}

// buffer returns an empty buffer.
func (p *pipe) buffer() *[]byte {
	b := p.buffers.Get().(*[]byte)
	*b = (*b)[:0]
	return b
}

// keep is the largest buffer that is used again.
const keep = 2 << 20

func (p *pipe) recycle(b *[]byte) {
	if cap(*b) <= keep {
		p.buffers.Put(b)
	}
}

// write writes lines until it is told to end or the stream fails. Lines that wait are written together.
func (p *pipe) write(w io.Writer) error {
	const together = 64 << 10
	for {
		var l line
		select {
		case l = <-p.out:
		case <-p.stop:
			return nil
		case <-p.flush:
			select {
			case l = <-p.out:
			default:
				return nil
			}
		}
		batch := l.text
		if l.entry != nil && l.entry.cancelled.Load() {
			*batch = (*batch)[:0]
		}
		for more := true; more && len(*batch) < together; {
			select {
			case l := <-p.out:
				if l.entry == nil || !l.entry.cancelled.Load() {
					*batch = append(*batch, *l.text...)
				}
				p.recycle(l.text)
			default:
				more = false
			}
		}
		if len(*batch) > 0 {
			if _, err := w.Write(*batch); err != nil {
				return err
			}
		}
		p.recycle(batch)
	}
}

// drain takes no more requests, ends subscriptions, and waits for the requests in flight.
func (p *pipe) drain(ctx context.Context) {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.endStream()
	done := p.done()
	timer := time.NewTimer(p.opts.Drain)
	defer timer.Stop()
	select {
	case <-done:
	case <-ctx.Done():
	case <-timer.C:
		p.opts.Logger.Warn("requests were still in flight some time after the end of input", "after", p.opts.Drain)
	}
}

// wait waits for cancelled requests, but not for ever.
func (p *pipe) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done():
	case <-timer.C:
		p.opts.Logger.Warn("requests go on although they were cancelled")
	}
}

// done returns a channel that is closed when no request is in flight.
func (p *pipe) done() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		p.calls.Wait()
		close(done)
	}()
	return done
}
