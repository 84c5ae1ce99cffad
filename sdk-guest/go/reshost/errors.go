package reshost

import (
	"errors"

	"github.com/reshost/reshost/abi"
)

// Code says what kind of failure an [Error] is.
type Code = abi.Status

// Codes of failures.
const (
	CodeNotFound    = abi.StatusNotFound
	CodeInvalid     = abi.StatusInvalid
	CodeDenied      = abi.StatusDenied
	CodeUnavailable = abi.StatusUnavailable
	CodeInternal    = abi.StatusInternal
	CodeTooLarge    = abi.StatusTooLarge
	CodeUnsupported = abi.StatusUnsupported
)

// Error is a failure with a code. The message reaches the client for [CodeInvalid], [CodeUnavailable], [CodeTooLarge] and
// [CodeUnsupported], cut at 1 KiB; for the others it goes to the log only.
type Error struct {
	Code    Code
	Message string
	// RetryAfterMillis says when an unavailable resource is worth another try; 0: unsaid.
	RetryAfterMillis int64
	// Detail is a JSON object for the protocol error's data, or empty.
	Detail string
}

// Error returns the message, or the code's name without one.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.String()
	}
	return e.Message
}

// NotFound says that there is no such resource.
func NotFound(message string) *Error { return &Error{Code: CodeNotFound, Message: message} }

// Invalid says that the request cannot be served as it was asked.
func Invalid(message string) *Error { return &Error{Code: CodeInvalid, Message: message} }

// Denied says that the caller may not. The client cannot tell it from NotFound.
func Denied(message string) *Error { return &Error{Code: CodeDenied, Message: message} }

// Unavailable says that it does not work now, and after how long to try again; 0: unsaid.
func Unavailable(message string, retryAfterMillis int64) *Error {
	return &Error{Code: CodeUnavailable, Message: message, RetryAfterMillis: retryAfterMillis}
}

// Internal says that the plugin is at fault.
func Internal(message string) *Error { return &Error{Code: CodeInternal, Message: message} }

// TooLarge says that a limit on size was met.
func TooLarge(message string) *Error { return &Error{Code: CodeTooLarge, Message: message} }

// Unsupported says that the plugin does not do this.
func Unsupported(message string) *Error { return &Error{Code: CodeUnsupported, Message: message} }

var (
	// ErrStop says that the host wants no more: a limit is met, or the caller left.
	ErrStop = errors.New("reshost: the host wants no more")
	// ErrNotModified is returned by a read whose ReadRequest.IfETag still holds.
	ErrNotModified = errors.New("reshost: not modified")

	errInputRequired = errors.New("reshost: input required")
)

// CodeOf returns the code of an error: that of the first [Error] in its chain, and [CodeInternal] when there is none.
func CodeOf(err error) Code {
	for err != nil {
		if e, ok := err.(*Error); ok {
			return e.Code
		}
		err = errors.Unwrap(err)
	}
	return CodeInternal
}
