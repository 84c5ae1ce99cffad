package wasmplugin

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/reshost/reshost/host/provider"
)

// pool owns a plugin's instances: so many at once, some started ahead, callers in a fair queue when all are busy. Nothing
// is held locked while a guest runs.
type pool struct {
	start starter
	opts  poolOptions
	wg    sync.WaitGroup // starts that are under way
	backs sync.WaitGroup // restorations that are under way
	ctx   context.Context
	stop  context.CancelFunc // ends ctx, and with it starts that are under way

	mu       sync.Mutex // guards the rest
	ready    []*instance
	waiters  []*waiter // first come, first served
	live     int       // instances that are ready, busy, being restored or being started
	starting int
	// restoring are being put back after a call.
	restoring int
	closed    bool
	// cold says that the last start failed: nothing is started ahead until a caller asks.
	cold bool
	idle chan struct{} // closed when the pool is closed and live is 0
	// spare is how many instances have been ready all the time since trim last looked; trimmer is set while it will look again.
	spare   int
	trimmer *time.Timer
}

// trimAfter is how long an instance that nobody needs is kept, at least: its memory, and the stack that a call left with it, are
// others' then.
const trimAfter = time.Second

// starter starts an instance. urgent says that a caller waits for it.
type starter func(ctx context.Context, urgent bool) (*instance, error)

type poolOptions struct {
	instances int
	// warm is how many instances are started ahead.
	warm      int
	queue     int // callers that wait while all instances are busy
	queueWait time.Duration
	// startTimeout bounds the start of an instance.
	startTimeout time.Duration
	// restore puts an instance back to its beginning; it reports false where the instance is of no more use.
	restore func(*instance) bool
	// failed hears of a start that failed while nobody waited for it.
	failed func(error)
}

// waiter is a caller in the queue.
type waiter struct{ turn chan turn }

// turn is what a waiter gets: an instance, or why there is none.
type turn struct {
	inst *instance
	err  error
}

var errPoolClosed = errors.New("the plugin is closed")

func stopping() error {
	return provider.Wrap(provider.Unavailable, errPoolClosed, "the plugin is being stopped")
}

func newPool(opts poolOptions, start starter) *pool {
	p := &pool{start: start, opts: opts, idle: make(chan struct{})}
	// The pool's context is its life, which no caller's context spans.
	p.ctx, p.stop = context.WithCancel(context.Background())
	return p
}

// acquire returns an instance that nobody else uses. It waits its turn, for so long.
func (p *pool) acquire(ctx context.Context) (*instance, error) {
	p.mu.Lock()
	p.cold = false
	if p.closed {
		p.mu.Unlock()
		return nil, stopping()
	}
	if n := len(p.ready); n > 0 && len(p.waiters) == 0 {
		inst := p.ready[n-1]
		p.ready = p.ready[:n-1]
		p.spare = min(p.spare, n-1)
		p.fill()
		p.mu.Unlock()
		return inst, nil
	}
	// Those who can have an instance by its being started do not count as queued.
	startable := p.opts.instances - p.live + p.starting + p.restoring
	if p.opts.queue >= 0 && len(p.waiters) >= startable+p.opts.queue || p.opts.queue < 0 && len(p.waiters) >= startable {
		p.mu.Unlock()
		return nil, provider.Errorf(provider.Unavailable, "the plugin is busy: too many requests wait for it")
	}
	w := &waiter{turn: make(chan turn, 1)}
	p.waiters = append(p.waiters, w)
	p.fill()
	p.mu.Unlock()
	return p.await(ctx, w)
}

func (p *pool) await(ctx context.Context, w *waiter) (*instance, error) {
	var late <-chan time.Time
	if p.opts.queueWait >= 0 {
		t := time.NewTimer(p.opts.queueWait)
		defer t.Stop()
		late = t.C
	}
	var err error
	select {
	case t := <-w.turn:
		return t.inst, t.err
	case <-late:
		err = provider.Errorf(provider.Unavailable, "the plugin is busy: no instance became free in time")
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	for i, other := range p.waiters {
		if other == w {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			p.mu.Unlock()
			return nil, err
		}
	}
	p.mu.Unlock()
	// The turn came in between.
	t := <-w.turn
	if t.err == nil && ctx.Err() == nil {
		return t.inst, nil
	}
	if t.err == nil {
		p.giveBack(t.inst)
	}
	return nil, err
}

// fate is what becomes of an instance after a call.
type fate int

const (
	discard fate = iota // it is closed, and another one takes its place
	keep                // it is used again as it is
	restore             // it is put back to its beginning first
)

// release ends a use. It does not wait for what becomes of the instance.
func (p *pool) release(inst *instance, f fate) {
	switch f {
	case keep:
		p.giveBack(inst)
		return
	case restore:
		p.mu.Lock()
		closed := p.closed
		if !closed {
			p.restoring++
			p.backs.Add(1)
		}
		p.mu.Unlock()
		if !closed {
			go p.restoreOne(inst)
			return
		}
	}
	p.end(inst)
}

// end closes an instance and counts it as gone.
func (p *pool) end(inst *instance) {
	inst.close()
	p.mu.Lock()
	p.gone()
	p.mu.Unlock()
}

// restoreOne puts an instance back and hands it on.
func (p *pool) restoreOne(inst *instance) {
	defer p.backs.Done()
	good := p.opts.restore(inst)
	p.mu.Lock()
	p.restoring--
	p.mu.Unlock()
	if good {
		p.giveBack(inst)
		return
	}
	p.end(inst)
}

// giveBack hands an instance that may be used on to the first who waits.
func (p *pool) giveBack(inst *instance) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		p.end(inst)
		return
	}
	p.hand(inst)
	p.mu.Unlock()
}

// hand gives an instance to the first waiter, or makes it ready. Called with mu held.
func (p *pool) hand(inst *instance) {
	if len(p.waiters) == 0 {
		p.ready = append(p.ready, inst)
		p.watchSpare()
		return
	}
	w := p.waiters[0]
	p.waiters = p.waiters[1:]
	w.turn <- turn{inst: inst}
}

// keepReady is how many instances stay although nobody calls.
func (p *pool) keepReady() int { return max(p.opts.warm, 1) }

// watchSpare makes sure that instances beyond those are looked after. Called with mu held.
func (p *pool) watchSpare() {
	if p.trimmer == nil && len(p.ready) > p.keepReady() {
		p.spare = len(p.ready)
		p.trimmer = time.AfterFunc(trimAfter, p.trim)
	}
}

// trim closes the instances that nobody has needed since it last looked: those that became ready first, since the last is
// taken first.
func (p *pool) trim() {
	p.mu.Lock()
	p.trimmer = nil
	n := min(p.spare, len(p.ready)) - p.keepReady()
	if p.closed || n < 0 {
		n = 0
	}
	old := slices.Clone(p.ready[:n])
	p.ready = slices.Delete(p.ready, 0, n)
	if !p.closed {
		p.watchSpare()
	}
	p.mu.Unlock()
	for _, inst := range old {
		p.end(inst)
	}
}

// gone counts an instance that was closed. Called with mu held.
func (p *pool) gone() {
	p.live--
	if p.closed && p.live == 0 {
		close(p.idle)
		return
	}
	p.fill()
}

// fill starts instances for those who wait, and ahead. Called with mu held.
func (p *pool) fill() {
	if p.closed {
		return
	}
	want := len(p.waiters) - p.starting - p.restoring - len(p.ready)
	if !p.cold {
		want += p.opts.warm
	}
	for want = min(want, p.opts.instances-p.live); want > 0; want-- {
		p.live++
		p.starting++
		p.wg.Go(p.startOne)
	}
}

// startOne starts an instance and hands it on.
func (p *pool) startOne() {
	ctx := p.ctx
	if p.opts.startTimeout >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.opts.startTimeout)
		defer cancel()
	}
	inst, err := p.startPatiently(ctx)
	p.mu.Lock()
	p.starting--
	if err == nil && !p.closed {
		p.hand(inst)
		p.mu.Unlock()
		return
	}
	if err == nil {
		p.mu.Unlock()
		inst.close()
		p.mu.Lock()
	}
	p.failedStart(err)
	p.mu.Unlock()
}

// startPatiently starts an instance. While guest memory is used up and somebody waits, it tries again: memory comes back
// with every call that ends, of this plugin or of another.
func (p *pool) startPatiently(ctx context.Context) (*instance, error) {
	const first, last = time.Millisecond, 64 * time.Millisecond
	for pause := first; ; pause = min(2*pause, last) {
		inst, err := p.start(ctx, p.awaited())
		if !errors.Is(err, errNoMemory) || !p.awaited() {
			return inst, err
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return nil, err
		}
	}
}

// awaited reports whether somebody waits for an instance.
func (p *pool) awaited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiters) > 0
}

// failedStart answers the first waiter with the failure. One caller's bad luck is not every caller's: the others' starts
// go on. Called with mu held.
func (p *pool) failedStart(err error) {
	p.cold = true
	switch {
	case p.closed:
	case len(p.waiters) > 0:
		w := p.waiters[0]
		p.waiters = p.waiters[1:]
		w.turn <- turn{err: err}
	default:
		p.opts.failed(err)
	}
	p.gone()
}

// reclaim closes the instances that are ready and returns how many they were: their memory is wanted elsewhere.
func (p *pool) reclaim() int {
	p.mu.Lock()
	ready := p.ready
	p.ready = nil
	p.cold = true
	p.mu.Unlock()
	for _, inst := range ready {
		inst.close()
	}
	p.mu.Lock()
	for range ready {
		p.gone()
	}
	p.mu.Unlock()
	return len(ready)
}

// prime starts instances ahead.
func (p *pool) prime() {
	p.mu.Lock()
	p.fill()
	p.mu.Unlock()
}

// adopt takes an instance that was started outside of the pool.
func (p *pool) adopt(inst *instance) {
	p.mu.Lock()
	p.live++
	p.hand(inst)
	p.mu.Unlock()
}

// close turns callers away, ends starts that are under way, and waits until the last instance is back.
func (p *pool) close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
	} else {
		p.closed = true
		if p.trimmer != nil {
			p.trimmer.Stop()
		}
		waiters, ready := p.waiters, p.ready
		p.waiters, p.ready = nil, nil
		if p.live == 0 {
			close(p.idle)
		}
		p.mu.Unlock()
		p.stop()
		for _, w := range waiters {
			w.turn <- turn{err: stopping()}
		}
		for _, inst := range ready {
			p.end(inst)
		}
	}
	p.wg.Wait()
	select {
	case <-p.idle:
		p.backs.Wait() // nothing is restored any more, but the last one may not have returned
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
