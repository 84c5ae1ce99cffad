package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The exit codes.
const (
	exitOK       = 0
	exitFailure  = 1
	exitUsage    = 2
	exitNotFound = 3
)

// usageError is a command line that makes no sense.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitCode returns the exit code for a command's error.
func exitCode(err error) int {
	var usage usageError
	var child childExit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &child):
		return int(child)
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, new(notFound)):
		return exitNotFound
	}
	return exitFailure
}

// report writes err to stderr: each of its lines begins with the program's name.
func report(w io.Writer, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(w, "reshost: "+printable(strings.TrimRight(line, "\n")))
	}
	if errors.As(err, new(usageError)) {
		fmt.Fprintln(w, `reshost: "reshost --help" says how it is used`)
	}
}

// printable replaces control characters: names and messages of plugins must not steer a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\uFFFD'
		}
		return r
	}, s)
}
