package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxErrors bounds how many faults of one file are reported.
const maxErrors = 50

// Pos is a place in the file; lines and columns count from 1, and 0 is unknown.
type Pos struct{ Line, Column int }

// Error is one fault of a configuration.
type Error struct {
	// File is the file's path as it was given.
	File string
	Pos
	// Key is the path of the key, such as "plugins[0].source"; empty for the file as a whole.
	Key string
	// Message says what is wrong, and what to do where that is not plain.
	Message string
}

// Error returns "file:line:column: key: message" on one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, max(e.Column, 1))
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key)
		b.WriteString(": ")
	}
	b.WriteString(e.Message)
	return b.String()
}

// Errors are all faults of one file, in the order of the file.
type Errors []*Error

// Error returns one line per fault.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Sort puts the faults in the order of the file.
func (es Errors) Sort() {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Key, b.Key))
	})
}

// collector gathers faults while a file is read.
type collector struct {
	file    string
	errs    Errors
	dropped int
}

func (c *collector) add(pos Pos, key, format string, args ...any) {
	if len(c.errs) == maxErrors {
		c.dropped++
		return
	}
	c.errs = append(c.errs, &Error{File: c.file, Pos: pos, Key: key, Message: fmt.Sprintf(format, args...)})
}

// err returns the faults sorted by place, or nil.
func (c *collector) err() error {
	if len(c.errs) == 0 {
		return nil
	}
	c.errs.Sort()
	if c.dropped > 0 {
		c.errs = append(c.errs, &Error{File: c.file, Message: fmt.Sprintf("and %d more errors", c.dropped)})
	}
	return c.errs
}
