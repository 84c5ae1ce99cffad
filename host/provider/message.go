package provider

import "time"

// JSON is the text of one JSON value (RFC 8259), UTF-8, without a BOM. nil means absent.
type JSON []byte

// Principal is a verified caller. The zero value is the anonymous one.
type Principal struct {
	// Issuer and Subject together identify the caller (RFC 7519 sections 4.1.1 and 4.1.2).
	Issuer, Subject string
	// Tenant is the organisation on whose behalf the caller acts.
	Tenant string
	// Groups and Scopes are what the identity provider says the caller belongs to and may ask for.
	Groups, Scopes []string
	// Claims are the token's claims, a JSON object; nil for none.
	Claims JSON
}

// Anonymous reports whether nobody was identified.
func (p *Principal) Anonymous() bool { return p == nil || (p.Issuer == "" && p.Subject == "") }

// Resource describes a resource in a list (rule L2).
type Resource struct {
	// URI is an absolute URI (RFC 3986). Required.
	URI string
	// Name is for programs and, without a Title, for people. Required.
	Name string
	// Title and Description are for people and models.
	Title, Description string
	// MIMEType is a media type (RFC 2046), or empty when unknown.
	MIMEType string
	// Size is the raw content's size in bytes, before any encoding. nil: unknown.
	Size        *int64
	Icons       []Icon
	Annotations *Annotations
	// Meta is a JSON object. Keys with a reserved prefix are dropped and logged.
	Meta JSON
}

// Template describes a set of resources by an RFC 6570 template.
type Template struct {
	// URITemplate is listed exactly as it stands here. Required.
	URITemplate string
	// Name is for programs and, without a Title, for people. Required.
	Name               string
	Title, Description string
	// MIMEType is set only where all resources of the template share it.
	MIMEType    string
	Icons       []Icon
	Annotations *Annotations
	Meta        JSON
	// Vars are the variables that the handler takes: exactly those of URITemplate, in any order.
	Vars []TemplateVar
}

// TemplateVar says how one variable of a template is treated.
type TemplateVar struct {
	Name string
	// Slash admits '/', '\', dot segments and control characters (never NUL) in the decoded value of an expression that
	// does not admit them by its operator. Without it such a URI is not found.
	Slash bool
	// Complete says that Provider.Complete proposes values.
	Complete bool
}

// Icon is an image for a list entry. Src is an https or data URI.
type Icon struct {
	Src, MIMEType string
	// Sizes are like "48x48" or "any".
	Sizes []string
	// Theme is "light", "dark" or empty.
	Theme string
}

// Annotations are hints for clients (rule L2).
type Annotations struct {
	// Audience holds "user", "assistant" or both.
	Audience []string
	// Priority is from 0 (optional) to 1 (required); nil: unsaid.
	Priority *float64
	// LastModified is when the content last changed; zero: unknown. Sent in UTC to the second (ISO 8601).
	LastModified time.Time
}

// Cache says how long and by whom a result may be reused. The zero value leaves both to the host's configuration.
type Cache struct {
	// TTL counts only if Set; 0 then means "do not reuse". Negative values count as 0.
	TTL time.Duration
	Set bool
	// Public says that every caller gets the same bytes. It counts only where the operator allowed it.
	Public bool
}

// Caller is what every request says about who asks and what they sent along.
type Caller struct {
	Principal *Principal
	// Meta holds the request's `_meta` keys that the operator granted, a JSON object; nil for none.
	Meta JSON
	// Remote is a client's address, "" on stdio and in process. It is for telling anonymous callers apart where something is
	// counted: no result may depend on it.
	Remote string
}

// Var is one variable of a matched template, decoded once. A variable that the URI does not define is absent.
type Var struct{ Name, Value string }

// ReadRequest asks for one resource.
type ReadRequest struct {
	Caller
	// URI is normalised (RFC 3986 section 6.2.2), and one spelling of all that give the template the same Vars. Of a direct
	// resource it is the URI in Info.Resources.
	URI string
	// Template is the URITemplate that matched and TemplateIndex its place in Info.Templates; for a direct resource they are
	// "" and -1.
	Template      string
	TemplateIndex int
	Vars          []Var
	// MaxBytes bounds the sum of all bodies; a provider that meets it answers TooLarge.
	MaxBytes int64
	// IfETag is the ETag of the contents that the host still holds; a provider may answer NotModified.
	IfETag string
	// State and Inputs come back in a retry after ReadResult.Input (rule R4). State is the provider's own, unchanged; nil for none.
	State  []byte
	Inputs []InputResponse
	// InputMethods are what this client can be asked, such as "elicitation/create".
	InputMethods []string
	// Progress reports how far the call is: it may be nil. done only grows; total is 0 when unknown.
	Progress func(done, total uint64, message string)
	// Log sends a line to the client that asked for logs: it may be nil. Level is an RFC 5424 name such as "info".
	Log func(level, message string)
}

// Var returns the value of a variable and whether the URI defines it.
func (r *ReadRequest) Var(name string) (string, bool) {
	for i := range r.Vars {
		if r.Vars[i].Name == name {
			return r.Vars[i].Value, true
		}
	}
	return "", false
}

// ReadResult is the answer to a ReadRequest: Contents, or Input, or NotModified.
type ReadResult struct {
	Contents    []Content
	Cache       Cache
	Input       *InputRequired
	NotModified bool
}

// Content is one part of a resource (rule R1).
type Content struct {
	// URI defaults to the request's, as the client sent it.
	URI string
	// MIMEType is a media type, or empty when unknown.
	MIMEType string
	// Text says that Body is text: valid UTF-8. Otherwise it is sent as base64.
	Text bool
	Body []byte
	Meta JSON
	// ETag is printable ASCII up to 256 bytes; the first part's stands for the whole result.
	ETag string
}

// InputRequired asks the client for more before the read can complete (rule R4). At least one field is set. The read then comes
// again, at another process perhaps, or never, and may come with less than was asked: a provider asks again for what it lacks.
type InputRequired struct {
	// Requests are at most 16. With none, the client reads again at once. A client that ReadRequest.InputMethods says cannot be
	// asked so is told what it lacks.
	Requests []InputRequest
	// State is at most 8 KiB. The host seals it: a client cannot read or forge it, nor bring it to another read. It can bring it
	// several times. Without one a client can send answers that nobody asked for.
	State []byte
}

// InputRequest is one question to the client.
type InputRequest struct {
	// Key is unique in the result; the answer comes back under it.
	Key string
	// Method is "elicitation/create", "sampling/createMessage" or "roots/list".
	Method string
	// Params is the method's parameters as the protocol's newest revision has them: a JSON object of at most 64 KiB. A form is
	// flat and never asks for a secret; the page of mode "url" is https.
	Params JSON
}

// InputResponse is the client's answer to the InputRequest of the same key.
type InputResponse struct {
	Key string
	// Result is the client's result, a JSON object of at most 64 KiB. A refusal is one too, such as {"action":"decline"}. It is the
	// client's word: nothing of it was checked against the question.
	Result JSON
}

// ListRequest asks for a page of resources.
type ListRequest struct {
	Caller
	// Cursor is what the provider returned as Next; nil for the first page.
	Cursor []byte
	// PageSize is the most items wanted, at least 1. A provider may return fewer; more are a fault.
	PageSize int
}

// ListResult is a page of resources.
type ListResult struct {
	Resources []Resource
	// Next leads to the next page; nil ends the list. It is opaque to the host, which seals it for the client.
	Next  []byte
	Cache Cache
}

// CompleteRequest asks for values of a template's variable.
type CompleteRequest struct {
	Caller
	Template      string
	TemplateIndex int
	// Argument is the variable's name and Value what the user typed so far, possibly empty.
	Argument, Value string
	// Context holds the variables already known.
	Context []Var
}

// CompleteResult proposes raw (unencoded) values, best first. The host sends at most 100.
type CompleteResult struct {
	Values []string
	// Total is how many there are in all; nil: unknown.
	Total *int64
	// HasMore says that there are more than Values.
	HasMore bool
	Cache   Cache
}
