package wasmplugin

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// State is how far a plugin is.
type State string

// The states of a plugin.
const (
	// StateWaiting: it waits for its turn to be compiled.
	StateWaiting State = "waiting"
	// StateCompiling: it is compiled, or its code is taken from the cache.
	StateCompiling State = "compiling"
	// StateStarting: its first instance starts.
	StateStarting State = "starting"
	// StateReady: it answers.
	StateReady State = "ready"
	// StateFailed: it could not be compiled or started, answers unavailable, and is tried again.
	StateFailed State = "failed"
)

// Status is how a plugin is, for operators.
type Status struct {
	// Name of the plugin in the host.
	Name string
	// State, and since when.
	State State
	Since time.Time
	// Reason of StateFailed, in one line, and when it is tried again without anybody's doing.
	Reason  string
	RetryAt time.Time
	// Breaker of a plugin that is ready; while it is not closed, RetryAt is the end of the plugin's rest.
	Breaker BreakerState
}

// Available reports whether calls reach the plugin.
func (s *Status) Available() bool { return s.State == StateReady && s.Breaker != BreakerOpen }

// How long a plugin that failed rests before it is tried again, twice as long after each failure. What does not compile is
// unlikely to do so later, and costs more to find out.
const (
	firstStartPause   = time.Second
	longestStartPause = 5 * time.Minute
	firstCodePause    = time.Minute
	longestCodePause  = time.Hour
)

// preparation compiles and starts a plugin in the background, until that has succeeded.
type preparation struct {
	// ctx ends with the plugin. Its life is nobody's call.
	ctx  context.Context
	stop context.CancelFunc
	// ready is set once, when calls may go on.
	ready atomic.Bool
	// again asks for the next attempt at once.
	again chan struct{}
	// work is the goroutine that attempts.
	work sync.WaitGroup

	mu      sync.Mutex // guards the rest
	state   State
	since   time.Time
	err     error
	retryAt time.Time
	// attempt is closed when the attempt under way is over; between attempts it is that of the last one.
	attempt chan struct{}
	// failed says that an attempt has failed.
	failed bool
	// waiting counts callers that wait for the first attempt.
	waiting int
	// missed says that a list was asked for meanwhile.
	missed bool
}

func newPreparation() *preparation {
	r := &preparation{
		state: StateWaiting, since: time.Now(), again: make(chan struct{}, 1), attempt: make(chan struct{}),
	}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// enter notes a state of the attempt under way.
func (r *preparation) enter(s State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.since = s, time.Now()
}

// begin notes that an attempt follows one that failed, and reports whether that was not known yet.
func (r *preparation) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != StateFailed {
		return false
	}
	r.state, r.since, r.err, r.retryAt = StateWaiting, time.Now(), nil, time.Time{}
	r.attempt = make(chan struct{})
	return true
}

// succeed lets calls in. It reports whether somebody missed a list meanwhile.
func (r *preparation) succeed() (missed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.since = StateReady, time.Now()
	r.ready.Store(true)
	close(r.attempt)
	return r.missed
}

// fail ends an attempt; the next one comes after the pause.
func (r *preparation) fail(err error, pause time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state, r.since, r.err, r.failed = StateFailed, time.Now(), err, true
	r.retryAt = r.since.Add(pause)
	close(r.attempt)
}

// prepareInBackground attempts until one attempt succeeds or the plugin is closed.
func (p *Plugin) prepareInBackground() {
	r := p.prep
	pause, startPause := firstCodePause, firstStartPause
	for {
		began := time.Now()
		err := p.prepare(r.ctx)
		if err == nil {
			p.log.log.Info("the plugin is ready", "took", time.Since(began).Round(time.Millisecond))
			p.prepared()
			return
		}
		if r.ctx.Err() != nil {
			r.fail(stopping(), 0)
			return
		}
		rest := jitter(pause)
		if p.code != nil {
			rest, startPause = jitter(startPause), min(2*startPause, longestStartPause)
		} else {
			pause = min(2*pause, longestCodePause)
		}
		r.fail(err, rest)
		p.log.log.Error("the plugin is unavailable", "error", err, "retry", rest.Round(time.Second))
		timer := time.NewTimer(rest)
		select {
		case <-timer.C:
		case <-r.again:
		case <-r.ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		r.begin()
	}
}

// prepare compiles the plugin, where that has not succeeded yet, and starts its first instance.
func (p *Plugin) prepare(ctx context.Context) error {
	if p.code == nil {
		if err := p.compile(ctx); err != nil {
			return err
		}
	}
	p.prep.enter(StateStarting)
	return p.first(ctx)
}

// prepared lets calls in and tells the host what it could not know before.
func (p *Plugin) prepared() {
	missed := p.prep.succeed()
	if events := p.events.Load(); events != nil && (missed || p.toldOtherwise()) {
		events.ListChanged()
	}
}

// compile takes the plugin's code from the cache, or compiles it, and links it with the host's functions. Nothing runs yet.
func (p *Plugin) compile(ctx context.Context) error {
	r := p.runtime
	entry := r.code.acquire(digestOf(p.plan.metered.Wasm))
	job := &compileJob{name: p.name, wasm: p.plan.metered.Wasm, entered: p.prep.enter}
	code, err := r.compile(ctx, entry, job)
	if err != nil {
		return err
	}
	if err := p.plan.link.instantiate(ctx, code.runtime); err != nil {
		return errors.Join(err, r.code.release(context.WithoutCancel(ctx), entry, code))
	}
	p.entry, p.code, p.plan = entry, code, nil
	return nil
}

// await waits until calls may go on. While the first attempt is under way callers wait, as many as in the pool's queue;
// afterwards who comes in between is told when to come again.
func (p *Plugin) await(ctx context.Context) error {
	r := p.prep
	if r.ready.Load() {
		return nil
	}
	r.mu.Lock()
	attempt, first := r.attempt, !r.failed
	if first && p.limits.Queue >= 0 && r.waiting >= p.limits.Queue+p.limits.Instances {
		r.mu.Unlock()
		return provider.Errorf(provider.Unavailable, "the plugin is busy: too many requests wait for it")
	}
	r.waiting++
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.waiting--
		r.mu.Unlock()
	}()
	if first {
		select {
		case <-attempt:
		case <-r.ctx.Done():
			return stopping()
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return ctx.Err()
			}
		}
	}
	return p.unavailable()
}

// unavailable returns why calls may not go on; nil when they may.
func (p *Plugin) unavailable() error {
	r := p.prep
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.state {
	case StateReady:
		return nil
	case StateFailed:
		e := provider.Wrap(provider.Unavailable, r.err, "the plugin cannot be started")
		e.RetryAfter = max(time.Until(r.retryAt), time.Second)
		return e
	}
	return &provider.Error{Code: provider.Unavailable, Message: "the plugin is being prepared", RetryAfter: time.Second}
}

// listGrace is how long after a plugin was opened lists wait for it: what is compiled already is ready by then.
const listGrace = 2 * time.Second

// listable is await for lists: they wait for a moment, and then lack what the plugin would add until it is ready, which is
// told as a change of the list.
func (p *Plugin) listable(ctx context.Context) error {
	r := p.prep
	if r.ready.Load() {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, p.started.Add(listGrace))
	defer cancel()
	err := p.await(ctx)
	if provider.CodeOf(err) == provider.Unavailable {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ready.Load() { // in between
			return nil
		}
		r.missed = true
	}
	return err
}

// Ready waits until the plugin answers, or the attempt to get it there has failed: then it returns why. The plugin tries on,
// until it is closed.
func (p *Plugin) Ready(ctx context.Context) error {
	r := p.prep
	r.mu.Lock()
	attempt := r.attempt
	r.mu.Unlock()
	select {
	case <-attempt:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Retry has a plugin that failed tried again now. It does not wait; Ready does.
func (p *Plugin) Retry() {
	if p.prep.begin() {
		p.prep.again <- struct{}{}
	}
}

// Status returns how the plugin is.
func (p *Plugin) Status() Status {
	r := p.prep
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{Name: p.name, State: r.state, Since: r.since, RetryAt: r.retryAt, Breaker: BreakerClosed}
	if r.err != nil {
		s.Reason = r.err.Error()
	}
	if r.state == StateReady {
		s.Breaker, s.RetryAt = p.breaker.status()
	}
	return s
}

// Status returns how all plugins are, in the order of their names.
func (r *Runtime) Status() []Status {
	var list []Status
	for _, p := range r.snapshot() {
		list = append(list, p.Status())
	}
	slices.SortFunc(list, func(a, b Status) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Since.Compare(b.Since))
	})
	return list
}
