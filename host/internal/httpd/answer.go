package httpd

import (
	"net/http"
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

// eventStream is a response in the form of server-sent events. It begins with its first message, so that a request
// without notifications is answered in plain JSON.
type eventStream struct {
	x *exchange

	mu    sync.Mutex // guards what follows, and the order of messages
	begun bool
	err   error
	buf   []byte
}

// Send writes one message as an event.
func (s *eventStream) Send(message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begun = true
		header := s.x.w.Header()
		header.Set("Content-Type", "text/event-stream")
		header.Set("Cache-Control", "no-store")
		header.Set("X-Accel-Buffering", "no")
		s.x.w.WriteHeader(http.StatusOK)
	}
	return s.event(message)
}

// event writes while the lock is held: the stream is one client's.
func (s *eventStream) event(message []byte) error {
	if s.err != nil {
		return s.err
	}
	// A message has no line break of its own: JSON escapes them.
	s.buf = append(append(append(s.buf[:0], "data: "...), message...), "\n\n"...)
	if s.err = s.x.write(s.buf); s.err == nil {
		s.err = s.x.flush()
	}
	return s.err
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

// end writes the final response, if there is one.
func (s *eventStream) end(body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(body) > 0 {
		s.event(body)
	}
}
