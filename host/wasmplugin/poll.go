package wasmplugin

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// poller asks a plugin for changes: rh_poll, on an interval with jitter, while something is watched. It keeps the guest's STATE
// from one poll to the next, on whatever instance that runs.
type poller struct {
	plugin   *Plugin
	interval time.Duration
	// base ends the polls when the plugin closes.
	base context.Context
	stop context.CancelFunc

	mu sync.Mutex // guards what follows
	// watched are the URIs, by which the host knows them.
	watched map[string]bool
	// wake ends a pause early; it is nil while nobody polls.
	wake   chan struct{}
	closed bool
	// begun and ended count polls; over is closed and replaced at each end.
	begun, ended uint64
	over         chan struct{}

	// turn is held by the poll under way, one at a time: each is given the state that the one before left.
	turn chan struct{}
	// state is the guest's own.
	state string
}

const (
	// minPoll is the shortest interval, whoever asks for it.
	minPoll = 100 * time.Millisecond
	// maxPoll is the longest interval that a guest may ask for by INFO.
	maxPoll = 24 * time.Hour
	// maxPollRequest bounds the URIs of one poll, in bytes. Of more, each poll names as many as fit, and the next goes on.
	maxPollRequest = 1 << 20
)

// newPoller returns what polls p; nil when the plugin has nothing to poll.
func newPoller(p *Plugin) *poller {
	interval := p.manifest.Poll
	if interval <= 0 || !p.exports[abi.ExportPoll] || p.cfg.Poll < 0 {
		return nil
	}
	if p.cfg.Poll > 0 {
		interval = p.cfg.Poll
	}
	o := &poller{plugin: p, interval: max(interval, minPoll), watched: map[string]bool{}, over: make(chan struct{}), turn: make(chan struct{}, 1)}
	o.base, o.stop = context.WithCancel(context.Background())
	return o
}

// watch adds a URI and returns when a poll that knows of it is over, so that the guest can tell a later change from what it saw
// then. A poll that fails does not matter: the next one comes.
func (o *poller) watch(ctx context.Context, uri string) error {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return provider.Errorf(provider.Unavailable, "the plugin is closing")
	}
	o.watched[uri] = true
	want := o.begun + 1
	if o.wake == nil {
		o.wake = make(chan struct{}, 1)
		o.plugin.background.Go(o.run)
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
	for o.ended < want && !o.closed {
		over := o.over
		o.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
			o.unwatch(uri)
			return ctx.Err()
		}
		o.mu.Lock()
	}
	o.mu.Unlock()
	return nil
}

// unwatch removes a URI; after the last one, polling ends.
func (o *poller) unwatch(uri string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.watched, uri)
	if len(o.watched) == 0 && o.wake != nil {
		select {
		case o.wake <- struct{}{}: // to see that
		default:
		}
	}
}

// close ends polling for good. The plugin waits for the goroutine.
func (o *poller) close() {
	o.stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.wake == nil {
		return
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run polls until nothing is watched.
func (o *poller) run() {
	from := ""
	for {
		uris, wake := o.next(&from)
		if uris == nil {
			return
		}
		pause := o.poll(uris)
		o.finish()
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-wake:
		}
		timer.Stop()
	}
}

// next returns the URIs of the poll that begins now; nil when the goroutine is to end. from is where the last one stopped.
func (o *poller) next(from *string) (uris []string, wake <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed || len(o.watched) == 0 {
		o.wake = nil
		o.ended = o.begun + 1 // nobody waits for a poll that does not come
		o.begun = o.ended
		close(o.over)
		o.over = make(chan struct{})
		return nil, nil
	}
	o.begun++
	all := make([]string, 0, len(o.watched))
	size := 0
	for u := range o.watched {
		all = append(all, u)
		size += len(u)
	}
	slices.Sort(all)
	if size <= maxPollRequest {
		*from = ""
		return all, o.wake
	}
	at, _ := slices.BinarySearch(all, *from)
	all = append(all[at:], all[:at]...)
	n, left := 0, maxPollRequest
	for n < len(all) && left >= len(all[n]) {
		left -= len(all[n])
		n++
	}
	*from = all[n%len(all)]
	return all[:n], o.wake
}

// finish counts a poll as over.
func (o *poller) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = o.begun
	close(o.over)
	o.over = make(chan struct{})
}

// poll runs rh_poll and returns the pause until the next.
func (o *poller) poll(uris []string) time.Duration {
	next, err := o.ask(o.base, &abi.PollRequest{Watched: uris})
	interval := o.interval
	var known *provider.Error
	switch {
	case err != nil && o.base.Err() == nil:
		if errors.As(err, &known) { // the plugin rests, or says itself when to come again
			interval = max(interval, min(known.RetryAfter, longestRest))
		}
		o.plugin.log.log.Warn("a poll failed; the next one comes", "error", err, "pause", interval)
	case next > 0:
		interval = next
	}
	return jitter(interval)
}

// ask runs rh_poll with what req says beside the state. next is what the guest wants for a pause; 0: it does not say.
func (o *poller) ask(ctx context.Context, req *abi.PollRequest) (next time.Duration, err error) {
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	s := &pollSink{}
	c := &call{export: abi.ExportPoll, sink: s, served: o.plugin.served.Load()}
	req.State = o.state
	status, err := o.plugin.run(ctx, c, nil, func(common abi.Common) []byte {
		req.NowMillis, req.DeadlineMillis, req.HostMinor = common.NowMillis, common.DeadlineMillis, common.HostMinor
		return req.Append(nil)
	})
	if err == nil {
		err = c.statusError(status)
	}
	if err != nil {
		return 0, err
	}
	if s.set {
		o.state = s.state
	}
	return s.next, nil
}

// jitter spreads the polls of many plugins that began together: up to a tenth more or less.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}

// pollSink keeps what rh_poll emits.
type pollSink struct {
	noWrite
	state string
	set   bool
	next  time.Duration
}

func (s *pollSink) take(c *call, kind abi.Kind, data string) abi.Reply {
	switch kind {
	case abi.KindState:
		state, reply := c.takeState(data)
		if reply != abi.ReplyContinue {
			return reply
		}
		s.state, s.set = state, true
	case abi.KindInfo:
		var m abi.Info
		if err := m.Decode(data); err != nil {
			return c.reject("%s: %v", kind, err)
		}
		if m.NextPollMillis > 0 {
			next := time.Duration(min(m.NextPollMillis, uint64(maxPoll/time.Millisecond))) * time.Millisecond
			s.next = max(next, minPoll)
		}
	}
	return abi.ReplyContinue
}
