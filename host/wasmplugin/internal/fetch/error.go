package fetch

import (
	"errors"
	"fmt"
)

// Kind says what a failure means for who asked.
type Kind int

// Kinds of failures.
const (
	Unavailable Kind = iota
	Invalid
	Denied
	TooLarge
)

// Error is a request that was not made, or not to its end.
type Error struct {
	Kind Kind
	text string
	err  error
}

func (e *Error) Error() string {
	if e.err != nil {
		return e.text + ": " + e.err.Error()
	}
	return e.text
}

func (e *Error) Unwrap() error { return e.err }

func denied(format string, args ...any) *Error {
	return &Error{Kind: Denied, text: fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) *Error {
	return &Error{Kind: Invalid, text: fmt.Sprintf(format, args...)}
}

func tooLarge(format string, args ...any) *Error {
	return &Error{Kind: TooLarge, text: fmt.Sprintf(format, args...)}
}

// KindOf returns the kind of a failure; one that is none of this package's is Unavailable.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Unavailable
}
