package provider

import (
	"errors"
	"fmt"
	"time"
)

// Code says what kind of failure an [Error] is. The set is closed; the host maps each code to a protocol code and an HTTP
// status in one table per revision.
type Code uint8

const (
	// Internal is a fault of the provider. The client learns nothing but that. It is the zero value, so that a
	// forgotten code is never mistaken for a milder one.
	Internal Code = iota
	// NotFound: no such resource.
	NotFound
	// Invalid: the request cannot be served as it was asked.
	Invalid
	// Denied: the caller may not. The client sees NotFound; the audit line tells them apart.
	Denied
	// Unavailable: not now; Error.RetryAfter may say when to try again.
	Unavailable
	// TooLarge: a limit on size was met; Error.Limit says which.
	TooLarge
	// Unsupported: the provider does not do this.
	Unsupported
	// Timeout: the deadline passed.
	Timeout
	// Canceled: the caller left. No answer is written.
	Canceled
)

var codeNames = [...]string{
	Internal: "internal", NotFound: "not_found", Invalid: "invalid", Denied: "denied", Unavailable: "unavailable",
	TooLarge: "too_large", Unsupported: "unsupported", Timeout: "timeout", Canceled: "canceled",
}

// String returns the code's name as it stands in logs, such as "not_found".
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("code(%d)", uint8(c))
}

// Error is a failure with a code.
type Error struct {
	Code Code
	// Message is a sentence that is safe to show to the client. The host shows it for Invalid, Unavailable, TooLarge and
	// Unsupported, cut at 1 KiB; for other codes the client gets the code's own sentence and Message goes to the log.
	Message string
	// Err is the cause. It goes to the log only.
	Err error
	// RetryAfter, when positive, tells an Unavailable client when to try again.
	RetryAfter time.Duration
	// Limit names the limit that a TooLarge met, in bytes or items; 0 when unknown.
	Limit int64
	// Detail is a JSON object for the error's data; nil for none.
	Detail JSON
}

// Errorf returns an Error with a client-safe message. A %w in the format sets the cause, and its text stands in
// Message too: use [Wrap] to keep a cause out of the message.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Wrap returns an Error whose cause, err, stays in the log.
func Wrap(code Code, err error, message string) *Error {
	return &Error{Code: code, Message: message, Err: err}
}

// Error returns code, message and cause: a text for logs, not for clients.
func (e *Error) Error() string {
	s := e.Code.String()
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil && (e.Message == "" || e.Err.Error() != e.Message) {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first Error in err's chain, and Internal when there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}
