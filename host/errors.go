package host

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reshost/reshost/host/provider"
)

// maxMessage is how much of a provider's sentence the client sees.
const maxMessage = 1 << 10

// sentences are what the client is told where the provider's own words stay in the log, or where it has none.
var sentences = [...]string{
	provider.Internal:    "internal error",
	provider.NotFound:    "resource not found",
	provider.Invalid:     "invalid request",
	provider.Denied:      "resource not found",
	provider.Unavailable: "not available now",
	provider.TooLarge:    "the resource is too large",
	provider.Unsupported: "not supported",
	provider.Timeout:     "the deadline passed",
	provider.Canceled:    "the request was canceled",
}

// asError returns the first *provider.Error of err's chain, or err as Internal.
func asError(err error) *provider.Error {
	var e *provider.Error
	if errors.As(err, &e) {
		return e
	}
	return provider.Wrap(provider.Internal, err, "")
}

// forCaller returns what the caller may learn of err: a code, a safe sentence, and no cause. Denied becomes NotFound, with
// nothing that tells the two apart.
func forCaller(err error) *provider.Error {
	e := asError(err)
	switch e.Code {
	case provider.Denied, provider.NotFound:
		return &provider.Error{Code: provider.NotFound, Message: sentences[provider.NotFound]}
	case provider.Invalid, provider.Unavailable, provider.TooLarge, provider.Unsupported:
		out := &provider.Error{Code: e.Code, Message: cut(e.Message, maxMessage), RetryAfter: max(e.RetryAfter, 0), Limit: e.Limit}
		if out.Message == "" {
			out.Message = sentences[e.Code]
		}
		if checkObject(e.Detail, maxExtraBytes) == nil {
			out.Detail = e.Detail
		}
		return out
	case provider.Timeout, provider.Canceled:
		return &provider.Error{Code: e.Code, Message: sentences[e.Code]}
	default:
		return &provider.Error{Code: provider.Internal, Message: sentences[provider.Internal]}
	}
}

// cut returns at most n bytes of s, valid UTF-8 and without control characters.
func cut(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}

// outcome is what became of one request: the audit's seam.
type outcome struct {
	op       string
	caller   *caller
	uri      string // as sent
	provider string // empty when none was found
	err      error
	start    time.Time
}

// settle logs a failed request, in one line, and returns what its caller may learn. It is where what the caller cannot tell
// apart is told apart.
func (h *Host) settle(ctx context.Context, o *outcome) error {
	if o.err == nil {
		return nil
	}
	e := asError(o.err)
	level := levelOf(e.Code)
	if h.log.Enabled(ctx, level) {
		attrs := []slog.Attr{
			slog.String("op", o.op), slog.String("code", e.Code.String()), slog.String("uri", cut(o.uri, maxMessage)),
			slog.String("provider", o.provider), slog.String("subject", cut(o.caller.principal.Subject, 256)),
			slog.Duration("took", time.Since(o.start)), slog.String("cause", cut(o.err.Error(), 4*maxMessage)),
		}
		var p *panicError
		if errors.As(o.err, &p) {
			attrs = append(attrs, slog.String("stack", string(p.stack)))
		}
		h.log.LogAttrs(ctx, level, "request failed", attrs...)
	}
	return forCaller(o.err)
}

func levelOf(c provider.Code) slog.Level {
	switch c {
	case provider.Canceled:
		return slog.LevelDebug
	case provider.NotFound, provider.Invalid, provider.TooLarge, provider.Unsupported:
		return slog.LevelInfo
	case provider.Denied, provider.Unavailable, provider.Timeout:
		return slog.LevelWarn
	default:
		return slog.LevelError
	}
}
