// Package client calls a server of the Model Context Protocol over Streamable HTTP, for the commands with --url. It speaks
// revision 2026-07-28, and 2025-11-25 with what does not: the server's answer to the first request says which.
//
//	c, err := client.New(&client.Options{URL: "http://127.0.0.1:8642/mcp", Name: "reshost", Version: "1"})
//	if err != nil { ... }
//	defer c.Close()
//	result, err := c.Call(ctx, "resources/read", "docs://a", map[string]any{"uri": "docs://a"})
//
// # Errors
//
// What the server answers is an *Error with the JSON-RPC code. Everything else names the server and says what to do. Nothing
// that a server sends is taken without a bound: see maxMessage.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The revisions that the client speaks.
const (
	Modern = "2026-07-28"
	Legacy = "2025-11-25"
)

const (
	// maxMessage bounds one message. A read of 16 MiB can be six times that in JSON.
	maxMessage = 128 << 20
	// callTimeout bounds a call from its start to its last byte.
	callTimeout = 5 * time.Minute
	// closeTimeout bounds the end of a session.
	closeTimeout = 2 * time.Second
)

// Options configure New.
type Options struct {
	// URL is the endpoint: http://…, https://…, unix:SOCKET for the path /mcp on a Unix socket, or unix:SOCKET:PATH.
	URL string
	// Header goes with every request, to this origin alone: redirects are not followed.
	Header http.Header
	// CA is a PEM file of certificate authorities to trust in place of the system's.
	CA []byte
	// Name and Version are this program's.
	Name, Version string
}

// Client is a connection to one server. Its methods may be called concurrently.
type Client struct {
	opts     Options
	endpoint string
	http     *http.Client
	id       atomic.Int64

	mu       sync.Mutex
	revision string // "" until the server answered
	session  string
}

// Error is what the server answered in place of a result.
type Error struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data"`
}

func (e *Error) Error() string { return e.Message }

// Codes of the protocol.
const (
	CodeInvalidParams = -32602
	CodeNotFound      = -32002 // in older revisions

	codeUnsupportedVersion = -32022
)

// New returns a client. Nothing is sent yet.
func New(opts *Options) (*Client, error) {
	c := &Client{opts: *opts}
	transport, endpoint, err := newTransport(opts)
	if err != nil {
		return nil, err
	}
	c.endpoint = endpoint
	c.http = &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

// Close ends the session, if there is one, and the connections.
func (c *Client) Close() {
	c.mu.Lock()
	session := c.session
	c.revision, c.session = "", ""
	c.mu.Unlock()
	if session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if req, err := c.request(ctx, http.MethodDelete, nil); err == nil {
			req.Header.Set(headerSession, session)
			req.Header.Set(headerVersion, Legacy)
			if res, err := c.http.Do(req); err == nil {
				res.Body.Close() // the session idles out where the server has no DELETE
			}
		}
	}
	c.http.CloseIdleConnections()
}

// Revision connects if need be and returns the revision that is spoken.
func (c *Client) Revision(ctx context.Context) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.revision != "" {
		return c.revision, nil
	}
	_, err := c.modern(ctx, "server/discover", "", map[string]any{})
	var refused *Error
	var status *statusError
	switch {
	case err == nil:
		c.revision = Modern
		return c.revision, nil
	case errors.As(err, &refused) && refused.Code == codeUnsupportedVersion && !offersLegacy(refused):
		return "", fmt.Errorf("%s: the server speaks no revision of this client's: %s", c.opts.URL, refused.Message)
	case errors.As(err, &refused), errors.As(err, &status) && status.legacy():
		if err := c.initialize(ctx); err != nil {
			return "", err
		}
		c.revision = Legacy
		return c.revision, nil
	}
	return "", err
}

// offersLegacy reports whether a server that refused the modern revision names an older one. One that names none may have it.
func offersLegacy(e *Error) bool {
	var data struct {
		Supported []string `json:"supported"`
	}
	if json.Unmarshal(e.Data, &data) != nil || len(data.Supported) == 0 {
		return true
	}
	for _, v := range data.Supported {
		if v < Modern {
			return true
		}
	}
	return false
}

// initialize begins a session of an older revision.
func (c *Client) initialize(ctx context.Context) error {
	params := map[string]any{
		"protocolVersion": Legacy, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": c.opts.Name, "version": c.opts.Version},
	}
	res, id, err := c.post(ctx, "initialize", params, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := c.result(res, id, nil); err != nil {
		return fmt.Errorf("%s: initialize: %w", c.opts.URL, err)
	}
	c.session = res.Header.Get(headerSession)
	note, err := c.send(ctx, http.MethodPost, &message{JSONRPC: "2.0", Method: "notifications/initialized"}, c.legacyHeader(c.session))
	if err != nil {
		return err
	}
	return note.Body.Close()
}

func (c *Client) legacyHeader(session string) http.Header {
	h := http.Header{headerVersion: {Legacy}}
	if session != "" {
		h.Set(headerSession, session)
	}
	return h
}

// Call makes a request and returns its result. name is what the header Mcp-Name holds, the URI of a read; else empty.
func (c *Client) Call(ctx context.Context, method, name string, params map[string]any) (jsontext.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	revision, err := c.Revision(ctx)
	if err != nil {
		return nil, err
	}
	if revision == Modern {
		return c.modern(ctx, method, name, params)
	}
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	res, id, err := c.post(ctx, method, params, c.legacyHeader(session))
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return c.result(res, id, nil)
}

func (c *Client) modern(ctx context.Context, method, name string, params map[string]any) (jsontext.Value, error) {
	res, id, err := c.postModern(ctx, method, name, params)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	return c.result(res, id, nil)
}

// postModern sends a request of revision 2026-07-28: everything that it needs is in it (rules P1, H2).
func (c *Client) postModern(ctx context.Context, method, name string, params map[string]any) (*http.Response, int64, error) {
	const prefix = "io.modelcontextprotocol/"
	params["_meta"] = map[string]any{
		prefix + "protocolVersion": Modern, prefix + "clientCapabilities": map[string]any{},
		prefix + "clientInfo": map[string]any{"name": c.opts.Name, "version": c.opts.Version},
	}
	h := http.Header{headerVersion: {Modern}, headerMethod: {method}}
	if name != "" {
		h.Set(headerName, headerValue(name))
	}
	return c.post(ctx, method, params, h)
}

// headerValue encodes a name that a header cannot hold as it is (rule H2).
func headerValue(s string) string {
	plain := !strings.HasPrefix(s, "=?base64?")
	for i := range len(s) {
		plain = plain && s[i] > ' ' && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerSession = "Mcp-Session-Id"

	typeJSON   = "application/json"
	typeStream = "text/event-stream"
)

// message is any message of JSON-RPC.
type message struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitempty"`
	Method  string         `json:"method,omitempty"`
	Params  any            `json:"params,omitempty"`
}

// incoming is a message from the server.
type incoming struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  *Error         `json:"error"`
}

// post sends a request and returns the response, whose body the caller closes, and the request's id.
func (c *Client) post(ctx context.Context, method string, params map[string]any, h http.Header) (*http.Response, int64, error) {
	id := c.id.Add(1)
	res, err := c.send(ctx, http.MethodPost, &message{JSONRPC: "2.0", ID: strconv.AppendInt(nil, id, 10), Method: method, Params: params}, h)
	return res, id, err
}

// send sends a message, or nothing with a GET, and returns a response that is a success.
func (c *Client) send(ctx context.Context, httpMethod string, m *message, h http.Header) (*http.Response, error) {
	var body []byte
	if m != nil {
		var err error
		if body, err = json.Marshal(m); err != nil {
			return nil, err
		}
	}
	req, err := c.request(ctx, httpMethod, body)
	if err != nil {
		return nil, err
	}
	for name, values := range h {
		req.Header[name] = values
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.transportError(ctx, err)
	}
	if res.StatusCode/100 != 2 {
		defer res.Body.Close()
		return nil, c.failure(res)
	}
	return res, nil
}

func (c *Client) request(ctx context.Context, method string, body []byte) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range c.opts.Header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", typeJSON+", "+typeStream)
	if body != nil {
		req.Header.Set("Content-Type", typeJSON)
	}
	req.Header.Set("User-Agent", c.opts.Name+"/"+cmp.Or(c.opts.Version, "0"))
	return req, nil
}

// transportError says who could not be reached.
func (c *Client) transportError(ctx context.Context, err error) error {
	if ctxErr := context.Cause(ctx); ctxErr != nil && !errors.Is(ctxErr, context.DeadlineExceeded) {
		return ctxErr
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the method and URL that net/http puts in front
	}
	return &unreachable{fmt.Errorf("%s: %w", c.opts.URL, err)}
}

// unreachable is a failure that may be over in a while.
type unreachable struct{ error }

func (u *unreachable) Unwrap() error { return u.error }

// statusError is an HTTP status that carries no JSON-RPC error.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// legacy reports whether a server without revision 2026-07-28 answers so.
func (e *statusError) legacy() bool {
	switch e.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnsupportedMediaType:
		return true
	}
	return false
}

// failure turns a response that is no success into an error.
func (c *Client) failure(res *http.Response) error {
	const peek = 64 << 10
	body, err := io.ReadAll(io.LimitReader(res.Body, peek))
	hint := ""
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		hint = "; the server wants to know who asks: use --token-file FILE or --header 'Authorization: …'"
	case res.StatusCode == http.StatusForbidden:
		hint = "; the credentials do not allow this"
	case res.StatusCode/100 == 3:
		hint = "; redirects are not followed: name " + strconv.Quote(res.Header.Get("Location")) + " with --url if that is meant"
	case res.StatusCode == http.StatusTooManyRequests, res.StatusCode == http.StatusServiceUnavailable:
		if after := res.Header.Get("Retry-After"); after != "" {
			hint = "; try again after " + strconv.Quote(after) + " seconds"
		}
	default:
		var m incoming
		if err == nil && json.Unmarshal(body, &m) == nil && m.Error != nil {
			return m.Error
		}
	}
	e := &statusError{res.StatusCode, fmt.Sprintf("%s: the server answers %d %s%s", c.opts.URL, res.StatusCode, http.StatusText(res.StatusCode), hint)}
	if res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests {
		return &unreachable{e}
	}
	return e
}

// result reads a response to its result. Notifications on the way go to note, which ends the reading with an error.
func (c *Client) result(res *http.Response, id int64, note func(method string, params jsontext.Value) error) (jsontext.Value, error) {
	next, err := c.messages(res)
	if err != nil {
		return nil, err
	}
	for {
		b, err := next()
		if err != nil {
			return nil, err
		}
		var m incoming
		if err := json.Unmarshal(b, &m); err != nil {
			return nil, fmt.Errorf("%s: the server sent what is no message: %w", c.opts.URL, err)
		}
		switch {
		case m.Method != "":
			if note != nil && m.ID == nil {
				if err := note(m.Method, m.Params); err != nil {
					return nil, err
				}
			}
		case m.Error != nil:
			return nil, m.Error
		case string(m.ID) != strconv.FormatInt(id, 10) || m.Result == nil:
			return nil, fmt.Errorf("%s: the server sent a response that belongs to no request", c.opts.URL)
		default:
			return m.Result, nil
		}
	}
}

// messages returns a function that reads one message after the other.
func (c *Client) messages(res *http.Response) (func() ([]byte, error), error) {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch kind {
	case typeStream:
		s := newEvents(res.Body)
		return func() ([]byte, error) {
			b, err := s.next()
			switch {
			case errors.Is(err, io.EOF):
				err = &unreachable{fmt.Errorf("%s: the server closed the stream before its end", c.opts.URL)}
			case err != nil && !errors.Is(err, errTooLong):
				err = &unreachable{fmt.Errorf("%s: the stream broke: %w", c.opts.URL, err)}
			}
			return b, err
		}, nil
	case typeJSON:
		return func() ([]byte, error) {
			b, err := io.ReadAll(io.LimitReader(res.Body, maxMessage+1))
			if len(b) > maxMessage {
				err = errTooLong
			}
			if err != nil {
				return nil, &unreachable{fmt.Errorf("%s: %w", c.opts.URL, err)}
			}
			return b, nil
		}, nil
	}
	return nil, fmt.Errorf("%s: the server answers with %q, so it is no MCP endpoint; is the path right?", c.opts.URL, res.Header.Get("Content-Type"))
}
