package abi

// Field numbers. They are never reused and never change their meaning.

// Fields that requests share: ReadRequest, ListRequest and CompleteRequest have all of them, PollRequest the deadline, the
// time and the minor version, InitRequest the last two.
const (
	FieldDeadlineMillis = 8
	FieldSubject        = 11
	FieldMetaJSON       = 12
	FieldIssuer         = 13
	FieldTenant         = 14
	FieldScope          = 15
	FieldClaimsJSON     = 16
	FieldNowMillis      = 17
	FieldHostMinor      = 19
)

// ReadRequest.
const (
	ReadRequestURI           = 1
	ReadRequestTemplateIndex = 2
	ReadRequestVarName       = 3
	ReadRequestVarValue      = 4
	ReadRequestState         = 5
	ReadRequestInputKey      = 6
	ReadRequestInputJSON     = 7
	ReadRequestMaxBytes      = 9
	ReadRequestIfETag        = 10
	ReadRequestInputMethod   = 18
	ReadRequestURITemplate   = 20
)

// ListRequest.
const (
	ListRequestCursor   = 1
	ListRequestPageSize = 2
)

// CompleteRequest.
const (
	CompleteRequestTemplateIndex = 1
	CompleteRequestArgument      = 2
	CompleteRequestValue         = 3
	CompleteRequestContextName   = 4
	CompleteRequestContextValue  = 5
	CompleteRequestURITemplate   = 20
)

// PollRequest.
const (
	PollRequestURI         = 1
	PollRequestState       = 5
	PollRequestChanged     = 6
	PollRequestBody        = 7
	PollRequestHeaderName  = 21
	PollRequestHeaderValue = 22
)

// InitRequest.
const (
	InitRequestPack = 20
)

// Content.
const (
	ContentURI      = 1
	ContentMIMEType = 2
	ContentText     = 3
	ContentSizeHint = 4
	ContentMetaJSON = 5
	ContentETag     = 6
	ContentTTL      = 7
	ContentScope    = 8
)

// Resource.
const (
	ResourceURI             = 1
	ResourceName            = 2
	ResourceTitle           = 3
	ResourceDescription     = 4
	ResourceMIMEType        = 5
	ResourceSize            = 6
	ResourceAnnotationsJSON = 7
	ResourceIconsJSON       = 8
	ResourceMetaJSON        = 9
)

// Cursor, Value, Updated and State have one field.
const (
	CursorNext = 1
	ValueValue = 1
	UpdatedURI = 1
	StateData  = 1
)

// Info.
const (
	InfoTotal          = 1
	InfoHasMore        = 2
	InfoNextPollMillis = 3
	InfoTTL            = 4
	InfoScope          = 5
)

// Input.
const (
	InputKey        = 1
	InputMethod     = 2
	InputParamsJSON = 3
)

// Error.
const (
	ErrorMessage          = 1
	ErrorDetailJSON       = 2
	ErrorRetryAfterMillis = 3
)

// Progress.
const (
	ProgressDone    = 1
	ProgressTotal   = 2
	ProgressMessage = 3
)

// Entry, of the fs capability.
const (
	EntryName       = 1
	EntryKind       = 2
	EntrySize       = 3
	EntryMTimeNanos = 4
	EntryVersion    = 5
	EntryLink       = 6
)

// HTTPRequest and HTTPResponse, of the http capability.
const (
	HTTPRequestMethod        = 1
	HTTPRequestURL           = 2
	HTTPRequestHeaderName    = 3
	HTTPRequestHeaderValue   = 4
	HTTPRequestBody          = 5
	HTTPRequestTimeoutMillis = 6

	HTTPResponseStatus      = 1
	HTTPResponseHeaderName  = 2
	HTTPResponseHeaderValue = 3
	HTTPResponseURL         = 4
)

// SQLQuery, SQLColumns and SQLRow, of the sql capability.
const (
	SQLQueryConnection = 1
	SQLQueryText       = 2
	SQLQueryArgKind    = 3
	SQLQueryArgValue   = 4

	SQLColumnsName = 1
	SQLColumnsType = 2

	SQLRowKind  = 1
	SQLRowValue = 2
)

// ScopePublic is the one value of a scope field with a meaning: every caller gets the same bytes.
const ScopePublic = 1

// Values of [EntryKind]. Nothing else is ever listed.
const (
	EntryFile   = 1
	EntryFolder = 2
)

// Kinds of an SQL value, and the form of its bytes.
const (
	// SQLNull has no bytes.
	SQLNull = 0
	// SQLInt is decimal ASCII, within int64.
	SQLInt = 1
	// SQLFloat is the shortest decimal ASCII that reads back to the same float64, or NaN, +Inf, -Inf.
	SQLFloat = 2
	// SQLText is UTF-8.
	SQLText = 3
	// SQLBytes is raw.
	SQLBytes = 4
)
