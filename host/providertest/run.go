package providertest

import (
	"testing"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// Options of [Run]. The zero value checks what the provider lists.
type Options struct {
	// URIs exist although no list names them, such as those of templates. They are read too.
	URIs []string
	// Missing are URIs that belong to the provider and do not exist. Each template adds one, with an unlikely value for each
	// variable, unless it is in Open.
	Missing []string
	// Open are templates, as listed, that answer for any value.
	Open []string
	// MaxReads is how many of the listed resources are read; default 200, spread over the list.
	MaxReads int
	// MaxBytes is what the host allows a read; default 16 MiB. A resource over it must answer provider.TooLarge.
	MaxBytes int64
	// MaxListed ends a walk through a list that does not end; default 100,000 resources.
	MaxListed int
	// Patience is how long a call may take once its context is done; default 2 s.
	Patience time.Duration
}

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	v.MaxReads = positive(v.MaxReads, 200)
	v.MaxBytes = positive(v.MaxBytes, 16<<20)
	v.MaxListed = positive(v.MaxListed, 100_000)
	v.Patience = positive(v.Patience, 2*time.Second)
	return v
}

func positive[T int | int64 | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

// check is one of the kit's. It opens its provider with k.open.
type check struct {
	name string
	run  func(k *kit)
}

// checks returns the kit, in the order in which a new provider comes to pass it.
func checks() []check {
	return []check{
		{"info", checkInfo},
		{"list", checkList},
		{"read", checkRead},
		{"not found", checkMissing},
		{"limit", checkLimit},
		{"etag", checkETag},
		{"input", checkInput},
		{"results belong to the host", checkOwnership},
		{"completions", checkCompletions},
		{"watch", checkWatch},
		{"cancellation", checkCancellation},
		{"concurrent use", checkConcurrent},
		{"close", checkClose},
	}
}

// Run checks that what newProvider returns keeps the contract of [provider.Provider]. newProvider is called once a check; opts
// may be nil.
func Run(t *testing.T, newProvider func(t *testing.T) provider.Provider, opts *Options) {
	t.Helper()
	o := opts.withDefaults()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			k := &kit{ctx: t.Context(), opts: o, report: t.Errorf, create: func() provider.Provider { return newProvider(t) }}
			c.run(k)
			k.close()
		})
	}
}
