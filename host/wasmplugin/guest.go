package wasmplugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// run runs one export on an instance of its own and reports the guest's status. request encodes the request once the
// instance is there, so that the deadline it states is what is left. An error is a *provider.Error: there was no instance,
// or the run was cut short.
func (p *Plugin) run(ctx context.Context, c *call, caller *provider.Caller, request func(abi.Common) []byte) (abi.Status, error) {
	ctx, cancel := p.timed(ctx)
	defer cancel()
	if err := p.await(ctx); err != nil {
		return 0, p.failed(ctx, c, err)
	}
	passed, err := p.breaker.enter(caller, c.export, c.about)
	if err != nil {
		return 0, err
	}
	defer func() { p.breaker.leave(passed, c.outcome) }()
	return p.runNow(ctx, c, caller, request)
}

// timed bounds a call, or a start, by the plugin's limit.
func (p *Plugin) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if p.limits.Timeout < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, p.limits.Timeout)
}

// runNow is run for a plugin that is ready, or on its way there, and within the bounds of ctx.
func (p *Plugin) runNow(ctx context.Context, c *call, caller *provider.Caller, request func(abi.Common) []byte) (abi.Status, error) {
	inst, err := p.pool.acquire(ctx)
	if err != nil {
		if errors.As(err, new(*guestFailure)) || errors.As(err, new(*startError)) {
			c.outcome = failed
		}
		return 0, p.failed(ctx, c, err)
	}
	fate := discard
	defer func() { p.pool.release(inst, fate) }()
	c.plugin, c.out, c.partition = p, inst.out, kvPartition(caller)
	defer c.close()
	c.request = request(p.common(ctx, caller))
	status, err := p.invoke(ctx, inst, c)
	c.outcome = c.outcomeOf(err)
	fate = inst.fate(p.isolation, err)
	if err != nil {
		return 0, p.failed(ctx, c, err)
	}
	p.report(&c.changes)
	return status, nil
}

// outcomeOf says what a run tells about the plugin. One that was cut short, save by its deadline, or that did not come to
// its turn, tells nothing.
func (c *call) outcomeOf(err error) sign {
	stop := interruption(err)
	switch {
	case err == nil:
		return worked
	case stop == nil, c.ran && errors.Is(stop, context.DeadlineExceeded):
		return failed
	}
	return neither
}

// failed makes a *provider.Error of what kept a run from returning.
func (p *Plugin) failed(ctx context.Context, c *call, err error) error {
	var known *provider.Error
	if errors.As(err, &known) {
		return known
	}
	var refused *startError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return provider.Wrap(provider.Timeout, err, "the plugin took too long")
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return provider.Wrap(provider.Canceled, err, "")
	case errors.As(err, &refused):
		return provider.Wrap(provider.Unavailable, fmt.Errorf("plugin %s: %w", p.name, err), "the plugin cannot be started")
	case errors.Is(err, errNoMemory):
		return provider.Wrap(provider.Unavailable, err, "the plugin is busy: guest memory is used up")
	}
	return provider.Wrap(provider.Internal, err, "")
}

// common is what all requests state: the time, and those facts about the caller that were granted.
func (p *Plugin) common(ctx context.Context, caller *provider.Caller) abi.Common {
	now := time.Now()
	m := abi.Common{NowMillis: uint64(now.UnixMilli()), HostMinor: abi.Minor}
	if d, ok := ctx.Deadline(); ok {
		m.DeadlineMillis = uint64(max(d.Sub(now).Milliseconds(), 1))
	}
	if caller == nil {
		return m
	}
	m.MetaJSON = grantedMeta(caller.Meta, p.grants.Meta)
	if who := caller.Principal; who != nil {
		for _, fact := range p.grants.Principal {
			switch fact {
			case "issuer":
				m.Issuer = who.Issuer
			case "subject":
				m.Subject = who.Subject
			case "tenant":
				m.Tenant = who.Tenant
			case "scope":
				m.Scopes = who.Scopes
			case "claims":
				m.ClaimsJSON = string(who.Claims)
			}
		}
	}
	return m
}

// grantedMeta returns those members of a `_meta` object that were granted, "" where there are none. An object beyond
// abi.MaxJSON is not handed on at all: half of it would be a lie.
func grantedMeta(meta provider.JSON, granted []string) string {
	if len(meta) == 0 || len(granted) == 0 {
		return ""
	}
	members, err := splitObject(meta)
	if err != nil {
		return ""
	}
	var out []byte
	for _, m := range members {
		if !slices.Contains(granted, m.name) {
			continue
		}
		if out == nil {
			out = append(out, '{')
		} else {
			out = append(out, ',')
		}
		if out, err = jsontext.AppendQuote(out, m.name); err != nil {
			return ""
		}
		out = append(append(out, ':'), m.value...)
	}
	if out == nil || len(out) >= abi.MaxJSON {
		return ""
	}
	return string(append(out, '}'))
}

// initRequest is the request of rh_init and rh_describe.
func initRequest(pack bool) []byte {
	return (&abi.InitRequest{NowMillis: uint64(time.Now().UnixMilli()), HostMinor: abi.Minor, Pack: pack}).Append(nil)
}

// Read runs rh_read.
func (p *Plugin) Read(ctx context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
	s := &readSink{maxParts: p.limits.Contents, maxBytes: p.limits.ReadBytes, progress: req.Progress}
	if req.MaxBytes > 0 && (s.maxBytes < 0 || req.MaxBytes < s.maxBytes) {
		s.maxBytes = req.MaxBytes
	}
	c := &call{export: abi.ExportRead, sink: s, about: req.URI, served: p.served.Load(), clientLog: req.Log}
	status, err := p.run(ctx, c, &req.Caller, func(common abi.Common) []byte {
		return p.readRequest(req, common, s.maxBytes)
	})
	if err != nil {
		return nil, err
	}
	if err := c.statusError(status); err != nil {
		return nil, err
	}
	if c.rejected != "" {
		return nil, c.fault(fmt.Errorf("a record was rejected: %s", c.rejected))
	}
	res, err := s.result(c, status, req.IfETag)
	if err != nil {
		return nil, c.fault(err)
	}
	return res, nil
}

func (p *Plugin) readRequest(req *provider.ReadRequest, common abi.Common, maxBytes int64) []byte {
	m := abi.ReadRequest{
		Common: common, URI: req.URI, URITemplate: req.Template, Vars: vars(req.Vars), State: string(req.State),
		InputMethods: req.InputMethods, MaxBytes: uint64(max(maxBytes, 0)), IfETag: req.IfETag,
		TemplateIndex: p.templateIndex(req.Template, req.TemplateIndex),
	}
	for _, in := range req.Inputs {
		m.Answers = append(m.Answers, abi.Answer{Key: in.Key, JSON: string(in.Result)})
	}
	return m.Append(nil)
}

// templateIndex is the place in the manifest's list plus one; 0 for a direct resource, and for a dynamic plugin.
func (p *Plugin) templateIndex(template string, index int) uint64 {
	if template == "" || index < 0 || p.manifest.Dynamic {
		return 0
	}
	return uint64(index) + 1
}

func vars(in []provider.Var) []abi.Var {
	out := make([]abi.Var, len(in))
	for i, v := range in {
		out[i] = abi.Var{Name: v.Name, Value: v.Value}
	}
	return out
}

// List runs rh_list.
func (p *Plugin) List(ctx context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
	if !p.manifest.List {
		return nil, provider.Errorf(provider.Unsupported, "listing is not supported")
	}
	if err := p.listable(ctx); err != nil {
		return nil, p.failed(ctx, nil, err)
	}
	items := max(req.PageSize, 1)
	if p.limits.PageItems >= 0 {
		items = min(items, max(p.limits.PageItems, 1))
	}
	s := &listSink{maxItems: items, maxBytes: p.limits.PageBytes}
	c := &call{export: abi.ExportList, sink: s, served: p.served.Load()}
	status, err := p.run(ctx, c, &req.Caller, func(common abi.Common) []byte {
		return (&abi.ListRequest{Common: common, Cursor: string(req.Cursor), PageSize: uint64(items)}).Append(nil)
	})
	if err != nil {
		return nil, err
	}
	if err := c.statusError(status); err != nil {
		return nil, err
	}
	if status != abi.StatusOK {
		return nil, c.fault(fmt.Errorf("status %d is not one of a list", status))
	}
	if c.stopped && s.next == nil {
		// Without a cursor the rest of the list would be lost unnoticed.
		return nil, c.fault(fmt.Errorf("more than a page of %s without %s", abi.KindResource, abi.KindCursor))
	}
	return &provider.ListResult{Resources: s.resources, Next: s.next, Cache: c.cache(&s.cache)}, nil
}

// Complete runs rh_complete.
func (p *Plugin) Complete(ctx context.Context, req *provider.CompleteRequest) (*provider.CompleteResult, error) {
	if !p.exports[abi.ExportComplete] {
		return nil, provider.Errorf(provider.Unsupported, "completion is not supported")
	}
	s := &completeSink{}
	c := &call{export: abi.ExportComplete, about: req.Template, sink: s, served: p.served.Load()}
	status, err := p.run(ctx, c, &req.Caller, func(common abi.Common) []byte {
		return (&abi.CompleteRequest{
			Common: common, URITemplate: req.Template, TemplateIndex: p.templateIndex(req.Template, req.TemplateIndex),
			Argument: req.Argument, Value: req.Value, Context: vars(req.Context),
		}).Append(nil)
	})
	if err != nil {
		return nil, err
	}
	if err := c.statusError(status); err != nil {
		return nil, err
	}
	if status != abi.StatusOK {
		return nil, c.fault(fmt.Errorf("status %d is not one of a completion", status))
	}
	s.result.HasMore = s.result.HasMore || s.more
	s.result.Cache = c.cache(&s.cache)
	return &s.result, nil
}

// fault is a guest that broke the contract: the client learns nothing but that something is wrong.
func (c *call) fault(err error) error {
	return provider.Wrap(provider.Internal, &guestFailure{
		plugin: c.plugin.name, export: c.export, err: err, stderr: safeText(c.stderr, maxTail),
	}, "")
}

// statusError makes an error of a status and of any other sign of one (WSM-13): 0 with ERROR is an error too. It returns
// nil for 0, 8 and 9 that go on.
func (c *call) statusError(status abi.Status) error {
	var text string
	if c.failure != nil {
		text = safeText(c.failure.Message, abi.MaxErrorMessage)
	}
	code, ok := codeOf(status)
	if c.limit > 0 && (!ok || code == provider.Internal || code == provider.TooLarge) {
		return &provider.Error{Code: provider.TooLarge, Message: fmt.Sprintf("the result is larger than the limit of %d", c.limit), Limit: c.limit}
	}
	if !ok {
		if c.failure != nil {
			return c.fault(fmt.Errorf("status %d with %s: %s", status, abi.KindError, text))
		}
		return nil
	}
	if code == provider.Internal {
		return c.fault(fmt.Errorf("status %d (%s): %s", status, status, text))
	}
	e := &provider.Error{Code: code}
	switch code {
	case provider.Invalid, provider.Unavailable, provider.TooLarge, provider.Unsupported:
		e.Message = text
	default:
		e.Err = fmt.Errorf("plugin %s: %s: %s", c.plugin.name, c.export, text)
		return e
	}
	if c.failure == nil {
		return e
	}
	if code == provider.Unavailable {
		e.RetryAfter = time.Duration(min(c.failure.RetryAfterMillis, uint64(maxRetryAfter/time.Millisecond))) * time.Millisecond
	}
	detail, err := strictValue(c.failure.DetailJSON, '{', "detail")
	if err != nil {
		c.reject("%s: %v", abi.KindError, err)
	}
	e.Detail = detail
	return e
}

// maxRetryAfter bounds what a guest may tell clients.
const maxRetryAfter = 24 * time.Hour

// codeOf maps a status that is an error.
func codeOf(s abi.Status) (provider.Code, bool) {
	switch s {
	case abi.StatusOK, abi.StatusInputRequired, abi.StatusNotModified:
		return 0, false
	case abi.StatusNotFound:
		return provider.NotFound, true
	case abi.StatusInvalid:
		return provider.Invalid, true
	case abi.StatusDenied:
		return provider.Denied, true
	case abi.StatusUnavailable:
		return provider.Unavailable, true
	case abi.StatusTooLarge:
		return provider.TooLarge, true
	case abi.StatusUnsupported:
		return provider.Unsupported, true
	}
	return provider.Internal, true
}
