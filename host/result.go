package host

import (
	"time"

	"github.com/reshost/reshost/host/provider"
)

// CacheHint says how long and by whom a result may be reused, after the operator's rules (rule P6).
type CacheHint struct {
	// TTL of 0 means "do not reuse".
	TTL time.Duration
	// Public says that every caller gets the same result.
	Public bool
}

// ReadResult is a resource: contents, or a question to the caller.
type ReadResult struct {
	// Contents are never empty, save where Input is set. Each has its URI set; where it is the requested one, it is spelled
	// as it was asked.
	Contents []provider.Content
	Cache    CacheHint
	// Input is what the resource asks of its reader, set only for one who said that it can be asked. Its State is sealed, for
	// ReadOptions.State as it is.
	Input *provider.InputRequired
}

// ReadOptions are what [Host.ReadWith] takes beside the URI. The zero value is a reader who cannot be asked.
type ReadOptions struct {
	// InputMethods are what this reader can be asked, such as "elicitation/create". A resource that asks for more than that is
	// provider.Unsupported.
	InputMethods []string
	// State is that of ReadResult.Input, for the same principal, URI and policy, and at most Limits.Input old; nil where it had
	// none. Any other is provider.Invalid.
	State []byte
	// Inputs are the answers to the requests of ReadResult.Input, each under its key.
	Inputs []provider.InputResponse
}

// ResourcePage is a page of resources.
type ResourcePage struct {
	Resources []provider.Resource
	// Next leads to the next page; empty on the last.
	Next  string
	Cache CacheHint
	// LeftOut names the providers whose resources are missing from the page because they failed; the log has the causes.
	// Clients are not told.
	LeftOut []string
}

// TemplatePage is a page of templates.
type TemplatePage struct {
	Templates []provider.Template
	// Next leads to the next page; empty on the last.
	Next  string
	Cache CacheHint
}

// CompleteRequest asks for values of a template's variable.
type CompleteRequest struct {
	// Template is the template as it is listed.
	Template string
	// Argument is the variable's name, Value what was typed so far, possibly empty.
	Argument, Value string
	// Context holds the variables already known.
	Context []provider.Var
}

// Completion is what is proposed: at most 100 raw values, best first.
type Completion struct {
	Values []string
	// Total is how many there are in all; nil: unknown.
	Total *int64
	// HasMore says that there are more than Values.
	HasMore bool
}
