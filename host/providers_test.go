package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// LST-06 and bad input: each refusal names what is wrong, and both providers where two are at odds.
func TestAddRefuses(t *testing.T) {
	base := func() *fake {
		return &fake{info: provider.Info{Name: "second", Schemes: []string{"new"}, Templates: []provider.Template{template("new://{x}", "x")}}}
	}
	tests := []struct {
		name   string
		change func(*provider.Info)
		want   []string
	}{
		{name: "the name is taken", change: func(i *provider.Info) { i.Name = "docs" }, want: []string{`"docs"`, "taken"}},
		{name: "no name", change: func(i *provider.Info) { i.Name = "" }, want: []string{"name"}},
		{name: "a bad name", change: func(i *provider.Info) { i.Name = "a b" }, want: []string{`"a b"`}},
		{name: "a long name", change: func(i *provider.Info) { i.Name = strings.Repeat("a", 65) }, want: []string{"64"}},
		{
			name: "a scheme claimed twice (LST-06)", want: []string{`"docs"`, `"second"`, "only"},
			change: func(i *provider.Info) { i.Schemes = append(i.Schemes, "docs") },
		},
		{
			name: "a scheme claimed twice, by a prefix as wide", want: []string{`"docs"`, `"second"`},
			change: func(i *provider.Info) { i.Schemes = append(i.Schemes, "docs"); i.Only = []string{"docs://"} },
		},
		{
			name: "a prefix claimed twice", want: []string{`"narrow"`, `"second"`, "docs://TEAM/"},
			change: func(i *provider.Info) {
				i.Schemes = []string{"docs"}
				i.Only = []string{"docs://TEAM/"}
				i.Templates = nil
			},
		},
		{name: "no scheme", change: func(i *provider.Info) { i.Schemes = nil }, want: []string{"no scheme"}},
		{name: "a bad scheme", change: func(i *provider.Info) { i.Schemes = []string{"Docs"} }, want: []string{`"Docs"`}},
		{name: "an empty scheme", change: func(i *provider.Info) { i.Schemes = []string{""} }, want: []string{"empty"}},
		{name: "only, of another scheme", change: func(i *provider.Info) { i.Only = []string{"x://a/"} }, want: []string{`"x"`}},
		{name: "only, no URI", change: func(i *provider.Info) { i.Only = []string{"a"} }, want: []string{`only "a"`}},
		{
			name: "a resource of another scheme", want: []string{"docs://index", "not claimed"},
			change: func(i *provider.Info) { i.Resources = []provider.Resource{{URI: "docs://index", Name: "x"}} },
		},
		{name: "a resource without a name", change: func(i *provider.Info) { i.Resources = []provider.Resource{{URI: "new://a"}} }, want: []string{"new://a", "name"}},
		{name: "a template of another scheme", change: func(i *provider.Info) { i.Templates = []provider.Template{template("docs://{x}", "x")} }, want: []string{"docs://{x}", "not claimed"}},
		{name: "a broken template", change: func(i *provider.Info) { i.Templates = []provider.Template{template("new://{x", "x")} }, want: []string{"new://{x"}},
		{name: "a template that no match can undo", change: func(i *provider.Info) { i.Templates = []provider.Template{template("new://{x}{y}", "x", "y")} }, want: []string{"new://{x}{y}"}},
		{name: "a variable that the handler does not take", change: func(i *provider.Info) { i.Templates = []provider.Template{template("new://{x}")} }, want: []string{`"x"`}},
		{name: "a variable that the template does not have", change: func(i *provider.Info) { i.Templates = []provider.Template{template("new://{x}", "x", "y")} }, want: []string{`"y"`}},
	}
	narrow := &fake{info: provider.Info{Name: "narrow", Schemes: []string{"docs"}, Only: []string{"docs://team/"}}}
	h := newHost(t, nil, docs("docs"), narrow)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := base()
			tt.change(&f.info)
			err := h.Add(f, nil)
			if err == nil {
				t.Fatal("it was added")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
			if f.events != nil {
				t.Error("it was attached")
			}
			if got := len(h.Providers()); got != 2 {
				t.Errorf("%d providers, want 2", got)
			}
		})
	}
	t.Run("nil", func(t *testing.T) {
		if err := h.Add(nil, nil); err == nil {
			t.Error("it was added")
		}
	})
	t.Run("panics", func(t *testing.T) {
		if err := h.Add(panicky{}, nil); err == nil || !strings.Contains(err.Error(), "Attach") {
			t.Errorf("got %v", err)
		}
		if err := h.Add(&fake{info: provider.Info{Name: "panicky", Schemes: []string{"panicky"}}}, nil); err != nil {
			t.Errorf("its name and claims are not free again: %v", err)
		}
	})
}

type panicky struct{ provider.Unimplemented }

func (panicky) Info() provider.Info {
	return provider.Info{Name: "panicky", Schemes: []string{"panicky"}}
}
func (panicky) Attach(provider.Events) { panic("no") }

func TestAddWarns(t *testing.T) {
	var log logBuffer
	f := &fake{info: provider.Info{
		Name: "w", Schemes: []string{"w"}, Only: []string{"w://in/"},
		Resources: []provider.Resource{{URI: "w://out/a", Name: "a"}, {URI: "w://in/a", Name: "a"}, {URI: "w://IN/a", Name: "b"}},
		Templates: []provider.Template{
			template("w://in/{x}", "x"), template("w://in/{y}", "y"), template("w://out/{x}", "x"),
		},
	}}
	h := newHost(t, &host.Options{Logger: log.logger()}, f)
	for _, want := range []string{
		`w://in/{x}\" and \"w://in/{y}\" match the same URIs`, `w://IN/a\" is there twice`,
		`uri=w://out/a`, "template=w://out/{x}",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
	if diff := cmp.Diff([]string{"w://in/a"}, walk(t, h, nil)); diff != "" {
		t.Errorf("resources (-want +got)\n%s", diff)
	}
	page, err := h.Templates(t.Context(), nil, "")
	if err != nil || len(page.Templates) != 2 {
		t.Errorf("templates: %v, %v", page, err)
	}
	res, err := h.Read(t.Context(), nil, "w://in/q")
	if err != nil || !strings.Contains(string(res.Contents[0].Body), "{x}") {
		t.Errorf("of two equal templates the first is used: %v, %v", res, err)
	}
	if _, err := h.Read(t.Context(), nil, "w://out/a"); codeOf(err) != "not_found" {
		t.Errorf("outside only: %s", codeOf(err))
	}
}

// A generation is closed when its last call has ended, and not before; the new one serves meanwhile.
func TestReplaceClosesTheOldOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, next := docs("docs"), docs("docs")
		old.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
			time.Sleep(5 * time.Second)
			if old.closed.Load() > 0 {
				return nil, errors.New("closed under a call")
			}
			return text("old"), nil
		}
		next.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) { return text("new"), nil }
		h := newHost(t, nil, old)
		done := make(chan error)
		go func() {
			_, err := h.Read(context.Background(), nil, "docs://a")
			done <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := h.Replace(ctx, next, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Replace: %v, want the context's error", err)
		}
		if old.closed.Load() != 0 {
			t.Error("the old one is closed while a call runs")
		}
		res, err := h.Read(context.Background(), nil, "docs://a")
		if err != nil || string(res.Contents[0].Body) != "new" {
			t.Errorf("the new one: %v, %v", res, err)
		}
		if err := <-done; err != nil {
			t.Errorf("the call in flight: %v", err)
		}
		synctest.Wait()
		if old.closed.Load() != 1 || next.closed.Load() != 0 {
			t.Errorf("closed: old %d, new %d", old.closed.Load(), next.closed.Load())
		}
	})
}

func TestReplaceAndRemove(t *testing.T) {
	a, b, c := lister("a", 1), lister("b", 1), lister("c", 1)
	h := newHost(t, nil, a, b, c)
	b2 := lister("b", 2)
	if err := h.Replace(t.Context(), b2, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a://x/0000", "b://x/0000", "b://x/0001", "c://x/0000"}, walk(t, h, nil)); diff != "" {
		t.Errorf("it keeps its place (-want +got)\n%s", diff)
	}
	clash := lister("b", 1)
	clash.info.Schemes = append(clash.info.Schemes, "c")
	if err := h.Replace(t.Context(), clash, nil); err == nil || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("a replacement that claims another's scheme: %v", err)
	}
	if err := h.Replace(t.Context(), lister("x", 1), nil); err == nil {
		t.Error("nobody of that name was replaced")
	}
	if err := h.Remove(t.Context(), "b"); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(t.Context(), "b"); err == nil {
		t.Error("removed twice")
	}
	if b.closed.Load() != 1 || b2.closed.Load() != 1 {
		t.Errorf("closed: %d, %d", b.closed.Load(), b2.closed.Load())
	}
	if _, err := h.Read(t.Context(), nil, "b://x/0000"); codeOf(err) != "not_found" {
		t.Errorf("code %s", codeOf(err))
	}
	if err := h.Add(lister("b", 1), nil); err != nil {
		t.Errorf("its name and claims are not free again: %v", err)
	}
	if err := h.Replace(t.Context(), &fake{info: provider.Info{Name: "c", Schemes: []string{"c"}}, closing: func(context.Context) error { return errors.New("stuck") }}, nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Remove(t.Context(), "c"); err == nil || !strings.Contains(err.Error(), "stuck") {
		t.Errorf("a failing Close: %v", err)
	}
}

// ListChanged makes the host look at Info again; facts that are wrong leave the old ones.
func TestListChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logBuffer
		f := docs("docs")
		h := newHost(t, &host.Options{Logger: log.logger()}, f, lister("a", 0))
		read := func(uri string) string {
			synctest.Wait()
			_, err := h.Read(context.Background(), nil, uri)
			return codeOf(err)
		}
		if got := read("docs://x/1"); got != "not_found" {
			t.Errorf("before: %s", got)
		}
		f.setInfo(func(i *provider.Info) { i.Templates = append(i.Templates[:1:1], template("docs://x/{y}", "y")) })
		if got := read("docs://x/1"); got != "ok" {
			t.Errorf("after: %s", got)
		}
		for _, wrong := range []func(*provider.Info){
			func(i *provider.Info) { i.Schemes = []string{"docs", "a"} },
			func(i *provider.Info) { i.Schemes = nil },
			func(i *provider.Info) { i.Name = "x" },
		} {
			before := f.Info()
			f.setInfo(wrong)
			if got := read("docs://x/1"); got != "ok" {
				t.Errorf("after wrong facts: %s", got)
			}
			f.setInfo(func(i *provider.Info) { *i = before })
		}
		synctest.Wait()
		if got := strings.Count(log.String(), "the old ones stay"); got != 3 {
			t.Errorf("%d lines, want 3:\n%s", got, log.String())
		}
	})
}

// A ListChanged between Info and the first request is not lost, and one after the end does nothing.
func TestListChangedAtTheEdges(t *testing.T) {
	f := &early{fake: docs("docs")}
	h := newHost(t, nil, f)
	deadline := time.Now().Add(10 * time.Second)
	for {
		if _, err := h.Read(t.Context(), nil, "docs://late/1"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the change was lost")
		}
		time.Sleep(time.Millisecond)
	}
	if err := h.Remove(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	f.events.ListChanged()
	f.events.Updated("docs://a")
}

// early changes its facts while it is attached.
type early struct{ *fake }

func (e *early) Attach(ev provider.Events) {
	e.fake.Attach(ev)
	e.setInfo(func(i *provider.Info) { i.Templates = append(i.Templates, template("docs://late/{y}", "y")) })
}

func TestClose(t *testing.T) {
	t.Run("waits for calls and closes providers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := docs("docs")
			f.read = func(context.Context, *provider.ReadRequest) (*provider.ReadResult, error) {
				time.Sleep(time.Second)
				return text("x"), nil
			}
			h, err := host.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Add(f, nil); err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() {
				_, err := h.Read(context.Background(), nil, "docs://a")
				done <- err
			}()
			synctest.Wait()
			go func() { done <- h.Close(context.Background()) }()
			synctest.Wait()
			if _, err := h.Read(context.Background(), nil, "docs://a"); codeOf(err) != "unavailable" || !errors.Is(err, host.ErrClosed) {
				t.Errorf("a read while closing: %v", err)
			}
			if err := h.Add(lister("a", 1), nil); !errors.Is(err, host.ErrClosed) {
				t.Errorf("an Add while closing: %v", err)
			}
			for range 2 {
				if err := <-done; err != nil {
					t.Error(err)
				}
			}
			if f.closed.Load() != 1 {
				t.Errorf("closed %d times", f.closed.Load())
			}
			if err := h.Close(context.Background()); err != nil {
				t.Errorf("again: %v", err)
			}
			if err := h.ServeStdio(context.Background(), strings.NewReader(""), &strings.Builder{}); !errors.Is(err, host.ErrClosed) {
				t.Errorf("ServeStdio: %v", err)
			}
		})
	})
	t.Run("gives up with its context, and cancels", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := docs("docs")
			f.read = func(ctx context.Context, _ *provider.ReadRequest) (*provider.ReadResult, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			h, err := host.New(&host.Options{Limits: host.Limits{Call: -1}})
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Add(f, nil); err != nil {
				t.Fatal(err)
			}
			done := make(chan error)
			go func() {
				_, err := h.Read(context.Background(), nil, "docs://a")
				done <- err
			}()
			synctest.Wait()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if err := h.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Close: %v", err)
			}
			if err := <-done; codeOf(err) != "canceled" {
				t.Errorf("the call: %v", err)
			}
			if err := h.Close(context.Background()); err != nil {
				t.Errorf("waiting for the end: %v", err)
			}
			if f.closed.Load() != 1 {
				t.Errorf("closed %d times", f.closed.Load())
			}
		})
	})
	t.Run("tells of a provider that fails at it", func(t *testing.T) {
		h, err := host.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		f := docs("docs")
		f.closing = func(context.Context) error { panic("stuck") }
		if err := h.Add(f, nil); err != nil {
			t.Fatal(err)
		}
		if err := h.Close(t.Context()); err == nil || !strings.Contains(err.Error(), `"docs"`) {
			t.Errorf("got %v", err)
		}
	})
}

// Providers come, go and change under readers: no read fails but for a provider that is not there, none reaches a closed
// one, and each is closed once.
func TestHammerProviders(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 50
	}
	h := newHost(t, nil, lister("stay", 7))
	var all sync.Map
	make1 := func(name string) *fake {
		f := lister(name, 5)
		all.Store(f, true)
		return f
	}
	stop := make(chan struct{})
	var readers, changers sync.WaitGroup
	var reads atomic.Int64
	for i := range 4 {
		readers.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := h.Read(context.Background(), nil, "stay://x/0001"); err != nil {
					t.Errorf("read: %v", err)
				}
				switch _, err := h.Read(context.Background(), nil, fmt.Sprintf("p%d://x/0001", i%2)); codeOf(err) {
				case "ok", "not_found":
				default:
					t.Errorf("read: %v", err)
				}
				if page, err := h.List(context.Background(), nil, ""); err != nil || len(page.Resources) < 7 {
					t.Errorf("list: %v, %v", page, err)
				}
				if _, err := h.Complete(context.Background(), nil, &host.CompleteRequest{Template: "stay://x/{id}", Argument: "id"}); codeOf(err) != "unsupported" {
					t.Errorf("complete: %v", err)
				}
				reads.Add(1)
			}
		})
	}
	for i := range 2 {
		changers.Go(func() {
			name := fmt.Sprintf("p%d", i)
			for range rounds {
				f := make1(name)
				if err := h.Add(f, nil); err != nil {
					t.Errorf("add: %v", err)
				}
				f.events.ListChanged()
				if err := h.Replace(context.Background(), make1(name), nil); err != nil {
					t.Errorf("replace: %v", err)
				}
				if err := h.Remove(context.Background(), name); err != nil {
					t.Errorf("remove: %v", err)
				}
			}
		})
	}
	changers.Wait()
	close(stop)
	readers.Wait()
	all.Range(func(k, _ any) bool {
		if n := k.(*fake).closed.Load(); n != 1 {
			t.Errorf("closed %d times", n)
			return false
		}
		return true
	})
	t.Logf("%d rounds of readers", reads.Load())
}
