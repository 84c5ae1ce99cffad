// Package abi is the contract between the host and a WebAssembly guest: names, numbers, messages and their encoding.
// README.md beside this file is its specification; a golden file and reshost_v1.proto hold the constants to it.
//
// Both sides import it: host/wasmplugin, and the Go guest SDK. It therefore needs the standard library only, and of that
// nothing that is heavy in a guest (no fmt, no reflection, no encoding/json, no time).
//
// A message is a struct with an Append method, which encodes it at the end of a buffer as the append built-in does, and a
// Decode method:
//
//	buf = (&abi.Content{MIMEType: "text/plain", Text: true}).Append(buf[:0])
//
//	var c abi.Content
//	if err := c.Decode(string(buf)); err != nil { … }
//
// Append allocates only when the buffer must grow. Decode takes a string, so that the decoded fields can share its memory
// and nobody can change them afterwards: copy the foreign bytes once, by converting them, and decode the copy.
//
// # Errors
//
// Decode fails with [ErrMalformed] when the input is not the wire format, with [ErrPairs] when two paired lists differ in
// length, and with [ErrTooMany] when a repeated field exceeds [MaxRepeated]. The message is then undefined. Fields of
// unknown number are skipped; a known field that appears twice where it may not counts as its last value.
package abi
