package host

import (
	"context"

	"github.com/reshost/reshost/host/provider"
)

// Op is what a caller wants to do with a resource.
type Op string

// The operations that a [Policy] is asked about.
const (
	// OpList: see one resource in resources/list, or one entry of a folder.
	OpList Op = "list"
	// OpTemplates: see one template in resources/templates/list.
	OpTemplates Op = "templates"
	// OpRead: read one resource, or get one part of a read that has several.
	OpRead Op = "read"
	// OpComplete: ask for values of a template's variable. Each value is then asked about as OpRead.
	OpComplete Op = "complete"
	// OpWatch: be told of changes of one resource.
	OpWatch Op = "watch"
)

// Policy decides who may do what. What it refuses looks to the caller exactly like what does not exist.
//
// Both methods are called concurrently, before the provider is, and often: once for each entry of a list. They should not
// block. A panic in Allow counts as a refusal. A request belongs to the host and must not be kept or changed.
type Policy interface {
	// Allow reports whether the operation may go on.
	Allow(ctx context.Context, r *PolicyRequest) bool
	// Revision identifies the rules. It changes whenever an answer of Allow may change.
	Revision() string
}

// PolicyRequest is one question to a [Policy].
type PolicyRequest struct {
	Op Op
	// Principal is the caller; never nil, and Anonymous when nobody was identified.
	Principal *Principal
	// URI is normalised (RFC 3986 section 6.2.2), never as the client spelled it, with reserved characters of a template's
	// values bare where they can stand ("R&D", not "R%26D") and literal authorities in lower case. It is empty for OpTemplates.
	URI string
	// Prefix says that URI is only how every URI in question begins, because the rest is not known yet: in OpComplete and,
	// of a value whose other variables are open, in OpRead. Allow then answers whether any such URI may be permitted.
	Prefix bool
	// Template is the template that matched, as its author wrote it; empty for a direct resource.
	Template string
	// Vars are the variables that matched, decoded once.
	Vars []provider.Var
	// Provider is the name of the provider that serves the resource.
	Provider string
}
