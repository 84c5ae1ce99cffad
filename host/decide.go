package host

import (
	"context"

	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/provider"
)

// allows asks the policy whether the caller may do op with what r leads to.
func (h *Host) allows(ctx context.Context, op Op, c *caller, r *route) bool {
	if h.opts.Policy == nil {
		return true
	}
	text, _ := r.templateText()
	return h.ask(ctx, &PolicyRequest{Op: op, Principal: c.principal, URI: r.uri, Template: text, Vars: r.vars, Provider: r.name})
}

// ask puts a question to the policy, which is there. A panic is a refusal.
func (h *Host) ask(ctx context.Context, r *PolicyRequest) (ok bool) {
	err := guard("Policy.Allow", func() error {
		ok = h.opts.Policy.Allow(ctx, r)
		return nil
	})
	if err != nil {
		h.log.ErrorContext(ctx, "the policy failed, which counts as a refusal", "error", err, "op", string(r.Op), "provider", r.Provider)
		return false
	}
	return ok
}

// cacheHint applies the operator's rules to what a provider said about a result of this scheme (rule P6, case CCH-04).
func (h *Host) cacheHint(v *view, scheme string, c *provider.Cache) mcp.CacheHint {
	return h.hintFor(v, c, h.mayShare(v, scheme))
}

// hintFor is cacheHint where it is known whether the result can be public.
func (h *Host) hintFor(v *view, c *provider.Cache, mayShare bool) (hint mcp.CacheHint) {
	hint.TTL = v.cache.TTL
	if c.Set {
		hint.TTL = max(c.TTL, 0)
	}
	hint.TTL = v.cache.clamp(hint.TTL)
	if c.Set && (c.TTL < 0 || c.TTL > hint.TTL) {
		if n := v.clamped.Add(1); n&(n-1) == 0 {
			h.log.Warn("a provider's ttl is not within what it may be", "provider", v.name, "ttl", c.TTL, "taken", hint.TTL, "times", n)
		}
	}
	hint.Public = c.Public && mayShare
	return hint
}

// mayShare reports whether results of this scheme can be the same for every caller, if the provider says so.
func (h *Host) mayShare(v *view, scheme string) bool {
	return h.opts.Policy == nil && !v.info.SeesCaller && len(v.info.MetaKeys) == 0 && v.cache.allowsPublic(scheme)
}
