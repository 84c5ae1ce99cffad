package httpd

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

// answer writes a whole response. It is flushed here, under a deadline, so that a client that does not read holds the
// request no longer than that, and the deadline does not outlive the response on its connection.
func (x *exchange) answer(status int, body []byte) {
	header := x.w.Header()
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	if len(body) > 0 {
		header["Content-Type"] = []string{"application/json"}
	}
	x.w.WriteHeader(status)
	if x.write(body) == nil {
		x.flush()
	}
}

// abort ends the exchange without an answer: the connection is closed, or the HTTP/2 stream reset. A status without a body would
// be taken for an answer, and a proxy might even keep it.
func abort() { panic(http.ErrAbortHandler) }

// chunk is how much is written under one deadline.
const chunk = 64 << 10

// write writes to the client; it fails when nothing is accepted for Options.WriteTimeout.
func (x *exchange) write(data []byte) error {
	for len(data) > 0 {
		x.ctl.SetWriteDeadline(time.Now().Add(x.h.opts.WriteTimeout))
		n, err := x.w.Write(data[:min(len(data), chunk)])
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (x *exchange) flush() error {
	err := x.ctl.Flush()
	if err == nil {
		x.ctl.SetWriteDeadline(time.Time{})
	}
	return err
}

// errStalled says that a client accepted nothing for Options.WriteTimeout.
var errStalled = fmt.Errorf("the client does not read: %w", os.ErrDeadlineExceeded)

// eventStream is a response in the form of server-sent events. It begins with its first message, so that a request
// without notifications is answered in plain JSON.
type eventStream struct {
	x *exchange
	// broken is called when the stream cannot be written any more.
	broken func()

	mu    sync.Mutex // guards what follows, and the order of messages
	begun bool
	ended bool
	err   error
	buf   []byte
	// quiet writes a comment when nothing else was written for a while; nil for a stream that is not kept alive.
	quiet *time.Timer
}

// Send writes one message as an event.
func (s *eventStream) Send(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	return s.event(message)
}

// Open begins the stream before there is a message: a client waits for its head.
func (s *eventStream) Open() error {
	s.mu.Lock()
	s.begin()
	s.put(append(s.buf[:0], comment...))
	err := s.err
	s.mu.Unlock()
	s.keepAlive()
	return err
}

// begin writes the head while the lock is held.
func (s *eventStream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	header := s.x.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	s.x.w.WriteHeader(http.StatusOK)
}

// event writes while the lock is held: the stream is one client's.
func (s *eventStream) event(message []byte) error {
	// A message has no line break of its own: JSON escapes them.
	s.put(append(append(append(s.buf[:0], "data: "...), message...), "\n\n"...))
	return s.err
}

// put writes and flushes data, which stands in s.buf, while the lock is held.
func (s *eventStream) put(data []byte) {
	const keep = 1 << 10 // of a buffer between messages: most streams are idle most of the time
	if s.buf = data; cap(data) > keep {
		s.buf = nil
	}
	if s.err != nil || s.ended {
		return
	}
	begun := time.Now()
	if s.err = s.x.write(data); s.err == nil {
		s.err = s.x.flush()
	}
	if s.err != nil {
		if time.Since(begun) >= s.x.h.opts.WriteTimeout {
			s.err = errStalled
		}
		if s.broken != nil {
			s.broken()
		}
		return
	}
	if s.quiet != nil {
		s.quiet.Reset(s.x.h.opts.KeepAlive)
	}
}

// comment is a line that readers of server-sent events skip (WHATWG HTML section 9.2.6).
const comment = ":\n\n"

// keepAlive begins to write comments into silence (rule S6), until the stream ends.
func (s *eventStream) keepAlive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet == nil && !s.ended {
		s.quiet = time.AfterFunc(s.x.h.opts.KeepAlive, s.breathe)
	}
}

func (s *eventStream) breathe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begun {
		s.put(append(s.buf[:0], comment...))
	} else if !s.ended {
		s.quiet.Reset(s.x.h.opts.KeepAlive)
	}
}

// started reports whether the response is a stream. The stream may be nil.
func (s *eventStream) started() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// end writes the final response, if there is one. Nothing is written afterwards: the response is the server's again.
func (s *eventStream) end(body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(body) > 0 {
		s.event(body)
	}
	s.ended = true
	if s.quiet != nil {
		s.quiet.Stop()
	}
}
