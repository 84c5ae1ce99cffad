// Package mcp speaks the Model Context Protocol: it turns a decoded JSON-RPC message into a call of a [Backend] and the
// result back into a message, for each revision it knows. version.go alone knows what a revision has.
//
// The transports in host/internal/stdio and host/internal/httpd import it, and host, which implements Backend; it knows
// nothing of lines and connections, nor of providers' routing, access or limits.
//
//	s := mcp.NewServer(backend, &mcp.Options{Name: "acme", Version: "1.0"})
//	resp := s.Handle(ctx, &mcp.Request{Message: m, Header: header, Stream: stream})
//
// Modern requests carry their revision and are answered by themselves. Legacy ones belong to a [Session], which initialize
// begins: on a pipe it is the [Conn]'s, over HTTP it has an id. Both kinds may come over one connection. Where a read asks its
// client for more, a modern one gets the question as its result and reads again; a legacy one is asked by a request of the
// server's while the read waits, and the [Backend] sees the same in either case.
//
// # Errors
//
// Handle does not fail: whatever goes wrong is the answer. errorTable says how each provider.Code is answered; the cause of
// an internal error and the stack of a panic go to the log alone. A cancelled request has no answer.
package mcp
