package host

import (
	"context"
	"errors"
	"time"

	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
)

// Read returns the contents of one resource, as principal p (nil: anonymous). It fails with a *provider.Error; what p may
// not read is NotFound like what does not exist.
func (h *Host) Read(ctx context.Context, p *Principal, uri string) (*ReadResult, error) {
	return h.ReadWith(ctx, p, uri, nil)
}

// ReadWith is Read for callers who can answer what a resource asks of its reader: they get ReadResult.Input, and read again with
// what it says. Nil options are Read.
func (h *Host) ReadWith(ctx context.Context, p *Principal, uri string, opts *ReadOptions) (*ReadResult, error) {
	c, ctx, leave, err := h.enter(ctx, p)
	if err != nil {
		return nil, err
	}
	defer leave()
	req := &mcp.ReadParams{URI: uri}
	if opts != nil {
		req.State, req.Inputs, req.InputMethods = opts.State, opts.Inputs, opts.InputMethods
	}
	j := readJob{Host: h, caller: c, req: req, start: time.Now(), local: true}
	res, err := j.do(ctx)
	if err != nil {
		return nil, err
	}
	return &ReadResult{Contents: res.Contents, Cache: CacheHint(res.Cache), Input: res.Input}, nil
}

// read is the one way of a resources/read, whoever asks: remote clients come by Backend, the application by Read. The
// request has its slot already (see admit). A failure is logged here, once, and leaves as what the caller may learn.
func (h *Host) read(ctx context.Context, c *caller, req *mcp.ReadParams) (*mcp.ReadResult, error) {
	j := readJob{Host: h, caller: c, req: req, start: time.Now()}
	return j.do(ctx)
}

// readJob is one read on its way.
type readJob struct {
	*Host
	caller *caller
	req    *mcp.ReadParams
	start  time.Time
	// local says that the reader is in process: no dispatcher stands between, which knows what the reader can be asked.
	local bool
	snap  *snapshot
	route route
	// state is the provider's own, of a retry; nil for none.
	state []byte
	// meta is what the provider may see of the request's `_meta`.
	meta provider.JSON
	// keys, epoch and etag are those of what is kept of this resource: see cached.
	keys  cacheKeys
	epoch uint64
	etag  string
}

func (j *readJob) do(ctx context.Context) (*mcp.ReadResult, error) {
	res, err := j.run(ctx)
	for errors.Is(err, errRetired) && ctx.Err() == nil {
		res, err = j.run(ctx) // with the newer snapshot that is there by now
	}
	if err != nil {
		return nil, j.settle(ctx, &outcome{op: "read", caller: j.caller, uri: j.req.URI, provider: j.provider(), err: err, start: j.start})
	}
	return res, nil
}

func (j *readJob) run(ctx context.Context) (*mcp.ReadResult, error) {
	// Parse and normalise. From here on everything, the provider included, sees one spelling of a URI.
	u, err := j.parse(j.req.URI)
	if err != nil {
		return nil, err
	}

	// Route: by scheme and claim to one provider, there to a direct resource or a template. The provider stays open until
	// leave.
	leave, err := j.locate(u)
	if err != nil {
		return nil, err
	}
	defer leave()

	// Decide. Before the provider is asked, so that nothing of it, not even its time, tells what exists.
	if !j.allows(ctx, OpRead, j.caller, &j.route) {
		return nil, provider.Errorf(provider.Denied, "the policy refuses it")
	}

	// Open what a retry brings: the state that the provider gave away, and the client's answers.
	if err := j.openRetry(); err != nil {
		return nil, err
	}

	// What the provider gets to see of the request's _meta is part of the question.
	if j.meta, err = j.grantedMeta(j.caller, j.route.view); err != nil {
		return nil, err
	}

	// Look into the cache, and share the call with equal reads: behind the decision, which is never shared. A retry passes
	// both by, and a question is nobody else's.
	if !j.again() {
		return j.cached(ctx)
	}
	return j.direct(ctx)
}

// direct makes a call for this read alone, of which nothing is kept.
func (j *readJob) direct(ctx context.Context) (*mcp.ReadResult, error) {
	// Call the provider, within the deadline.
	res, err := j.ask(ctx)
	if err != nil {
		return nil, err
	}

	// A question to the client in place of contents: check it, and seal the provider's state.
	if res != nil && res.Input != nil {
		return j.question(res)
	}

	// Check what came back: shape, sizes, encodings; and that every part is the provider's to give and the caller's to
	// get.
	contents, err := j.check(ctx, res)
	if err != nil {
		return nil, err
	}
	out := &mcp.ReadResult{Contents: contents}
	if !j.again() {
		out.Cache = j.hint(&res.Cache)
	}
	return out, nil
}

// parse returns the URI in normal form. The error's sentence is the caller's to see.
func (h *Host) parse(text string) (uri.URI, error) {
	if len(text) > h.opts.Limits.URIBytes {
		return uri.URI{}, provider.Errorf(provider.Invalid, "the URI is longer than %d bytes", h.opts.Limits.URIBytes)
	}
	u, err := uri.Parse(text)
	if err != nil {
		return uri.URI{}, provider.Wrap(provider.Invalid, err, err.Error())
	}
	return u, nil
}

// locate finds the route of u and enters its provider. A unit that was retired after the snapshot was loaded is not entered;
// a newer snapshot is there by then, so the loop ends.
func (j *readJob) locate(u uri.URI) (leave func(), err error) {
	for {
		j.snap = j.Host.snap.Load()
		r, ok := j.snap.route(u)
		if !ok {
			return nil, provider.Errorf(provider.NotFound, "no resource or template matches")
		}
		if r.calls.enter() {
			j.route = r
			return r.calls.leave, nil
		}
	}
}

// ask makes the provider's call.
func (j *readJob) ask(ctx context.Context) (*provider.ReadResult, error) {
	text, index := j.route.templateText()
	req := &provider.ReadRequest{
		Caller: provider.Caller{Principal: j.caller.principal, Meta: j.meta, Remote: j.caller.remote},
		URI:    j.route.asked, Template: text, TemplateIndex: index, Vars: j.route.vars,
		MaxBytes: j.opts.Limits.ReadBytes, IfETag: j.etag,
		State: j.state, Inputs: j.req.Inputs, InputMethods: j.req.InputMethods,
		Progress: j.req.Progress,
	}
	if j.route.clientLogs {
		req.Log = j.req.Log
	}
	var res *provider.ReadResult
	err := j.call(ctx, "Read", func(ctx context.Context) (err error) {
		res, err = j.route.p.Read(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

func (j *readJob) provider() string {
	if j.route.view == nil {
		return ""
	}
	return j.route.name
}
