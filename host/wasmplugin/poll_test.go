package wasmplugin

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// events records what a plugin reports.
type events struct {
	mu    sync.Mutex
	uris  map[string]int
	lists int
	any   chan struct{}
}

func newEvents() *events { return &events{uris: map[string]int{}, any: make(chan struct{}, 1)} }

func (e *events) note(f func()) {
	e.mu.Lock()
	f()
	e.mu.Unlock()
	select {
	case e.any <- struct{}{}:
	default:
	}
}

func (e *events) Updated(uri string) { e.note(func() { e.uris[uri]++ }) }
func (e *events) ListChanged()       { e.note(func() { e.lists++ }) }

func (e *events) counts(uri string) (updates, lists int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.uris[uri], e.lists
}

// wait waits until the events are as wanted.
func (e *events) wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.After(20 * time.Second); !done(); {
		select {
		case <-e.any:
		case <-end:
			t.Fatalf("waiting for %s", what)
		}
	}
}

// polled is the manifest letters with an interval.
var polled = strings.Replace(letters, `"name":"letters",`, `"name":"letters","poll_ms":100,`, 1)

// pollGuest reports letters://a at each poll, and keeps a state.
func pollGuest() *guest {
	g := newGuest(polled)
	return g.read(g.text("x"), ok()).exported(abi.ExportPoll,
		g.record(abi.KindState, (&abi.State{Data: "kept"}).Append(nil)),
		g.record(abi.KindUpdated, (&abi.Updated{URI: "letters://a"}).Append(nil)), ok())
}

// A plugin is polled while something is watched, and only then; the state it keeps is the host's.
func TestPoll(t *testing.T) {
	p, _ := loadGuest(t, pollGuest(), Config{})
	e := newEvents()
	p.Attach(e)
	if !p.Info().Watch {
		t.Fatal("Info does not offer Watch")
	}
	time.Sleep(250 * time.Millisecond)
	if n, _ := e.counts("letters://a"); n != 0 {
		t.Errorf("%d polls while nothing was watched", n)
	}
	for _, uri := range []string{"letters://a", "letters://b"} {
		if err := p.Watch(t.Context(), uri); err != nil {
			t.Fatal(err)
		}
		if n, _ := e.counts("letters://a"); n == 0 {
			t.Error("Watch returned before the plugin was polled")
		}
	}
	e.wait(t, "more polls", func() bool { n, _ := e.counts("letters://a"); return n >= 5 })
	p.Unwatch("letters://a")
	p.Unwatch("letters://b")
	p.background.Wait() // polling has ended
	if p.poll.state != "kept" {
		t.Errorf("state %q", p.poll.state)
	}
	n, _ := e.counts("letters://a")
	if err := p.Watch(t.Context(), "letters://a"); err != nil {
		t.Fatal(err)
	}
	if again, _ := e.counts("letters://a"); again <= n {
		t.Error("no poll after the second Watch")
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	wantCode(t, p.Watch(t.Context(), "letters://a"), provider.Unavailable)
}

// Watching ends in a close, whoever waits; a poll that fails is tried again and fails no Watch.
func TestPollFails(t *testing.T) {
	g := newGuest(polled)
	p, log := loadGuest(t, g.read(g.text("x"), ok()).exported(abi.ExportPoll, op(0x00)), Config{})
	if err := p.Watch(t.Context(), "letters://a"); err != nil {
		t.Errorf("Watch: %v", err)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "a poll failed") {
		t.Errorf("log: %s", log)
	}
}

// What the manifest does not ask for, or the operator switched off, is not polled, and cannot be watched.
func TestNoPoll(t *testing.T) {
	g := newGuest(letters)
	plain, _ := loadGuest(t, g.read(g.text("x"), ok()).exported(abi.ExportPoll, ok()), Config{})
	off, _ := loadGuest(t, pollGuest(), Config{Poll: -1})
	for _, p := range []*Plugin{plain, off} {
		if p.Info().Watch {
			t.Error("Info offers Watch")
		}
		wantCode(t, p.Watch(t.Context(), "letters://a"), provider.Unsupported)
		p.Unwatch("letters://a")
	}
}

// Of more URIs than fit in a request, each poll names some, and all are named in turn.
func TestPollInTurns(t *testing.T) {
	o := &poller{watched: map[string]bool{}, wake: make(chan struct{}, 1), over: make(chan struct{})}
	const n = 400
	for i := range n {
		o.watched[strings.Repeat("x", 8000)+string(rune('0'+i/100))+string(rune('0'+i/10%10))+string(rune('0'+i%10))] = true
	}
	seen := map[string]bool{}
	from := ""
	for range 8 {
		uris, _ := o.next(&from)
		size := 0
		for _, u := range uris {
			seen[u] = true
			size += len(u)
		}
		if size > maxPollRequest {
			t.Fatalf("%d bytes in one request", size)
		}
	}
	if len(seen) != n {
		t.Errorf("%d of %d were named", len(seen), n)
	}
}

func TestJitter(t *testing.T) {
	for range 1000 {
		if d := jitter(time.Second); d < 900*time.Millisecond || d > 1100*time.Millisecond {
			t.Fatalf("jitter of a second: %v", d)
		}
	}
}

// WSM-06: a flood of events goes out as one report that everything changed, once a second.
func TestEventRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := eventGate{rate: 200}
		all, passed := 0, 0
		for range 10_000 {
			if g.admit(1, func() { all++ }) {
				passed++
			}
		}
		time.Sleep(1100 * time.Millisecond)
		synctest.Wait()
		if passed != 200 || all != 1 {
			t.Errorf("%d passed and %d reports of all, want 200 and 1", passed, all)
		}
		if !g.admit(200, nil) {
			t.Error("the next second does not begin anew")
		}
		if g.admit(1, func() { t.Error("a report after close") }) {
			t.Error("more than the rate passed")
		}
		g.close()
		time.Sleep(2 * time.Second)
	})
}

// Above the rate every watched URI counts as updated, and the list as changed.
func TestEventFlood(t *testing.T) {
	p, _ := loadGuest(t, pollGuest(), Config{Limits: Limits{EventRate: 1}})
	e := newEvents()
	p.Attach(e)
	if err := p.Watch(t.Context(), "letters://b"); err != nil {
		t.Fatal(err)
	}
	e.wait(t, "everything to be reported", func() bool { n, lists := e.counts("letters://b"); return n > 0 && lists > 0 })
}

// TestConformanceGuest: the example's watched resource is reported once it changed, every two seconds, by what its state says.
func TestConformanceGuest(t *testing.T) {
	r, _ := testRuntime(t, nil)
	wasm, err := r.Pack(t.Context(), buildGuest(t, "../../examples/conformance"))
	if err != nil {
		t.Fatal(err)
	}
	p := load(t, r, wasm, Config{Poll: 100 * time.Millisecond, Limits: Limits{Timeout: time.Minute}})
	e := newEvents()
	p.Attach(e)
	if err := p.Watch(t.Context(), "test://watched-resource"); err != nil {
		t.Fatal(err)
	}
	e.wait(t, "two updates", func() bool { n, _ := e.counts("test://watched-resource"); return n >= 2 })
}

// TestPollsRestWithThePlugin: a plugin that is not to be called for a while is not polled meanwhile, whatever its interval.
func TestPollsRestWithThePlugin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lockedBuffer{}
		r, err := NewRuntime(t.Context(), &Options{
			Logger:   slog.New(slog.NewTextHandler(log, nil)),
			Compiler: compilerFunc(func(context.Context, *CompileJob) error { return errors.New("not today") }),
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Open(t.Context(), &Config{Wasm: pollGuest().bytes()})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Watch(t.Context(), "letters://a"); err != nil {
			t.Error(err)
		}
		time.Sleep(30 * time.Second)
		if n := strings.Count(log.String(), "a poll failed"); n < 1 || n > 2 { // the watch may wake it once more
			t.Errorf("%d polls in half a minute:\n%s", n, log)
		}
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
