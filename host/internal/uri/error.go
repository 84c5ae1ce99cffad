package uri

// Error says why a text is no URI that can be asked for. Its text is safe to show to clients.
type Error uint8

// What Parse refuses. Callers compare with errors.Is.
const (
	// ErrRelative: there is no scheme, or it is malformed (RFC 3986 section 3.1).
	ErrRelative Error = iota + 1
	// ErrTooLong: more than [MaxLen] bytes.
	ErrTooLong
	// ErrFragment: a fragment is the client's affair and never reaches a server (RFC 3986 section 3.5).
	ErrFragment
	// ErrUserinfo: names and passwords do not belong in URIs (RFC 3986 section 3.2.1).
	ErrUserinfo
	// ErrEscape: "%" is not followed by two hex digits (RFC 3986 section 2.1).
	ErrEscape
	// ErrNUL: "%00" or the byte itself (RFC 3986 section 7.3).
	ErrNUL
	// ErrControl: a control character stands unencoded.
	ErrControl
	// ErrCharacter: an ASCII character stands unencoded that no URI holds: one of "<>\^`{|}.
	ErrCharacter
	// ErrUTF8: a byte beyond ASCII is not part of valid UTF-8.
	ErrUTF8
	// ErrDotSegment: a segment of the path is "." or "..", percent-encoded or not.
	ErrDotSegment
)

var messages = [...]string{
	ErrRelative:   "the URI is not absolute: it must begin with a scheme such as docs:",
	ErrTooLong:    "the URI is too long",
	ErrFragment:   "the URI has a fragment",
	ErrUserinfo:   "the URI has userinfo",
	ErrEscape:     "the URI has a malformed percent-encoding",
	ErrNUL:        "the URI holds a NUL",
	ErrControl:    "the URI holds a control character",
	ErrCharacter:  "the URI holds a character that must be percent-encoded",
	ErrUTF8:       "the URI is not valid UTF-8",
	ErrDotSegment: "the URI has a dot segment",
}

// Error returns a sentence for clients.
func (e Error) Error() string {
	if int(e) < len(messages) && messages[e] != "" {
		return messages[e]
	}
	return "the URI is malformed"
}
