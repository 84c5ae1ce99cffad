package reshosttest

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"

	"github.com/reshost/reshost/abi"
)

// exchanges serve the http capability by a handler. What a host's grant would refuse, the handler alone decides here.
type exchanges struct {
	handler http.Handler
	open    map[int32]*exchange
	last    int32
}

type exchange struct {
	head abi.HTTPResponse
	body *bytes.Reader
}

func (e *exchanges) end() { e.open = nil }

// HTTPSend answers send.
func (h *host) HTTPSend(req []byte) int {
	e := &h.http
	var m abi.HTTPRequest
	if err := m.Decode(string(req)); err != nil {
		return -int(abi.StatusInvalid)
	}
	switch {
	case e.handler == nil:
		return -int(abi.StatusDenied)
	case len(e.open) >= abi.MaxHandles:
		return -int(abi.StatusTooLarge)
	}
	if m.Method == "" {
		m.Method = http.MethodGet
	}
	r, err := http.NewRequest(m.Method, m.URL, strings.NewReader(m.Body))
	if err != nil || r.URL.Host == "" {
		return -int(abi.StatusInvalid)
	}
	for _, line := range m.Headers {
		switch strings.ToLower(line.Name) {
		case "host", "authorization", "cookie", "accept-encoding", "connection", "content-length", "transfer-encoding":
			return -int(abi.StatusDenied)
		}
		r.Header.Add(line.Name, line.Value)
	}
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, r)
	x := &exchange{abi.HTTPResponse{Status: uint64(w.Code), URL: m.URL}, bytes.NewReader(w.Body.Bytes())}
	for name, values := range w.Header() {
		for _, v := range values {
			x.head.Headers = append(x.head.Headers, abi.Var{Name: strings.ToLower(name), Value: v})
		}
	}
	sort.SliceStable(x.head.Headers, func(i, j int) bool { return x.head.Headers[i].Name < x.head.Headers[j].Name })
	if e.open == nil {
		e.open = make(map[int32]*exchange)
	}
	e.last++
	e.open[e.last] = x
	return int(e.last)
}

// HTTPHead answers head.
func (h *host) HTTPHead(fd int32, buf []byte) int {
	x := h.http.open[fd]
	if x == nil {
		return -int(abi.StatusInvalid)
	}
	return fill(buf, x.head.Append(nil))
}

// HTTPRead answers read.
func (h *host) HTTPRead(fd int32, buf []byte) int {
	x := h.http.open[fd]
	if x == nil {
		return -int(abi.StatusInvalid)
	}
	n, _ := x.body.Read(buf) // a bytes.Reader fails at its end alone
	return n
}

// HTTPClose answers close.
func (h *host) HTTPClose(fd int32) int {
	if h.http.open[fd] == nil {
		return -int(abi.StatusInvalid)
	}
	delete(h.http.open, fd)
	return 0
}
