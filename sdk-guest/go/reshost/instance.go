package reshost

import (
	"unsafe"

	"github.com/reshost/reshost/abi"
)

const (
	anyScheme       = abi.AnyScheme
	isolationReset  = abi.IsolationReset
	isolationShared = abi.IsolationShared
	isolationFresh  = abi.IsolationFresh

	// fileChunk is how much of a file or folder is asked for at once.
	fileChunk = 64 << 10
	// requestRoom is the size of the buffer that most requests fit into.
	requestRoom = 4 << 10
)

// Instance is one running plugin: the state behind the exports. The SDK makes it; plugins do not.
type Instance struct {
	p *Plugin
	h host
	// schemes has the effective names of p.Schemes, once they were asked for.
	schemes []string
	// req receives requests, rec builds records, json builds values in them, chunk receives files: all kept for the next call.
	req, rec, chunk []byte
	json            JSON
}

// scheme returns the effective name of a scheme.
func (in *Instance) scheme(name string) string {
	if in.schemes == nil {
		in.schemes = make([]string, len(in.p.Schemes))
		for i, s := range in.p.Schemes {
			in.schemes[i] = Config{in.h}.String(abi.ConfigSchemes+escapeToken(s), s)
		}
	}
	for i, s := range in.p.Schemes {
		if s == name {
			return in.schemes[i]
		}
	}
	return name
}

// effective returns a registered URI or template with the scheme's effective name.
func (in *Instance) effective(uri string) string {
	s := schemeOf(uri)
	if e := in.scheme(s); e != s {
		return e + uri[len(s):]
	}
	return uri
}

// request fetches the call's request. The string is its own memory: handlers may keep parts of it.
func (in *Instance) request() string {
	if in.req == nil {
		in.req = make([]byte, requestRoom)
	}
	n := in.h.req(in.req)
	if n > len(in.req) {
		in.req = make([]byte, n)
		n = in.h.req(in.req)
	}
	return string(in.req[:min(max(n, 0), len(in.req))])
}

// emit pushes in.rec.
func (in *Instance) emit(kind abi.Kind) abi.Reply { return in.h.emit(kind, in.rec) }

// buffer is the room for what a capability returns.
func (in *Instance) buffer() []byte {
	if in.chunk == nil {
		in.chunk = make([]byte, fileChunk)
	}
	return in.chunk
}

// fail turns a handler's error into a status and an ERROR record.
func (in *Instance) fail(err error) abi.Status {
	switch err {
	case ErrStop:
		return abi.StatusTooLarge
	case ErrNotModified:
		return abi.StatusNotModified
	case errInputRequired:
		return abi.StatusInputRequired
	}
	rec := abi.Error{Message: err.Error()}
	code := CodeOf(err)
	if e, ok := err.(*Error); ok {
		rec.DetailJSON = e.Detail
		rec.RetryAfterMillis = uint64(max(e.RetryAfterMillis, 0))
	}
	if code == abi.StatusOK {
		code = abi.StatusInternal
	}
	rec.Message = cut(rec.Message, abi.MaxErrorMessage)
	in.rec = rec.Append(in.rec[:0])
	in.emit(abi.KindError)
	return code
}

// cut shortens s to at most n bytes, between characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// stringOf and bytesOf look at the same memory as another type. Neither result outlives the call it is made for, and
// bytesOf's is only read.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
