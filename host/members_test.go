package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// TestSetProviders exchanges everything at one stroke: claims may change hands, calls in flight end with whom they began, and
// subscribers hear of it once.
func TestSetProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, gone := lister("a", 1), lister("b", 1), lister("gone", 1)
		gone.info.Templates = []provider.Template{template("gone://slow/{x}", "x")}
		gone.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
			time.Sleep(5 * time.Second)
			if gone.closed.Load() > 0 {
				return nil, errors.New("closed under a call")
			}
			return text("old"), nil
		}
		h := newHost(t, nil, a, b, gone)
		told := 0
		ctx, stop := context.WithCancel(t.Context())
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			for _, err := range h.Watch(ctx, nil) {
				if err != nil {
					return
				}
				told++
			}
		}()
		inFlight := make(chan error, 1)
		go func() {
			_, err := h.Read(context.Background(), nil, "gone://slow/1")
			inFlight <- err
		}()
		synctest.Wait()

		// b takes over what gone claims, and a scheme of its own is new.
		b2, c := lister("b", 2), lister("c", 1)
		b2.info.Schemes = append(b2.info.Schemes, "gone")
		if err := h.SetProviders([]host.Member{{Provider: c}, {Keep: "a"}, {Provider: b2}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"c://x/0000", "a://x/0000", "b://x/0000", "b://x/0001"}, walk(t, h, nil)); diff != "" {
			t.Errorf("what is served (-want +got)\n%s", diff)
		}
		synctest.Wait()
		if gone.closed.Load() != 0 || b.closed.Load() != 1 || a.closed.Load() != 0 {
			t.Errorf("closed: gone %d, b %d, a %d", gone.closed.Load(), b.closed.Load(), a.closed.Load())
		}
		if err := <-inFlight; err != nil {
			t.Errorf("the call in flight: %v", err)
		}
		synctest.Wait()
		if gone.closed.Load() != 1 {
			t.Error("a provider that is not served any more stays open")
		}
		if err := h.SetProviders([]host.Member{{Keep: "c"}, {Keep: "a"}, {Keep: "b"}}); err != nil {
			t.Errorf("the same again: %v", err)
		}
		synctest.Wait()
		stop()
		<-heard
		if told != 1 {
			t.Errorf("subscribers were told %d times that lists changed, want once", told)
		}
	})
}

// TestSetProvidersRefuses: one that cannot stand leaves everything as it is.
func TestSetProvidersRefuses(t *testing.T) {
	a, b := lister("a", 1), lister("b", 1)
	h := newHost(t, nil, a, b)
	clash := lister("c", 1)
	clash.info.Schemes = append(clash.info.Schemes, "a")
	panics := &fake{info: provider.Info{Name: "p", Schemes: []string{"p"}}}
	for _, tt := range []struct {
		name    string
		members []host.Member
		want    string
	}{
		{"a name that is not served", []host.Member{{Keep: "x"}}, `"x"`},
		{"kept twice", []host.Member{{Keep: "a"}, {Keep: "a"}}, "taken"},
		{"the name of one that is kept", []host.Member{{Keep: "a"}, {Provider: lister("a", 1)}}, "taken"},
		{"a scheme of one that is kept", []host.Member{{Keep: "a"}, {Provider: clash}}, `"a"`},
		{"nothing", []host.Member{{}}, "nil"},
		{"one that panics", []host.Member{{Keep: "a"}, {Provider: attachPanics{panics}}}, "panic in Attach"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := h.SetProviders(tt.members); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			if diff := cmp.Diff([]string{"a://x/0000", "b://x/0000"}, walk(t, h, nil)); diff != "" {
				t.Errorf("what is served (-want +got)\n%s", diff)
			}
		})
	}
	if a.closed.Load()+b.closed.Load() != 0 {
		t.Error("a provider that is served was closed")
	}
	if err := h.SetProviders(nil); err != nil || len(h.Providers()) != 0 {
		t.Errorf("nothing at all: %v, %v", err, h.Providers())
	}
}

type attachPanics struct{ *fake }

func (attachPanics) Attach(provider.Events) { panic("no") }
