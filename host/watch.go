package host

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/reshost/reshost/host/internal/mcp"
)

// Change is one change that [Host.Watch] tells of.
type Change struct {
	// URI is the resource that changed: one that was asked for, in the caller's spelling, or one below it. Empty: lists changed,
	// since providers came or went or said so.
	URI string
}

// Watch tells of changes of the resources at uris and below them, and of lists, as principal p (nil: anonymous). They are
// watched from the beginning of the loop, not from the call:
//
//	for c, err := range h.Watch(ctx, nil, "notes://today") {
//		if err != nil {
//			return err
//		}
//		reread(c.URI)
//	}
//
// A change is a level, not an edge: many of one resource may be told once, but after the last one it is told. The loop ends
// with an error: at once, with a *provider.Error, when one of uris cannot be watched, which is NotFound for what p may not
// watch as for what nobody serves; later with ctx's error or with [ErrClosed].
func (h *Host) Watch(ctx context.Context, p *Principal, uris ...string) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		if err := h.watch(ctx, newCaller(p, "", nil), uris, yield); err != nil {
			yield(Change{}, err)
		}
	}
}

// watch yields changes until the loop's body ends it: nil.
func (h *Host) watch(ctx context.Context, c *caller, uris []string, yield func(Change, error) bool) error {
	s, err := h.subscribe(c, true)
	var refused *mcp.Refusal
	if errors.As(err, &refused) {
		return (&refusal{tooMany: refused.TooMany}).asError()
	}
	if err != nil {
		return err
	}
	defer s.Close(nil)
	for i, err := range s.Attach(ctx, uris) {
		if err != nil {
			return fmt.Errorf("watch %q: %w", uris[i], err)
		}
	}
	for {
		change, err := s.Next(ctx)
		switch {
		case errors.Is(err, mcp.ErrEnded):
			return ErrClosed
		case err != nil:
			return err
		case !yield(Change(change), nil):
			return nil
		}
	}
}
