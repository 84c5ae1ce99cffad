package host_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// personal is a provider whose list, completions and contents are those of the caller's subject, which also says that they are public.
func personal() (*fake, *atomic.Int32) {
	p := docs("docs")
	p.info.List = true
	var calls atomic.Int32
	said := provider.Cache{TTL: time.Hour, Set: true, Public: true}
	p.list = func(_ context.Context, req *provider.ListRequest) (*provider.ListResult, error) {
		calls.Add(1)
		uri := "docs://of-" + req.Principal.Subject
		return &provider.ListResult{Resources: []provider.Resource{{URI: uri, Name: uri}}, Cache: said}, nil
	}
	p.complete = func(_ context.Context, req *provider.CompleteRequest) (*provider.CompleteResult, error) {
		calls.Add(1)
		return &provider.CompleteResult{Values: []string{"of-" + req.Principal.Subject + req.Value}, Cache: said}, nil
	}
	p.read = func(_ context.Context, req *provider.ReadRequest) (*provider.ReadResult, error) {
		calls.Add(1)
		if req.URI == "docs://of-ann" && req.Principal.Subject != "ann" {
			return nil, provider.Errorf(provider.NotFound, "no")
		}
		res := text("of-" + req.Principal.Subject)
		res.Cache = said
		return res, nil
	}
	return p, &calls
}

// everything asks all that is cached as p, and returns what came.
func everything(t *testing.T, h *host.Host, p *host.Principal) string {
	t.Helper()
	page, err := h.List(t.Context(), p, "")
	if err != nil {
		t.Fatal(err)
	}
	completion, err := h.Complete(t.Context(), p, &host.CompleteRequest{Template: "docs://{name}", Argument: "name", Value: "x"})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(page.Resources[len(page.Resources)-1].URI, completion.Values, readText(t, h, p, "docs://a"), readText(t, h, p, "docs://of-ann"))
}

// Two principals and an anonymous one, every cached path, in any order and again: nobody sees what is another's.
func TestNoLeakBetweenPrincipals(t *testing.T) {
	p, calls := personal()
	h := newHost(t, &host.Options{Cache: host.CacheRules{Missing: time.Minute}}, p)
	ann, bob := &host.Principal{Subject: "ann"}, &host.Principal{Subject: "bob"}
	want := map[*host.Principal]string{
		ann: "docs://of-ann[of-annx]of-annof-ann",
		bob: "docs://of-bob[of-bobx]of-bobnot_found",
		nil: "docs://of-[of-x]of-not_found",
	}
	for _, who := range []*host.Principal{ann, bob, nil, bob, ann, nil} {
		if got := everything(t, h, who); got != want[who] {
			t.Errorf("%v: %s, want %s", who, got, want[who])
		}
	}
	if calls.Load() != 12 {
		t.Errorf("%d calls, want 4 for each of three", calls.Load())
	}
}

func TestListsAreCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, calls := personal()
		h := newHost(t, &host.Options{Cache: host.CacheRules{Missing: time.Minute}}, p)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() { everything(t, h, nil) })
		}
		wg.Wait()
		if calls.Load() != 4 {
			t.Errorf("%d calls, want 4", calls.Load())
		}
		page, err := h.List(t.Context(), nil, "")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if later, err := h.List(t.Context(), nil, ""); err != nil || later.Cache.TTL > page.Cache.TTL {
			t.Errorf("ttl %v after %v", later.Cache.TTL, page.Cache.TTL)
		}
		p.events.ListChanged()
		synctest.Wait()
		everything(t, h, nil)
		if calls.Load() != 6 {
			t.Errorf("%d calls after the list changed, want a list and a completion more", calls.Load())
		}
	})
}
