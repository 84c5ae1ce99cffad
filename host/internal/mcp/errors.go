package mcp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/reshost/reshost/host/internal/jsonrpc"
	"github.com/reshost/reshost/host/provider"
)

// failure is an answer that is an error, with the HTTP status that goes with it.
type failure struct {
	wire   jsonrpc.Error
	status int
	// retryAfter is the HTTP header in seconds; 0: none.
	retryAfter int
	// noID leaves the id out.
	noID bool
}

func (f *failure) Error() string { return f.wire.Error() }

// maxMessage is the most bytes of a provider's message that a client is shown.
const maxMessage = 1 << 10

// errorRow says how a provider's code is answered. Once a request is dispatched the HTTP status is 200 whatever the code.
type errorRow struct {
	code int
	// message is the sentence for the client. show puts the provider's own in its place.
	message string
	show    bool
	// reason stands in data; empty where data is the URI instead.
	reason string
}

// errorTable returns the row for a code. Denied reads as NotFound, down to the last byte (rule R2).
func errorTable(code provider.Code, rev *revision) errorRow {
	switch code {
	case provider.NotFound, provider.Denied:
		return errorRow{code: rev.notFound, message: "Resource not found"}
	case provider.Invalid:
		return errorRow{code: jsonrpc.CodeInvalidParams, message: "Invalid params", show: true, reason: "invalid"}
	case provider.Unsupported:
		return errorRow{code: jsonrpc.CodeInvalidParams, message: "Not supported", show: true, reason: "unsupported"}
	case provider.TooLarge:
		return errorRow{code: jsonrpc.CodeInvalidParams, message: "Too large", show: true, reason: "too_large"}
	case provider.Unavailable:
		return errorRow{code: jsonrpc.CodeInternal, message: "Unavailable", show: true, reason: "unavailable"}
	case provider.Timeout:
		return errorRow{code: jsonrpc.CodeInternal, message: "Timeout", reason: "timeout"}
	}
	return errorRow{code: jsonrpc.CodeInternal, message: "Internal error", reason: "internal"}
}

// providerFailure returns the answer to an error of the backend's.
func (c *call) providerFailure(err error) *failure {
	var r *Refusal
	if errors.As(err, &r) {
		return r.failure()
	}
	var e *provider.Error
	if !errors.As(err, &e) {
		e = &provider.Error{Err: err}
		if errors.Is(err, context.DeadlineExceeded) {
			e.Code = provider.Timeout
		}
		// An error with a code comes from the backend, which has logged it with its cause.
		c.server.log.Error("request failed", "method", c.req.Message.Method, "uri", c.uri, "error", err)
	}
	row := errorTable(e.Code, c.rev)
	f := &failure{wire: jsonrpc.Error{Code: row.code, Message: row.message}, status: http.StatusOK}
	if row.show && e.Message != "" {
		f.wire.Message = cut(e.Message, maxMessage)
	}
	if row.reason == "" {
		if c.uri != "" {
			f.wire.Data = append(jsonrpc.AppendString([]byte(`{"uri":`), c.uri), '}')
		}
		return f
	}
	f.wire.Data = errorData(row.reason, e)
	return f
}

// errorData returns the data of a failure: the reason, what goes with its code, and the provider's detail.
func errorData(reason string, e *provider.Error) []byte {
	data := append([]byte(`{"reason":"`), reason...)
	data = append(data, '"')
	if e.Code == provider.TooLarge && e.Limit > 0 {
		data = strconv.AppendInt(append(data, `,"limit":`...), e.Limit, 10)
	}
	if e.Code == provider.Unavailable && e.RetryAfter > 0 {
		data = strconv.AppendInt(append(data, `,"retryAfterMs":`...), max(e.RetryAfter.Milliseconds(), 1), 10)
	}
	if detail, ok := jsonrpc.AppendCompact(nil, e.Detail); ok && e.Code != provider.Internal {
		for o := jsonrpc.Members(detail); o.Next(); {
			switch name := o.Name(); name {
			case "reason", "limit", "retryAfterMs", "uri":
				// These have a meaning that a provider's detail cannot take.
			default:
				data = jsonrpc.AppendString(append(data, ','), name)
				data = append(append(data, ':'), o.Value...)
			}
		}
	}
	return append(data, '}')
}

// cut shortens s to at most n bytes without cutting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.Clone(s[:n])
}

// refused is the answer to a request that was not admitted: the only one after decoding that has its own HTTP status.
func refused(err error) *failure {
	var r *Refusal
	if !errors.As(err, &r) {
		r = &Refusal{}
	}
	return r.failure()
}

// Respond returns the response to a request that is not admitted, whose id is nil when it could not be read.
func (r *Refusal) Respond(buf []byte, id jsonrpc.ID) Response {
	f := r.failure()
	return Response{Body: jsonrpc.AppendError(buf, id, &f.wire), Status: f.status, RetryAfter: f.retryAfter}
}

func (r *Refusal) failure() *failure {
	f := &failure{wire: jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "The server is busy"}, status: http.StatusServiceUnavailable}
	reason := "busy"
	if r.TooMany {
		f.wire.Message, f.status, reason = "Too many requests", http.StatusTooManyRequests, "rate_limited"
	}
	f.wire.Data = append([]byte(`{"reason":"`+reason), '"')
	if r.RetryAfterMillis > 0 {
		f.wire.Data = strconv.AppendInt(append(f.wire.Data, `,"retryAfterMs":`...), r.RetryAfterMillis, 10)
		f.retryAfter = int((r.RetryAfterMillis + 999) / 1000)
	}
	f.wire.Data = append(f.wire.Data, '}')
	return f
}

// internalError is the answer to a fault of ours.
func internalError() *failure {
	return &failure{
		wire:   jsonrpc.Error{Code: jsonrpc.CodeInternal, Message: "Internal error", Data: []byte(`{"reason":"internal"}`)},
		status: http.StatusOK,
	}
}

// badParams is the answer to parameters of another shape than the method's.
func badParams(message string) *failure {
	return &failure{wire: jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}, status: http.StatusOK}
}
