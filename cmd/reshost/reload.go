package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/wasmplugin"
)

// reloadPoll is how often files are looked at.
const reloadPoll = time.Second

// generation is a plugin that is served, and what it was made from.
type generation struct {
	entry  config.Plugin
	config wasmplugin.Config // without Wasm
	digest [sha256.Size]byte
	opts   *host.ProviderOptions
	// roots are the folders granted, as they were: a path may lead to another one later.
	roots  map[string]fs.FileInfo
	plugin *wasmplugin.Plugin
}

func newGeneration(entry *config.Plugin, c *wasmplugin.Config) *generation {
	g := &generation{entry: *entry, config: *c, digest: sha256.Sum256(c.Wasm), opts: providerOptions(entry), roots: map[string]fs.FileInfo{}}
	g.config.Wasm = nil
	if c.Grants.FS != nil {
		for _, r := range c.Grants.FS.Roots {
			g.roots[r.Path] = stamp(r.Path)
		}
	}
	return g
}

// same reports whether g would be made again as it is.
func (g *generation) same(other *generation) bool {
	for path, info := range g.roots {
		if !sameStamp(info, other.roots[path]) {
			return false
		}
	}
	return g.digest == other.digest && reflect.DeepEqual(g.entry, other.entry) && reflect.DeepEqual(g.config, other.config)
}

// reloader brings changes of the configuration, of plugins and of the files that they name into a host that serves.
type reloader struct {
	app   *app
	env   config.Environment
	cfg   *config.Config
	log   *slog.Logger
	stack *stack
	// read are the files and folders that what is served came from.
	read map[string]fs.FileInfo
}

// follow reloads s, which a opened from cfg, on SIGHUP and when files change, until s is closed.
func (a *app) follow(cfg *config.Config, s *stack, log *slog.Logger) {
	r := &reloader{app: a, cfg: cfg, log: log, stack: s, env: a.env}
	if files, ok := a.env.(*readFiles); ok {
		r.env, r.read = files.Environment, s.noteRoots(files)
	}
	s.unfollow = followFiles(r, reloadPoll)
}

func (r *reloader) lastRead() map[string]fs.FileInfo { return r.read }

// noteRoots adds the granted folders, as they were when they were opened, to the files that were read.
func (s *stack) noteRoots(files *readFiles) map[string]fs.FileInfo {
	seen := files.take()
	for _, g := range s.served {
		for path, info := range g.roots {
			if _, ok := seen[path]; !ok {
				seen[path] = info
			}
		}
	}
	return seen
}

// reload reads the configuration again. asked says that somebody did, who wants to hear of it in any case.
func (r *reloader) reload(ctx context.Context, asked bool) {
	files := newReadFiles(r.env)
	for _, g := range r.stack.served {
		for path := range g.roots {
			files.note(path) // now, not when it was opened: a folder that is gone is reported once
		}
	}
	a := *r.app
	a.env = files
	fresh, err := r.apply(ctx, &a)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		// What was not read this time may be at fault all the same: it counts as seen, and its next change is the next try.
		for path := range r.read {
			files.note(path)
		}
		for _, err := range flat(err) {
			r.log.Error("the configuration is not taken; what was served before is served on", "error", err)
		}
	case fresh > 0 || asked:
		r.log.Info("configuration read again", "plugins", len(r.stack.served), "new", fresh)
	}
	r.read = r.stack.noteRoots(files)
	if asked {
		for _, g := range r.stack.served {
			g.plugin.Retry()
		}
	}
}

// flat returns the errors that were joined, for a line each.
func flat(err error) []error {
	var lines config.Errors
	if errors.As(err, &lines) {
		list := make([]error, len(lines))
		for i, e := range lines {
			list[i] = e
		}
		return list
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var list []error
	for _, e := range joined.Unwrap() {
		list = append(list, flat(e)...)
	}
	return list
}

// apply serves what the configuration says now: all of it, or on an error nothing. It returns how many plugins are new.
func (r *reloader) apply(ctx context.Context, a *app) (fresh int, err error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return 0, err
	}
	for _, key := range r.cfg.Differences(cfg) {
		pos, _ := cfg.At(key)
		r.log.Warn("a change takes effect at the next start", "key", key, "file", cfg.File(), "line", pos.Line)
	}
	cfg.KeepGlobals(r.cfg)
	next, err := r.open(ctx, a, cfg)
	if err == nil {
		if err = r.stack.host.SetProviders(r.members(next)); err != nil {
			err = cfg.Errorf("plugins", "%v", err)
		}
	}
	for _, g := range next {
		if g != nil && !slices.Contains(r.stack.served, g) {
			fresh++
			if err != nil {
				closeUnused([]*wasmplugin.Plugin{g.plugin})
			}
		}
	}
	if err != nil {
		return 0, err
	}
	r.cfg = cfg
	r.stack.served = slices.DeleteFunc(next, func(g *generation) bool { return g == nil })
	r.stack.hooks.set(r.stack.served)
	return fresh, nil
}

// open returns what each entry is served by: what serves it already, a new generation that is ready, or nil for an optional one
// that is left out. On an error the new ones are returned too.
func (r *reloader) open(ctx context.Context, a *app, cfg *config.Config) ([]*generation, error) {
	next, errs := make([]*generation, len(cfg.Plugins)), []error(nil)
	failed := func(i int, err error) {
		var kept error
		if next[i], kept = r.instead(&cfg.Plugins[i], err); kept != nil {
			errs = append(errs, kept)
		}
	}
	for i := range cfg.Plugins {
		c, err := a.pluginConfig(ctx, cfg, i)
		if err != nil {
			failed(i, err)
			continue
		}
		next[i] = newGeneration(&cfg.Plugins[i], c)
		if old := r.serving(c.Name); old != nil && old.same(next[i]) {
			next[i] = old
		} else if next[i].plugin, err = r.stack.runtime.Open(ctx, c); err != nil {
			failed(i, cfg.Errorf(pluginKeyAt(i), "%v", err))
		}
	}
	// They are compiled and started side by side meanwhile. What does not start is no replacement for what does.
	for i, g := range next {
		if g == nil || slices.Contains(r.stack.served, g) {
			continue
		}
		if err := g.plugin.Ready(ctx); err != nil {
			closeUnused([]*wasmplugin.Plugin{g.plugin})
			failed(i, cfg.Errorf(pluginKeyAt(i), "%v", err))
		}
	}
	return next, errors.Join(errs...)
}

// instead returns what stands in for a plugin that cannot be loaded: the one before where only its file changed or the plugin is
// optional, nil for an optional one that is not served; or else err.
func (r *reloader) instead(entry *config.Plugin, err error) (*generation, error) {
	old := r.serving(entry.Name)
	switch {
	case old != nil && (entry.Optional || reflect.DeepEqual(*entry, old.entry)):
		r.log.Error("a plugin cannot be replaced; the one before serves on", "plugin", entry.Name, "error", err)
		return old, nil
	case entry.Optional:
		leaveOut(r.log, entry, err)
		return nil, nil
	}
	return nil, err
}

func (r *reloader) serving(name string) *generation {
	for _, g := range r.stack.served {
		if g.entry.Name == name {
			return g
		}
	}
	return nil
}

func (r *reloader) members(next []*generation) []host.Member {
	var members []host.Member
	for _, g := range next {
		switch {
		case g == nil:
		case slices.Contains(r.stack.served, g):
			members = append(members, host.Member{Keep: g.entry.Name})
		default:
			members = append(members, host.Member{Provider: g.plugin, Options: g.opts})
		}
	}
	return members
}
