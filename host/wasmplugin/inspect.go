package wasmplugin

import (
	"context"
	"fmt"
	"slices"
)

// Report is what [Runtime.Inspect] finds out about a module.
type Report struct {
	// Manifest of the module.
	Manifest *Manifest
	// Size in bytes and Digest ("sha256:…") of the module.
	Size   int
	Digest string
	// Exports and Imports ("module.name") by name, sorted.
	Exports, Imports []string
	// Schemes are the effective ones.
	Schemes []string
	// Isolation that the plugin would get, and why that one.
	Isolation, IsolationReason string
	// Problems are what keeps the module from loading with this configuration; empty: it would load.
	Problems []string
	// Warnings do not keep it from loading.
	Warnings []string
}

// Inspect says what cfg.Wasm is and whether it would load with cfg, without compiling or running it. What only the
// engine or the guest itself can refuse is not found here. It fails where the module cannot be read at all.
func (r *Runtime) Inspect(_ context.Context, cfg *Config) (*Report, error) {
	pl, problems, err := makePlan(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where(cfg), err)
	}
	defer pl.close()
	rep := &Report{
		Manifest: pl.manifest, Size: len(cfg.Wasm), Digest: "sha256:" + digestOf(cfg.Wasm), Isolation: pl.isolation, IsolationReason: pl.why,
		Warnings: pl.warnings,
	}
	if pl.names != nil {
		rep.Schemes = pl.names.effectiveNames()
	}
	for _, e := range pl.info.exports {
		rep.Exports = append(rep.Exports, e.name)
	}
	for _, i := range pl.info.imports {
		rep.Imports = append(rep.Imports, i.module+"."+i.name)
	}
	slices.Sort(rep.Exports)
	slices.Sort(rep.Imports)
	for _, p := range problems {
		rep.Problems = append(rep.Problems, p.Error())
	}
	return rep, nil
}
