package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/reshost/reshost/cmd/reshost/internal/atomicfile"
	"github.com/reshost/reshost/cmd/reshost/internal/builtin"
	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/host/wasmplugin"
)

func (a *app) pluginCommand() *cobra.Command {
	cmd := &cobra.Command{
		SuggestionsMinimumDistance: 2,
		Use:                        "plugin", Short: "Pack, compile and look at plugins",
		Args: noCommand, RunE: help,
	}
	cmd.AddCommand(a.pluginListCommand(), a.pluginInspectCommand(), a.pluginPackCommand(), a.pluginCompileCommand())
	return cmd
}

// pluginJSON is the form of `plugin list --json`.
type pluginJSON struct {
	Name         string           `json:"name"`
	Source       string           `json:"source"`
	Version      string           `json:"version"`
	Schemes      []string         `json:"schemes"`
	Capabilities []capabilityJSON `json:"capabilities"`
}

type capabilityJSON struct {
	Name     string `json:"name"`
	Reason   string `json:"reason,omitempty"`
	Optional bool   `json:"optional"`
}

func toPluginJSON(m *wasmplugin.Manifest, source string) pluginJSON {
	p := pluginJSON{Name: m.Name, Source: source, Version: m.Version, Schemes: m.Schemes, Capabilities: []capabilityJSON{}}
	if p.Schemes == nil {
		p.Schemes = []string{}
	}
	for _, c := range m.Capabilities {
		p.Capabilities = append(p.Capabilities, capabilityJSON{c.Name, c.Reason, c.Optional})
	}
	return p
}

func (p *pluginJSON) capabilities() string {
	names := make([]string, len(p.Capabilities))
	for i, c := range p.Capabilities {
		names[i] = c.Name
		if c.Optional {
			names[i] += " (optional)"
		}
	}
	return joinOr(names, "none")
}

func (a *app) pluginListCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "List the plugins that this reshost carries",
		Args:  exactArgs(),
		RunE: func(*cobra.Command, []string) error {
			list, err := a.builtinPlugins()
			if err != nil {
				return err
			}
			if len(list) == 0 {
				fmt.Fprintln(a.stderr, "reshost: "+builtin.Missing)
			}
			if a.json {
				return a.writeJSON(map[string][]pluginJSON{"plugins": list})
			}
			if len(list) == 0 {
				return nil
			}
			w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "SOURCE\tVERSION\tSCHEMES\tNEEDS")
			for i := range list {
				p := &list[i]
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", p.Source, p.Version, strings.Join(p.Schemes, ", "), p.capabilities())
			}
			return w.Flush()
		},
	})
}

func (a *app) builtinPlugins() ([]pluginJSON, error) {
	list := []pluginJSON{}
	for _, name := range a.builtins.Names() {
		wasm, err := a.builtins.Open(name)
		if err != nil {
			return nil, err
		}
		m, err := wasmplugin.ReadManifest(wasm)
		if err != nil {
			return nil, fmt.Errorf("%s%s: %w", config.SourceBuiltin, name, err)
		}
		list = append(list, toPluginJSON(m, config.SourceBuiltin+name))
	}
	return list, nil
}

// pluginLogger returns the logger of commands that read no configuration.
func (a *app) pluginLogger() *slog.Logger {
	level := a.logLevel
	if level == "" {
		level = quietLevel
	}
	return a.newLogger(level, a.logFormat)
}

// withRuntime opens a runtime for a command that has no configuration. It keeps compiled code where serve would.
func (a *app) withRuntime(ctx context.Context, f func(*wasmplugin.Runtime) error) error {
	if err := a.checkLogFlags(); err != nil {
		return err
	}
	cfg := &config.Config{StateDir: config.Path(a.stateDir)}
	rt, err := a.newRuntime(ctx, cfg, a.pluginLogger())
	if err != nil {
		return err
	}
	return errors.Join(f(rt), rt.Close(ctx))
}

// inspectJSON is the form of `plugin inspect --json`.
type inspectJSON struct {
	pluginJSON
	ABI       string `json:"abi"`
	Size      int    `json:"size"`
	Digest    string `json:"digest"`
	Isolation string `json:"isolation"`
	// IsolationReason says why it is this one.
	IsolationReason string         `json:"isolationReason"`
	Resources       []resourceJSON `json:"resources"`
	Templates       []resourceJSON `json:"resourceTemplates"`
	List            bool           `json:"list"`
	// Dynamic says that resources and templates are asked of the running plugin. The three after it are 0 where the plugin does
	// not say.
	Dynamic       bool  `json:"dynamic"`
	PollMillis    int64 `json:"pollMs,omitzero"`
	TimeoutMillis int64 `json:"timeoutMs,omitzero"`
	Memory        int64 `json:"memoryBytes,omitzero"`
	// Loads says that nothing keeps the plugin from loading, with what it asks for granted.
	Loads    bool     `json:"loads"`
	Exports  []string `json:"exports"`
	Imports  []string `json:"imports"`
	Problems []string `json:"problems"`
	Warnings []string `json:"warnings"`
}

func (a *app) pluginInspectCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:     "inspect FILE",
		Short:   "Say what a plugin is and needs, without running it",
		Long:    "Say what a plugin is and needs, without running it. FILE is a .wasm file, or builtin:NAME. Exits with 1 when the plugin would not load.",
		Example: "  reshost plugin inspect builtin:docs\n  reshost plugin inspect ./my.wasm",
		Args:    exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRuntime(cmd.Context(), func(rt *wasmplugin.Runtime) error { return a.inspect(cmd.Context(), rt, args[0]) })
		},
	})
}

func (a *app) inspect(ctx context.Context, rt *wasmplugin.Runtime, source string) error {
	wasm, err := a.wasmAt(source)
	if err != nil {
		return err
	}
	report, err := rt.Inspect(ctx, inspectConfig(source, wasm))
	if err != nil {
		return err // it names the source
	}
	out := toInspectJSON(report, source)
	if a.json {
		err = a.writeJSON(out)
	} else {
		err = a.printInspection(&out)
	}
	if err == nil && len(report.Problems) > 0 {
		err = fmt.Errorf("%s would not load: %s", source, strings.Join(report.Problems, "; "))
	}
	return err
}

// inspectConfig grants what the plugin asks for, so that only what is wrong with the plugin itself is reported.
func inspectConfig(source string, wasm []byte) *wasmplugin.Config {
	c := &wasmplugin.Config{Source: source, Wasm: wasm, AllowWebSchemes: true}
	m, err := wasmplugin.ReadManifest(wasm)
	if err != nil {
		return c // Inspect reports it
	}
	for _, capability := range m.Capabilities {
		if capability.Name == "fs" {
			c.Grants.FS = &wasmplugin.FSGrant{Roots: map[string]wasmplugin.FSRoot{config.MainRoot: {Path: "."}}}
		}
	}
	return c
}

// wasmAt returns the module of a command line's FILE.
func (a *app) wasmAt(source string) ([]byte, error) {
	if name, ok := strings.CutPrefix(source, config.SourceBuiltin); ok {
		return a.builtins.Open(name)
	}
	wasm, err := a.readWasm(strings.TrimPrefix(source, config.SourceFile))
	if err != nil && contains(a.builtins.Names(), source) {
		return nil, fmt.Errorf("there is no file %s; did you mean %s%s?", source, config.SourceBuiltin, source)
	}
	return wasm, err
}

func toInspectJSON(r *wasmplugin.Report, source string) inspectJSON {
	out := inspectJSON{
		pluginJSON: pluginJSON{Source: source, Schemes: []string{}, Capabilities: []capabilityJSON{}},
		Size:       r.Size, Digest: r.Digest, Isolation: r.Isolation, IsolationReason: r.IsolationReason, Loads: len(r.Problems) == 0, Exports: r.Exports, Imports: r.Imports,
		Problems: r.Problems, Warnings: r.Warnings, Resources: []resourceJSON{}, Templates: []resourceJSON{},
	}
	if m := r.Manifest; m != nil {
		out.pluginJSON, out.ABI, out.List, out.Dynamic = toPluginJSON(m, source), m.ABI, m.List, m.Dynamic
		out.PollMillis, out.TimeoutMillis, out.Memory = m.Poll.Milliseconds(), m.Limits.Timeout.Milliseconds(), m.Limits.Memory
		for i := range m.Resources {
			out.Resources = append(out.Resources, toResourceJSON(&m.Resources[i]))
		}
		for i := range m.Templates {
			out.Templates = append(out.Templates, toTemplateJSON(&m.Templates[i]))
		}
	}
	for _, list := range []*[]string{&out.Exports, &out.Imports, &out.Problems, &out.Warnings} {
		if *list == nil {
			*list = []string{}
		}
	}
	return out
}

func (a *app) printInspection(p *inspectJSON) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	row := func(name, value string) { fmt.Fprintf(w, "%s\t%s\n", name, printable(value)) }
	row("name", p.Name)
	row("version", p.Version)
	row("abi", p.ABI)
	row("size", config.Bytes(p.Size).String())
	row("digest", p.Digest)
	row("isolation", p.Isolation+": "+p.IsolationReason)
	row("schemes", joinOr(p.Schemes, "none"))
	for _, c := range p.Capabilities {
		need := "needs"
		if c.Optional {
			need = "can use"
		}
		row(need, strings.TrimSuffix(c.Name+": "+c.Reason, ": "))
	}
	if p.Memory > 0 {
		row("needs", "memory: "+config.Bytes(p.Memory).String()+" for an instance")
	}
	if p.TimeoutMillis > 0 {
		row("a call", "takes at most "+config.Duration(time.Duration(p.TimeoutMillis)*time.Millisecond).String())
	}
	if p.PollMillis > 0 {
		row("polls", "every "+config.Duration(time.Duration(p.PollMillis)*time.Millisecond).String()+" while something is watched")
	}
	row("exports", joinOr(p.Exports, "none"))
	row("imports", joinOr(p.Imports, "none"))
	for _, r := range p.Resources {
		row("resource", r.URI)
	}
	for _, t := range p.Templates {
		row("template", t.URITemplate)
	}
	if p.List {
		row("lists", "more resources when asked")
	}
	if p.Dynamic {
		row("dynamic", "resources and templates are asked of the running plugin")
	}
	for _, warning := range p.Warnings {
		row("warning", warning)
	}
	for _, problem := range p.Problems {
		row("problem", problem)
	}
	if p.Loads {
		row("loads", "yes, with what it needs granted")
	} else {
		row("loads", "no")
	}
	return w.Flush()
}

func (a *app) pluginPackCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "pack FILE",
		Short:   "Write a plugin's manifest into its module",
		Long:    "Run the plugin's own description, without any capability, and write it into the module, where the host reads it before it runs anything. Packing again replaces it.",
		Example: "  GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -ldflags=-w -o my.wasm .\n  reshost plugin pack my.wasm",
		Args:    exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withRuntime(cmd.Context(), func(rt *wasmplugin.Runtime) error {
				return a.pack(cmd.Context(), rt, args[0], output)
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write, in place of the one that was read")
	return cmd
}

func (a *app) pack(ctx context.Context, rt *wasmplugin.Runtime, file, output string) error {
	wasm, err := a.readWasm(file)
	if err != nil {
		return err
	}
	packed, err := rt.Pack(ctx, wasm)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	m, err := wasmplugin.ReadManifest(packed)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if output == "" {
		output = file
	}
	// A server that watches the file never loads half of it.
	if err := atomicfile.Write(output, packed, 0o644); err != nil {
		return err
	}
	return a.printf("%s: %s %s, schemes %s\n", printable(output), printable(m.Name), printable(m.Version), printable(joinOr(m.Schemes, "none")))
}
