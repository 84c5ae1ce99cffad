package host

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/reshost/reshost/host/provider"
)

// Principal is a verified caller. The zero value is the anonymous one.
type Principal = provider.Principal

// ErrClosed is returned by methods of a [Host] after Close.
var ErrClosed = errors.New("host is closed")

// Host serves the resources of its providers. Create one with [New]. Its methods may be called concurrently.
type Host struct {
	opts *Options
}

// New returns a host without providers. It fails when an option has no meaning; the message names it.
func New(opts *Options) (*Host, error) {
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Host{opts: o}, nil
}

// Add registers a provider and starts to serve it. Lists show providers in the order in which they were added.
//
// It fails, naming both, when a provider of that name is there or when the two claim the same URIs: a scheme, or a prefix
// of Info.Only. The provider is then not attached, and closing it stays with the caller; once Add succeeds, the host
// closes it.
func (h *Host) Add(p provider.Provider, opts *ProviderOptions) error { return ErrClosed }

// Remove ends a provider: no new call reaches it, and it is closed when its last call has ended. Remove waits for that,
// or until ctx is done; the provider is closed in the background then.
func (h *Host) Remove(ctx context.Context, name string) error { return ErrClosed }

// Replace puts p in the place of the provider of the same name, at one stroke: each request meets the old one or the new
// one. The old one is closed as by Remove. When Replace fails before that stroke (an unknown name, claims as in Add) the
// old one serves on, and closing p stays with the caller; when ctx ends first, the new one serves all the same.
func (h *Host) Replace(ctx context.Context, p provider.Provider, opts *ProviderOptions) error {
	return ErrClosed
}

// Providers returns the facts about the providers being served, in order.
func (h *Host) Providers() []provider.Info { return nil }

// Read returns the contents of one resource, as principal p (nil: anonymous). It fails with a *provider.Error; what p may
// not read is NotFound like what does not exist.
func (h *Host) Read(ctx context.Context, p *Principal, uri string) (*ReadResult, error) {
	return nil, ErrClosed
}

// List returns one page of the resources that principal p (nil: anonymous) may see. An empty cursor asks for the first
// page. A cursor that List did not return for the same principal is Invalid.
func (h *Host) List(ctx context.Context, p *Principal, cursor string) (*ResourcePage, error) {
	return nil, ErrClosed
}

// Templates is [Host.List] for templates.
func (h *Host) Templates(ctx context.Context, p *Principal, cursor string) (*TemplatePage, error) {
	return nil, ErrClosed
}

// Complete proposes values for a variable of a template. A template or a variable that is not served is Invalid.
func (h *Host) Complete(ctx context.Context, p *Principal, req *CompleteRequest) (*Completion, error) {
	return nil, ErrClosed
}

// Handler returns the Streamable HTTP endpoint (rules H1 to H5). It is the same one at every call, serves any path it is
// mounted on, and answers 503 after Close.
func (h *Host) Handler() http.Handler { return http.NotFoundHandler() }

// ServeStdio serves one client over a pair of streams, one JSON message a line (rules T1 and T2). It returns nil when r
// ends, after all answers are written, and ctx's error when ctx is done first. Nothing but protocol is written to w.
func (h *Host) ServeStdio(ctx context.Context, r io.Reader, w io.Writer) error { return ErrClosed }

// Close ends the host: new requests are refused, and those in flight are waited for until ctx is done; they are
// cancelled then. All providers are closed. No goroutine of the host is left when Close returns nil.
func (h *Host) Close(ctx context.Context) error { return nil }
