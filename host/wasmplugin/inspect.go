package wasmplugin

import (
	"fmt"
	"slices"
)

// Report is what [Inspect] finds out about a module.
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
	// Isolation that the plugin would get.
	Isolation string
	// Problems are what keeps the module from loading with this configuration; empty: it would load.
	Problems []string
	// Warnings do not keep it from loading.
	Warnings []string
}

// Inspect says what cfg.Wasm is and whether it would load with cfg, without compiling or running it. What only the
// engine or the guest itself can refuse is not found here. It fails where the module cannot be read at all.
func Inspect(cfg *Config) (*Report, error) {
	pl, problems, err := makePlan(cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where(cfg), err)
	}
	defer pl.close()
	r := &Report{
		Manifest: pl.manifest, Size: len(cfg.Wasm), Digest: "sha256:" + digestOf(cfg.Wasm), Isolation: pl.isolation,
		Warnings: pl.warnings,
	}
	if pl.names != nil {
		r.Schemes = pl.names.effectiveNames()
	}
	for _, e := range pl.info.exports {
		r.Exports = append(r.Exports, e.name)
	}
	for _, i := range pl.info.imports {
		r.Imports = append(r.Imports, i.module+"."+i.name)
	}
	slices.Sort(r.Exports)
	slices.Sort(r.Imports)
	for _, p := range problems {
		r.Problems = append(r.Problems, p.Error())
	}
	return r, nil
}
