package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// Backend is what the dispatcher asks of the host. It speaks in resources and principals and knows no revision.
//
// Methods may be called concurrently and return soon after ctx is done. They fail with *provider.Error; any other error
// counts as provider.Internal. What a method returns belongs to the dispatcher, read-only.
type Backend interface {
	// Features says what is served now, for capabilities (rule D2).
	Features(ctx context.Context, c *Caller) Features
	// ListResources returns one page. Cursor nil is the first page; a cursor that was not minted for this caller and
	// method is provider.Invalid (rule L1).
	ListResources(ctx context.Context, c *Caller, cursor *string) (*ResourcePage, error)
	// ListTemplates is ListResources for templates.
	ListTemplates(ctx context.Context, c *Caller, cursor *string) (*TemplatePage, error)
	// Read returns a resource.
	Read(ctx context.Context, c *Caller, req *ReadParams) (*ReadResult, error)
	// Complete proposes values for a template's variable. An unknown template or argument is provider.Invalid (rule C1).
	Complete(ctx context.Context, c *Caller, req *CompleteParams) (*Completion, error)
	// Listen opens a subscription without URIs; list says that it hears of list changes. A *[Refusal] is why there is no room
	// for it. The caller of Listen calls Close.
	Listen(ctx context.Context, c *Caller, list bool) (Subscription, error)
}

// Subscription is what one stream, or one session, hears of (rules S1 to S5).
type Subscription interface {
	// Attach adds URIs, as the client sent them, and returns when they are attached, with one error for each: nil where its
	// changes will be told from now on. Too many in one subscription are provider.TooLarge, in which case none is added.
	Attach(ctx context.Context, uris []string) []error
	// Detach removes a URI; one that is not there changes nothing.
	Detach(uri string)
	// Next waits for a change and takes it. It fails with [ErrEnded] when the server ends the subscription and everything
	// before that is taken.
	Next(ctx context.Context) (Change, error)
	// Return gives back a change that could not be sent, for another reader of the same subscription.
	Return(Change)
	// Close ends it. err is why its reader gave up; nil for none.
	Close(err error)
}

// Change is one that a subscriber is told: of a resource or, with no URI, of lists.
type Change struct{ URI string }

// ErrEnded says that the server has ended a subscription.
var ErrEnded = errors.New("the subscription has ended")

// Caller is who sent a request and what came with it.
type Caller struct {
	// Principal is nil for an anonymous caller.
	Principal *provider.Principal
	// Remote is the client's address for limits on anonymous callers; empty on stdio and for calls in process.
	Remote string
	// Meta is the request's `_meta` object as it came, nil for none. The backend hands on only the keys that were granted.
	Meta provider.JSON
}

// Features is what the host serves at this moment.
type Features struct {
	// Completions is set where some template completes; Subscribe and ListChanged only where they are really served.
	Completions, Subscribe, ListChanged bool
	// Logging is set where log lines of some provider reach the clients that ask for them (rule N3).
	Logging bool
}

// CacheHint is what a complete result says to the client (rule P6).
type CacheHint struct {
	TTL    time.Duration
	Public bool
}

// ResourcePage is a page of resources. Next is empty on the last. LeftOut names providers that failed; it is not sent.
type ResourcePage struct {
	Resources []provider.Resource
	Next      string
	Cache     CacheHint
	LeftOut   []string
}

// TemplatePage is a page of templates. Next is empty on the last.
type TemplatePage struct {
	Templates []provider.Template
	Next      string
	Cache     CacheHint
}

// ReadParams asks for one resource, by the URI exactly as the client sent it.
type ReadParams struct {
	URI string
	// State and Inputs are those of a retry (rule R4), State still sealed.
	State  []byte
	Inputs []provider.InputResponse
	// InputMethods are what the client can be asked.
	InputMethods []string
	// Progress and Log reach the client; nil when it did not ask for them.
	Progress func(done, total uint64, message string)
	Log      func(level, message string)
}

// ReadResult is contents, or a question to the client.
type ReadResult struct {
	// Contents have their URI set, never empty. Where it is the request's it is as the client sent it.
	Contents []provider.Content
	// Kept, where its Body is set, stands for Contents.
	Kept  Kept
	Cache CacheHint
	// Input is set instead of Contents when the provider asks for more; its State is sealed.
	Input *provider.InputRequired
}

// CompleteParams asks for values of Argument in Template, which stands as listed.
type CompleteParams struct {
	Template, Argument, Value string
	Context                   []provider.Var
}

// Completion is a completion after limits: at most 100 values (rule C1).
type Completion struct {
	Values  []string
	Total   *int64
	HasMore bool
}
