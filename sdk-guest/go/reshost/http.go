package reshost

import (
	"io"

	"github.com/reshost/reshost/abi"
)

// HTTP sends requests to what the operator granted. It needs [CapabilityHTTP].
//
// Methods fail with an [*Error]: [CodeDenied] (not granted, wherever a redirect or a name leads), [CodeInvalid] (a
// malformed request), [CodeTooLarge] (a bound of the host), [CodeUnavailable] (the network, the server or the time).
type HTTP struct{ in *Instance }

// HTTPRequest is a request to be sent.
type HTTPRequest struct {
	// Method is GET when empty.
	Method string
	// URL is absolute. Whoever builds it of a variable escapes that: see [EscapeSegment].
	URL string
	// Headers by name. The host adds those of the grant.
	Headers []Header
	Body    string
	// TimeoutMillis bounds the exchange; 0: the call's deadline does.
	TimeoutMillis int64
}

// Send sends a request and does not wait for the answer, so that several run side by side: send all, then ask each for its
// [Exchange.Response]. Close it: a call can hold 64 open at once.
func (c HTTP) Send(r *HTTPRequest) (*Exchange, error) {
	m := abi.HTTPRequest{Method: r.Method, URL: r.URL, Body: r.Body, TimeoutMillis: uint64(max(r.TimeoutMillis, 0))}
	for _, h := range r.Headers {
		m.Headers = append(m.Headers, abi.Var(h))
	}
	h := c.in.h.httpSend(m.Append(nil))
	if h < 0 {
		return nil, httpError("send", r.URL, h)
	}
	return &Exchange{in: c.in, url: r.URL, handle: int32(h)}, nil
}

// Get reads the whole answer to a GET. An answer of a status other than 2xx is no error. If its body is longer than limit bytes it fails with
// [CodeTooLarge].
func (c HTTP) Get(url string, limit int64) (*HTTPResponse, []byte, error) {
	x, err := c.Send(&HTTPRequest{URL: url})
	if err != nil {
		return nil, nil, err
	}
	defer x.Close()
	res, err := x.Response()
	if err != nil {
		return nil, nil, err
	}
	b, err := x.ReadAll(limit)
	return res, b, err
}

// HTTPResponse is the beginning of an answer.
type HTTPResponse struct {
	Status int
	// Headers have names in lower case.
	Headers []Header
	// URL is where the answer came from, after redirects.
	URL string
}

// Header returns the first value of a header, by its name in lower case; "" when there is none.
func (r *HTTPResponse) Header(name string) string {
	for i := range r.Headers {
		if r.Headers[i].Name == name {
			return r.Headers[i].Value
		}
	}
	return ""
}

// Exchange is a request that was sent: an [io.Reader] of its answer's body, and an [io.Closer]. It lives for one call.
type Exchange struct {
	in     *Instance
	url    string
	handle int32
}

// Response waits for the beginning of the answer.
func (x *Exchange) Response() (*HTTPResponse, error) {
	buf := x.in.buffer()
	n := x.in.h.httpHead(x.handle, buf)
	if n > len(buf) {
		buf = make([]byte, n)
		n = x.in.h.httpHead(x.handle, buf)
	}
	if n < 0 || n > len(buf) {
		return nil, httpError("head", x.url, n)
	}
	var m abi.HTTPResponse
	if err := m.Decode(string(buf[:n])); err != nil {
		return nil, err
	}
	res := &HTTPResponse{Status: int(m.Status), URL: m.URL, Headers: make([]Header, len(m.Headers))}
	for i, h := range m.Headers {
		res.Headers[i] = Header(h)
	}
	return res, nil
}

// Read reads on in the body; at its end it fails with [io.EOF].
func (x *Exchange) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n := x.in.h.httpRead(x.handle, p)
	switch {
	case n < 0 || n > len(p):
		return 0, httpError("read", x.url, n)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// ReadAll reads the rest of the body. If it is longer than limit bytes it fails with [CodeTooLarge].
func (x *Exchange) ReadAll(limit int64) ([]byte, error) {
	var all []byte
	buf := x.in.buffer()
	for {
		n, err := x.Read(buf)
		if int64(len(all))+int64(n) > limit {
			return nil, tooLong(x.url, limit)
		}
		all = append(all, buf[:n]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Close ends the exchange.
func (x *Exchange) Close() error {
	if n := x.in.h.httpClose(x.handle); n < 0 {
		return httpError("close", x.url, n)
	}
	return nil
}

// httpError is the failure of a host function that returned n. The URL's query stays out of it: it may hold what is not for logs.
func httpError(op, url string, n int) error {
	for i := range len(url) {
		if url[i] == '?' {
			url = url[:i]
			break
		}
	}
	return fsError(op, url, n)
}
