package abi

import "math/bits"

// Entry describes a file or folder, of the fs capability. stat gives one message; list gives several, each after its
// length as a varint.
type Entry struct {
	// Name is the last element of the path.
	Name string
	// Kind is EntryFile or EntryFolder.
	Kind uint64
	// Size is in bytes; 0 for a folder.
	Size uint64
	// MTimeNanos is the time of the last change, in nanoseconds since 1970 in UTC; 0 when unknown or before.
	MTimeNanos uint64
	// Version changes with the content: printable ASCII, fit for an etag.
	Version string
	// Link says that the name is a symbolic link; all else is what it leads to. A guest that walks a tree does not enter
	// linked folders, since they may lead back up.
	Link bool
}

// Append encodes m at the end of b.
func (m *Entry) Append(b []byte) []byte {
	b = appendString(b, EntryName, m.Name)
	b = appendUint(b, EntryKind, m.Kind)
	b = appendUint(b, EntrySize, m.Size)
	b = appendUint(b, EntryMTimeNanos, m.MTimeNanos)
	b = appendString(b, EntryVersion, m.Version)
	return appendBool(b, EntryLink, m.Link)
}

// AppendPrefixed encodes m at the end of b after its length, as list gives it.
func (m *Entry) AppendPrefixed(b []byte) []byte { return m.Append(appendVarint(b, uint64(m.size()))) }

// size returns how many bytes Append adds.
func (m *Entry) size() int {
	n := sizeString(m.Name) + sizeUint(m.Kind) + sizeUint(m.Size) + sizeUint(m.MTimeNanos) + sizeString(m.Version)
	if m.Link {
		n += sizeUint(1)
	}
	return n
}

// sizeString returns the size of a bytes field whose number is below 16.
func sizeString(s string) int {
	if s == "" {
		return 0
	}
	return 1 + sizeVarint(uint64(len(s))) + len(s)
}

// sizeUint returns the size of a varint field whose number is below 16.
func sizeUint(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + sizeVarint(v)
}

func sizeVarint(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *Entry) Decode(s string) error {
	*m = Entry{}
	r := reader{rest: s}
	for r.next() {
		switch r.field {
		case EntryName:
			m.Name = r.str()
		case EntryKind:
			m.Kind = r.uint()
		case EntrySize:
			m.Size = r.uint()
		case EntryMTimeNanos:
			m.MTimeNanos = r.uint()
		case EntryVersion:
			m.Version = r.str()
		case EntryLink:
			m.Link = r.bool()
		}
	}
	return r.err
}

// TakeEntry decodes the first message of a list's answer and returns what follows it.
func TakeEntry(s string) (m Entry, rest string, err error) {
	n, rest, ok := takeVarint(s)
	if !ok || n > uint64(len(rest)) {
		return m, s, ErrMalformed
	}
	err = m.Decode(rest[:n])
	return m, rest[n:], err
}

// HTTPRequest is what send of the http capability takes.
type HTTPRequest struct {
	Method, URL string
	Headers     []Var
	Body        string
	// TimeoutMillis is at most what the call has left; 0: that.
	TimeoutMillis uint64
}

// Append encodes m at the end of b.
func (m *HTTPRequest) Append(b []byte) []byte {
	b = appendString(b, HTTPRequestMethod, m.Method)
	b = appendString(b, HTTPRequestURL, m.URL)
	b = appendPairs(b, HTTPRequestHeaderName, HTTPRequestHeaderValue, m.Headers)
	b = appendString(b, HTTPRequestBody, m.Body)
	return appendUint(b, HTTPRequestTimeoutMillis, m.TimeoutMillis)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *HTTPRequest) Decode(s string) error {
	*m = HTTPRequest{Headers: m.Headers[:0]}
	r := reader{rest: s}
	var headers pairs
	for r.next() {
		switch r.field {
		case HTTPRequestMethod:
			m.Method = r.str()
		case HTTPRequestURL:
			m.URL = r.str()
		case HTTPRequestHeaderName:
			m.Headers = headers.name(&r, m.Headers)
		case HTTPRequestHeaderValue:
			m.Headers = headers.value(&r, m.Headers)
		case HTTPRequestBody:
			m.Body = r.str()
		case HTTPRequestTimeoutMillis:
			m.TimeoutMillis = r.uint()
		}
	}
	headers.done(&r)
	return r.err
}

// HTTPResponse is what head of the http capability gives. The body follows through read.
type HTTPResponse struct {
	Status  uint64
	Headers []Var
	// URL is where the answer came from, after redirects.
	URL string
}

// Append encodes m at the end of b.
func (m *HTTPResponse) Append(b []byte) []byte {
	b = appendUint(b, HTTPResponseStatus, m.Status)
	b = appendPairs(b, HTTPResponseHeaderName, HTTPResponseHeaderValue, m.Headers)
	return appendString(b, HTTPResponseURL, m.URL)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *HTTPResponse) Decode(s string) error {
	*m = HTTPResponse{Headers: m.Headers[:0]}
	r := reader{rest: s}
	var headers pairs
	for r.next() {
		switch r.field {
		case HTTPResponseStatus:
			m.Status = r.uint()
		case HTTPResponseHeaderName:
			m.Headers = headers.name(&r, m.Headers)
		case HTTPResponseHeaderValue:
			m.Headers = headers.value(&r, m.Headers)
		case HTTPResponseURL:
			m.URL = r.str()
		}
	}
	headers.done(&r)
	return r.err
}
