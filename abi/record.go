package abi

// Optional is a number that may be absent. It holds the number plus one, as the wire does; the zero value is absence.
type Optional uint64

// Some returns a present number. The greatest uint64 does not fit and becomes absent.
func Some(v uint64) Optional { return Optional(v + 1) }

// Get returns the number and whether it is present.
func (o Optional) Get() (v uint64, ok bool) {
	if o == 0 {
		return 0, false
	}
	return uint64(o) - 1, true
}

// Content is record [KindContent]: it opens a part of a read, whose body follows through write.
type Content struct {
	// URI is empty for the request's.
	URI string
	// MIMEType is a media type (RFC 2046), or empty when unknown.
	MIMEType string
	// Text says that the whole body is UTF-8.
	Text bool
	// SizeHint is the body's size in bytes if it is known. The host never reserves memory for it.
	SizeHint uint64
	// MetaJSON is a JSON object, or empty.
	MetaJSON string
	// ETag is printable ASCII, at most MaxETag bytes.
	ETag string
	// TTLMillis is how long the result may be reused, in milliseconds.
	TTLMillis Optional
	// Scope is ScopePublic or 0.
	Scope uint64
}

// Append encodes m at the end of b.
func (m *Content) Append(b []byte) []byte {
	b = appendString(b, ContentURI, m.URI)
	b = appendString(b, ContentMIMEType, m.MIMEType)
	b = appendBool(b, ContentText, m.Text)
	b = appendUint(b, ContentSizeHint, m.SizeHint)
	b = appendString(b, ContentMetaJSON, m.MetaJSON)
	b = appendString(b, ContentETag, m.ETag)
	b = appendUint(b, ContentTTL, uint64(m.TTLMillis))
	return appendUint(b, ContentScope, m.Scope)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *Content) Decode(s string) error {
	*m = Content{}
	r := reader{rest: s}
	for r.next() {
		switch r.field {
		case ContentURI:
			m.URI = r.str()
		case ContentMIMEType:
			m.MIMEType = r.str()
		case ContentText:
			m.Text = r.bool()
		case ContentSizeHint:
			m.SizeHint = r.uint()
		case ContentMetaJSON:
			m.MetaJSON = r.str()
		case ContentETag:
			m.ETag = r.str()
		case ContentTTL:
			m.TTLMillis = Optional(r.uint())
		case ContentScope:
			m.Scope = r.uint()
		}
	}
	return r.err
}

// Resource is record [KindResource]: an entry of a list.
type Resource struct {
	// URI and Name are required.
	URI, Name, Title, Description, MIMEType string
	// Size is the raw body's size in bytes.
	Size Optional
	// AnnotationsJSON and MetaJSON are JSON objects, IconsJSON is an array, in the protocol's shapes; or empty.
	AnnotationsJSON, IconsJSON, MetaJSON string
}

// Append encodes m at the end of b.
func (m *Resource) Append(b []byte) []byte {
	b = appendString(b, ResourceURI, m.URI)
	b = appendString(b, ResourceName, m.Name)
	b = appendString(b, ResourceTitle, m.Title)
	b = appendString(b, ResourceDescription, m.Description)
	b = appendString(b, ResourceMIMEType, m.MIMEType)
	b = appendUint(b, ResourceSize, uint64(m.Size))
	b = appendString(b, ResourceAnnotationsJSON, m.AnnotationsJSON)
	b = appendString(b, ResourceIconsJSON, m.IconsJSON)
	return appendString(b, ResourceMetaJSON, m.MetaJSON)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *Resource) Decode(s string) error {
	*m = Resource{}
	r := reader{rest: s}
	for r.next() {
		switch r.field {
		case ResourceURI:
			m.URI = r.str()
		case ResourceName:
			m.Name = r.str()
		case ResourceTitle:
			m.Title = r.str()
		case ResourceDescription:
			m.Description = r.str()
		case ResourceMIMEType:
			m.MIMEType = r.str()
		case ResourceSize:
			m.Size = Optional(r.uint())
		case ResourceAnnotationsJSON:
			m.AnnotationsJSON = r.str()
		case ResourceIconsJSON:
			m.IconsJSON = r.str()
		case ResourceMetaJSON:
			m.MetaJSON = r.str()
		}
	}
	return r.err
}

// Cursor is record [KindCursor]: where the next page begins. Without one the list ends.
type Cursor struct{ Next string }

// Append encodes m at the end of b.
func (m *Cursor) Append(b []byte) []byte { return appendString(b, CursorNext, m.Next) }

// Decode replaces m by the message in s, whose memory it then shares.
func (m *Cursor) Decode(s string) (err error) {
	m.Next, err = decodeOne(s, CursorNext)
	return err
}

// Value is record [KindValue]: one proposal of a completion, raw (not percent-encoded).
type Value struct{ Value string }

// Append encodes m at the end of b.
func (m *Value) Append(b []byte) []byte { return appendString(b, ValueValue, m.Value) }

// Decode replaces m by the message in s, whose memory it then shares.
func (m *Value) Decode(s string) (err error) {
	m.Value, err = decodeOne(s, ValueValue)
	return err
}

// Updated is record [KindUpdated]: the resource at URI, or something below it, changed.
type Updated struct{ URI string }

// Append encodes m at the end of b.
func (m *Updated) Append(b []byte) []byte { return appendString(b, UpdatedURI, m.URI) }

// Decode replaces m by the message in s, whose memory it then shares.
func (m *Updated) Decode(s string) (err error) {
	m.URI, err = decodeOne(s, UpdatedURI)
	return err
}

// State is record [KindState]: what the guest wants back in the retry of a read, or in the next poll. At most MaxState.
type State struct{ Data string }

// Append encodes m at the end of b.
func (m *State) Append(b []byte) []byte { return appendString(b, StateData, m.Data) }

// Decode replaces m by the message in s, whose memory it then shares.
func (m *State) Decode(s string) (err error) {
	m.Data, err = decodeOne(s, StateData)
	return err
}

// decodeOne decodes a message with one field of bytes.
func decodeOne(s string, field int) (v string, err error) {
	r := reader{rest: s}
	for r.next() {
		if r.field == field {
			v = r.str()
		}
	}
	return v, r.err
}

// Info is record [KindInfo]: facts about a list, a completion or a poll as a whole.
type Info struct {
	// Total is how many values a completion has in all; HasMore says that there are more than were emitted.
	Total   Optional
	HasMore bool
	// NextPollMillis asks for the next poll after so many milliseconds. 0: as the manifest says.
	NextPollMillis uint64
	// TTLMillis and Scope are as in Content.
	TTLMillis Optional
	Scope     uint64
}

// Append encodes m at the end of b.
func (m *Info) Append(b []byte) []byte {
	b = appendUint(b, InfoTotal, uint64(m.Total))
	b = appendBool(b, InfoHasMore, m.HasMore)
	b = appendUint(b, InfoNextPollMillis, m.NextPollMillis)
	b = appendUint(b, InfoTTL, uint64(m.TTLMillis))
	return appendUint(b, InfoScope, m.Scope)
}

// Decode replaces m by the message in s.
func (m *Info) Decode(s string) error {
	*m = Info{}
	r := reader{rest: s}
	for r.next() {
		switch r.field {
		case InfoTotal:
			m.Total = Optional(r.uint())
		case InfoHasMore:
			m.HasMore = r.bool()
		case InfoNextPollMillis:
			m.NextPollMillis = r.uint()
		case InfoTTL:
			m.TTLMillis = Optional(r.uint())
		case InfoScope:
			m.Scope = r.uint()
		}
	}
	return r.err
}

// Input is record [KindInput]: a question to the client.
type Input struct {
	// Key is unique in the call; the answer comes back under it.
	Key string
	// Method is "elicitation/create", "sampling/createMessage" or "roots/list". A client without that in ReadRequest.InputMethods
	// is told what it lacks.
	Method string
	// ParamsJSON is the method's parameters, a JSON object.
	ParamsJSON string
}

// Append encodes m at the end of b.
func (m *Input) Append(b []byte) []byte {
	b = appendString(b, InputKey, m.Key)
	b = appendString(b, InputMethod, m.Method)
	return appendString(b, InputParamsJSON, m.ParamsJSON)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *Input) Decode(s string) error {
	*m = Input{}
	r := reader{rest: s}
	for r.next() {
		switch r.field {
		case InputKey:
			m.Key = r.str()
		case InputMethod:
			m.Method = r.str()
		case InputParamsJSON:
			m.ParamsJSON = r.str()
		}
	}
	return r.err
}

// Error is record [KindError]: what a status other than ok has to say.
type Error struct {
	// Message reaches the client for the statuses invalid, unavailable, too_large and unsupported, else only the log.
	Message string
	// DetailJSON is a JSON object for the protocol error's data, or empty.
	DetailJSON string
	// RetryAfterMillis says when an unavailable resource is worth another try. 0: unsaid.
	RetryAfterMillis uint64
}

// Append encodes m at the end of b.
func (m *Error) Append(b []byte) []byte {
	b = appendString(b, ErrorMessage, m.Message)
	b = appendString(b, ErrorDetailJSON, m.DetailJSON)
	return appendUint(b, ErrorRetryAfterMillis, m.RetryAfterMillis)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *Error) Decode(s string) error {
	*m = Error{}
	r := reader{rest: s}
	for r.next() {
		switch r.field {
		case ErrorMessage:
			m.Message = r.str()
		case ErrorDetailJSON:
			m.DetailJSON = r.str()
		case ErrorRetryAfterMillis:
			m.RetryAfterMillis = r.uint()
		}
	}
	return r.err
}

// Progress is record [KindProgress]. Done only grows within a call.
type Progress struct {
	Done    uint64
	Total   Optional
	Message string
}

// Append encodes m at the end of b.
func (m *Progress) Append(b []byte) []byte {
	b = appendUint(b, ProgressDone, m.Done)
	b = appendUint(b, ProgressTotal, uint64(m.Total))
	return appendString(b, ProgressMessage, m.Message)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *Progress) Decode(s string) error {
	*m = Progress{}
	r := reader{rest: s}
	for r.next() {
		switch r.field {
		case ProgressDone:
			m.Done = r.uint()
		case ProgressTotal:
			m.Total = Optional(r.uint())
		case ProgressMessage:
			m.Message = r.str()
		}
	}
	return r.err
}
