package host

import (
	"context"
	"errors"
	"time"

	"github.com/reshost/reshost/host/cache"
	"github.com/reshost/reshost/host/internal/flight"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// results is what the host keeps of providers' answers.
type results struct {
	store    cache.Store
	maxEntry int64
	flights  flight.Group[flightKey, reader, fetched]
	counts   cacheCounters
	verdicts verdicts
	// refreshing bounds the calls that renew what is stale while nobody waits.
	refreshing chan struct{}
}

// maxRefreshing is how many stale results are renewed at once behind their readers' backs.
const maxRefreshing = 64

func newResults(o *Options) *results {
	s := o.Store
	if s == nil {
		s = cache.NewMemory(o.Limits.CacheBytes)
	}
	return &results{store: s, maxEntry: o.Limits.CacheEntryBytes, refreshing: make(chan struct{}, maxRefreshing)}
}

// flightKey is a question and the changes before it: who asks after a change does not join a call from before.
type flightKey struct {
	key   cache.Key
	epoch uint64
}

// reader is one who waits for a call.
type reader struct {
	partition cache.Key
	req       *mcp.ReadParams
}

// fetched is what became of a call that readers share.
type fetched struct {
	err error
	// kept is the answer encoded, and contents as they came, with asked as their URI where it is the resource's own. One of
	// them may be missing. hint goes with both.
	kept     *cache.Entry
	contents []provider.Content
	asked    string
	hint     mcp.CacheHint
	// input is a question to the reader whose call it was, which is nobody else's.
	input *provider.ReadResult
	// partition is whose answer it is, unless it is public.
	partition cache.Key
}

// cached answers a read from what is kept, or by a call that equal reads share.
func (j *readJob) cached(ctx context.Context) (*mcp.ReadResult, error) {
	if err := j.findKeys(); err != nil {
		return nil, err
	}
	j.epoch = j.epochOf(j.route.view, j.route.uri)
	now := time.Now()
	e := j.lookUp(ctx)
	switch age := j.freshness(e, now); {
	case age == fresh:
		j.kept.counts.hit.Add(1)
		return j.answer(e, now, false)
	case age == stale:
		j.kept.counts.stale.Add(1)
		j.refresh(ctx, e)
		j.log.DebugContext(ctx, "a stale result was served while it is renewed", "provider", j.route.name, "uri", cut(j.route.uri, maxLogged))
		return j.answer(e, now, true)
	}
	j.kept.counts.miss.Add(1)
	return j.miss(ctx, e)
}

// findKeys makes the keys of this read.
func (j *readJob) findKeys() (err error) {
	var room [4]string
	texts := append(append(room[:0], j.route.uri), j.req.InputMethods...)
	j.keys, err = j.keysOf(j.caller, &keyParts{kind: askRead, view: j.route.view, texts: texts, meta: j.meta}, j.mayShare(j.route.view, schemeOf(j.route.uri)))
	return err
}

// lookUp returns what is kept for this read, in whatever state, or nil.
func (j *readJob) lookUp(ctx context.Context) *cache.Entry {
	if e := j.kept.public(ctx, &j.keys); e != nil {
		return e
	}
	return j.kept.store.Get(ctx, j.keys.private)
}

// public returns what is kept for everybody, where that may be, or nil.
func (r *results) public(ctx context.Context, keys *cacheKeys) *cache.Entry {
	if keys.mayShare {
		if e := r.store.Get(ctx, keys.public); e != nil && e.Public {
			return e
		}
	}
	return nil
}

// hintOf says what is left of a good entry's time.
func hintOf(e *cache.Entry, now time.Time) mcp.CacheHint {
	return mcp.CacheHint{TTL: max(e.TTL-max(now.Sub(e.Retrieved), 0), 0), Public: e.Public}
}

// state says what an entry is good for.
type state int

const (
	// useless: for a conditional read at most.
	useless state = iota
	// spare: where the provider fails.
	spare
	// stale: while another is fetched.
	stale
	fresh
)

// freshness returns what e is good for now.
func (j *readJob) freshness(e *cache.Entry, now time.Time) state {
	if e == nil {
		return useless
	}
	if e.Epoch != j.epoch {
		return useless
	}
	over := now.Sub(e.Retrieved) - e.TTL
	rules := &j.route.cache
	switch {
	case over < 0:
		return fresh
	case e.TTL <= 0 || e.Missing: // not to be reused, or not known to be
		return useless
	case over < rules.Stale:
		return stale
	case over < rules.StaleIfError:
		return spare
	}
	return useless
}

// answer makes the reader's result of an entry. Its ttl is what is left.
func (j *readJob) answer(e *cache.Entry, now time.Time, isStale bool) (*mcp.ReadResult, error) {
	e.Hit()
	if e.Missing {
		return nil, errKeptMissing()
	}
	hint := hintOf(e, now)
	if isStale {
		hint.TTL = 0
	}
	return j.result(&mcp.ReadResult{Kept: mcp.Kept{Body: e.Body, Provenance: j.opts.Provenance, Stale: isStale}, Cache: hint})
}

// errKeptMissing is the answer of an entry that says that there is no such resource.
func errKeptMissing() error {
	return provider.Errorf(provider.NotFound, "the provider said so a moment ago")
}

// result puts a result into the form that this reader takes.
func (j *readJob) result(res *mcp.ReadResult) (*mcp.ReadResult, error) {
	if !j.local || res.Kept.Body == nil {
		return res, nil
	}
	contents, ok := mcp.DecodeContents(res.Kept.Body, j.req.URI, res.Kept.Provenance, res.Kept.Stale)
	if !ok {
		return nil, errors.New("an entry of the cache is not in its form")
	}
	return &mcp.ReadResult{Contents: contents, Cache: res.Cache}, nil
}

// miss shares a call with equal reads. old is what is kept and not good, or nil.
func (j *readJob) miss(ctx context.Context, old *cache.Entry) (*mcp.ReadResult, error) {
	key := j.keys.private
	if j.keys.mayShare {
		key = j.keys.public // nobody knows yet
	}
	v, leads, err := j.share(ctx, key, old)
	if err == nil && v.foreign(j) {
		// Another partition's answer, and not for everybody.
		v, leads, err = j.share(ctx, j.keys.private, old)
	}
	switch {
	case errors.Is(err, flight.ErrShut):
		return nil, errRetired
	case errors.Is(err, context.DeadlineExceeded):
		return nil, provider.Wrap(provider.Timeout, err, "")
	case err != nil:
		return nil, provider.Wrap(provider.Canceled, err, "")
	}
	if !leads {
		j.kept.counts.coalesced.Add(1)
	}
	switch {
	case v.input != nil && leads:
		return j.question(v.input)
	case v.input != nil: // a question is nobody else's
		return j.direct(ctx)
	case v.err != nil:
		return j.afterError(ctx, old, v.err)
	case v.kept != nil && (v.contents == nil || !j.local || j.opts.Provenance):
		res := &mcp.ReadResult{Kept: mcp.Kept{Body: v.kept.Body, Provenance: j.opts.Provenance}, Cache: v.hint}
		return j.result(res)
	}
	return &mcp.ReadResult{Contents: respelled(v.contents, v.asked, j.req.URI), Cache: v.hint}, nil
}

// foreign reports whether an answer is not for this reader.
func (v *fetched) foreign(j *readJob) bool { return v.partition != j.keys.private && !v.hint.Public }

// respelled returns contents in which the URI that was asked for is spelled as this reader did.
func respelled(contents []provider.Content, asked, own string) []provider.Content {
	out := make([]provider.Content, len(contents))
	for i := range contents {
		out[i] = contents[i]
		if out[i].URI == asked {
			out[i].URI = own
		}
	}
	return out
}

// afterError falls back on what is kept where the operator allows that.
func (j *readJob) afterError(ctx context.Context, old *cache.Entry, err error) (*mcp.ReadResult, error) {
	now := time.Now()
	j.epoch = j.epochOf(j.route.view, j.route.uri)
	if !mayComeBack(provider.CodeOf(err)) || j.freshness(old, now) < spare {
		return nil, err
	}
	j.kept.counts.stale.Add(1)
	j.log.WarnContext(ctx, "a stale result was served because the provider failed",
		"provider", j.route.name, "uri", cut(j.route.uri, maxLogged), "cause", err)
	return j.answer(old, now, true)
}

// mayComeBack reports whether a failure says nothing about the resource.
func mayComeBack(c provider.Code) bool {
	return c == provider.Unavailable || c == provider.Timeout || c == provider.Internal
}

// share makes the call of that key, or waits for the one in flight.
func (j *readJob) share(ctx context.Context, key cache.Key, old *cache.Entry) (fetched, bool, error) {
	me := &reader{partition: j.keys.private, req: j.req}
	return j.kept.flights.Do(ctx, j.base, flightKey{key, j.epoch}, me, j.begin(old, me))
}

// begin enters the provider for a call that may outlive the read that began it.
func (j *readJob) begin(old *cache.Entry, me *reader) flight.Begin[reader, fetched] {
	return func() func(context.Context, *flight.Call[reader, fetched]) fetched {
		if !j.route.calls.enter() {
			return nil
		}
		own := *j // the read may end before its call
		return func(ctx context.Context, c *flight.Call[reader, fetched]) (v fetched) {
			defer own.route.calls.leave()
			// No dispatcher stands above this goroutine.
			err := guard("a read", func() error {
				v = own.fly(ctx, c, old, me)
				return nil
			})
			if err != nil {
				v = fetched{err: err, partition: own.keys.private}
			}
			return v
		}
	}
}

// refresh renews a stale entry while nobody waits.
func (j *readJob) refresh(ctx context.Context, old *cache.Entry) {
	me := &reader{partition: j.keys.private, req: &mcp.ReadParams{URI: j.route.uri}}
	key := j.keys.private
	if j.keys.mayShare {
		key = j.keys.public
	}
	j.kept.flights.Start(ctx, j.base, flightKey{key, j.epoch}, me, func() func(context.Context, *flight.Call[reader, fetched]) fetched {
		select {
		case j.kept.refreshing <- struct{}{}:
		default:
			return nil
		}
		run := j.begin(old, me)()
		if run == nil {
			<-j.kept.refreshing
			return nil
		}
		return func(ctx context.Context, c *flight.Call[reader, fetched]) fetched {
			defer func() { <-j.kept.refreshing }()
			v := run(ctx, c)
			if v.err != nil && provider.CodeOf(v.err) != provider.Canceled {
				j.log.WarnContext(ctx, "a stale result could not be renewed", "provider", j.route.name, "uri", cut(j.route.uri, maxLogged), "cause", v.err)
			}
			return v
		}
	})
}

// fly is the call: it asks the provider, checks what comes back and keeps it where the rules allow.
func (j *readJob) fly(ctx context.Context, c *flight.Call[reader, fetched], old *cache.Entry, me *reader) fetched {
	v := fetched{partition: j.keys.private, asked: j.req.URI}
	// An equal call may have ended since this one's read found nothing.
	if e, now := j.lookUp(ctx), time.Now(); e != old && j.freshness(e, now) == fresh {
		if e.Missing {
			v.err = errKeptMissing()
			return v
		}
		v.kept, v.hint = e, hintOf(e, now)
		return v
	}
	req := *j.req
	req.Progress, req.Log = nil, nil
	if me.req.Progress != nil || me.req.Log != nil {
		req.Progress, req.Log = tellAll(c, me)
	}
	j.req = &req
	if old != nil && old.Body != nil {
		j.etag = old.ETag
	}
	res, err := j.ask(ctx)
	now := time.Now()
	switch {
	case err != nil:
		v.err = err
		j.keepMissing(ctx, err, now)
	case res != nil && res.Input != nil:
		v.input = res
	case res != nil && res.NotModified && j.etag != "":
		v.hint = j.hint(&res.Cache)
		v.kept = j.renew(ctx, old, v.hint, now)
	default:
		j.take(ctx, &v, res, now)
	}
	return v
}

// tellAll returns how progress and log lines reach all members of the partition that the call is made for.
func tellAll(c *flight.Call[reader, fetched], me *reader) (progress func(done, total uint64, message string), log func(level, message string)) {
	each := func(f func(*mcp.ReadParams)) {
		c.Each(func(r *reader) {
			if r.partition == me.partition {
				f(r.req)
			}
		})
	}
	progress = func(done, total uint64, message string) {
		each(func(p *mcp.ReadParams) {
			if p.Progress != nil {
				p.Progress(done, total, message)
			}
		})
	}
	log = func(level, message string) {
		each(func(p *mcp.ReadParams) {
			if p.Log != nil {
				p.Log(level, message)
			}
		})
	}
	return progress, log
}

// take checks a result with contents and keeps it.
func (j *readJob) take(ctx context.Context, v *fetched, res *provider.ReadResult, now time.Time) {
	contents, err := j.check(ctx, res)
	if err != nil {
		v.err = err
		return
	}
	v.contents, v.hint = contents, j.hint(&res.Cache)
	e := &cache.Entry{ETag: contents[0].ETag, Public: v.hint.Public, Retrieved: now, TTL: v.hint.TTL, Epoch: j.epoch}
	why := j.worthKeeping(e, sizeOfContents(contents))
	if why == "" || j.opts.Provenance {
		var provenance []byte
		if j.opts.Provenance {
			provenance = j.provenance(e)
		}
		e.Body = mcp.EncodeContents(contents, j.req.URI, provenance)
		v.kept = e
	}
	j.keep(ctx, e, why)
}

// hint is the operator's word on what the provider said.
func (j *readJob) hint(c *provider.Cache) mcp.CacheHint {
	return j.cacheHint(j.route.view, schemeOf(j.route.uri), c)
}

// renew keeps an entry that has not changed at its source.
func (j *readJob) renew(ctx context.Context, old *cache.Entry, hint mcp.CacheHint, now time.Time) *cache.Entry {
	j.kept.counts.revalidated.Add(1)
	e := &cache.Entry{Body: old.Body, ETag: old.ETag, Public: hint.Public, Retrieved: now, TTL: hint.TTL, Epoch: j.epoch}
	j.keep(ctx, e, "")
	return e
}

// keepMissing keeps that there is no such resource, for the time that the operator gives that.
func (j *readJob) keepMissing(ctx context.Context, err error, now time.Time) {
	if provider.CodeOf(err) != provider.NotFound {
		j.kept.verdicts.note(j.keys.private, "the provider failed: errors are not kept", now)
		return
	}
	e := &cache.Entry{Missing: true, Retrieved: now, TTL: j.route.cache.Missing, Epoch: j.epoch}
	why := ""
	if e.TTL <= 0 {
		why = "the resource does not exist, which is not kept (cache.missing)"
	}
	j.keep(ctx, e, why)
}

// worthKeeping returns why an entry of about size bytes is not kept; "" if it is.
func (j *readJob) worthKeeping(e *cache.Entry, size int64) string {
	switch {
	case e.TTL <= 0 && e.ETag == "":
		return "its ttl is 0 and it has no etag: nobody could use it"
	case size > j.kept.maxEntry:
		return "it is larger than an entry of the cache may be"
	}
	return ""
}

// keep stores an entry, unless why says why not, and drops what it replaces.
func (j *readJob) keep(ctx context.Context, e *cache.Entry, why string) {
	if why == "" && e.Size() > j.kept.maxEntry {
		why = "it is larger than an entry of the cache may be"
	}
	if why == "" && j.epochOf(j.route.view, j.route.uri) != j.epoch {
		why = "it changed while it was read"
	}
	key := j.keys.private
	if e.Public {
		key = j.keys.public
	}
	if why != "" {
		j.kept.verdicts.note(key, why, e.Retrieved)
		return
	}
	j.kept.store.Set(ctx, key, e)
	if !e.Public && j.keys.mayShare { // it was public before, perhaps
		j.kept.store.Delete(ctx, j.keys.public)
	}
}

func sizeOfContents(contents []provider.Content) int64 {
	var n int64
	for i := range contents {
		n += int64(len(contents[i].Body) + len(contents[i].Meta))
	}
	return n
}

func schemeOf(uri string) string {
	for i := range len(uri) {
		if uri[i] == ':' {
			return uri[:i]
		}
	}
	return ""
}

// epochOf counts the changes that concern a resource of v.
func (h *Host) epochOf(v *view, uri string) uint64 { return h.epochs.Of(uri) + v.changes.Load() }

// forget makes old what was read of a provider's resource, and of what lies below and above it.
func (h *Host) forget(uri string) {
	h.kept.counts.invalidated.Add(1)
	h.epochs.Changed(uri)
}
