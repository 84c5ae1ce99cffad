package host

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/reshost/reshost/host/cache"
	"github.com/reshost/reshost/host/internal/mcp"
)

// Options configure a [Host]. A nil *Options and the zero value are usable: an anonymous host with every limit on, which
// shares no result between callers. New copies them.
type Options struct {
	// Name is the server's name in the protocol's serverInfo. Default "reshost".
	Name string
	// Title is the name for people; empty for none.
	Title string
	// Version stands beside Name. Default "0".
	Version string
	// Instructions is a text for the model about this server; empty for none.
	Instructions string

	// Logger gets the host's lines: one for each failed request, and what was wrong with a provider. nil discards them.
	Logger *slog.Logger

	// Policy decides who may do what. nil allows everything.
	Policy Policy
	// Principal identifies the caller of an HTTP request. It is called once a request, concurrently, and may block as
	// long as the request's context lives. An error answers 401. nil leaves every caller anonymous.
	Principal func(*http.Request) (Principal, error)

	// Limits bound what callers and providers can cost. The zero value has every limit on.
	Limits Limits
	// PageSize is the most entries of one page of a list. 0 means 1,000; at most 10,000.
	PageSize int
	// Cache says what results may be reused, for providers that ProviderOptions says nothing about. The zero value is the
	// strict one: private, and not to be reused.
	Cache CacheRules
	// Store keeps results between requests. nil keeps them in memory, within Limits.CacheBytes.
	Store cache.Store
	// Provenance adds to the `_meta` of each part of a read, under "io.github.reshost/provenance", where it comes from: server,
	// plugin, version, revision (the etag), retrievedAt (RFC 3339), and stale where it is older than it should be.
	Provenance bool

	// PublicURL is the endpoint's address as clients see it, such as "https://mcp.example.com/mcp". Its host is allowed
	// in the Host header.
	PublicURL string
	// Hosts are further names allowed in the Host header, without a port. With Hosts or PublicURL given, these and the
	// loopback names are the whole list; without, connections to a loopback address are answered for the loopback names
	// alone (DNS rebinding), others for any.
	Hosts []string
	// Origins are the values of the Origin header that are answered, such as "https://app.example.com". Requests without
	// the header are always answered, so are those from PublicURL's own origin; any other is 403 (rule H4).
	Origins []string

	// Keys seal cursors and state that clients carry, each at least 16 random bytes. The first seals, all open, so that a
	// new key can be put in front while the old one is still honoured. Empty: one random key, which ends with the process.
	Keys [][]byte
	// Revisions are the protocol revisions served, such as "2026-07-28". Empty: all that are known.
	Revisions []string
}

// ProviderOptions say how the host treats one provider. nil and the zero value take the host's defaults.
type ProviderOptions struct {
	// Cache overrides Options.Cache for this provider's results; nil leaves the host's.
	Cache *CacheRules
	// ClientLogs sends the provider's log lines to clients that ask for them, by logLevel or logging/setLevel (rule N3). They
	// may tell what the provider's operator wants to keep: off by default.
	ClientLogs bool
}

// CacheRules are the operator's word on what a provider says about reuse of its results (rule P6). The zero value is the
// strict one.
type CacheRules struct {
	// TTL is how long a result may be reused when the provider does not say. 0: not at all.
	TTL time.Duration
	// Min and Max are the floor and the ceiling of what a provider may say. A Max of 0 means 24 hours; a negative one
	// means no ceiling.
	Min, Max time.Duration
	// Public are the URI schemes whose results may be sent as shareable between callers when the provider says that they
	// are. Nothing is public under a Policy, or from a provider whose results depend on the caller.
	Public []string
	// Stale is how long after its ttl a result is still served while another is fetched, and StaleIfError how long where the provider
	// fails. Neither serves what a provider has reported as changed. 0: not at all.
	Stale, StaleIfError time.Duration
	// Missing is how long it is kept that a resource does not exist, for each caller. 0: not at all; at most a minute.
	Missing time.Duration
}

// Bounds of Options.
const (
	defaultPageSize = 1000
	maxPageSize     = 10000
	minKeyBytes     = 16
	defaultMaxTTL   = 24 * time.Hour
	maxMissing      = time.Minute
)

// withDefaults returns a copy that shares nothing with o, or says what is wrong with it.
func (o *Options) withDefaults() (*Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Name == "" {
		c.Name = "reshost"
	}
	if c.Version == "" {
		c.Version = "0"
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	switch {
	case c.PageSize == 0:
		c.PageSize = defaultPageSize
	case c.PageSize < 0 || c.PageSize > maxPageSize:
		return nil, fmt.Errorf("page size %d is not between 1 and %d", c.PageSize, maxPageSize)
	}
	if c.PublicURL != "" {
		u, err := url.Parse(c.PublicURL)
		if err != nil {
			return nil, fmt.Errorf("public URL: %w", err)
		}
		if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, fmt.Errorf("public URL %q is not an absolute http or https URL", c.PublicURL)
		}
	}
	for _, r := range c.Revisions {
		if !slices.Contains(mcp.Revisions(), r) {
			return nil, fmt.Errorf("protocol revision %q is not known; there are %v", r, mcp.Revisions())
		}
	}
	keys := make([][]byte, len(c.Keys))
	for i, k := range c.Keys {
		if len(k) < minKeyBytes {
			return nil, fmt.Errorf("key %d has %d bytes, fewer than %d", i+1, len(k), minKeyBytes)
		}
		keys[i] = slices.Clone(k)
	}
	c.Keys = keys
	if err := c.Cache.check(); err != nil {
		return nil, err
	}
	c.Cache = c.Cache.clone()
	c.Hosts, c.Origins, c.Revisions = slices.Clone(c.Hosts), slices.Clone(c.Origins), slices.Clone(c.Revisions)
	c.Limits = c.Limits.withDefaults()
	return &c, nil
}

func (r *CacheRules) check() error {
	if r.TTL < 0 || r.Min < 0 {
		return errors.New("cache: a ttl cannot be negative")
	}
	if r.Stale < 0 || r.StaleIfError < 0 || r.Missing < 0 {
		return errors.New("cache: how long a result is served cannot be negative")
	}
	if r.Missing > maxMissing {
		return fmt.Errorf("cache: %v is too long to keep that a resource is missing; at most %v", r.Missing, maxMissing)
	}
	if r.Max > 0 && r.Min > r.Max {
		return fmt.Errorf("cache: the floor %v is above the ceiling %v", r.Min, r.Max)
	}
	return nil
}

// clamp brings a ttl within the floor and the ceiling.
func (r *CacheRules) clamp(ttl time.Duration) time.Duration {
	ceiling := r.Max
	if ceiling == 0 {
		ceiling = max(defaultMaxTTL, r.Min)
	}
	if ceiling > 0 {
		ttl = min(ttl, ceiling)
	}
	return max(ttl, r.Min)
}

func (r *CacheRules) allowsPublic(scheme string) bool { return slices.Contains(r.Public, scheme) }

func (r CacheRules) clone() CacheRules {
	r.Public = slices.Clone(r.Public)
	return r
}

// Revisions returns the names of the protocol revisions that a host can serve, newest first.
func Revisions() []string { return mcp.Revisions() }
