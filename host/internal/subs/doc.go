// Package subs is the table of subscriptions: which stream wants to hear of which URI, and which source of changes each
// watched URI is attached to.
//
// host imports it. It knows neither the protocol nor policy nor providers: URIs are canonical texts, a [Source] is whatever
// can be asked to watch one, and who may hear what is asked by host, when a URI is attached and again when an event is taken.
//
//	hub := subs.New(resolve, nil)
//	s, err := hub.Open(owner, true)
//	defer s.Close()
//	errs := s.Attach(ctx, []string{"docs://a"})
//	for {
//		e, err := s.Next(ctx)
//		…
//	}
//
// An update is a level, not an edge: a stream's queue holds each URI at most once and is bounded, so that a slow reader costs
// bounded memory and delays nobody. Nothing is delivered from the goroutine that reports a change; each stream's own reader
// takes its events.
//
// # Errors
//
// Open and Attach fail with a *[LimitError], which names the limit, with [ErrNoSource] for what nobody watches, or with the
// source's own error. Next fails with [ErrEnded] once the hub or the stream has ended and everything before that is taken.
package subs
