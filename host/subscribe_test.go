package host_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// SUB-02: the acknowledgement is the first message of every stream, while the resource changes all the time.
func TestAcknowledgementFirst(t *testing.T) {
	p := memory(t)
	h := newHost(t, &host.Options{Limits: host.Limits{PrincipalSubscriptions: -1}}, p)
	w := newWire(t, h.Handler(), false)
	over := newPipe(t, h)
	var work sync.WaitGroup
	var stop atomic.Bool
	work.Go(func() {
		for !stop.Load() {
			set(t, p, "a")
			time.Sleep(100 * time.Microsecond)
		}
	})
	for i := range 100 {
		s := w.listen(fmt.Sprint(i), filterA)
		s.want("ack docs://a", "updated docs://a")
		s.close()
	}
	const ids = 50
	for i := range ids {
		over.listen(fmt.Sprint(i), filterA)
	}
	acknowledged, updated := map[string]bool{}, map[string]bool{}
	for len(updated) < ids {
		e := over.next()
		id := string(e.Params.Meta.ID)
		if first := !acknowledged[id]; first != strings.HasPrefix(e.String(), "ack") {
			t.Fatalf("subscription %s: %v, first=%v", id, e, first)
		}
		if acknowledged[id] {
			updated[id] = true
		}
		acknowledged[id] = true
	}
	stop.Store(true)
	work.Wait()
}

// SUB-03: updates go to those who asked, and one who cancels takes nobody along.
func TestUpdatesGoToWhoAsked(t *testing.T) {
	p := memory(t)
	h := newHost(t, nil, p)
	w := newWire(t, h.Handler(), false)
	a, b := w.listen("1", filterA), w.listen(`"1"`, `{"resourceSubscriptions":["docs://b"]}`)
	c, d := w.listen("1", `{"resourcesListChanged":true}`), w.listen("4", filterA)
	session, other := w.session(), w.session()
	e, f := w.stream(http.MethodGet, "", session...), w.stream(http.MethodGet, "", other...)
	if got := w.call(session, "resources/subscribe", `{"uri":"docs://a"}`); got.String() != "result" {
		t.Fatalf("subscribe: %v", got)
	}
	for s, want := range map[*stream]string{a: "ack docs://a", b: "ack docs://b", c: "ack ", d: "ack docs://a"} {
		s.want(want)
	}
	set(t, p, "a")
	first := a.next()
	if first.String() != "updated docs://a" || string(first.Params.Meta.ID) != "1" {
		t.Errorf("A got %v of %s", first, first.Params.Meta.ID)
	}
	second := d.next()
	if second.String() != "updated docs://a" || string(second.Params.Meta.ID) != "4" {
		t.Errorf("D got %v of %s", second, second.Params.Meta.ID)
	}
	third := e.next()
	if third.String() != "updated docs://a" || third.Params.Meta.ID != nil {
		t.Errorf("E got %v of %s", third, third.Params.Meta.ID)
	}
	a.close()
	set(t, p, "a")
	d.want("updated docs://a")
	e.want("updated docs://a")
	for _, s := range []*stream{b, c, f} {
		s.none()
	}
}

// E2: unsubscribing removes a session's own subscription only; what nobody serves, or the policy refuses, is -32002.
func TestLegacySubscriptions(t *testing.T) {
	p := memory(t)
	h := newHost(t, &host.Options{Policy: policyFunc(func(r *host.PolicyRequest) bool {
		return r.Op != host.OpWatch || r.URI != "docs://b"
	})}, p)
	w := newWire(t, h.Handler(), false)
	one, two := w.session(), w.session()
	for _, s := range [][]string{one, two} {
		if e := w.call(s, "resources/subscribe", `{"uri":"docs://a"}`); e.Error != nil {
			t.Fatalf("subscribe: %v", e.Error)
		}
	}
	for _, uri := range []string{"docs://b", "other://x"} {
		if e := w.call(one, "resources/subscribe", `{"uri":"`+uri+`"}`); e.Error == nil || e.Error.Code != -32002 {
			t.Errorf("subscribe to %s: %+v", uri, e.Error)
		}
	}
	w.call(one, "resources/unsubscribe", `{"uri":"docs://a"}`)
	set(t, p, "a") // before there is a stream: it waits
	first, second := w.stream(http.MethodGet, "", one...), w.stream(http.MethodGet, "", two...)
	second.want("updated docs://a")
	first.none()
	p.Delete("b") // lists changed: both sessions hear of that
	for _, s := range []*stream{first, second} {
		s.want("list_changed")
	}
	resp := w.request(t.Context(), http.MethodDelete, "", two...)
	resp.Body.Close()
	second.want("the end")
}

// SUB-05, SUB-08: every kind of client hears of everything once, over every transport.
func TestEveryTransport(t *testing.T) {
	p := memory(t)
	h := newHost(t, nil, p)
	old, young := newWire(t, h.Handler(), false), newWire(t, h.Handler(), true)
	filter := `{"resourcesListChanged":true,"resourceSubscriptions":["docs://a"]}`
	session := old.session()
	over, legacy := newPipe(t, h), newPipe(t, h)
	over.listen("1", filter)
	legacy.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	legacy.want("result")
	legacy.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"docs://a"}}`)
	legacy.want("result")
	old.call(session, "resources/subscribe", `{"uri":"docs://a"}`)
	all := []*stream{old.listen("1", filter), young.listen("1", filter), &over.stream}
	for _, s := range all {
		s.want("ack docs://a")
	}
	all = append(all, old.stream(http.MethodGet, "", session...), &legacy.stream)
	other := docs("other")
	other.info.Schemes, other.info.Resources, other.info.Templates = []string{"other"}, nil, nil
	if err := h.Add(other, nil); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		s.want("list_changed")
	}
	set(t, p, "a")
	for _, s := range all {
		s.want("updated docs://a")
	}
	for _, s := range all {
		s.none()
	}
}

// SUB-06: on a pipe subscriptions are told apart by their id alone, and odd cancellations change nothing.
func TestCancelOnePipe(t *testing.T) {
	p := memory(t)
	c := newPipe(t, newHost(t, nil, p))
	cancel := func(id string) {
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
	}
	c.listen("1", filterA)
	c.nextOf("1")
	c.listen("2", filterA)
	c.nextOf("2")
	cancel("1")
	c.send(message("3", "resources/list", "")) // answered after the cancellation is read
	c.want("result")
	set(t, p, "a")
	c.nextOf("2")
	c.none()
	for _, id := range []string{"1", "99", `"2"`, "2.0", "null", "[2]"} {
		cancel(id)
	}
	set(t, p, "a")
	c.nextOf("2")
	c.none()
	c.listen("2", filterA) // P8: the id is in flight
	c.want("error")
	c.listen("1", filterA) // and this one is free again
	c.nextOf("1")
}

// SUB-11, S1: what is not asked for is not sent, and what is not served is not acknowledged.
func TestFilters(t *testing.T) {
	p := memory(t)
	w := newWire(t, newHost(t, nil, p).Handler(), false)
	empty := w.listen("1", `{}`)
	if e := empty.next(); e.Params.Notifications == nil || e.Params.Notifications.List != nil || e.Params.Notifications.URIs != nil {
		t.Errorf("the acknowledgement of nothing: %+v", e.Params.Notifications)
	}
	tools := w.listen("3", `{"toolsListChanged":true,"resourceSubscriptions":[]}`)
	if e := tools.next(); e.Params.Notifications.Tools != nil || e.Params.Notifications.URIs == nil {
		t.Errorf("tools: %+v", e.Params.Notifications)
	}
	twice := w.listen("4", `{"resourceSubscriptions":["docs://a","docs://a","not a uri","docs://folder"]}`)
	twice.want("ack docs://a docs://folder")
	set(t, p, "a")
	twice.want("updated docs://a")
	set(t, p, "folder/c") // S3: a sub-resource, by its own URI
	twice.want("updated docs://folder/c")
	set(t, p, "new")
	for _, s := range []*stream{empty, tools, twice} {
		s.none()
	}
}

// A client is told in its own spelling of a URI.
func TestSpellings(t *testing.T) {
	p := memory(t)
	s := newWire(t, newHost(t, nil, p).Handler(), false).listen("1", `{"resourceSubscriptions":["DOCS://%61"]}`)
	s.want("ack DOCS://%61")
	set(t, p, "a")
	s.want("updated DOCS://%61")
}

// The end of the server is the completed response, as the last message over HTTP and with notifications/cancelled behind it on
// a pipe: 100 of 100.
func TestCloseEndsSubscriptions(t *testing.T) {
	h := newHost(t, nil, memory(t))
	w := [2]*wire{newWire(t, h.Handler(), false), newWire(t, h.Handler(), true)}
	var streams []*stream
	for i := range 80 {
		s := w[i%2].listen(fmt.Sprint(i), filterA)
		s.want("ack docs://a")
		streams = append(streams, s)
	}
	c := newPipe(t, h)
	for i := range 20 {
		c.listen(fmt.Sprint(i), filterA)
		c.want("ack docs://a")
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, s := range streams {
		e := s.next()
		if e == nil || e.String() != "result" || string(e.ID) != fmt.Sprint(i) {
			t.Fatalf("stream %d ended with %v", i, e)
		}
		s.want("the end")
	}
	ended := map[string]bool{}
	for range 20 {
		e := c.next()
		if e.String() != "result" || ended[string(e.ID)] {
			t.Fatalf("the pipe ended with %v", e)
		}
		ended[string(e.ID)] = true
		c.want("cancelled " + string(e.ID))
	}
	c.want("the end")
	if err := <-c.done; err != nil {
		t.Errorf("ServeStdio: %v", err)
	}
}

// The end of a pipe's input ends its subscriptions in the same way, and at once.
func TestEndOfInputEndsSubscriptions(t *testing.T) {
	c := newPipe(t, newHost(t, nil, memory(t)))
	c.listen("1", filterA)
	c.want("ack docs://a")
	begun := time.Now()
	c.in.Close()
	c.want("result", "cancelled 1", "the end")
	if d := time.Since(begun); d > 3*time.Second {
		t.Errorf("it took %v", d)
	}
}

// H2: a listen request whose client takes no events is 406, with its id. A refused one costs a status of its own.
func TestListenRefused(t *testing.T) {
	h := newHost(t, &host.Options{Limits: host.Limits{PrincipalSubscriptions: 1, SubscriptionURIs: 2}, Principal: bearer}, memory(t))
	w := newWire(t, h.Handler(), false)
	head := []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen", "Authorization", "Bearer ann"}
	try := func(filter string, header ...string) (int, *event) {
		body := message("7", "subscriptions/listen", `"notifications":`+filter)
		resp := w.request(t.Context(), http.MethodPost, body, append(slices.Clone(head), header...)...)
		defer resp.Body.Close()
		e := &event{}
		decodeInto(t, resp.Body, e)
		return resp.StatusCode, e
	}
	if status, e := try(filterA, "Accept", "application/json"); status != http.StatusNotAcceptable || string(e.ID) != "7" {
		t.Errorf("JSON only: %d, %v", status, e)
	}
	if status, e := try(`{"resourceSubscriptions":["docs://1","docs://2","docs://3"]}`); status != http.StatusOK || e.Error.Code != -32602 {
		t.Errorf("too many URIs: %d, %v", status, e.Error)
	}
	s := w.listen("1", filterA, "Authorization", "Bearer ann")
	s.want("ack docs://a")
	if status, e := try(filterA); status != http.StatusTooManyRequests || string(e.ID) != "7" {
		t.Errorf("a second stream: %d, %v", status, e)
	}
	bob := w.listen("1", filterA, "Authorization", "Bearer bob")
	bob.want("ack docs://a")
}

// A listen stream takes no place among the requests.
func TestListenTakesNoSlot(t *testing.T) {
	h := newHost(t, &host.Options{Limits: host.Limits{Requests: 1}}, memory(t))
	w := newWire(t, h.Handler(), false)
	c := newPipe(t, h)
	for i := range 3 {
		w.listen(fmt.Sprint(i), filterA).want("ack docs://a")
		c.listen(fmt.Sprint(i), filterA)
		c.want("ack docs://a")
	}
	if _, err := h.Read(t.Context(), nil, "docs://a"); err != nil {
		t.Errorf("a read beside streams: %v", err)
	}
}

// The policy is asked at attach and again at delivery: rights that are lost end that URI. What is refused and what nobody
// serves look alike, and whether something exists is not asked.
func TestPolicyOfSubscriptions(t *testing.T) {
	p := memory(t)
	var lost atomic.Bool
	h := newHost(t, &host.Options{Policy: policyFunc(func(r *host.PolicyRequest) bool {
		return r.Op != host.OpWatch || r.URI != "docs://b" && r.URI != "docs://folder/secret" && (r.URI != "docs://a" || !lost.Load())
	})}, p)
	s := newWire(t, h.Handler(), false).listen("1", `{"resourceSubscriptions":["docs://b","docs://a","nobody://x","docs://later","docs://folder"]}`)
	s.want("ack docs://a docs://later docs://folder")
	set(t, p, "later")
	s.want("updated docs://later")
	set(t, p, "folder/secret")
	set(t, p, "folder/c")
	s.want("updated docs://folder/c")
	lost.Store(true)
	set(t, p, "a")
	set(t, p, "later")
	s.want("updated docs://later")
	lost.Store(false)
	set(t, p, "a") // its watch has ended
	s.none()
}

// watcher is a fake that records what it watches.
type watcher struct {
	*fake
	mu      sync.Mutex
	watched []string
}

func newWatcher(name string) *watcher {
	f := docs(name)
	f.info.Watch = true
	return &watcher{fake: f}
}

func (w *watcher) Watch(_ context.Context, uri string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = append(w.watched, "+"+uri)
	return nil
}

func (w *watcher) Unwatch(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watched = append(w.watched, "-"+uri)
}

func (w *watcher) took() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.watched
	w.watched = nil
	return list
}

// A provider's events count for what is its own; a replaced one's for nothing, and its watches go to the new one.
func TestEventsOfGenerations(t *testing.T) {
	var log logBuffer
	old, young := newWatcher("docs"), newWatcher("docs")
	h := newHost(t, &host.Options{Logger: log.logger()}, old)
	s := newWire(t, h.Handler(), false).listen("1", `{"resourceSubscriptions":["docs://x","docs://y"],"resourcesListChanged":true}`)
	s.want("ack docs://x docs://y")
	old.events.Updated("docs://x")
	s.want("updated docs://x")
	for range 100 {
		old.events.Updated("foreign://x")
	}
	old.events.Updated("docs://too/deep")
	if n := strings.Count(log.String(), "not its own"); n != 7 {
		t.Errorf("%d log lines for 101 strange updates, want 7", n)
	}
	if err := h.Replace(t.Context(), young, nil); err != nil {
		t.Fatal(err)
	}
	got := []string{s.next().String(), s.next().String(), s.next().String()}
	slices.Sort(got)
	if d := cmp.Diff([]string{"list_changed", "updated docs://x", "updated docs://y"}, got); d != "" {
		t.Errorf("after Replace (-want +got):\n%s", d)
	}
	watched := young.took()
	slices.Sort(watched)
	if d := cmp.Diff([]string{"+docs://x", "+docs://y"}, watched); d != "" {
		t.Errorf("the new one watches (-want +got):\n%s", d)
	}
	old.events.Updated("docs://x")
	s.none()
	young.events.Updated("docs://y")
	s.want("updated docs://y")
	if err := h.Remove(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	s.want("list_changed")
}

// D2: subscribe is a capability only where some provider watches.
func TestSubscribeCapability(t *testing.T) {
	for _, tt := range []struct {
		name  string
		watch bool
		want  string
	}{
		{"none watches", false, `"resources":{"listChanged":true}`},
		{"one watches", true, `"resources":{"subscribe":true,"listChanged":true}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newWatcher("docs")
			p.info.Watch = tt.watch
			w := post(newHost(t, nil, p).Handler(), remote, "server/discover", "", "")
			if !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("got %s", w.Body)
			}
		})
	}
}

// Watch of an embedder: what cannot be watched is an error at once, the end of the host one at the end.
func TestWatch(t *testing.T) {
	p := memory(t)
	h := newHost(t, nil, p)
	for _, err := range h.Watch(t.Context(), nil, "docs://a", "nobody://x") {
		if provider.CodeOf(err) != provider.NotFound {
			t.Errorf("got %v", err)
		}
	}
	next := make(chan string)
	ended := make(chan error, 1)
	go func() {
		defer close(next)
		for c, err := range h.Watch(t.Context(), nil, "docs://a") {
			if err != nil {
				ended <- err
				return
			}
			next <- c.URI
		}
	}()
	var setting sync.WaitGroup
	heard := make(chan struct{})
	setting.Go(func() {
		for {
			set(t, p, "a")
			select {
			case <-heard:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	if uri := <-next; uri != "docs://a" {
		t.Errorf("got %q", uri)
	}
	close(heard)
	setting.Wait()
	go func() {
		for range next {
		}
	}()
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, host.ErrClosed) {
		t.Errorf("at the end: %v", err)
	}
}

// A stuck reader delays nobody: 200 streams hear of a change at once while others do not read at all.
func TestStuckReadersDelayNobody(t *testing.T) {
	p := memory(t)
	h := newHost(t, &host.Options{Limits: host.Limits{WriteStall: time.Second}}, p)
	w := newWire(t, h.Handler(), false)
	filter := `{"resourceSubscriptions":["docs://a"]}`
	for i := range 20 {
		resp := w.request(t.Context(), http.MethodPost, message(fmt.Sprint(i), "subscriptions/listen", `"notifications":`+filter),
			"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
		defer resp.Body.Close() // it is never read
	}
	streams := make([]*stream, 200)
	for i := range streams {
		streams[i] = w.listen(fmt.Sprint(i), filter)
		streams[i].want("ack docs://a")
	}
	begun := time.Now()
	set(t, p, "a")
	for _, s := range streams {
		s.want("updated docs://a")
	}
	if d := time.Since(begun); d > 900*time.Millisecond {
		t.Errorf("it took %v", d)
	}
}
