package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reshost/reshost/host/cache"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
)

// Bounds of a completion (rule C1).
const (
	maxValues = 100
	// maxJudged is how many proposals are looked at to find those.
	maxJudged = 10000
)

// Complete proposes values for a variable of a template. A template or a variable that is not served is Invalid.
func (h *Host) Complete(ctx context.Context, p *Principal, req *CompleteRequest) (*Completion, error) {
	c, ctx, leave, err := h.enter(ctx, p)
	if err != nil {
		return nil, err
	}
	defer leave()
	res, err := h.complete(ctx, c, &mcp.CompleteParams{
		Template: req.Template, Argument: req.Argument, Value: req.Value, Context: req.Context,
	})
	if err != nil {
		return nil, err
	}
	return (*Completion)(res), nil
}

func (h *Host) complete(ctx context.Context, c *caller, req *mcp.CompleteParams) (*mcp.Completion, error) {
	j := completeJob{Host: h, caller: c, req: req}
	start := time.Now()
	res, err := j.run(ctx)
	for errors.Is(err, errRetired) && ctx.Err() == nil {
		j = completeJob{Host: h, caller: c, req: req}
		res, err = j.run(ctx) // with the newer snapshot that is there by now
	}
	if err != nil {
		o := &outcome{op: "complete", caller: c, uri: req.Template, err: err, start: start}
		if j.view != nil {
			o.provider = j.view.name
		}
		return nil, h.settle(ctx, o)
	}
	return res, nil
}

// completeJob is one completion on its way: the same stations as a read.
type completeJob struct {
	*Host
	caller *caller
	req    *mcp.CompleteParams
	snap   *snapshot
	view   *view
	tmpl   *template
	known  []provider.Var // of the other variables
}

func (j *completeJob) run(ctx context.Context) (*mcp.Completion, error) {
	if err := j.checkRequest(); err != nil {
		return nil, err
	}
	leave, err := j.locate(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := j.bind(); err != nil {
		return nil, err
	}
	if !j.allowsCompletion(ctx) {
		return nil, errNoTemplate()
	}
	if !j.tmpl.complete[j.req.Argument] {
		return &mcp.Completion{Values: []string{}}, nil
	}
	res, err := j.ask(ctx)
	if err != nil {
		return nil, err
	}
	return j.check(ctx, res), nil
}

func errNoTemplate() error { return provider.Errorf(provider.Invalid, "no such template") }

func (j *completeJob) checkRequest() error {
	limit := j.opts.Limits.URIBytes
	texts := []string{j.req.Template, j.req.Argument, j.req.Value}
	for _, v := range j.req.Context {
		texts = append(texts, v.Name, v.Value)
	}
	for _, s := range texts {
		if len(s) > limit {
			return provider.Errorf(provider.Invalid, "a value is longer than %d bytes", limit)
		}
		if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
			return provider.Errorf(provider.Invalid, "a value holds a NUL or is not UTF-8")
		}
	}
	return nil
}

// locate finds the template that stands so in the list and enters its provider. A template that the caller may not see is
// as unknown as one that is not there.
func (j *completeJob) locate(ctx context.Context) (leave func(), err error) {
	for {
		j.snap = j.Host.snap.Load()
		v, t := j.snap.template(j.req.Template)
		if t == nil || !j.allowsTemplate(ctx, j.caller, t, v) {
			return nil, errNoTemplate()
		}
		if v.calls.enter() {
			j.view, j.tmpl = v, t
			return v.calls.leave, nil
		}
	}
}

// template returns the first template that is listed as text.
func (s *snapshot) template(text string) (*view, *template) {
	for _, v := range s.views {
		for _, t := range v.listed {
			if t.spec.URITemplate == text && s.showsTemplate(v, t) {
				return v, t
			}
		}
	}
	return nil, nil
}

// bind checks the argument and keeps what is known of the other variables. Names that the template does not have are
// ignored: clients send all they know.
func (j *completeJob) bind() error {
	names := j.tmpl.Vars()
	if !slices.Contains(names, j.req.Argument) {
		return provider.Errorf(provider.Invalid, "the template has no variable of that name")
	}
	for _, v := range j.req.Context {
		if v.Name == j.req.Argument || !slices.Contains(names, v.Name) {
			continue
		}
		if slices.ContainsFunc(j.known, func(k provider.Var) bool { return k.Name == v.Name }) {
			return provider.Errorf(provider.Invalid, "a variable is given twice")
		}
		j.known = append(j.known, v)
	}
	return nil
}

// allowsCompletion asks whether the caller may complete here at all.
func (j *completeJob) allowsCompletion(ctx context.Context) bool {
	if j.opts.Policy == nil {
		return true
	}
	prefix, _, ok := j.expand(j.known)
	if !ok {
		prefix = j.tmpl.LiteralPrefix()
	}
	return j.Host.ask(ctx, &PolicyRequest{
		Op: OpComplete, Principal: j.caller.principal, URI: prefix, Prefix: true,
		Template: j.tmpl.spec.URITemplate, Vars: j.known, Provider: j.view.name,
	})
}

func (j *completeJob) ask(ctx context.Context) (*provider.CompleteResult, error) {
	meta, err := j.grantedMeta(j.caller, j.view)
	if err != nil {
		return nil, err
	}
	req := &provider.CompleteRequest{
		Caller:   provider.Caller{Principal: j.caller.principal, Meta: meta, Remote: j.caller.remote},
		Template: j.tmpl.spec.URITemplate, TemplateIndex: j.tmpl.index,
		Argument: j.req.Argument, Value: j.req.Value, Context: j.known,
	}
	q := listCall{
		Host: j.Host, caller: j.caller, view: j.view, mayShare: j.mayShare(j.view, j.tmpl.Scheme()),
		parts: keyParts{kind: askComplete, view: j.view, texts: []string{req.Template, req.Argument, req.Value}, meta: meta},
	}
	for _, v := range req.Context {
		q.parts.texts = append(q.parts.texts, v.Name, v.Value)
	}
	q.ask = func(ctx context.Context, e *cache.Entry) (*provider.Cache, error) {
		err := q.call(ctx, "Complete", func(ctx context.Context) (err error) {
			e.Completion, err = q.view.p.Complete(ctx, req)
			return err
		})
		if err != nil {
			return nil, err
		}
		if e.Completion == nil {
			return nil, fault("it returned nothing")
		}
		return &e.Completion.Cache, nil
	}
	e, _, err := q.do(ctx)
	if err != nil {
		return nil, err
	}
	return e.Completion, nil
}

// check keeps the values that lead to something the caller may read, each once and at most 100 (rule C1, cases CMP-01 and
// CMP-02).
func (j *completeJob) check(ctx context.Context, res *provider.CompleteResult) *mcp.Completion {
	out := &mcp.Completion{Values: []string{}}
	seen := map[string]struct{}{}
	left := 0
	for i, v := range res.Values {
		if len(out.Values) == maxValues && (j.opts.Policy != nil || i >= maxJudged) {
			out.HasMore = true // some may be for the caller; how many is not counted
			return out
		}
		if _, double := seen[v]; double {
			continue
		}
		if i >= maxJudged {
			out.HasMore = true
			return out
		}
		seen[v] = struct{}{}
		if !j.readable(ctx, v) {
			continue
		}
		if left++; left <= maxValues {
			out.Values = append(out.Values, v)
		}
	}
	out.HasMore = res.HasMore || left > maxValues
	total := int64(left)
	switch {
	case j.opts.Policy != nil && (res.HasMore || res.Total != nil && *res.Total > int64(len(res.Values))):
		out.HasMore = true // the provider's count holds what the caller may not know of
	case res.Total != nil && *res.Total > total && len(seen) == left:
		total = *res.Total
		out.HasMore = out.HasMore || total > int64(len(out.Values))
		out.Total = &total
	case !res.HasMore:
		out.Total = &total
	}
	return out
}

// readable reports whether a value leads to something the caller may read, as far as that can be told.
func (j *completeJob) readable(ctx context.Context, value string) bool {
	if len(value) > j.opts.Limits.URIBytes || !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 {
		return false
	}
	vars := append(slices.Clone(j.known), provider.Var{Name: j.req.Argument, Value: value})
	text, whole, ok := j.expand(vars)
	switch {
	case !ok:
		return false
	case whole:
		r, err := j.snap.routeText(j.view, text)
		return err == nil && j.allows(ctx, OpRead, j.caller, &r)
	case j.opts.Policy == nil:
		return true
	}
	return j.Host.ask(ctx, &PolicyRequest{
		Op: OpRead, Principal: j.caller.principal, URI: text, Prefix: true,
		Template: j.tmpl.spec.URITemplate, Vars: vars, Provider: j.view.name,
	})
}

// expand returns the URI of vars and whole, when they are all that it needs; else how every URI of vars begins. It is not ok
// when no URI of the template has these values.
func (j *completeJob) expand(vars []provider.Var) (text string, whole, ok bool) {
	if text, err := j.tmpl.Expand(vars); err == nil {
		return text, true, true
	}
	filled := slices.Clone(vars)
	for _, name := range j.tmpl.Vars() {
		if !slices.ContainsFunc(vars, func(v provider.Var) bool { return v.Name == name }) {
			filled = append(filled, provider.Var{Name: name, Value: j.gap})
		}
	}
	text, err := j.tmpl.Expand(filled)
	if err != nil {
		return "", false, false
	}
	u, err := uri.Parse(text)
	if err != nil {
		return "", false, false
	}
	_, u, ok = j.tmpl.match(u, u.FoldAuthority())
	prefix, _, _ := strings.Cut(u.String(), j.gap)
	return prefix, false, ok
}

func (v *view) completes() bool {
	return slices.ContainsFunc(v.listed, func(t *template) bool {
		for _, yes := range t.complete {
			if yes {
				return true
			}
		}
		return false
	})
}
