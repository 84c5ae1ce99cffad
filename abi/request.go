package abi

// Common is what ReadRequest, ListRequest and CompleteRequest share.
type Common struct {
	// DeadlineMillis is how long the call may still take, in milliseconds from its start, host calls included. 0: unsaid.
	DeadlineMillis uint64
	// NowMillis is the time of the request: milliseconds since 1970 in UTC.
	NowMillis uint64
	// HostMinor is the minor version of this ABI that the host speaks.
	HostMinor uint64
	// Subject, Issuer, Tenant, Scopes and ClaimsJSON say who asks, each only if the operator granted it.
	Subject, Issuer, Tenant string
	Scopes                  []string
	// ClaimsJSON is the token's claims, a JSON object, or empty.
	ClaimsJSON string
	// MetaJSON holds those keys of the request's `_meta` that the operator granted: a JSON object, or empty.
	MetaJSON string
}

func (m *Common) reset() { *m = Common{Scopes: m.Scopes[:0]} }

func (m *Common) append(b []byte) []byte {
	b = appendUint(b, FieldDeadlineMillis, m.DeadlineMillis)
	b = appendString(b, FieldSubject, m.Subject)
	b = appendString(b, FieldMetaJSON, m.MetaJSON)
	b = appendString(b, FieldIssuer, m.Issuer)
	b = appendString(b, FieldTenant, m.Tenant)
	b = appendList(b, FieldScope, m.Scopes)
	b = appendString(b, FieldClaimsJSON, m.ClaimsJSON)
	b = appendUint(b, FieldNowMillis, m.NowMillis)
	return appendUint(b, FieldHostMinor, m.HostMinor)
}

// take decodes the reader's field if it is one of the shared ones.
func (m *Common) take(r *reader) {
	switch r.field {
	case FieldDeadlineMillis:
		m.DeadlineMillis = r.uint()
	case FieldSubject:
		m.Subject = r.str()
	case FieldMetaJSON:
		m.MetaJSON = r.str()
	case FieldIssuer:
		m.Issuer = r.str()
	case FieldTenant:
		m.Tenant = r.str()
	case FieldScope:
		m.Scopes = r.element(m.Scopes)
	case FieldClaimsJSON:
		m.ClaimsJSON = r.str()
	case FieldNowMillis:
		m.NowMillis = r.uint()
	case FieldHostMinor:
		m.HostMinor = r.uint()
	}
}

// Answer is the client's answer to an [Input] of the same key.
type Answer struct {
	Key string
	// JSON is the client's result, a JSON object.
	JSON string
}

// ReadRequest is the request of [ExportRead].
type ReadRequest struct {
	Common
	// URI is the resource, normalised (RFC 3986 section 6.2.2), with the scheme's effective name.
	URI string
	// TemplateIndex is the place of the template in the manifest's list plus one; 0 for a direct resource, and always 0
	// for a dynamic guest.
	TemplateIndex uint64
	// URITemplate is the template that matched, with the scheme's effective name; empty for a direct resource.
	URITemplate string
	// Vars are the template's variables that the URI defines, decoded once.
	Vars []Var
	// State is what a State record of the first attempt held, and Answers are the client's answers.
	State   string
	Answers []Answer
	// InputMethods are what this client can be asked, such as "elicitation/create".
	InputMethods []string
	// MaxBytes bounds the sum of all bodies. 0: unsaid.
	MaxBytes uint64
	// IfETag is the etag of the contents that the host still holds, or empty.
	IfETag string
}

// Append encodes m at the end of b.
func (m *ReadRequest) Append(b []byte) []byte {
	b = appendString(b, ReadRequestURI, m.URI)
	b = appendUint(b, ReadRequestTemplateIndex, m.TemplateIndex)
	b = appendPairs(b, ReadRequestVarName, ReadRequestVarValue, m.Vars)
	b = appendString(b, ReadRequestState, m.State)
	for i := range m.Answers {
		b = appendElement(b, ReadRequestInputKey, m.Answers[i].Key)
		b = appendElement(b, ReadRequestInputJSON, m.Answers[i].JSON)
	}
	b = appendUint(b, ReadRequestMaxBytes, m.MaxBytes)
	b = appendString(b, ReadRequestIfETag, m.IfETag)
	b = appendList(b, ReadRequestInputMethod, m.InputMethods)
	b = appendString(b, ReadRequestURITemplate, m.URITemplate)
	return m.Common.append(b)
}

// Decode replaces m by the message in s, whose memory the fields of m then share. The lists' memory is reused.
func (m *ReadRequest) Decode(s string) error {
	m.Common.reset()
	*m = ReadRequest{Common: m.Common, Vars: m.Vars[:0], Answers: m.Answers[:0], InputMethods: m.InputMethods[:0]}
	r := reader{rest: s}
	var vars pairs
	keys, values := 0, 0
	for r.next() {
		switch r.field {
		case ReadRequestURI:
			m.URI = r.str()
		case ReadRequestTemplateIndex:
			m.TemplateIndex = r.uint()
		case ReadRequestVarName:
			m.Vars = vars.name(&r, m.Vars)
		case ReadRequestVarValue:
			m.Vars = vars.value(&r, m.Vars)
		case ReadRequestState:
			m.State = r.str()
		case ReadRequestInputKey:
			m.answer(&r, &keys, false)
		case ReadRequestInputJSON:
			m.answer(&r, &values, true)
		case ReadRequestMaxBytes:
			m.MaxBytes = r.uint()
		case ReadRequestIfETag:
			m.IfETag = r.str()
		case ReadRequestInputMethod:
			m.InputMethods = r.element(m.InputMethods)
		case ReadRequestURITemplate:
			m.URITemplate = r.str()
		default:
			m.Common.take(&r)
		}
	}
	vars.done(&r)
	if keys != values {
		r.fail(ErrPairs)
	}
	return r.err
}

// answer takes one half of the answer at place *n.
func (m *ReadRequest) answer(r *reader, n *int, value bool) {
	if *n >= MaxRepeated {
		r.fail(ErrTooMany)
		return
	}
	if *n == len(m.Answers) {
		m.Answers = append(m.Answers, Answer{})
	}
	if value {
		m.Answers[*n].JSON = r.str()
	} else {
		m.Answers[*n].Key = r.str()
	}
	*n++
}

// ListRequest is the request of [ExportList].
type ListRequest struct {
	Common
	// Cursor is what the guest's [Cursor] record held; empty for the first page.
	Cursor string
	// PageSize is the most resources wanted, at least 1.
	PageSize uint64
}

// Append encodes m at the end of b.
func (m *ListRequest) Append(b []byte) []byte {
	b = appendString(b, ListRequestCursor, m.Cursor)
	b = appendUint(b, ListRequestPageSize, m.PageSize)
	return m.Common.append(b)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *ListRequest) Decode(s string) error {
	m.Common.reset()
	*m = ListRequest{Common: m.Common}
	r := reader{rest: s}
	for r.next() {
		switch r.field {
		case ListRequestCursor:
			m.Cursor = r.str()
		case ListRequestPageSize:
			m.PageSize = r.uint()
		default:
			m.Common.take(&r)
		}
	}
	return r.err
}

// CompleteRequest is the request of [ExportComplete].
type CompleteRequest struct {
	Common
	// TemplateIndex and URITemplate are as in ReadRequest.
	TemplateIndex uint64
	URITemplate   string
	// Argument is the variable to complete, and Value what was typed so far.
	Argument, Value string
	// Context holds variables that are known already.
	Context []Var
}

// Append encodes m at the end of b.
func (m *CompleteRequest) Append(b []byte) []byte {
	b = appendUint(b, CompleteRequestTemplateIndex, m.TemplateIndex)
	b = appendString(b, CompleteRequestArgument, m.Argument)
	b = appendString(b, CompleteRequestValue, m.Value)
	b = appendPairs(b, CompleteRequestContextName, CompleteRequestContextValue, m.Context)
	b = appendString(b, CompleteRequestURITemplate, m.URITemplate)
	return m.Common.append(b)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *CompleteRequest) Decode(s string) error {
	m.Common.reset()
	*m = CompleteRequest{Common: m.Common, Context: m.Context[:0]}
	r := reader{rest: s}
	var vars pairs
	for r.next() {
		switch r.field {
		case CompleteRequestTemplateIndex:
			m.TemplateIndex = r.uint()
		case CompleteRequestArgument:
			m.Argument = r.str()
		case CompleteRequestValue:
			m.Value = r.str()
		case CompleteRequestContextName:
			m.Context = vars.name(&r, m.Context)
		case CompleteRequestContextValue:
			m.Context = vars.value(&r, m.Context)
		case CompleteRequestURITemplate:
			m.URITemplate = r.str()
		default:
			m.Common.take(&r)
		}
	}
	vars.done(&r)
	return r.err
}

// PollRequest is the request of [ExportPoll].
type PollRequest struct {
	DeadlineMillis, NowMillis, HostMinor uint64
	// Watched are the URIs that somebody watches.
	Watched []string
	// State is what the last poll's State record held, on whatever instance; empty at first and after a reload.
	State string
	// Changed are the paths below granted folders that the host saw change, each beginning with the root's name. One empty
	// path means that anything may have changed.
	Changed []string
	// Body and Headers are those of a verified webhook.
	Body    string
	Headers []Var
}

// Append encodes m at the end of b.
func (m *PollRequest) Append(b []byte) []byte {
	b = appendList(b, PollRequestURI, m.Watched)
	b = appendString(b, PollRequestState, m.State)
	b = appendList(b, PollRequestChanged, m.Changed)
	b = appendString(b, PollRequestBody, m.Body)
	b = appendUint(b, FieldDeadlineMillis, m.DeadlineMillis)
	b = appendUint(b, FieldNowMillis, m.NowMillis)
	b = appendUint(b, FieldHostMinor, m.HostMinor)
	return appendPairs(b, PollRequestHeaderName, PollRequestHeaderValue, m.Headers)
}

// Decode replaces m by the message in s, whose memory the fields of m then share.
func (m *PollRequest) Decode(s string) error {
	*m = PollRequest{Watched: m.Watched[:0], Changed: m.Changed[:0], Headers: m.Headers[:0]}
	r := reader{rest: s}
	var headers pairs
	for r.next() {
		switch r.field {
		case PollRequestURI:
			m.Watched = r.element(m.Watched)
		case PollRequestState:
			m.State = r.str()
		case PollRequestChanged:
			m.Changed = r.element(m.Changed)
		case PollRequestBody:
			m.Body = r.str()
		case FieldDeadlineMillis:
			m.DeadlineMillis = r.uint()
		case FieldNowMillis:
			m.NowMillis = r.uint()
		case FieldHostMinor:
			m.HostMinor = r.uint()
		case PollRequestHeaderName:
			m.Headers = headers.name(&r, m.Headers)
		case PollRequestHeaderValue:
			m.Headers = headers.value(&r, m.Headers)
		}
	}
	headers.done(&r)
	return r.err
}

// InitRequest is the request of [ExportInit] and [ExportDescribe].
type InitRequest struct {
	NowMillis, HostMinor uint64
	// Pack says that the guest runs to have its manifest written, not to serve: no capability is granted.
	Pack bool
}

// Append encodes m at the end of b.
func (m *InitRequest) Append(b []byte) []byte {
	b = appendUint(b, FieldNowMillis, m.NowMillis)
	b = appendUint(b, FieldHostMinor, m.HostMinor)
	return appendBool(b, InitRequestPack, m.Pack)
}

// Decode replaces m by the message in s.
func (m *InitRequest) Decode(s string) error {
	*m = InitRequest{}
	r := reader{rest: s}
	for r.next() {
		switch r.field {
		case FieldNowMillis:
			m.NowMillis = r.uint()
		case FieldHostMinor:
			m.HostMinor = r.uint()
		case InitRequestPack:
			m.Pack = r.bool()
		}
	}
	return r.err
}
