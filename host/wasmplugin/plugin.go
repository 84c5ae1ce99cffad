package wasmplugin

import (
	"context"
	"errors"

	"github.com/reshost/reshost/host/provider"
)

// Runtime loads plugins and bounds what they use together. It is safe for concurrent use.
type Runtime struct {
	opts Options
}

// NewRuntime returns a Runtime. It fails when the cache folder cannot be used. nil opts gives the defaults.
func NewRuntime(ctx context.Context, opts *Options) (*Runtime, error) {
	return &Runtime{opts: opts.withDefaults()}, nil
}

// Load checks, compiles and starts a plugin. The error is one line: what is wrong, and what to do about it.
func (r *Runtime) Load(ctx context.Context, cfg *Config) (*Plugin, error) {
	return nil, errors.New("wasmplugin: being built")
}

// Pack returns wasm with the manifest that its rh_describe emits as section "reshost.manifest", in place of one that is
// there. The guest runs without capabilities.
func (r *Runtime) Pack(ctx context.Context, wasm []byte) ([]byte, error) {
	return nil, errors.New("wasmplugin: being built")
}

// Inspect says what a module is and whether it would load with cfg, without running it. cfg.Wasm is the module.
func (r *Runtime) Inspect(ctx context.Context, cfg *Config) (*Report, error) {
	return nil, errors.New("wasmplugin: being built")
}

// Close closes all plugins that are still open.
func (r *Runtime) Close(ctx context.Context) error { return nil }

// ReadManifest returns the manifest of a module without compiling or running anything.
func ReadManifest(wasm []byte) (*Manifest, error) {
	return nil, errors.New("wasmplugin: being built")
}

// Report is what [Runtime.Inspect] finds out about a module.
type Report struct {
	// Manifest of the module.
	Manifest *Manifest
	// Size in bytes and Digest ("sha256:…") of the module.
	Size   int
	Digest string
	// Exports and Imports ("module.name") by name, sorted.
	Exports, Imports []string
	// Isolation that the plugin would get.
	Isolation string
	// Problems are what keeps the module from loading with this configuration; empty: it would load.
	Problems []string
	// Warnings do not keep it from loading.
	Warnings []string
}

// Plugin is a loaded module. It is a [provider.Provider].
type Plugin struct {
	provider.Unimplemented
}

// Info states what the plugin serves, under effective names.
func (p *Plugin) Info() provider.Info { return provider.Info{} }

// Manifest returns what the plugin says about itself, under its own names. It must not be changed.
func (p *Plugin) Manifest() *Manifest { return nil }
