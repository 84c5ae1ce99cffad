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

// listCall is a call of a provider for a page of its list, or for a completion. What comes back is kept as it is, since each page of ours
// is made of it anew: which entries a caller sees is decided each time.
type listCall struct {
	*Host
	caller *caller
	view   *view
	parts  keyParts
	// mayShare says that the result can be the same for every caller.
	mayShare bool
	// ask makes the call. It puts the result into e, and returns what the provider said about reuse.
	ask func(ctx context.Context, e *cache.Entry) (*provider.Cache, error)
}

// do returns the result, from what is kept or by a call that equal questions share, with what clients may be told of it.
func (q *listCall) do(ctx context.Context) (*cache.Entry, mcp.CacheHint, error) {
	keys, err := q.keysOf(q.caller, &q.parts, q.mayShare)
	if err != nil {
		return nil, mcp.CacheHint{}, err
	}
	epoch := q.view.listChanges.Load() + q.view.changes.Load()
	if e, hint := q.find(ctx, &keys, epoch); e != nil {
		e.Hit()
		q.kept.counts.hit.Add(1)
		return e, hint, nil
	}
	q.kept.counts.miss.Add(1)
	key := keys.private
	if q.mayShare {
		key = keys.public
	}
	v, leads, err := q.fly(ctx, key, &keys, epoch)
	if err == nil && v.partition != keys.private && !v.hint.Public {
		v, leads, err = q.fly(ctx, keys.private, &keys, epoch)
	}
	switch {
	case errors.Is(err, flight.ErrShut):
		return nil, mcp.CacheHint{}, errRetired
	case errors.Is(err, context.DeadlineExceeded):
		return nil, mcp.CacheHint{}, provider.Wrap(provider.Timeout, err, "")
	case err != nil:
		return nil, mcp.CacheHint{}, provider.Wrap(provider.Canceled, err, "")
	case v.err != nil:
		return nil, mcp.CacheHint{}, v.err
	}
	if !leads {
		q.kept.counts.coalesced.Add(1)
	}
	return v.kept, v.hint, nil
}

// find returns what is kept and good, with what clients may be told of it; or nil.
func (q *listCall) find(ctx context.Context, keys *cacheKeys, epoch uint64) (*cache.Entry, mcp.CacheHint) {
	now := time.Now()
	for _, e := range [...]*cache.Entry{q.kept.public(ctx, keys), q.kept.store.Get(ctx, keys.private)} {
		if e != nil && e.Epoch == epoch && now.Sub(e.Retrieved) < e.TTL {
			return e, hintOf(e, now)
		}
	}
	return nil, mcp.CacheHint{}
}

func (q *listCall) fly(ctx context.Context, key cache.Key, keys *cacheKeys, epoch uint64) (fetched, bool, error) {
	me := &reader{partition: keys.private, req: &mcp.ReadParams{}}
	own, ownKeys := *q, *keys // the question may end before its call
	return q.kept.flights.Do(ctx, q.base, flightKey{key, epoch}, me, func() func(context.Context, *flight.Call[reader, fetched]) fetched {
		if !own.view.calls.enter() {
			return nil
		}
		return func(ctx context.Context, _ *flight.Call[reader, fetched]) (v fetched) {
			defer own.view.calls.leave()
			v.partition = ownKeys.private
			v.err = guard("a list", func() error { return own.fetch(ctx, &v, &ownKeys, epoch) })
			return v
		}
	})
}

// fetch makes the call and keeps what comes back, for as long as the rules allow and nothing changed meanwhile.
func (q *listCall) fetch(ctx context.Context, v *fetched, keys *cacheKeys, epoch uint64) error {
	// An equal call may have ended since this one's question found nothing.
	if v.kept, v.hint = q.find(ctx, keys, epoch); v.kept != nil {
		return nil
	}
	e := &cache.Entry{Epoch: epoch}
	said, err := q.ask(ctx, e)
	if err != nil {
		return err
	}
	v.hint = q.hintFor(q.view, said, q.mayShare)
	e.Retrieved, e.TTL, e.Public = time.Now(), v.hint.TTL, v.hint.Public
	v.kept = e
	if e.TTL <= 0 || e.Size() > q.kept.maxEntry || q.view.listChanges.Load()+q.view.changes.Load() != epoch {
		return nil
	}
	if e.Public {
		q.kept.store.Set(ctx, keys.public, e)
	} else {
		q.kept.store.Set(ctx, keys.private, e)
	}
	return nil
}
