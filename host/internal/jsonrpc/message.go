// Package jsonrpc decodes and encodes the messages of JSON-RPC 2.0 as the Model Context Protocol narrows them: ids are
// strings or integers, params are objects, a message is one JSON object.
//
// host/internal/mcp and the transports import it; it imports nothing of ours. [Decode] is strict, since two readers of
// one message must never see two different messages: names are exact and case-sensitive, a name that occurs twice in one
// object is refused anywhere in the message, and so are invalid UTF-8, lone surrogates, data after the message and nesting
// deeper than [MaxDepth]. Ids are kept as the bytes they came in; nothing passes through float64. What Decode let
// through can be walked with [Members] without further checks.
//
//	m, err := jsonrpc.Decode(line)
//	if err != nil {
//		line = jsonrpc.AppendError(nil, m.ID, err) // m.ID is nil where it could not be read
//	}
//
// # Errors
//
// Decode fails with an [*Error] that is the answer to send: [CodeParse] for bytes that are not JSON, [CodeInvalidRequest]
// for JSON that is not a message. The encoders do not fail.
package jsonrpc

import "fmt"

// The codes of JSON-RPC 2.0 section 5.1.
const (
	CodeParse          = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Limits of one message; its length is the transports' matter.
const (
	// MaxDepth is how deep objects and arrays may nest, where [DecodeDepth] is not told another number.
	MaxDepth = 64
	// MaxID is the most bytes of an id, which every answer and many notifications repeat.
	MaxID = 1024
	// IDWindow is how far into a message [FindID] looks.
	IDWindow = 64 << 10
)

// ID is a request's id: the bytes of a JSON string or integer as they came. nil means absent.
type ID []byte

// Key returns a form of the id that is equal for equal ids, however they were written, and differs between a string and
// an integer.
func (id ID) Key() string {
	if len(id) > 0 && id[0] == '"' {
		return `"` + String(id)
	}
	if string(id) == "-0" {
		return "0"
	}
	return string(id)
}

// Message is a decoded message. Its byte slices alias what it was decoded from.
type Message struct {
	// ID is nil for a notification.
	ID ID
	// Method is empty for a response, which has IsResponse set.
	Method string
	// Params is a JSON object; nil when absent.
	Params []byte
	// Result and Error are the members of a response as they came.
	Result, Error []byte
	// IsResponse says that the message answers a request of ours.
	IsResponse bool
}

// IsRequest reports whether the message wants an answer.
func (m *Message) IsRequest() bool { return !m.IsResponse && m.ID != nil }

// Error is the error object of a response.
type Error struct {
	Code    int
	Message string
	// Data is a JSON value; nil for none.
	Data []byte
}

// Error returns the message with its code.
func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Message, e.Code) }

// errBatch answers a JSON array (rule H5).
const errBatch = "batches are not supported: send one message at a time"

// Decode decodes one message. On failure the message holds the id, when it could be read, and nothing else.
func Decode(data []byte) (Message, *Error) { return DecodeDepth(data, MaxDepth) }

// DecodeDepth is Decode for messages that nest at most maxDepth deep.
func DecodeDepth(data []byte, maxDepth int) (Message, *Error) {
	var names [24]name // enough for most messages, and on the stack
	s := scanner{data: data, maxDepth: maxDepth, names: names[:0]}
	var e envelope
	if err := s.message(&e); err != nil {
		return Message{ID: FindID(data)}, err
	}
	m, err := e.message()
	if err != nil {
		return Message{ID: e.validID()}, err
	}
	return m, nil
}

// envelope holds the members of a message that have a meaning, each nil when absent.
type envelope struct {
	version, id, method, params, result, err []byte
}

// field returns the place for the member of that name; nil for one without a meaning (rule P9).
func (e *envelope) field(name []byte) *[]byte {
	switch string(name) {
	case "jsonrpc":
		return &e.version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.err
	}
	return nil
}

func (e *envelope) validID() ID {
	if checkID(e.id) != nil {
		return nil
	}
	return e.id
}

func (e *envelope) message() (Message, *Error) {
	if string(e.id) == "null" && e.method == nil && e.err != nil && e.result == nil {
		e.id = nil // the answer to a message whose id could not be read (JSON-RPC 2.0 section 5)
	}
	if e.id != nil {
		if err := checkID(e.id); err != nil {
			return Message{}, err
		}
	}
	if !isString(e.version) || !stringIs(e.version, "2.0") {
		return Message{}, invalid(`"jsonrpc" must be "2.0"`)
	}
	if e.method == nil {
		return e.response()
	}
	if e.result != nil || e.err != nil {
		return Message{}, invalid(`a message with "method" has neither "result" nor "error"`)
	}
	if !isString(e.method) {
		return Message{}, invalid(`"method" must be a string`)
	}
	if e.params != nil && e.params[0] == '[' {
		return Message{}, &Error{Code: CodeInvalidParams, Message: `"params" must be an object`}
	}
	if e.params != nil && e.params[0] != '{' {
		return Message{}, invalid(`"params" must be an object`)
	}
	return Message{ID: e.id, Method: methodName(e.method), Params: e.params}, nil
}

func (e *envelope) response() (Message, *Error) {
	if e.result == nil && e.err == nil {
		return Message{}, invalid(`"method" is missing`)
	}
	if e.result != nil && e.err != nil {
		return Message{}, invalid(`a response has one of "result" and "error"`)
	}
	if e.err != nil && e.err[0] != '{' {
		return Message{}, invalid(`"error" must be an object`)
	}
	if e.id == nil && e.err == nil {
		return Message{}, invalid(`"id" is missing`)
	}
	return Message{ID: e.id, Result: e.result, Error: e.err, IsResponse: true}, nil
}

// checkID refuses what is not an id (rule P8).
func checkID(id []byte) *Error {
	if len(id) == 0 {
		return invalid(`"id" is missing`)
	}
	if len(id) > MaxID {
		return invalid(fmt.Sprintf(`"id" is longer than %d bytes`, MaxID))
	}
	if id[0] == '"' || isInteger(id) {
		return nil
	}
	return invalid(`"id" must be a string or an integer`)
}

// isInteger reports whether a JSON number is written as an integer.
func isInteger(v []byte) bool {
	if len(v) == 0 || (v[0] != '-' && (v[0] < '0' || v[0] > '9')) {
		return false
	}
	for _, c := range v[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

func invalid(message string) *Error { return &Error{Code: CodeInvalidRequest, Message: message} }

// methodName returns the text of a method. It allocates for names other than those below only.
func methodName(v []byte) string {
	switch string(v) {
	case `"resources/read"`:
		return "resources/read"
	case `"resources/list"`:
		return "resources/list"
	case `"completion/complete"`:
		return "completion/complete"
	}
	return String(v)
}
