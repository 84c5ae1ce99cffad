package host

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/internal/subs"
	"github.com/reshost/reshost/host/internal/uri"
	"github.com/reshost/reshost/host/provider"
)

// subscription is what one stream, one legacy session or one loop over Watch hears of. The hub keeps the table; here stands who
// may hear what, asked when a URI is attached and again at delivery.
type subscription struct {
	h      *Host
	caller *caller
	stream *subs.Stream

	mu sync.Mutex // guards what follows
	// sent holds the client's spellings of each URI, by the canonical one.
	sent map[string][]string
	// more are changes that were taken from the stream and wait for the next Next: one URI may have several spellings.
	more []mcp.Change
}

func (h *Host) hubOptions() *subs.Options {
	l := &h.opts.Limits
	return &subs.Options{
		Streams: l.Subscriptions, OwnerStreams: l.PrincipalSubscriptions, StreamURIs: l.SubscriptionURIs, SourceURIs: l.WatchedURIs,
		Watch: l.Call,
		Failed: func(uri string, err error) {
			if !errors.Is(err, subs.ErrNoSource) && !errors.Is(err, errRetired) {
				h.log.Warn("a watched resource cannot be watched any more", "uri", cut(uri, maxLogged), "error", err)
			}
		},
	}
}

// watchTarget says where a watched URI leads now. The hub calls it under its lock.
func (h *Host) watchTarget(text string) subs.Target {
	u, err := uri.Parse(text)
	if err != nil {
		return subs.Target{}
	}
	r, ok := h.snap.Load().route(u)
	if !ok || !r.info.Watch {
		return subs.Target{}
	}
	return subs.Target{Source: r.unit, URI: r.asked}
}

// subscribe opens a subscription without URIs.
func (h *Host) subscribe(c *caller, list bool) (*subscription, error) {
	s := c.share()
	stream, err := h.hub.Open(subs.Owner{Issuer: s.issuer, Subject: s.subject, Remote: s.remote}, list)
	var over *subs.LimitError
	switch {
	case errors.As(err, &over):
		h.log.Warn("a subscription is refused", "error", err, "subject", c.principal.Subject, "remote", c.remote)
		return nil, &mcp.Refusal{TooMany: over.Owner, RetryAfterMillis: retryAfter.Milliseconds()}
	case err != nil:
		return nil, provider.Wrap(provider.Unavailable, ErrClosed, "the server is shutting down")
	}
	return &subscription{h: h, caller: c, stream: stream, sent: map[string][]string{}}, nil
}

// Attach implements mcp.Subscription. What the caller may not watch is NotFound, like what nobody serves; whether the resource
// exists is not asked, so that it can be watched before it does.
func (s *subscription) Attach(ctx context.Context, texts []string) []error {
	errs := make([]error, len(texts))
	limit := s.h.opts.Limits.SubscriptionURIs
	if len(texts) > limit {
		for i := range errs {
			errs[i] = &provider.Error{Code: provider.TooLarge, Message: "too many URIs in one subscription", Limit: int64(limit)}
		}
		return errs
	}
	// One deadline for all: they are attached side by side, and one that hangs holds up the acknowledgement no longer.
	ctx, cancel := context.WithTimeout(ctx, s.h.opts.Limits.Call)
	defer cancel()
	var ask []string
	var at []int
	for i, text := range texts {
		canonical, err := s.admitURI(ctx, text)
		if err != nil {
			errs[i] = s.settle(ctx, text, err)
			continue
		}
		s.spell(canonical, text)
		ask, at = append(ask, canonical), append(at, i)
	}
	for j, err := range s.attach(ctx, ask) {
		if err != nil {
			s.unspell(ask[j])
			errs[at[j]] = s.settle(ctx, texts[at[j]], err)
		}
	}
	return errs
}

// attach attaches at the hub, once more where a provider was replaced at that moment.
func (s *subscription) attach(ctx context.Context, uris []string) []error {
	errs := s.stream.Attach(ctx, uris)
	for i, err := range errs {
		if errors.Is(err, errRetired) {
			errs[i] = s.stream.Attach(ctx, uris[i:i+1])[0]
		}
	}
	return errs
}

// admitURI returns the canonical spelling of a URI that the caller may watch.
func (s *subscription) admitURI(ctx context.Context, text string) (string, error) {
	u, err := s.h.parse(text)
	if err != nil {
		return "", err
	}
	r, ok := s.h.snap.Load().route(u)
	switch {
	case !ok:
		return "", provider.Errorf(provider.NotFound, "no resource or template matches")
	case !s.h.allows(ctx, OpWatch, s.caller, &r):
		return "", provider.Errorf(provider.Denied, "the policy refuses it")
	case !r.info.Watch:
		return "", provider.Errorf(provider.NotFound, "provider %s does not watch", r.name)
	}
	return r.uri, nil
}

// settle makes of a failed attachment what the caller may learn, and logs it.
func (s *subscription) settle(ctx context.Context, text string, err error) error {
	var over *subs.LimitError
	switch {
	case errors.As(err, &over) && over.Owner:
		err = &provider.Error{Code: provider.TooLarge, Message: "too many URIs in one subscription", Limit: int64(over.Value), Err: err}
	case errors.As(err, &over):
		err = &provider.Error{Code: provider.Unavailable, Message: "too many resources are watched", RetryAfter: retryAfter, Err: err}
	case errors.Is(err, subs.ErrNoSource):
		err = provider.Wrap(provider.NotFound, err, "")
	case errors.Is(err, subs.ErrEnded), errors.Is(err, errRetired):
		err = provider.Wrap(provider.Unavailable, err, "not available now")
	case errors.Is(err, context.DeadlineExceeded) && provider.CodeOf(err) == provider.Internal:
		err = provider.Wrap(provider.Timeout, err, "")
	case provider.CodeOf(err) == provider.Unsupported:
		err = provider.Wrap(provider.NotFound, err, "") // no such resource to watch, as with a provider that watches none
	}
	return s.h.settle(ctx, &outcome{op: "watch", caller: s.caller, uri: text, err: err, start: time.Now()})
}

// spell keeps a client's spelling, so that changes are told in its words.
func (s *subscription) spell(canonical, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.sent[canonical], text) {
		s.sent[canonical] = append(s.sent[canonical], text)
	}
}

func (s *subscription) unspell(canonical string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sent, canonical)
}

// canonical returns the canonical spelling of a URI that the client named or was told of. s.mu is held.
func (s *subscription) canonical(text string) string {
	if u, err := s.h.parse(text); err == nil {
		if r, ok := s.h.snap.Load().route(u); ok {
			return r.uri
		}
	}
	for have, spellings := range s.sent { // nobody serves it any more
		if slices.Contains(spellings, text) {
			return have
		}
	}
	return text
}

// Detach implements mcp.Subscription.
func (s *subscription) Detach(text string) {
	s.mu.Lock()
	canonical := s.canonical(text)
	delete(s.sent, canonical)
	s.mu.Unlock()
	s.stream.Detach(canonical)
}

// Next implements mcp.Subscription.
func (s *subscription) Next(ctx context.Context) (mcp.Change, error) {
	for {
		if c, ok := s.waiting(); ok {
			return c, nil
		}
		e, err := s.stream.Next(ctx)
		if errors.Is(err, subs.ErrEnded) {
			return mcp.Change{}, mcp.ErrEnded
		}
		if err != nil {
			return mcp.Change{}, err
		}
		if e.URI == "" {
			return mcp.Change{}, nil
		}
		if s.mayHear(ctx, e.URI) {
			s.spellings(e.URI)
		}
	}
}

// waiting takes a change that is due already.
func (s *subscription) waiting() (c mcp.Change, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.more) == 0 {
		return c, false
	}
	c, s.more = s.more[0], s.more[1:]
	return c, true
}

// spellings makes the changes to tell of a URI that changed: in the client's words where it named the URI, else in its own.
func (s *subscription) spellings(changed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sent[changed]) == 0 {
		s.more = append(s.more, mcp.Change{URI: changed})
	}
	for _, text := range s.sent[changed] {
		s.more = append(s.more, mcp.Change{URI: text})
	}
}

// mayHear asks again whether the caller may hear of a URI. Rights that are lost end the watched URI; of what lies below one the
// caller must be allowed both.
func (s *subscription) mayHear(ctx context.Context, changed string) bool {
	covering := s.stream.Covering(changed)
	if s.h.opts.Policy == nil {
		return len(covering) > 0
	}
	heard := false
	for _, watched := range covering {
		allowed, served := s.mayWatch(ctx, watched)
		if served && !allowed {
			s.h.log.Info("a subscriber lost the right to a resource", "subject", s.caller.principal.Subject, "uri", cut(watched, maxLogged))
			s.unspell(watched)
			s.stream.Detach(watched)
		}
		heard = heard || allowed
	}
	if !heard {
		return false
	}
	allowed, _ := s.mayWatch(ctx, changed)
	return allowed
}

// mayWatch asks the policy about a canonical URI. served says that somebody serves it.
func (s *subscription) mayWatch(ctx context.Context, text string) (allowed, served bool) {
	u, err := uri.Parse(text)
	if err != nil {
		return false, false
	}
	r, ok := s.h.snap.Load().route(u)
	if !ok {
		return false, false
	}
	return s.h.allows(ctx, OpWatch, s.caller, &r), true
}

// Return implements mcp.Subscription. What waits behind the change goes back too: the reader that would take it has failed.
func (s *subscription) Return(c mcp.Change) {
	s.mu.Lock()
	back := append([]mcp.Change{c}, s.more...)
	s.more = nil
	for i := range back {
		if back[i].URI != "" {
			back[i].URI = s.canonical(back[i].URI)
		}
	}
	s.mu.Unlock()
	for _, c := range back {
		s.stream.Return(subs.Event{URI: c.URI})
	}
}

// Close implements mcp.Subscription.
func (s *subscription) Close(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.h.log.Warn("a subscriber does not read: its stream was ended", "subject", s.caller.principal.Subject, "remote", s.caller.remote)
	}
	s.stream.Fail(err)
}
