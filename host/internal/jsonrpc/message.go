// Package jsonrpc decodes and encodes the messages of JSON-RPC 2.0 as the Model Context Protocol narrows them.
package jsonrpc

// ID is a request's id, the bytes of a JSON string or integer as they came. nil means absent.
type ID []byte

// Message is a decoded message. Its fields alias the bytes that it was decoded from.
type Message struct {
	// ID is nil for a notification.
	ID ID
	// Method is empty for a response.
	Method string
	// Params is a JSON object; nil when absent.
	Params []byte
	// Result and Error are set in a response only.
	Result, Error []byte
}

// Error is the error object of a response.
type Error struct {
	Code    int
	Message string
	// Data is a JSON value; nil for none.
	Data []byte
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }
