package host_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// counted is a docs provider whose contents tell the number of the call.
func counted(cached provider.Cache) (*fake, *atomic.Int32) {
	p := docs("docs")
	p.info.Watch = true
	var calls atomic.Int32
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
		res := text(fmt.Sprintf("call %d", calls.Add(1)))
		res.Cache = cached
		return res, nil
	}
	return p, &calls
}

// readText reads as p and returns the text.
func readText(t testing.TB, h *host.Host, p *host.Principal, uri string) string {
	t.Helper()
	res, err := h.Read(t.Context(), p, uri)
	if err != nil {
		return codeOf(err)
	}
	return string(res.Contents[0].Body)
}

func ttl(d time.Duration) provider.Cache { return provider.Cache{TTL: d, Set: true} }

func with(c provider.Cache, rules host.CacheRules, opts *host.Options) (*host.Host, *fake, *atomic.Int32, error) {
	p, calls := counted(c)
	if opts == nil {
		opts = &host.Options{}
	}
	opts.Cache = rules
	h, err := host.New(opts)
	if err == nil {
		err = h.Add(p, nil)
	}
	return h, p, calls, err
}

// cachedHost is a host with one counted provider.
func cachedHost(t testing.TB, c provider.Cache, rules host.CacheRules, opts *host.Options) (*host.Host, *fake, *atomic.Int32) {
	t.Helper()
	h, p, calls, err := with(c, rules, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h, p, calls
}

func TestCacheTTL(t *testing.T) {
	for _, tt := range []struct {
		name  string
		said  provider.Cache
		rules host.CacheRules
		want  time.Duration // how long it is reused
	}{
		{"nothing said", provider.Cache{}, host.CacheRules{}, 0},
		{"the plugin's", ttl(time.Minute), host.CacheRules{}, time.Minute},
		{"the operator's default", provider.Cache{}, host.CacheRules{TTL: time.Second}, time.Second},
		{"not to be reused, whatever the default", ttl(0), host.CacheRules{TTL: time.Second}, 0},
		{"floor", ttl(time.Second), host.CacheRules{Min: time.Minute}, time.Minute},
		{"ceiling", ttl(time.Hour), host.CacheRules{Max: time.Minute}, time.Minute},
		{"negative", ttl(-time.Hour), host.CacheRules{TTL: time.Second}, 0},
		{"absurd", ttl(1<<63 - 1), host.CacheRules{}, 24 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, _, calls := cachedHost(t, tt.said, tt.rules, nil)
				first, err := h.Read(t.Context(), nil, "docs://a")
				if err != nil || first.Cache.TTL != tt.want {
					t.Fatalf("ttl %v, %v, want %v", first.Cache.TTL, err, tt.want)
				}
				if tt.want > 0 {
					time.Sleep(tt.want - time.Millisecond)
					again, err := h.Read(t.Context(), nil, "DOCS://a")
					if err != nil || again.Cache.TTL != time.Millisecond || string(again.Contents[0].Body) != "call 1" || again.Contents[0].URI != "DOCS://a" {
						t.Errorf("just before its end: %+v, %v", again, err)
					}
					time.Sleep(time.Millisecond)
				}
				if got := readText(t, h, nil, "docs://a"); got != "call 2" || calls.Load() != 2 {
					t.Errorf("at its end: %q, %d calls", got, calls.Load())
				}
			})
		})
	}
}

// Case CCH-02: verdicts are never shared, and a changed entitlement gives a new key.
func TestCaseCCH02(t *testing.T) {
	ann := func(change func(*host.Principal)) *host.Principal {
		p := &host.Principal{Issuer: "i", Subject: "ann", Tenant: "t", Scopes: []string{"read", "write"}, Groups: []string{"staff"}, Claims: provider.JSON(`{"role":"admin"}`)}
		if change != nil {
			change(p)
		}
		return p
	}
	bob := &host.Principal{Issuer: "i", Subject: "bob"}
	policy := policyFunc(func(r *host.PolicyRequest) bool { return r.Principal.Subject == "ann" })
	for _, order := range []string{"the denied one first", "the allowed one first"} {
		t.Run(order, func(t *testing.T) {
			h, _, _ := cachedHost(t, ttl(time.Hour), host.CacheRules{Missing: time.Minute}, &host.Options{Policy: policy})
			if strings.HasPrefix(order, "the denied") {
				if got := readText(t, h, bob, "docs://x"); got != "not_found" {
					t.Errorf("denied: %q", got)
				}
			}
			if got := readText(t, h, ann(nil), "docs://x"); got != "call 1" {
				t.Errorf("allowed: %q", got)
			}
			if got := readText(t, h, bob, "docs://x"); got != "not_found" {
				t.Errorf("denied after the allowed one: %q", got)
			}
			if got := readText(t, h, ann(nil), "docs://x"); got != "call 1" {
				t.Errorf("allowed, again: %q", got)
			}
			for i, change := range []func(*host.Principal){
				func(p *host.Principal) { p.Scopes = []string{"read"} },
				func(p *host.Principal) { p.Groups = nil },
				func(p *host.Principal) { p.Claims = provider.JSON(`{"role":"guest"}`) },
				func(p *host.Principal) { p.Tenant = "" },
				func(p *host.Principal) { p.Issuer = "j" },
			} {
				if got, want := readText(t, h, ann(change), "docs://x"), fmt.Sprintf("call %d", i+2); got != want {
					t.Errorf("change %d: %q, want %q", i, got, want)
				}
			}
			if got := readText(t, h, ann(func(p *host.Principal) { slices.Reverse(p.Scopes) }), "docs://x"); got != "call 1" {
				t.Errorf("the same rights in another order: %q", got)
			}
		})
	}
}

// Other rules of the operator's give other keys.
func TestPolicyRevisionIsInTheKey(t *testing.T) {
	policy := &revisedPolicy{}
	h, _, _ := cachedHost(t, ttl(time.Hour), host.CacheRules{}, &host.Options{Policy: policy})
	for i, want := range []string{"call 1", "call 1", "call 2"} {
		if i == 2 {
			policy.revision.Add(1)
		}
		if got := readText(t, h, nil, "docs://x"); got != want {
			t.Errorf("read %d: %q, want %q", i, got, want)
		}
	}
}

type revisedPolicy struct{ revision atomic.Int32 }

func (*revisedPolicy) Allow(context.Context, *host.PolicyRequest) bool { return true }
func (p *revisedPolicy) Revision() string                              { return fmt.Sprint(p.revision.Load()) }

// Case CCH-04: what a plugin says is public is so only with the operator's leave, and never where the caller has a part in it.
func TestCaseCCH04Public(t *testing.T) {
	ann, bob := &host.Principal{Subject: "ann"}, &host.Principal{Subject: "bob"}
	said := provider.Cache{TTL: time.Hour, Set: true, Public: true}
	for _, tt := range []struct {
		name   string
		rules  host.CacheRules
		policy host.Policy
		info   func(*provider.Info)
		shared bool
	}{
		{name: "without leave"},
		{name: "with leave", rules: host.CacheRules{Public: []string{"docs"}}, shared: true},
		{name: "leave for another scheme", rules: host.CacheRules{Public: []string{"notes"}}},
		{name: "under a policy", rules: host.CacheRules{Public: []string{"docs"}}, policy: policyFunc(func(*host.PolicyRequest) bool { return true })},
		{name: "the plugin sees the caller", rules: host.CacheRules{Public: []string{"docs"}}, info: func(i *provider.Info) { i.SeesCaller = true }},
		{name: "the plugin sees _meta", rules: host.CacheRules{Public: []string{"docs"}}, info: func(i *provider.Info) { i.MetaKeys = []string{"k"} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, _ := counted(said)
			if tt.info != nil {
				tt.info(&p.info)
			}
			h := newHost(t, &host.Options{Cache: tt.rules, Policy: tt.policy}, p)
			first, err := h.Read(t.Context(), ann, "docs://x")
			if err != nil || first.Cache.Public != tt.shared {
				t.Errorf("public %v, %v", first.Cache.Public, err)
			}
			if got := readText(t, h, bob, "docs://x"); (got == "call 1") != tt.shared {
				t.Errorf("another caller got %q", got)
			}
			if got := readText(t, h, ann, "docs://x"); got != "call 1" {
				t.Errorf("the same caller got %q", got)
			}
		})
	}
}

// 1,000 equal misses at once make one call, whoever leaves.
func TestCoalescing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := docs("docs")
		var calls atomic.Int32
		release := make(chan struct{})
		p.read = func(ctx context.Context, _ *provider.ReadRequest) (*provider.ReadResult, error) {
			calls.Add(1)
			select {
			case <-release:
				return text("x"), nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		h := newHost(t, nil, p)
		leaving, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var left atomic.Int32
		for i := range 1000 {
			ctx := t.Context()
			if i%2 == 0 { // the first among them
				ctx = leaving
			}
			wg.Go(func() {
				res, err := h.Read(ctx, nil, "docs://a")
				switch {
				case codeOf(err) == "canceled":
					left.Add(1)
				case err != nil || string(res.Contents[0].Body) != "x":
					t.Errorf("got %v, %v", res, err)
				}
			})
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(release)
		wg.Wait()
		if calls.Load() != 1 || left.Load() != 500 {
			t.Errorf("%d calls, %d left", calls.Load(), left.Load())
		}
		if s := h.CacheStats(); s.Miss != 1000 || s.Coalesced < 499 {
			t.Errorf("%+v", s)
		}
	})
}

// When all have left, the call ends, and who comes later makes another.
func TestAllLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := docs("docs")
		var calls, ended atomic.Int32
		p.read = func(ctx context.Context, _ *provider.ReadRequest) (*provider.ReadResult, error) {
			if calls.Add(1) > 1 {
				return text("x"), nil
			}
			<-ctx.Done()
			ended.Add(1)
			return nil, ctx.Err()
		}
		h := newHost(t, nil, p)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := h.Read(ctx, nil, "docs://a"); codeOf(err) != "timeout" {
			t.Errorf("who had a second: %v", err)
		}
		if got := readText(t, h, nil, "docs://a"); got != "x" {
			t.Errorf("who came later: %q", got)
		}
		synctest.Wait()
		if ended.Load() != 1 {
			t.Error("the call that all have left goes on")
		}
	})
}

// Callers of different partitions share a call only where its result turns out to be public.
func TestCoalescingKeepsPartitionsApart(t *testing.T) {
	for _, public := range []bool{false, true} {
		t.Run(fmt.Sprintf("public=%v", public), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := docs("docs")
				var calls atomic.Int32
				p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
					calls.Add(1)
					time.Sleep(time.Second)
					res := text("for " + req.Principal.Subject)
					res.Cache.Public = public
					return res, nil
				}
				h := newHost(t, &host.Options{Cache: host.CacheRules{Public: []string{"docs"}}}, p)
				var wg sync.WaitGroup
				for i := range 40 {
					who := fmt.Sprint(i % 4)
					wg.Go(func() {
						if got := readText(t, h, &host.Principal{Subject: who}, "docs://a"); !public && got != "for "+who {
							t.Errorf("%s got what is %s", who, got)
						}
					})
				}
				wg.Wait()
				if want := map[bool]int32{false: 4, true: 1}[public]; calls.Load() != want {
					t.Errorf("%d calls, want %d", calls.Load(), want)
				}
			})
		})
	}
}

// An error is shared by those who wait for the call, and by nobody after.
func TestErrorsAreNotKept(t *testing.T) {
	p := docs("docs")
	var calls atomic.Int32
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
		return nil, provider.Errorf([]provider.Code{provider.Unavailable, provider.NotFound, provider.Internal}[calls.Add(1)%3], "no")
	}
	h := newHost(t, &host.Options{Cache: host.CacheRules{TTL: time.Hour, Min: time.Hour}}, p)
	for range 6 {
		readText(t, h, nil, "docs://a")
	}
	if calls.Load() != 6 {
		t.Errorf("%d calls, want 6", calls.Load())
	}
}

// That a resource is missing may be kept, for each caller, for a while, until it changes.
func TestMissingIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := docs("docs")
		var calls atomic.Int32
		p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
			calls.Add(1)
			return nil, provider.Errorf(provider.NotFound, "no")
		}
		h := newHost(t, &host.Options{Cache: host.CacheRules{Missing: 5 * time.Second}}, p)
		bob := &host.Principal{Subject: "bob"}
		for i, step := range []struct {
			who  *host.Principal
			do   func()
			want int32
		}{
			{nil, nil, 1},
			{nil, nil, 1},
			{bob, nil, 2},
			{nil, func() { time.Sleep(5 * time.Second) }, 3},
			{nil, func() { p.events.Updated("docs://a") }, 4},
		} {
			if step.do != nil {
				step.do()
			}
			if got := readText(t, h, step.who, "docs://a"); got != "not_found" || calls.Load() != step.want {
				t.Errorf("step %d: %q, %d calls, want %d", i, got, calls.Load(), step.want)
			}
		}
	})
}

// A change that comes while the older content is being read leaves nothing of it behind, and who reads after the change does not
// wait for the read from before.
func TestChangeDuringARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := docs("docs")
		content := atomic.Pointer[string]{}
		set := func(s string) { content.Store(&s) }
		set("old")
		slow := make(chan struct{})
		var calls atomic.Int32
		p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
			got := *content.Load()
			if calls.Add(1) == 1 {
				<-slow
			}
			res := text(got)
			res.Cache = ttl(time.Hour)
			return res, nil
		}
		h := newHost(t, nil, p)
		done := make(chan string)
		go func() { done <- readText(t, h, nil, "docs://a") }()
		synctest.Wait()
		set("new")
		p.events.Updated("docs://a")
		if got := readText(t, h, nil, "docs://a"); got != "new" {
			t.Errorf("after the change: %q", got)
		}
		close(slow)
		if got := <-done; got != "old" {
			t.Errorf("who asked before the change: %q", got)
		}
		for range 3 {
			if got := readText(t, h, nil, "docs://a"); got != "new" {
				t.Errorf("after both: %q", got)
			}
		}
		if calls.Load() != 2 {
			t.Errorf("%d calls, want 2", calls.Load())
		}
	})
}

// The cache is emptied before anybody is told.
func TestSubscribersReadTheNewContent(t *testing.T) {
	p := docs("docs")
	p.info.Watch = true
	var version, announced atomic.Int64
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
		res := text(fmt.Sprint(version.Load()))
		res.Cache = ttl(time.Hour)
		return res, nil
	}
	h := newHost(t, nil, watching{p})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		for ctx.Err() == nil {
			n := version.Add(1)
			p.events.Updated("docs://a")
			announced.Store(n)
			runtime.Gosched()
		}
	})
	seen := 0
	for c, err := range h.Watch(ctx, nil, "docs://a") {
		if err != nil {
			t.Fatal(err)
		}
		if c.URI == "" {
			continue
		}
		least := announced.Load()
		got, err := strconv.ParseInt(readText(t, h, nil, "docs://a"), 10, 64)
		if err != nil || got < least {
			t.Fatalf("told of change %d, and read %d, %v", least, got, err)
		}
		if seen++; seen > 200 {
			break
		}
	}
}

// watching is a fake whose Watch works.
type watching struct{ *fake }

func (watching) Watch(context.Context, string) error { return nil }

func TestStaleWhileRevalidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, p, calls := cachedHost(t, ttl(time.Minute), host.CacheRules{Stale: time.Minute}, nil)
		readText(t, h, nil, "docs://a")
		time.Sleep(time.Minute)
		res, err := h.Read(t.Context(), nil, "docs://a")
		if err != nil || string(res.Contents[0].Body) != "call 1" || res.Cache.TTL != 0 {
			t.Errorf("stale: %+v, %v", res, err)
		}
		synctest.Wait()
		if got := readText(t, h, nil, "docs://a"); got != "call 2" || calls.Load() != 2 {
			t.Errorf("renewed: %q, %d calls", got, calls.Load())
		}
		time.Sleep(2 * time.Minute)
		if got := readText(t, h, nil, "docs://a"); got != "call 3" {
			t.Errorf("too old to be served: %q", got)
		}
		time.Sleep(time.Minute)
		p.events.Updated("docs://a")
		if got := readText(t, h, nil, "docs://a"); got != "call 4" {
			t.Errorf("what changed is not served stale: %q", got)
		}
	})
}

func TestStaleIfError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := docs("docs")
		var fail atomic.Int32
		p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
			switch fail.Load() {
			case 1:
				return nil, provider.Errorf(provider.Unavailable, "down")
			case 2:
				return nil, provider.Errorf(provider.NotFound, "gone")
			}
			res := text("good")
			res.Cache = ttl(time.Minute)
			return res, nil
		}
		var log logBuffer
		h := newHost(t, &host.Options{Cache: host.CacheRules{StaleIfError: time.Minute}, Logger: log.logger()}, p)
		readText(t, h, nil, "docs://a")
		fail.Store(1)
		time.Sleep(90 * time.Second)
		if got := readText(t, h, nil, "docs://a"); got != "good" || !strings.Contains(log.String(), "stale result") {
			t.Errorf("while the provider fails: %q, log %s", got, &log)
		}
		fail.Store(2)
		if got := readText(t, h, nil, "docs://a"); got != "not_found" {
			t.Errorf("a resource that is gone: %q", got)
		}
		fail.Store(1)
		time.Sleep(time.Minute)
		if got := readText(t, h, nil, "docs://a"); got != "unavailable" {
			t.Errorf("too old: %q", got)
		}
		fail.Store(0)
		readText(t, h, nil, "docs://a")
		fail.Store(1)
		p.events.Updated("docs://a")
		if got := readText(t, h, nil, "docs://a"); got != "unavailable" {
			t.Errorf("what changed is not served: %q", got)
		}
	})
}

// A guest's etag comes back to it, and "not modified" renews what is kept.
func TestConditionalRead(t *testing.T) {
	for _, lifetime := range []time.Duration{0, time.Minute} {
		t.Run(lifetime.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := docs("docs")
				version := "v1"
				var full, renewed int
				p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
					if req.IfETag == version {
						renewed++
						return &provider.ReadResult{NotModified: true, Cache: ttl(lifetime)}, nil
					}
					full++
					res := text(version)
					res.Contents[0].ETag, res.Cache = version, ttl(lifetime)
					return res, nil
				}
				h := newHost(t, nil, p)
				for range 3 {
					if got := readText(t, h, nil, "docs://a"); got != "v1" {
						t.Errorf("got %q", got)
					}
					time.Sleep(lifetime)
				}
				if full != 1 || renewed != 2 || h.CacheStats().Revalidated != 2 {
					t.Errorf("%d full, %d renewed, %+v", full, renewed, h.CacheStats())
				}
				version = "v2"
				p.events.Updated("docs://a")
				if got := readText(t, h, nil, "docs://a"); got != "v2" || full != 2 {
					t.Errorf("after a change: %q, %d full", got, full)
				}
				p.events.Updated("docs://a")
				if got := readText(t, h, nil, "docs://a"); got != "v2" || full != 2 || renewed != 3 {
					t.Errorf("after a change that changed nothing: %q, %d full, %d renewed", got, full, renewed)
				}
			})
		})
	}
}

func TestBadETag(t *testing.T) {
	p := docs("docs")
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
		res := text("x")
		res.Contents[0].ETag = strings.Repeat("e", 257)
		return res, nil
	}
	if got := readText(t, newHost(t, nil, p), nil, "docs://a"); got != "internal" {
		t.Errorf("got %q", got)
	}
}

func TestOversizedIsServedAndNotKept(t *testing.T) {
	p := docs("docs")
	var calls atomic.Int32
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		calls.Add(1)
		res := text(strings.Repeat("x", 2000))
		res.Cache = ttl(time.Hour)
		return res, nil
	}
	h := newHost(t, &host.Options{Limits: host.Limits{CacheEntryBytes: 1000}}, p)
	for range 3 {
		if got := readText(t, h, nil, "docs://a"); len(got) != 2000 {
			t.Errorf("%d bytes", len(got))
		}
	}
	if s := h.CacheStats(); calls.Load() != 3 || s.Entries != 0 {
		t.Errorf("%d calls, %+v", calls.Load(), s)
	}
}

// Nothing of a question or of a retry is kept or shared.
func TestQuestionsAreNobodyElses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := docs("docs")
		var calls atomic.Int32
		p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
			n := calls.Add(1)
			time.Sleep(time.Second)
			if req.State != nil {
				res := text("answered " + string(req.State))
				res.Cache = ttl(time.Hour)
				return res, nil
			}
			return &provider.ReadResult{Input: &provider.InputRequired{State: fmt.Append(nil, n)}}, nil
		}
		h := newHost(t, &host.Options{Cache: host.CacheRules{Min: time.Hour}}, p)
		var wg sync.WaitGroup
		var mu sync.Mutex
		answers := map[string]bool{}
		opts := host.ReadOptions{InputMethods: []string{"elicitation/create"}}
		for range 10 {
			wg.Go(func() {
				res, err := h.ReadWith(t.Context(), nil, "docs://a", &opts)
				if err != nil || res.Input == nil {
					t.Errorf("got %v, %v", res, err)
					return
				}
				again := opts
				again.State = res.Input.State
				res, err = h.ReadWith(t.Context(), nil, "docs://a", &again)
				if err != nil || res.Cache != (host.CacheHint{}) {
					t.Errorf("the retry: %+v, %v", res, err)
					return
				}
				mu.Lock()
				answers[string(res.Contents[0].Body)] = true
				mu.Unlock()
			})
		}
		wg.Wait()
		if len(answers) != 10 || calls.Load() != 20 || h.CacheStats().Entries != 0 {
			t.Errorf("%d answers, %d calls, %+v", len(answers), calls.Load(), h.CacheStats())
		}
	})
}

// Another provider in the place of one begins with nothing.
func TestReplaceBeginsAnew(t *testing.T) {
	h, _, _ := cachedHost(t, ttl(time.Hour), host.CacheRules{}, nil)
	readText(t, h, nil, "docs://a")
	q, calls := counted(ttl(time.Hour))
	if err := h.Replace(t.Context(), q, nil); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, h, nil, "docs://a"); got != "call 1" || calls.Load() != 1 {
		t.Errorf("got %q, %d calls of the new one", got, calls.Load())
	}
}

// What a provider panics over in a shared call is an error for all who wait, and not the process's end.
func TestPanicInASharedCall(t *testing.T) {
	p := docs("docs")
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) { panic(errors.New("oops")) }
	h := newHost(t, nil, p)
	if got := readText(t, h, nil, "docs://a"); got != "internal" {
		t.Errorf("got %q", got)
	}
}

// A hit and a miss look the same on the wire, in each revision, save for what is left of the ttl.
func TestHitsOnTheWire(t *testing.T) {
	p := docs("docs")
	p.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
		return &provider.ReadResult{Cache: ttl(time.Hour), Contents: []provider.Content{
			{MIMEType: "text/plain", Text: true, Body: []byte("a \"quoted\" <line>\n\x01 ü"), Meta: provider.JSON(`{"a.test/k": [1, 2]}`)},
			{URI: "docs://other", Body: []byte{0, 1, 2, 255}},
		}}, nil
	}
	h := newHost(t, nil, p)
	ask := func() string {
		w := post(h.Handler(), "127.0.0.1:1", "resources/read", "DOCS://a", `"uri":"DOCS://a"`)
		if w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
		before, after, ok := strings.Cut(w.Body.String(), `"ttlMs":`)
		if !ok {
			t.Fatal(w.Body)
		}
		_, after, _ = strings.Cut(after, ",")
		return before + after
	}
	miss, hit := ask(), ask()
	if miss != hit || !strings.Contains(hit, `{"uri":"DOCS://a","mimeType":"text/plain","text":"a \"quoted\" <line>\n\u0001 ü","_meta":{"a.test/k":[1,2]}},{"uri":"docs://other","blob":"AAEC/w=="}`) {
		t.Errorf("miss %s\nhit  %s", miss, hit)
	}
	if s := h.CacheStats(); s.Hit != 1 || s.Miss != 1 {
		t.Errorf("%+v", s)
	}
}

// BenchmarkReadHit reads what is kept: in process, and as a transport does, where what is above a plain read is what counts.
func BenchmarkReadHit(b *testing.B) {
	h, _, calls := cachedHost(b, ttl(time.Hour), host.CacheRules{}, nil)
	readText(b, h, nil, "docs://a")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Read(b.Context(), nil, "docs://a"); err != nil {
			b.Fatal(err)
		}
	}
	if calls.Load() != 1 {
		b.Errorf("%d calls", calls.Load())
	}
}
