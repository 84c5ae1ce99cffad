package host

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/reshost/reshost/host/cache"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// CacheExplanation says what the cache holds of one resource for one caller, and why.
type CacheExplanation struct {
	// URI is normalised, and Provider who serves it.
	URI, Provider string
	// Key is the digest in hexadecimal under which a result would be; Partition is "public" or "private".
	Key, Partition string
	// State is "fresh", "stale", "revalidate" (too old, but its etag may renew it), "changed" (the provider reported a change since),
	// "missing" (it is kept that there is no such resource) or "absent".
	State string
	// Why says in a sentence why there is no usable result; empty for a fresh one.
	Why string
	// Age is how long ago the provider was asked, TTL how long the result is good in all, and Hits how often it was used.
	Age, TTL time.Duration
	Hits     uint64
	// Bytes is what it takes in memory, about.
	Bytes int64
	// ETag is the provider's; empty for none.
	ETag string
}

// ExplainCache says what is kept of the resource at uri for principal p (nil: anonymous) without _meta, and why. It calls no provider.
// It fails with a *provider.Error: NotFound for what p may not read as for what nobody serves. It is for operators: it tells more
// than a client may know.
func (h *Host) ExplainCache(ctx context.Context, p *Principal, uri string) (*CacheExplanation, error) {
	j := readJob{Host: h, caller: newCaller(p, "", nil), req: &mcp.ReadParams{URI: uri}, local: true}
	u, err := j.parse(uri)
	if err != nil {
		return nil, err
	}
	leave, err := j.locate(u)
	if err != nil {
		return nil, err
	}
	defer leave()
	if !j.allows(ctx, OpRead, j.caller, &j.route) {
		return nil, provider.Errorf(provider.NotFound, "the policy refuses it to this principal")
	}
	if err := j.findKeys(); err != nil {
		return nil, err
	}
	j.epoch = j.epochOf(j.route.view, j.route.uri)
	return j.explain(j.lookUp(ctx), time.Now()), nil
}

func (j *readJob) explain(e *cache.Entry, now time.Time) *CacheExplanation {
	x := &CacheExplanation{URI: j.route.uri, Provider: j.route.name, Partition: "private", State: "absent"}
	key := j.keys.private
	if e != nil && e.Public {
		x.Partition, key = "public", j.keys.public
	}
	x.Key = hex.EncodeToString(key[:])
	if e == nil {
		x.Why = j.whyAbsent()
		return x
	}
	x.Age, x.TTL, x.Hits, x.Bytes, x.ETag = max(now.Sub(e.Retrieved), 0), e.TTL, e.Hits(), e.Size(), e.ETag
	switch s := j.freshness(e, now); {
	case e.Epoch != j.epoch:
		x.State, x.Why = "changed", "the provider reported a change since it was read: it is not served"
	case s == fresh && e.Missing:
		x.State, x.Why = "missing", "the provider said that it does not exist"
	case s == fresh:
		x.State = "fresh"
	case s == stale:
		x.State, x.Why = "stale", "its ttl is over: it is served once more while another is fetched"
	case s == spare:
		x.State, x.Why = "stale", "its ttl is over: it is served only where the provider fails"
	default:
		x.State, x.Why = "revalidate", "its ttl is over: it serves for a conditional read at most"
	}
	return x
}

// whyAbsent says why nothing is kept, as far as that is remembered.
func (j *readJob) whyAbsent() string {
	for _, key := range [...]cache.Key{j.keys.private, j.keys.public} {
		if v, ok := j.kept.verdicts.find(key); ok {
			return "it was not kept " + time.Since(v.at).Round(time.Second).String() + " ago: " + v.why
		}
	}
	return "it was not read as this principal, or went to make room, or there is no room for it"
}
