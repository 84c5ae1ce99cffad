// Package mcp speaks the Model Context Protocol: it turns a decoded JSON-RPC message into a call of a [Backend] and the
// result back into a message, for each revision it knows. version.go alone knows what a revision has.
//
// The transports in host/internal/stdio and host/internal/httpd import it; it knows nothing of theirs, nor of providers'
// routing, access or limits.
package mcp
