package host

import (
	"math"
	"time"

	"github.com/reshost/reshost/host/internal/question"
)

// Limits bound what one caller, one request and one provider can cost. A field of 0 has its default; a negative one
// switches that limit off.
type Limits struct {
	// RequestBytes is the most bytes of one message from a client. Default 4 MiB. Over it: HTTP 413.
	RequestBytes int64
	// JSONDepth is how deep a message's JSON may nest. Default 64; off means 1,000, since depth costs stack.
	JSONDepth int
	// URIBytes is the longest URI, template value or completion value. Default 8 KiB, which is also the most.
	URIBytes int
	// MetaBytes is the most of a request's or a result's `_meta`. Default 64 KiB.
	MetaBytes int
	// PageBytes is about how many bytes one page of a list may have, encoded. Default 1 MiB.
	PageBytes int64
	// ReadItems is the most parts of one read. Default 100. Over it: too_large.
	ReadItems int
	// ReadBytes is the most bytes of one read, all parts together, before base64. Default 16 MiB. Over it: too_large.
	ReadBytes int64
	// Call is how long one call of a provider may take. Default 10 s. Over it: timeout.
	Call time.Duration
	// StateBytes is the most bytes of a state that a provider leaves with a client between two rounds of a read. Default 8 KiB,
	// which is also the most.
	StateBytes int
	// Input is how long a client may take to answer what a read asks of it: as long lives the sealed state that it is given, and
	// as long waits a read of an older revision for its answers. Default 10 min.
	Input time.Duration
	// Requests is how many requests are served at once. Default 1,024. Over it: unavailable, HTTP 503.
	Requests int
	// PrincipalRequests is how many of them one caller may have: one verified principal, or one address of anonymous
	// callers. Calls in process, stdio and loopback addresses without a principal are not counted. Default 64. Over it:
	// unavailable, HTTP 429.
	PrincipalRequests int
	// Sessions is how many sessions of legacy clients live at once over HTTP. Default 1,000.
	Sessions int
	// SessionIdle is how long a session lives without a request. Default 30 min.
	SessionIdle time.Duration
	// Subscriptions is how many streams of subscriptions are open at once, sessions of legacy clients and loops over
	// [Host.Watch] included. They are not counted as Requests. Default 10,000. Over it: HTTP 503.
	Subscriptions int
	// PrincipalSubscriptions is how many of them one caller may have, counted as in PrincipalRequests. Default 100. Over it:
	// HTTP 429.
	PrincipalSubscriptions int
	// SubscriptionURIs is how many URIs one of them may watch, and how many changes wait in its queue. Default 1,000. Over it:
	// too_large.
	SubscriptionURIs int
	// WatchedURIs is how many distinct URIs of one provider are watched at once. Default 10,000. Over it: more of them are left
	// out of what is acknowledged.
	WatchedURIs int
	// CacheBytes is the most bytes of results that are kept in memory. Default 64 MiB; a negative one keeps none.
	CacheBytes int64
	// CacheEntryBytes is the most bytes of one of them. Default 4 MiB. Over it a result is served and not kept.
	CacheEntryBytes int64
	// WriteStall is how long an answer may make no progress towards its client before the connection is closed. Default
	// 10 s.
	WriteStall time.Duration
}

// withDefaults resolves 0 to the defaults and negative values to the largest number, so that code compares only.
func (l Limits) withDefaults() Limits {
	return Limits{
		RequestBytes:           limit(l.RequestBytes, 4<<20, math.MaxInt64),
		JSONDepth:              min(limit(l.JSONDepth, 64, maxJSONDepth), maxJSONDepth),
		URIBytes:               min(limit(l.URIBytes, maxURIBytes, maxURIBytes), maxURIBytes),
		MetaBytes:              limit(l.MetaBytes, 64<<10, math.MaxInt),
		PageBytes:              limit(l.PageBytes, 1<<20, math.MaxInt64),
		ReadItems:              limit(l.ReadItems, 100, math.MaxInt),
		ReadBytes:              limit(l.ReadBytes, 16<<20, math.MaxInt64),
		Call:                   limit(l.Call, 10*time.Second, math.MaxInt64),
		StateBytes:             min(limit(l.StateBytes, question.MaxState, question.MaxState), question.MaxState),
		Input:                  limit(l.Input, 10*time.Minute, math.MaxInt64),
		Requests:               limit(l.Requests, 1024, math.MaxInt),
		PrincipalRequests:      limit(l.PrincipalRequests, 64, math.MaxInt),
		Sessions:               limit(l.Sessions, 1000, math.MaxInt),
		SessionIdle:            limit(l.SessionIdle, 30*time.Minute, math.MaxInt64),
		Subscriptions:          limit(l.Subscriptions, 10_000, math.MaxInt),
		PrincipalSubscriptions: limit(l.PrincipalSubscriptions, 100, math.MaxInt),
		SubscriptionURIs:       limit(l.SubscriptionURIs, 1000, math.MaxInt),
		WatchedURIs:            limit(l.WatchedURIs, 10_000, math.MaxInt),
		CacheBytes:             limit(l.CacheBytes, 64<<20, 0),
		CacheEntryBytes:        limit(l.CacheEntryBytes, 4<<20, math.MaxInt64),
		WriteStall:             limit(l.WriteStall, 10*time.Second, math.MaxInt64),
	}
}

const (
	maxURIBytes  = 8 << 10
	maxJSONDepth = 1000
)

func limit[T ~int | ~int64](v, def, off T) T {
	switch {
	case v == 0:
		return def
	case v < 0:
		return off
	default:
		return v
	}
}
