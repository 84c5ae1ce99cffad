package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/cmd/reshost/internal/pluginschema"
	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/wasmplugin"
)

const (
	// maxWasm is the largest module that the runtime takes.
	maxWasm = 32 << 20
	// maxCA is the largest file of certificate authorities.
	maxCA = 4 << 20
	// closeTimeout bounds how long calls in flight are waited for at the end.
	closeTimeout = 10 * time.Second
)

// stack is a host with the plugins of a configuration.
type stack struct {
	host    *host.Host
	runtime *wasmplugin.Runtime
	// served are the plugins in the host.
	served []*generation
	hooks  *hooks
	// unfollow ends what changes served; nil: nothing does.
	unfollow func()
}

// openStack opens all plugins and adds them to a new host. They are compiled and started in the background: see ready. When a
// check fails, everything is closed again, and the error has one line for each plugin at fault; an optional plugin is left
// out.
func (a *app) openStack(ctx context.Context, cfg *config.Config, log *slog.Logger, keys [][]byte) (*stack, error) {
	configs, err := a.pluginConfigs(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	rt, err := a.newRuntime(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	s := &stack{runtime: rt, hooks: newHooks(log)}
	if err := s.open(ctx, cfg, log, keys, configs); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// leaveOut says that an optional plugin is not served.
func leaveOut(log *slog.Logger, p *config.Plugin, err error) {
	log.Warn("an optional plugin is left out", "plugin", p.Name, "error", err)
}

func (a *app) newRuntime(ctx context.Context, cfg *config.Config, log *slog.Logger) (*wasmplugin.Runtime, error) {
	compiler, err := newCompiler()
	if err != nil {
		return nil, err
	}
	l := &cfg.Limits
	opts := &wasmplugin.Options{
		Logger: log, MaxMemory: int64(l.TotalMemory), Compiler: compiler, CompileTimeout: time.Duration(l.CompileTime),
		CompileMemory: int64(l.CompileMemory), CacheBytes: int64(l.CompiledCode),
	}
	dir, err := a.statePath(cfg)
	if err != nil {
		log.Warn("compiled plugins are not kept", "reason", err)
	} else {
		if err := checkPrivate(dir); err != nil {
			return nil, err
		}
		opts.CacheDir = filepath.Join(dir, cacheFolder)
	}
	rt, err := wasmplugin.NewRuntime(ctx, opts)
	if err != nil && opts.CacheDir != "" {
		return nil, fmt.Errorf("%w; name another folder with --state-dir DIR", err)
	}
	return rt, err
}

func (s *stack) open(ctx context.Context, cfg *config.Config, log *slog.Logger, keys [][]byte, configs []*wasmplugin.Config) error {
	h, err := host.New(hostOptions(cfg, log, keys))
	if err != nil {
		return err
	}
	s.host = h
	made := make([]*generation, len(configs))
	for i, c := range configs {
		if c != nil {
			made[i] = newGeneration(&cfg.Plugins[i], c) // before they are opened: what changes from now on is a change
		}
	}
	opened, err := s.openPlugins(ctx, cfg, log, configs)
	if err != nil {
		return err
	}
	for i, p := range opened {
		if p == nil {
			continue
		}
		entry := &cfg.Plugins[i]
		err := h.Add(p, made[i].opts)
		switch {
		case err == nil:
			made[i].plugin = p
			s.served = append(s.served, made[i])
		case entry.Optional:
			leaveOut(log, entry, err)
			closeUnused([]*wasmplugin.Plugin{p})
		default:
			closeUnused(opened[i:])
			return cfg.Errorf(pluginKeyAt(i), "%v%s", err, renameHint(err, p))
		}
	}
	s.hooks.set(s.served)
	return nil
}

// renameHint offers a way out where a scheme is claimed twice.
func renameHint(err error, p *wasmplugin.Plugin) string {
	for _, scheme := range p.Manifest().Schemes {
		if scheme != "*" && strings.Contains(err.Error(), fmt.Sprintf("the scheme %q is claimed", scheme)) {
			return fmt.Sprintf(", or rename it with schemes: { %s: %s2 }", scheme, scheme)
		}
	}
	return ""
}

// openPlugins checks all plugins side by side. One that is left out is nil.
func (s *stack) openPlugins(ctx context.Context, cfg *config.Config, log *slog.Logger, configs []*wasmplugin.Config) ([]*wasmplugin.Plugin, error) {
	opened, errs := make([]*wasmplugin.Plugin, len(configs)), make([]error, len(configs))
	var wg sync.WaitGroup
	for i, c := range configs {
		if c == nil {
			continue
		}
		wg.Go(func() {
			p, err := s.runtime.Open(ctx, c)
			switch entry := &cfg.Plugins[i]; {
			case err == nil:
				opened[i] = p
			case entry.Optional:
				leaveOut(log, entry, err)
			default:
				errs[i] = cfg.Errorf(pluginKeyAt(i), "%v", err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		closeUnused(opened)
		return nil, err
	}
	return opened, nil
}

// ready waits until all plugins answer, for commands that run for a moment. One that does not is an error, save when it is
// optional.
func (s *stack) ready(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	var errs []error
	for _, g := range s.served {
		err := g.plugin.Ready(ctx)
		if err == nil {
			continue
		}
		i := slices.IndexFunc(cfg.Plugins, func(e config.Plugin) bool { return e.Name == g.entry.Name })
		if entry := &cfg.Plugins[i]; entry.Optional {
			log.Warn("an optional plugin does not answer", "plugin", entry.Name, "error", err)
		} else {
			errs = append(errs, cfg.Errorf(pluginKeyAt(i), "plugin %s (%s): %v", entry.Name, entry.Source, err))
		}
	}
	return errors.Join(errs...)
}

// openReady is openStack for commands that run for a moment.
func (a *app) openReady(ctx context.Context, cfg *config.Config) (*stack, error) {
	log := a.logger(cfg, quietLevel)
	s, err := a.openStack(ctx, cfg, log, nil)
	if err != nil {
		return nil, err
	}
	stop := a.showProgress(s.runtime.Status)
	err = s.ready(ctx, cfg, log)
	stop()
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// closeUnused closes plugins that no host took over.
func closeUnused(plugins []*wasmplugin.Plugin) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for _, p := range plugins {
		if p != nil {
			_ = p.Close(ctx) // the error that led here is the one to report
		}
	}
}

// close ends calls in flight, then the plugins.
func (s *stack) close() error {
	if s.unfollow != nil {
		s.unfollow()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var err error
	if s.host != nil {
		err = s.host.Close(ctx)
	}
	return errors.Join(err, s.runtime.Close(ctx))
}

func pluginKeyAt(i int) string { return fmt.Sprintf("plugins[%d]", i) }

func hostOptions(cfg *config.Config, log *slog.Logger, keys [][]byte) *host.Options {
	l := &cfg.Limits
	return &host.Options{
		Name: cfg.Server.Name, Title: cfg.Server.Title, Version: buildVersion().Version, Logger: log, Keys: keys,
		PageSize: cfg.Server.PageSize, PublicURL: cfg.Server.PublicURL, Origins: cfg.Server.Origins, Revisions: cfg.Server.Revisions,
		Provenance: cfg.Provenance,
		Limits: host.Limits{
			RequestBytes: int64(l.RequestBody), JSONDepth: l.JSONDepth, URIBytes: int(l.URI), MetaBytes: int(l.Meta),
			PageBytes: int64(l.PageBytes), ReadItems: l.ReadItems, ReadBytes: int64(l.ReadBytes), Call: time.Duration(l.Call),
			CacheBytes: int64(l.Cache), CacheEntryBytes: int64(l.CacheEntry),
			StateBytes: int(l.State), Input: time.Duration(l.Input),
			Requests: l.Requests, PrincipalRequests: l.PrincipalRequests, WriteStall: time.Duration(l.Write),
			Sessions: l.Sessions, SessionIdle: time.Duration(l.SessionIdle), Subscriptions: l.Streams,
			PrincipalSubscriptions: l.PrincipalStreams, SubscriptionURIs: l.StreamURIs, WatchedURIs: l.PluginURIs,
		},
	}
}

func providerOptions(p *config.Plugin) *host.ProviderOptions {
	o := &host.ProviderOptions{ClientLogs: p.ClientLogs}
	if p.Cache != nil {
		o.Cache = &host.CacheRules{
			TTL: time.Duration(p.Cache.TTL), Min: time.Duration(p.Cache.Min), Max: time.Duration(p.Cache.Max), Public: p.Cache.Public,
			Stale: time.Duration(p.Cache.Stale), StaleIfError: time.Duration(p.Cache.StaleIfError), Missing: time.Duration(p.Cache.Missing),
		}
	}
	return o
}

// pluginConfigs turns the entries of the configuration into what the runtime loads. What can be seen to be wrong without
// running anything is reported for all entries at once; an optional one with mistakes is nil.
func (a *app) pluginConfigs(ctx context.Context, cfg *config.Config, log *slog.Logger) ([]*wasmplugin.Config, error) {
	configs, errs := make([]*wasmplugin.Config, len(cfg.Plugins)), []error(nil)
	for i := range cfg.Plugins {
		c, err := a.pluginConfig(ctx, cfg, i)
		switch {
		case err == nil:
			configs[i] = c
		case cfg.Plugins[i].Optional:
			leaveOut(log, &cfg.Plugins[i], err)
		default:
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return configs, nil
}

func (a *app) pluginConfig(ctx context.Context, cfg *config.Config, i int) (*wasmplugin.Config, error) {
	p, key := &cfg.Plugins[i], pluginKeyAt(i)
	wasm, err := a.wasmOf(p)
	if err != nil {
		return nil, cfg.Errorf(key+".source", "%v", err)
	}
	l := &cfg.Limits
	c := &wasmplugin.Config{
		Name: p.Name, Source: p.Source, Wasm: wasm, Schemes: p.Schemes, Only: p.Only, Isolation: p.Isolation, Config: p.Config,
		AllowWebSchemes: p.AllowWebSchemes, Poll: time.Duration(p.Poll),
		Limits: wasmplugin.Limits{
			Timeout: time.Duration(l.Call), Memory: int64(l.GuestMemory), TotalMemory: int64(l.PluginMemory), Instances: l.Instances,
			Queue: l.Queue, QueueWait: time.Duration(l.QueueWait), PageItems: cfg.Server.PageSize, PageBytes: int64(l.PageBytes),
			Contents: l.ReadItems, ReadBytes: int64(l.ReadBytes), LogLines: l.LogRate,
			Events: l.EventsCall, EventRate: l.EventsRate,
		},
		Grants: wasmplugin.Grants{Meta: p.Grants.Meta, Principal: p.Grants.Principal},
	}
	if p.Limits.Timeout != 0 {
		c.Limits.Timeout = time.Duration(p.Limits.Timeout)
	}
	if p.Limits.Memory != 0 {
		c.Limits.Memory = int64(p.Limits.Memory)
	}
	err = checkPluginConfig(ctx, cfg, i, wasm)
	if fs := p.Grants.FS; fs != nil {
		var fsErr error
		c.Grants.FS, fsErr = fsGrant(cfg, fs, key+".grants.fs")
		err = errors.Join(err, fsErr)
	}
	if http := p.Grants.HTTP; http != nil {
		var httpErr error
		c.Grants.HTTP, httpErr = a.httpGrant(cfg, http, key+".grants.http")
		err = errors.Join(err, httpErr)
	}
	if kv := p.Grants.KV; kv != nil {
		c.Grants.KV = &wasmplugin.KVGrant{Quota: int64(kv.Quota)}
	}
	return c, err
}

// checkPluginConfig holds an entry's config against the schema in its plugin's manifest.
func checkPluginConfig(ctx context.Context, cfg *config.Config, i int, wasm []byte) error {
	m, err := wasmplugin.ReadManifest(wasm)
	if err != nil {
		return nil // the load reports it
	}
	key := pluginKeyAt(i)
	if entry := &cfg.Plugins[i]; entry.Webhook != nil && (m.Poll <= 0 || entry.Poll < 0) {
		return cfg.Errorf(key+".webhook", "plugin %s takes no webhooks: it does not ask to be polled; remove the key", entry.Name)
	}
	problems, err := pluginschema.Check(ctx, m.ConfigSchema, cfg.Plugins[i].Config)
	if err != nil {
		return cfg.Errorf(key+".source", "the plugin's config_schema cannot be used: %v; the plugin must be mended", err)
	}
	var errs config.Errors
	for _, p := range problems {
		at, message := config.Key(key+".config", p.Path...), p.Message
		if n := len(p.Path); p.Known != nil {
			name, _ := p.Path[n-1].(string)
			message = config.UnknownKey(name, config.Key(key+".config", p.Path[:n-1]...), p.Known)
		}
		errs = append(errs, cfg.Errorf(at, "%s", message))
	}
	if len(errs) == 0 {
		return nil
	}
	errs.Sort()
	return errs
}

// httpGrant reads the certificate authorities and checks each rule at its place in the file.
func (a *app) httpGrant(cfg *config.Config, g *config.HTTPGrant, key string) (*wasmplugin.HTTPGrant, error) {
	out := &wasmplugin.HTTPGrant{CIDR: g.CIDR}
	if g.CA != "" {
		pem, err := a.env.ReadFile(string(g.CA), maxCA)
		if err != nil {
			return nil, cfg.Errorf(key+".ca", "%v", err)
		}
		out.CA = pem
	}
	var errs []error
	for i := range g.Allow {
		entry := &g.Allow[i]
		allow := wasmplugin.HTTPAllow{Methods: entry.Methods, URL: entry.URL, Headers: map[string]wasmplugin.HTTPHeader{}}
		for name, s := range entry.Headers {
			h := wasmplugin.HTTPHeader{Value: s.Reveal(), Secrets: s.References()}
			if len(h.Secrets) == 0 && (strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Cookie")) {
				_, credentials, _ := strings.Cut(h.Value, " ")
				h.Secrets = []string{h.Value, credentials} // written in the file as it is, and a secret all the same
			}
			allow.Headers[name] = h
		}
		one := wasmplugin.HTTPGrant{Allow: []wasmplugin.HTTPAllow{allow}, CIDR: g.CIDR}
		if err := one.Check(); err != nil {
			text := strings.TrimPrefix(err.Error(), "allow[0]: ")
			errs = append(errs, cfg.Errorf(fmt.Sprintf("%s.allow[%d]", key, i), "%s", text))
		}
		out.Allow = append(out.Allow, allow)
	}
	if len(errs) == 0 {
		if err := out.Check(); err != nil {
			errs = append(errs, cfg.Errorf(key+".ca", "%v", err))
		}
	}
	return out, errors.Join(errs...)
}

// fsGrant checks that the folders are there: a grant for one that is not would serve nothing, silently.
func fsGrant(cfg *config.Config, g *config.FSGrant, key string) (*wasmplugin.FSGrant, error) {
	roots, errs := make(map[string]wasmplugin.FSRoot, len(g.Roots)), []error(nil)
	for _, name := range slices.Sorted(maps.Keys(g.Roots)) {
		r := g.Roots[name]
		if problem := folderProblem(string(r.Path)); problem != "" {
			errs = append(errs, cfg.Errorf(rootKey(cfg, key, name), "%s", problem))
		}
		roots[name] = wasmplugin.FSRoot{Path: string(r.Path), As: r.As}
	}
	return &wasmplugin.FSGrant{Roots: roots, Hide: g.Hide, Watch: g.Watch}, errors.Join(errs...)
}

// rootKey returns the key that names a root's folder, as it stands in the file.
func rootKey(cfg *config.Config, key, name string) string {
	if short := key + ".root"; name == config.MainRoot && cfg.Has(short) {
		return short
	}
	return config.Key(key, "roots", name, "path")
}

// folderProblem returns what keeps path from being served as a folder, or "".
func folderProblem(path string) string {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Sprintf("the folder %s does not exist: create it, or name another", path)
	case err != nil:
		return fmt.Sprintf("the folder %s cannot be used: %v", path, err)
	case !info.IsDir():
		return fmt.Sprintf("%s is a file, not a folder: name the folder that holds it", path)
	}
	d, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("the folder %s cannot be read: %v", path, errors.Unwrap(err))
	}
	d.Close()
	return ""
}

// wasmOf returns an entry's module.
func (a *app) wasmOf(p *config.Plugin) ([]byte, error) {
	if name, ok := p.BuiltinName(); ok {
		return a.builtins.Open(name)
	}
	path, ok := p.SourcePath()
	if !ok {
		return nil, fmt.Errorf("no source is named %q", p.Source)
	}
	return a.readWasm(path)
}

func (a *app) readWasm(path string) ([]byte, error) {
	wasm, err := a.env.ReadFile(path, maxWasm)
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("%w; let the user who runs reshost read it", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; build the plugin, or correct the path", err)
	}
	if !strings.HasPrefix(string(wasm[:min(4, len(wasm))]), "\x00asm") {
		return nil, fmt.Errorf("%s is not a WebAssembly module: build the plugin with GOOS=wasip1 GOARCH=wasm, then run reshost plugin pack", path)
	}
	return wasm, nil
}
