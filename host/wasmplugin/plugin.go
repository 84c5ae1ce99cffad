package wasmplugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// Runtime loads plugins and bounds what they use together. It is safe for concurrent use.
type Runtime struct {
	opts   Options
	code   *codeCache
	memory budget         // guest memory of all plugins
	turns  turns          // of all plugins' guests
	kv     kvStore        // of all plugins: it outlives a reload
	wg     sync.WaitGroup // compilations

	mu      sync.Mutex // guards the rest
	plugins map[*Plugin]bool
	closed  bool
}

// NewRuntime returns a Runtime. It fails when the cache folder cannot be used. nil opts gives the defaults.
func NewRuntime(_ context.Context, opts *Options) (*Runtime, error) {
	r := &Runtime{opts: opts.withDefaults(), plugins: map[*Plugin]bool{}, turns: processorTurns()}
	r.memory.limit, r.kv = r.opts.MaxMemory, newMemoryKV()
	var err error
	if r.code, err = newCodeCache(&r.opts); err != nil {
		return nil, err
	}
	return r, nil
}

var errRuntimeClosed = errors.New("the plugin runtime is closed")

func (r *Runtime) add(p *Plugin) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errRuntimeClosed
	}
	r.plugins[p] = true
	return nil
}

func (r *Runtime) remove(p *Plugin) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.plugins, p)
}

// reclaim closes the idle instances of all plugins but one, and returns how many they were.
func (r *Runtime) reclaim(but *Plugin) int {
	n := 0
	for _, p := range r.snapshot() {
		if p != but {
			n += p.pool.reclaim()
		}
	}
	return n
}

func (r *Runtime) snapshot() []*Plugin {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*Plugin, 0, len(r.plugins))
	for p := range r.plugins {
		list = append(list, p)
	}
	return list
}

// Close closes all plugins that are still open and waits for compilations. No plugin can be loaded afterwards.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	var errs []error
	for _, p := range r.snapshot() {
		errs = append(errs, p.Close(ctx))
	}
	r.wg.Wait()
	return errors.Join(errs...)
}

// Plugin is a loaded module. It is a [provider.Provider]: see there for the contract of its methods.
type Plugin struct {
	name      string
	runtime   *Runtime
	manifest  *Manifest
	cfg       Config // without Wasm
	names     *schemeNames
	limits    Limits
	grants    Grants
	isolation string
	// globals are the exports that a reset puts back.
	globals []string
	// began is what instances begin with under isolation reset, from the first one on; nil: each runs its own start.
	began       *snapshot
	exports     map[string]bool
	minPages    uint32
	memoryLimit int64
	budget      *budget
	log         *pluginLog
	started     time.Time
	fs          *guestFS
	http        *guestHTTP

	// prep compiles and starts the plugin. plan is for that, nil afterwards; entry and code are what it gives. adopted says
	// that the first instance is the pool's.
	prep    *preparation
	plan    *plan
	entry   *codeEntry
	code    *compiled
	adopted bool
	pool    *pool

	served atomic.Pointer[served]
	// told is what Info said last.
	told   atomic.Pointer[served]
	events atomic.Pointer[sinkOfEvents]
	gate   eventGate
	poll   *poller // nil: there is nothing to poll
	// describing says that rh_describe is about to run again.
	describing atomic.Bool
	breaker    *breaker
	background sync.WaitGroup
	turns      turns
	// killed is closed to end all runs at their next look at the clock.
	killed chan struct{}

	closeOnce sync.Once
	closeErr  error
}

var _ provider.Provider = (*Plugin)(nil)

// sinkOfEvents wraps the interface, so that it fits an atomic pointer.
type sinkOfEvents struct{ provider.Events }

func newPlugin(r *Runtime, pl *plan) *Plugin {
	p := &Plugin{
		name: pl.cfg.Name, runtime: r, manifest: pl.manifest, cfg: pl.cfg, names: pl.names, limits: pl.limits,
		grants: pl.cfg.Grants, isolation: pl.isolation, globals: pl.metered.Globals, killed: make(chan struct{}), turns: pluginTurns(r.turns),
		exports: map[string]bool{}, memoryLimit: pl.memoryLimit(), fs: pl.fs, http: pl.http, started: time.Now(),
		budget: &budget{limit: pl.limits.TotalMemory, parent: &r.memory},
		prep:   newPreparation(), plan: pl,
		log: newPluginLog(r.opts.Logger.With("plugin", pl.cfg.Name), pl.limits.LogLines),
	}
	for _, e := range pl.info.exports {
		if e.kind == kindFunc {
			p.exports[e.name] = true
		}
	}
	for _, m := range pl.info.memories {
		p.minPages = m.min
	}
	p.breaker = newBreaker(p.log.log)
	p.gate.rate = pl.limits.EventRate
	p.poll = newPoller(p)
	p.served.Store(pl.served)
	opts := poolOptions{
		instances: pl.limits.Instances, queue: pl.limits.Queue, queueWait: pl.limits.QueueWait, startTimeout: pl.limits.Timeout,
		failed: func(err error) { p.log.log.Warn("an instance could not be started ahead", "error", err) },
	}
	if pl.isolation == abi.IsolationReset {
		opts.warm = warmInstances(opts.instances)
		opts.restore = func(inst *instance) bool { return inst.restore(p.began) }
	}
	p.pool = newPool(opts, func(ctx context.Context, urgent bool) (*instance, error) {
		return p.newInstance(ctx, start{urgent: urgent})
	})
	return p
}

// first starts the first instance, so that a plugin that cannot start is known at once, and asks a dynamic plugin what it
// serves.
func (p *Plugin) first(ctx context.Context) error {
	ctx, cancel := p.timed(ctx)
	defer cancel()
	if !p.adopted {
		if err := p.adoptFirst(ctx); err != nil {
			return err
		}
	}
	if p.manifest.Dynamic {
		if err := p.describe(ctx); err != nil {
			return err
		}
	}
	p.pool.prime()
	return nil
}

// adoptFirst starts an instance and keeps what it was, for the others to begin with.
func (p *Plugin) adoptFirst(ctx context.Context) error {
	inst, err := p.newInstance(ctx, start{urgent: true})
	if err != nil {
		return err
	}
	if p.isolation == abi.IsolationReset {
		began := inst.snapshot()
		if err := inst.begin(began); err != nil {
			inst.close()
			began.close()
			return err
		}
		p.began = began
	}
	p.pool.adopt(inst)
	p.adopted = true
	return nil
}

// describe runs rh_describe and serves what it says from now on.
func (p *Plugin) describe(ctx context.Context) error {
	s := &describeSink{}
	c := &call{export: abi.ExportDescribe, sink: s, served: p.served.Load()}
	status, err := p.runNow(ctx, c, nil, func(abi.Common) []byte { return initRequest(false) })
	if err != nil {
		return err
	}
	m, err := c.described(status, s)
	if err != nil {
		return fmt.Errorf("%s: %w", abi.ExportDescribe, err)
	}
	next, err := p.redescribed(m)
	if err != nil {
		return fmt.Errorf("%s: %w", abi.ExportDescribe, err)
	}
	p.served.Store(next)
	return nil
}

// described checks how rh_describe ended, and its manifest.
func (c *call) described(status abi.Status, s *describeSink) (*Manifest, error) {
	switch {
	case status != abi.StatusOK:
		return nil, fmt.Errorf("it answered %s", status)
	case c.rejected != "":
		return nil, errors.New(c.rejected)
	case s.manifest == nil:
		return nil, fmt.Errorf("it emitted no %s", abi.KindManifest)
	}
	return parseManifest(s.manifest)
}

// redescribed returns what is served by a manifest that a dynamic plugin emitted: its resources and templates count, all
// else stays as the module's section has it. URIs stand under the plugin's own names for its schemes.
func (p *Plugin) redescribed(m *Manifest) (*served, error) {
	merged := *p.manifest
	merged.Resources, merged.Templates = m.Resources, m.Templates
	return serve(&merged, p.names, &p.cfg)
}

// describeAgain asks a dynamic plugin anew what it serves, in the background, once for all who ask meanwhile.
func (p *Plugin) describeAgain() {
	if !p.describing.CompareAndSwap(false, true) {
		return
	}
	p.background.Go(func() {
		p.describing.Store(false)
		ctx, cancel := p.timed(context.Background())
		defer cancel()
		if err := p.describe(ctx); err != nil {
			p.log.log.Warn("the plugin's resources could not be asked anew", "error", err)
			return
		}
		if events := p.events.Load(); events != nil {
			events.ListChanged()
		}
	})
}

// Info states what the plugin serves, under effective names.
func (p *Plugin) Info() provider.Info {
	served := p.served.Load()
	p.told.Store(served)
	info := served.info
	info.Watch = p.poll != nil
	return info
}

// Manifest returns what the plugin says about itself, under its own names. It must not be changed.
func (p *Plugin) Manifest() *Manifest { return p.manifest }

// Isolation returns the isolation that the plugin gets: "reset", "fresh" or "shared".
func (p *Plugin) Isolation() string { return p.isolation }

// Attach hands over the sink for changes.
func (p *Plugin) Attach(e provider.Events) {
	p.events.Store(&sinkOfEvents{e})
	if p.toldOtherwise() { // it became ready since
		e.ListChanged()
	}
}

// toldOtherwise reports whether Info has said what is not so any more.
func (p *Plugin) toldOtherwise() bool {
	told := p.told.Load()
	return told != nil && told != p.served.Load()
}

// Watch asks that a change of uri be reported. It returns once the plugin has been polled with it.
func (p *Plugin) Watch(ctx context.Context, uri string) error {
	if p.poll == nil {
		return provider.Errorf(provider.Unsupported, "watching is not supported")
	}
	return p.poll.watch(ctx, uri)
}

// Unwatch ends what Watch began.
func (p *Plugin) Unwatch(uri string) {
	if p.poll != nil {
		p.poll.unwatch(uri)
	}
}

// Close turns new calls away, waits for those that run, and releases everything. When ctx is done first, what still runs
// is cut short.
func (p *Plugin) Close(ctx context.Context) error {
	p.closeOnce.Do(func() { p.closeErr = p.shut(ctx) })
	return p.closeErr
}

func (p *Plugin) shut(ctx context.Context) error {
	defer p.runtime.remove(p)
	p.prep.stop()
	p.prep.work.Wait()
	p.gate.close()
	if p.poll != nil {
		p.poll.close()
	}
	err := p.pool.close(ctx)
	after := context.WithoutCancel(ctx)
	if err != nil {
		close(p.killed)
		err = errors.Join(err, p.pool.close(after))
	}
	p.background.Wait()
	p.began.close()
	if p.fs != nil {
		p.fs.fs.Close()
	}
	if p.http != nil {
		p.http.client.Close()
	}
	if p.code == nil {
		return err
	}
	// The code outlives the last run.
	return errors.Join(err, p.runtime.code.release(after, p.entry, p.code))
}
