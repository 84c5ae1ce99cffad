package mcp

import (
	"slices"
	"strconv"
	"sync"

	"github.com/reshost/reshost/host/internal/jsonrpc"
)

// notifier sends the notifications of one request: progress for its token (rule N2), log lines at or above its level
// (rule N3), nothing after its end.
type notifier struct {
	stream   Stream
	token    []byte
	level    int
	withText bool

	mu     sync.Mutex // guards what follows, and the order of messages
	done   uint64
	closed bool
	buf    []byte
}

// notify fills in how a read reaches the client while it runs.
func (c *call) notify(p *ReadParams) {
	level := -1
	switch {
	case c.session != nil:
		level = c.session.logLevel()
	case c.rev.modern && c.meta.logLevel != nil:
		level = severity(jsonrpc.String(c.meta.logLevel))
	}
	logs := level >= 0
	if c.req.Stream == nil || (c.meta.progress == nil && !logs) {
		return
	}
	c.notes = &notifier{stream: c.req.Stream, withText: c.rev.progressText}
	if c.meta.progress != nil {
		c.notes.token = slices.Clone(c.meta.progress)
		p.Progress = c.notes.progress
	}
	if logs {
		c.notes.level = level
		p.Log = c.notes.log
	}
}

// close ends the notifications: after it, none is sent.
func (n *notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
}

func (n *notifier) progress(done, total uint64, message string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || done <= n.done {
		return
	}
	n.done = done
	out := jsonrpc.AppendRequestHead(n.buf[:0], nil, notifyProgress)
	out = append(append(out, `,"params":{"progressToken":`...), n.token...)
	out = strconv.AppendUint(append(out, `,"progress":`...), done, 10)
	if total > 0 {
		out = strconv.AppendUint(append(out, `,"total":`...), total, 10)
	}
	if n.withText {
		out = appendText(out, `,"message":`, cut(message, maxMessage))
	}
	n.send(append(out, "}}"...))
}

func (n *notifier) log(level, message string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed || severity(level) < n.level {
		return
	}
	out := jsonrpc.AppendRequestHead(n.buf[:0], nil, notifyMessage)
	out = jsonrpc.AppendString(append(out, `,"params":{"level":`...), level)
	out = jsonrpc.AppendString(append(out, `,"data":`...), message)
	n.send(append(out, "}}"...))
}

// send writes a message while the lock is held: the stream belongs to this request alone, and its messages keep their
// order. A stream that fails stays closed.
func (n *notifier) send(message []byte) {
	n.buf = message[:0]
	if n.stream.Send(message) != nil {
		n.closed = true
	}
}

// severity returns how grave a level is, from 0 for "debug"; -1 for an unknown one (RFC 5424 section 6.2.1).
func severity(level string) int {
	return slices.Index([]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}, level)
}
