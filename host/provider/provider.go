// Package provider is the seam between the host and whatever serves resources: a WebAssembly plugin, or Go code
// of the embedding application.
//
// A provider is dumb on purpose. It answers one request at a time from the request alone: no cache, no limits, no
// retries, no access rules, no logging policy of its own. All of that is the host's, once, for every provider.
//
// Embed [Unimplemented] and override what the provider serves:
//
//	type clock struct{ provider.Unimplemented }
//
//	func (clock) Info() provider.Info {
//		return provider.Info{Name: "clock", Schemes: []string{"clock"},
//			Resources: []provider.Resource{{URI: "clock://now", Name: "now"}}}
//	}
//
//	func (clock) Read(ctx context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
//		return &provider.ReadResult{Contents: []provider.Content{
//			{MIMEType: "text/plain", Text: true, Body: []byte(time.Now().String())}}}, nil
//	}
//
// # Errors
//
// Methods fail with an [*Error], whose [Code] decides what the client is told. Any other error counts as [Internal]:
// its text reaches the log, never the client.
package provider

import "context"

// Provider serves the resources of one or more URI schemes.
//
// All methods may be called concurrently, may block, and must return soon after ctx is done. A request and all it
// points to belong to the host and must not be kept or changed. A result belongs to the host from the return on:
// the provider must not touch it again.
//
// There are no optional interfaces: a wrapper that embeds a Provider keeps all of it. What is served stands in Info.
type Provider interface {
	// Info states the facts about the provider. It does not block. It is called once when the provider is added
	// and again after each Events.ListChanged.
	Info() Info

	// Attach hands over the sink for changes, once, before any other call but Info. The provider may keep it and
	// use it from any goroutine until Close returns.
	Attach(Events)

	// Read returns the contents of one resource that matched Info.Resources or one of Info.Templates.
	// A missing resource is NotFound; an empty Contents without Input or NotModified counts as Internal.
	Read(ctx context.Context, req *ReadRequest) (*ReadResult, error)

	// List returns a page of the resources that are not in Info.Resources. It is called only when Info.List is set.
	// The order must be stable. It reads metadata only, never contents.
	List(ctx context.Context, req *ListRequest) (*ListResult, error)

	// Complete proposes values for a variable of a template whose TemplateVar.Complete is set.
	Complete(ctx context.Context, req *CompleteRequest) (*CompleteResult, error)

	// Watch asks that changes of uri be reported to the Events sink from now on. It is called for the first watcher of a
	// URI only, and only when Info.Watch is set. The resource need not exist.
	Watch(ctx context.Context, uri string) error

	// Unwatch ends what Watch began. It does not block.
	Unwatch(uri string)

	// Close releases everything and waits for what it started. No other method is called afterwards.
	Close(ctx context.Context) error
}

// Events is the host's side of a provider's changes. Its methods do not block and may be called from any goroutine.
type Events interface {
	// Updated says that the resource at uri, or something below it, changed.
	Updated(uri string)
	// ListChanged says that what List returns, or Info, changed.
	ListChanged()
}

// Info is what a provider serves. It is copied on registration.
type Info struct {
	// Name identifies the provider in the host: letters, digits, '-', '_' and '.', 1 to 64 bytes.
	Name string
	// Version of the provider, for people; free text.
	Version string
	// Schemes are the URI schemes claimed, lower case (RFC 3986 section 3.1). Every URI served has one of them.
	Schemes []string
	// Only narrows the claim to URIs with one of these prefixes, so that two providers can share a scheme.
	// Empty claims the whole of each scheme.
	Only []string
	// Resources are the direct resources. They stand first in resources/list.
	Resources []Resource
	// Templates are matched in this order where two are equally specific.
	Templates []Template
	// List says that List has more resources than those above.
	List bool
	// Watch says that Watch works: clients may subscribe.
	Watch bool
	// SeesCaller says that results depend on the Principal or Meta of the request; they are then never shared
	// between callers, whatever a result's scope says.
	SeesCaller bool
	// MetaKeys are the request `_meta` keys that reach the provider. Results may depend on them, so they are never shared
	// between requests that differ there, nor sent as public.
	MetaKeys []string
}

// Unimplemented is embedded by providers, so that they keep compiling when Provider grows. Its Read, List and Complete
// answer Unsupported; the rest does nothing.
type Unimplemented struct{}

// Attach ignores the sink.
func (Unimplemented) Attach(Events) {}

// Read answers Unsupported.
func (Unimplemented) Read(context.Context, *ReadRequest) (*ReadResult, error) {
	return nil, Errorf(Unsupported, "reading is not supported")
}

// List answers Unsupported.
func (Unimplemented) List(context.Context, *ListRequest) (*ListResult, error) {
	return nil, Errorf(Unsupported, "listing is not supported")
}

// Complete answers Unsupported.
func (Unimplemented) Complete(context.Context, *CompleteRequest) (*CompleteResult, error) {
	return nil, Errorf(Unsupported, "completion is not supported")
}

// Watch answers Unsupported.
func (Unimplemented) Watch(context.Context, string) error {
	return Errorf(Unsupported, "watching is not supported")
}

// Unwatch does nothing.
func (Unimplemented) Unwatch(string) {}

// Close does nothing.
func (Unimplemented) Close(context.Context) error { return nil }
