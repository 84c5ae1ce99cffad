package wasmplugin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// plan is a checked module with its configuration: all that can be known without running anything.
type plan struct {
	cfg      Config
	info     *moduleInfo
	manifest *Manifest
	names    *schemeNames
	served   *served
	limits   Limits
	// isolation is the one that the plugin gets, and why the reason.
	isolation, why string
	// metered is the module that is compiled in the place of the original.
	metered  *meter.Result
	link     *linkage
	fs       *guestFS   // nil where it is not granted
	http     *guestHTTP // the same
	warnings []string
}

// close releases the granted folders of a plan that comes to nothing.
func (pl *plan) close() {
	if pl.fs != nil {
		pl.fs.fs.Close()
	}
}

// makePlan checks a module against its configuration. problems are what keeps it from loading; err says that it could not
// even be looked at.
func makePlan(cfg *Config) (pl *plan, problems []error, err error) {
	pl = &plan{cfg: cfg.clone(), limits: cfg.Limits.withDefaults()}
	if pl.info, err = scanModule(cfg.Wasm); err != nil {
		return nil, nil, err
	}
	if pl.manifest, err = pl.info.readManifest(); err != nil {
		return nil, nil, err
	}
	fail := func(err error) {
		if err != nil {
			problems = append(problems, err)
		}
	}
	if pl.cfg.Name == "" {
		pl.cfg.Name = pl.manifest.Name
	}
	if !validName(pl.cfg.Name) {
		fail(fmt.Errorf("name: %.80q must be 1 to 64 letters, digits, '-', '_' or '.'", pl.cfg.Name))
	}
	fail(checkPrincipal(cfg.Grants.Principal))
	unmetered := pl.meter(cfg.Wasm)
	fail(pl.isolate())
	fail(pl.limit())
	pl.names, err = nameSchemes(pl.manifest, &pl.cfg)
	fail(err)
	if err == nil {
		pl.served, err = serve(pl.manifest, pl.names, &pl.cfg)
		fail(err)
	}
	granted, roots, missing := pl.grant()
	problems = append(problems, missing...)
	if pl.names != nil {
		g, err := newGuestConfig(cfg.Config, pl.names.effective, roots)
		fail(err)
		granted[abi.CapabilityConfig] = configModule(g)
	}
	var unlinked []error
	pl.link, unlinked = link(pl.info, pl.manifest, granted)
	problems = append(problems, unlinked...)
	problems = append(problems, checkExports(pl.info, pl.manifest)...)
	fail(unmetered)
	return pl, problems, nil
}

// meter checks the module's code and rewrites it. Only the result is ever compiled.
func (pl *plan) meter(wasm []byte) (err error) {
	if pl.metered, err = meter.Instrument(wasm, nil); err != nil {
		return fmt.Errorf("the module is refused at %w", err)
	}
	return nil
}

func (cfg *Config) clone() Config {
	c := *cfg
	c.Wasm = nil
	c.Only = slices.Clone(cfg.Only)
	c.Grants.Meta = slices.Clone(cfg.Grants.Meta)
	c.Grants.Principal = slices.Clone(cfg.Grants.Principal)
	return c
}

func checkPrincipal(facts []string) error {
	for _, f := range facts {
		switch f {
		case "issuer", "subject", "tenant", "scope", "claims":
		default:
			return fmt.Errorf("grants.principal: %.32q is none of issuer, subject, tenant, scope, claims", f)
		}
	}
	return nil
}

// isolate decides how instances are reused: what the operator says, unless the plugin needs more.
func (pl *plan) isolate() error {
	need, want := pl.manifest.Isolation, pl.cfg.Isolation
	switch want {
	case "", abi.IsolationReset, abi.IsolationFresh, abi.IsolationShared:
	default:
		return fmt.Errorf("isolation: %.32q is none of reset, fresh, shared", want)
	}
	pl.isolation, pl.why = want, "the configuration says so"
	if want == "" {
		pl.isolation, pl.why = abi.IsolationReset, "the default"
	}
	switch {
	case need == abi.IsolationFresh && pl.isolation != abi.IsolationFresh:
		pl.isolation, pl.why = abi.IsolationFresh, "the plugin needs it"
		if want != "" {
			pl.warnings = append(pl.warnings, fmt.Sprintf("the plugin needs isolation fresh and gets it, not %s", want))
		}
	case need == abi.IsolationShared && want == "":
		pl.warnings = append(pl.warnings, "the plugin asks for isolation shared; it gets reset, since only the configuration grants shared")
	}
	if pl.isolation == abi.IsolationReset && pl.metered != nil && len(pl.metered.Fresh) > 0 {
		f := pl.metered.Fresh[0]
		pl.isolation, pl.why = abi.IsolationFresh, fmt.Sprintf("what %s (offset %#x) changes cannot be put back", f.Name, f.Offset)
		pl.warnings = append(pl.warnings, "isolation is fresh, not reset: "+pl.why)
	}
	return nil
}

// limit brings the manifest's limits to bear: a shorter timeout counts, a need for more memory than there is fails.
func (pl *plan) limit() error {
	if t := pl.manifest.Limits.Timeout; t > 0 && (pl.limits.Timeout < 0 || t < pl.limits.Timeout) {
		pl.limits.Timeout = t
	}
	limit := pl.memoryLimit()
	if need := pl.manifest.Limits.Memory; need > limit {
		return fmt.Errorf("the plugin needs %d bytes of memory, its limit is %d: raise limits.memory", need, limit)
	}
	for _, m := range pl.info.memories {
		if minimum := int64(m.min) * pageSize; minimum > limit {
			return fmt.Errorf("the module begins with %d bytes of memory, its limit is %d: raise limits.memory", minimum, limit)
		}
	}
	return nil
}

// memoryLimit is the limit of an instance in bytes.
func (pl *plan) memoryLimit() int64 {
	const most = math.MaxUint32 + 1
	if l := pl.limits.Memory; l >= 0 && l < most {
		return l &^ (pageSize - 1)
	}
	return most
}

// grant opens what is granted and says what is required and missing.
func (pl *plan) grant() (granted map[string]hostModule, roots map[string]string, problems []error) {
	granted = map[string]hostModule{}
	types := capabilityTypes()
	for _, c := range pl.manifest.Capabilities {
		if c.Name == abi.CapabilityConfig {
			continue
		}
		module, prefixes, err := pl.open(c.Name)
		switch {
		case err != nil:
			problems = append(problems, err)
		case module != nil:
			granted[c.Name] = module
			if prefixes != nil {
				roots = prefixes
			}
		case !c.Optional:
			problems = append(problems, missing(c, types[c.Name] != nil))
		}
	}
	g := &pl.cfg.Grants
	for _, unasked := range []struct {
		name    string
		granted bool
	}{{abi.CapabilityFS, g.FS != nil}, {abi.CapabilityHTTP, g.HTTP != nil}, {abi.CapabilityKV, g.KV != nil}} {
		if _, asked := pl.manifest.capability(unasked.name); !asked && unasked.granted {
			pl.warnings = append(pl.warnings, fmt.Sprintf("grants.%s is granted, but the plugin does not ask for it", unasked.name))
		}
	}
	return granted, roots, problems
}

// open opens a granted capability. What is not granted is nil.
func (pl *plan) open(capability string) (module hostModule, roots map[string]string, err error) {
	switch g := &pl.cfg.Grants; {
	case capability == abi.CapabilityFS && g.FS != nil:
		if pl.fs, roots, err = openFS(g.FS, pl.limits.FolderEntries); err == nil {
			module = pl.fs.fsModule()
		}
	case capability == abi.CapabilityHTTP && g.HTTP != nil:
		if pl.http, err = openHTTP(g.HTTP); err == nil {
			module = pl.http.httpModule()
		}
	case capability == abi.CapabilityKV && g.KV != nil:
		module = openKV(g.KV).kvModule()
	}
	return module, roots, err
}

// missing says what to add for a capability that the plugin cannot do without.
func missing(c Capability, known bool) error {
	reason := ""
	if c.Reason != "" {
		reason = " (" + safeText(c.Reason, 200) + ")"
	}
	add := map[string]string{
		abi.CapabilityFS: "{fs: {roots: {main: {path: FOLDER}}}}", abi.CapabilityHTTP: "{http: {allow: [{url: \"https://HOST/PATH/\"}]}}",
		abi.CapabilityKV: "{kv: {}}",
	}[c.Name]
	switch {
	case add != "":
		return fmt.Errorf("the plugin needs the capability %s%s: add grants: %s", c.Name, reason, add)
	case !known:
		return fmt.Errorf("the plugin needs the capability %q%s, which this host does not know: update the host", c.Name, reason)
	}
	return fmt.Errorf("the plugin needs the capability %s%s, which this host does not offer yet", c.Name, reason)
}

// digestOf names a module; that of the rewritten one is the key of its compiled code.
func digestOf(wasm []byte) string {
	sum := sha256.Sum256(wasm)
	return hex.EncodeToString(sum[:])
}

// Load checks, compiles and starts a plugin, and waits for that. The error is one line: what is wrong, and what to do about
// it. ctx bounds the wait.
func (r *Runtime) Load(ctx context.Context, cfg *Config) (*Plugin, error) {
	p, err := r.Open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := p.Ready(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", where(cfg), err), p.Close(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// Open checks a plugin and returns it while it is compiled and started in the background. The error is one line: what is
// wrong with the module or its configuration, and what to do about it.
//
// The plugin can be served at once: it states what its manifest says. Calls wait until it is ready; a list, which would
// wait for one plugin in the place of all, is answered unavailable meanwhile, and reported as changed afterwards. A plugin that
// cannot be compiled or started answers unavailable, and is tried again, ever more seldom: see [Plugin.Status], [Plugin.Ready]
// and [Plugin.Retry].
func (r *Runtime) Open(_ context.Context, cfg *Config) (*Plugin, error) {
	if cfg == nil {
		return nil, errors.New("wasmplugin: no configuration")
	}
	p, err := r.open(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where(cfg), err)
	}
	return p, nil
}

// Compile checks a plugin and leaves its compiled code in the cache folder, for a later Load or Open. Nothing of it runs. It
// reports whether the code was there already.
func (r *Runtime) Compile(ctx context.Context, cfg *Config) (stored bool, err error) {
	if cfg == nil {
		return false, errors.New("wasmplugin: no configuration")
	}
	if r.opts.CacheDir == "" {
		return false, errors.New("there is no folder to keep compiled code in")
	}
	pl, problems, err := makePlan(cfg)
	if err == nil {
		pl.close()
		err = firstProblem(problems)
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", where(cfg), err)
	}
	digest := digestOf(pl.metered.Wasm)
	entry := r.code.acquire(digest)
	job := &compileJob{name: pl.cfg.Name, wasm: pl.metered.Wasm, entered: func(State) {}}
	code, err := r.compile(ctx, entry, job)
	if err != nil {
		return false, fmt.Errorf("%s: %w", where(cfg), err)
	}
	if err := r.code.release(context.WithoutCancel(ctx), entry, code); err != nil {
		return false, fmt.Errorf("%s: %w", where(cfg), err)
	}
	if !r.code.store.has(digest) {
		return false, fmt.Errorf("%s: its compiled code was not kept: the log says why", where(cfg))
	}
	return job.stored, nil
}

// where names a plugin in messages.
func where(cfg *Config) string {
	switch {
	case cfg.Name != "" && cfg.Source != "":
		return fmt.Sprintf("plugin %s (%s)", cfg.Name, cfg.Source)
	case cfg.Name != "":
		return "plugin " + cfg.Name
	case cfg.Source != "":
		return "plugin " + cfg.Source
	}
	return "plugin"
}

func (r *Runtime) open(cfg *Config) (*Plugin, error) {
	pl, problems, err := makePlan(cfg)
	if err != nil {
		return nil, err
	}
	if err := firstProblem(problems); err != nil {
		pl.close()
		return nil, err
	}
	p := newPlugin(r, pl)
	if err := r.add(p); err != nil {
		pl.close()
		return nil, err
	}
	for _, w := range pl.warnings {
		p.log.log.Warn(w)
	}
	p.prep.work.Go(p.prepareInBackground)
	return p, nil
}

// firstProblem makes one line of what keeps a module from loading; nil where nothing does.
func firstProblem(problems []error) error {
	switch n := len(problems) - 1; {
	case n < 0:
		return nil
	case n > 0:
		return fmt.Errorf("%w (and %d more: see `reshost plugin inspect`)", problems[0], n)
	}
	return problems[0]
}

// compile waits for the compiled code. It takes over the caller's use of the entry: when it fails, that is released.
// A compilation in this process cannot be ended; whoever gives up leaves the entry to it, until its end.
func (r *Runtime) compile(ctx context.Context, entry *codeEntry, job *compileJob) (*compiled, error) {
	late := fmt.Errorf("compiling it takes longer than %s: the module is too large or too intricate, or limits.compile_time too small", r.opts.CompileTimeout)
	begun := make(chan struct{})
	job.begun = func(ctx context.Context) (context.Context, context.CancelFunc) {
		close(begun)
		if r.opts.CompileTimeout < 0 {
			return ctx, func() {}
		}
		return context.WithTimeoutCause(ctx, r.opts.CompileTimeout, late)
	}
	type outcome struct {
		code *compiled
		err  error
	}
	done := make(chan outcome, 1)
	var settled atomic.Bool // set by the first of the two: delivered, or given up
	r.wg.Go(func() {
		code, err := r.code.compile(ctx, entry, job)
		if given := settled.CompareAndSwap(false, true); err != nil || !given {
			if free := r.code.release(context.WithoutCancel(ctx), entry, code); free != nil {
				r.opts.Logger.Debug("compiled code is not released", "plugin", job.name, "error", free)
			}
		}
		done <- outcome{code, err}
	})
	giveUp := late
	var timeout <-chan time.Time
	select {
	case <-begun:
		if r.code.compiler == nil && r.opts.CompileTimeout >= 0 { // else the compiler ends by itself
			t := time.NewTimer(r.opts.CompileTimeout)
			defer t.Stop()
			timeout = t.C
		}
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o.code, oneLineError(o.err)
	case <-timeout:
	case <-ctx.Done():
		giveUp = context.Cause(ctx)
	}
	if settled.CompareAndSwap(false, true) {
		return nil, giveUp
	}
	o := <-done
	return o.code, oneLineError(o.err)
}

// maxEngineText bounds what is told of the engine's message, in bytes.
const maxEngineText = 500

// oneLineError keeps an engine's message to one line.
func oneLineError(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(safeText(text, maxEngineText))
}

// warmInstances is how many instances are kept ready, so that a caller finds one while others are being put back.
func warmInstances(limit int) int { return min(runtime.GOMAXPROCS(0), 8, limit) }
