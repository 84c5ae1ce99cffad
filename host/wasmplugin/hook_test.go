package wasmplugin

import (
	"net/http"
	"sync"
	"testing"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// A webhook calls the plugin whether or not anything is watched, one call at a time beside the polls; what it reports is told.
func TestHook(t *testing.T) {
	p, _ := loadGuest(t, pollGuest(), Config{})
	e := newEvents()
	p.Attach(e)
	hook := func() {
		if err := p.Hook(t.Context(), &Webhook{Header: http.Header{"Webhook-Id": {"1"}}, Body: []byte("{}")}); err != nil {
			t.Error(err)
		}
	}
	hook()
	if n, _ := e.counts("letters://a"); n != 1 {
		t.Errorf("%d updates, want one", n)
	}
	if err := p.Watch(t.Context(), "letters://a"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(hook)
	}
	wg.Wait()
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if p.poll.state != "kept" {
		t.Errorf("state %q", p.poll.state)
	}
	if err := p.Hook(t.Context(), &Webhook{}); err == nil {
		t.Error("a closed plugin took a webhook")
	}
}

// What does not poll takes no webhook; what fails says so.
func TestHookFails(t *testing.T) {
	g := newGuest(letters)
	plain, _ := loadGuest(t, g.read(g.text("x"), ok()), Config{})
	wantCode(t, plain.Hook(t.Context(), &Webhook{}), provider.Unsupported)
	g = newGuest(polled)
	traps, _ := loadGuest(t, g.read(g.text("x"), ok()).exported(abi.ExportPoll, op(0x00)), Config{})
	if err := traps.Hook(t.Context(), &Webhook{}); err == nil {
		t.Error("a trap is no error")
	}
}
