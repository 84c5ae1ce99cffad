// Package httpd serves the Model Context Protocol over HTTP: one endpoint, wherever it is mounted.
package httpd

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// Options configure a [Handler]. The zero value, and nil, work.
type Options struct {
	// Logger receives what goes wrong. nil discards.
	Logger *slog.Logger
	// Principal identifies the caller from the request's head, before the body is read. An error answers 401, or as an
	// *[AuthError] says. nil: every caller is anonymous.
	Principal func(*http.Request) (*provider.Principal, error)
	// Origins are the web origins that may call, such as "https://app.example". A request with any other Origin header
	// is answered 403 (rule H4). Empty: no web page may.
	Origins []string
	// Hosts are the values of the Host header that are accepted, without a port. Empty: on a connection to a loopback
	// address "localhost", "127.0.0.1" and "::1" (against DNS rebinding), elsewhere any. A public name that a proxy on the same machine
	// passes on must be named here.
	Hosts []string
	// MaxBody bounds a request's body in bytes. 0: 4 MiB.
	MaxBody int64
	// MaxConcurrent bounds the requests in flight, streams not counted. 0: 1,024.
	MaxConcurrent int
	// ReadTimeout bounds the reading of a body. 0: 30 s.
	ReadTimeout time.Duration
	// WriteTimeout is how long a client may take without accepting a byte. 0: 10 s.
	WriteTimeout time.Duration
}

// AuthError is how a Principal function says more than 401.
type AuthError struct {
	// Status is 400, 401 or 403. 0: 401.
	Status int
	// Challenge is the value of WWW-Authenticate. Empty: "Bearer" with 401, none with others.
	Challenge string
	// Message is shown to the client.
	Message string
}

// Error returns the message.
func (e *AuthError) Error() string { return e.Message }

// Handler is an http.Handler for the endpoint.
type Handler struct {
	server *mcp.Server
	opts   Options
}

// New returns a Handler that passes messages to s.
func New(s *mcp.Server, opts *Options) *Handler {
	h := &Handler{server: s}
	if opts != nil {
		h.opts = *opts
	}
	return h
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusServiceUnavailable)
}

// Close refuses new requests (503), waits for those in flight, and cancels what is left when ctx is done; it then
// returns the context's error. Later calls do the same.
func (h *Handler) Close(ctx context.Context) error { return nil }
