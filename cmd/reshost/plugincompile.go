package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/host/wasmplugin"
)

func (a *app) pluginCompileCommand() *cobra.Command {
	return a.jsonFlag(&cobra.Command{
		Use:   "compile [FILE...]",
		Short: "Compile plugins ahead of time",
		Long: `Compile the plugins of the configuration, or those in FILEs, and keep the result where serve looks for it: in the state folder.
Nothing of a plugin runs. Each is compiled in a process of its own, several at once, within limits.compile_time and
limits.compile_memory. FILE is a .wasm file, or builtin:NAME.`,
		Example: "  reshost plugin compile --config reshost.yaml\n  reshost plugin compile builtin:docs my.wasm --state-dir /var/lib/reshost",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.compilePlugins(cmd.Context(), args)
		},
	})
}

// compilationJSON is an element of the form of `plugin compile --json`.
type compilationJSON struct {
	Name   string `json:"name"`
	Source string `json:"source"`
	// Cached says that there was nothing to do.
	Cached bool  `json:"cached"`
	Millis int64 `json:"millis"`
	// Error is why it was not compiled, "" where it was.
	Error string `json:"error,omitempty"`
}

func (a *app) compilePlugins(ctx context.Context, files []string) (err error) {
	cfg, log, configs, err := a.toCompile(ctx, files)
	if err != nil {
		return err
	}
	rt, err := a.newRuntime(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rt.Close(context.WithoutCancel(ctx))) }()
	results, failed := a.compileAll(ctx, rt, configs)
	return errors.Join(a.printCompilations(results), failed)
}

// toCompile returns what is to be compiled, and the configuration whose limits hold: with FILEs alone, the defaults.
func (a *app) toCompile(ctx context.Context, files []string) (*config.Config, *slog.Logger, []*wasmplugin.Config, error) {
	if len(files) == 0 || a.configFile != "" || a.root != "" {
		cfg, err := a.loadConfig()
		if err != nil {
			return nil, nil, nil, err
		}
		log := a.logger(cfg, quietLevel)
		if len(files) == 0 {
			configs, err := a.pluginConfigs(ctx, cfg, log)
			left := func(c *wasmplugin.Config) bool { return c == nil }
			return cfg, log, slices.DeleteFunc(configs, left), err
		}
		configs, err := a.configsOfFiles(files)
		return cfg, log, configs, err
	}
	if err := a.checkLogFlags(); err != nil {
		return nil, nil, nil, err
	}
	configs, err := a.configsOfFiles(files)
	return &config.Config{StateDir: config.Path(a.stateDir)}, a.pluginLogger(), configs, err
}

func (a *app) configsOfFiles(files []string) ([]*wasmplugin.Config, error) {
	configs, errs := make([]*wasmplugin.Config, len(files)), []error(nil)
	for i, file := range files {
		wasm, err := a.wasmAt(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		configs[i] = inspectConfig(file, wasm)
	}
	return configs, errors.Join(errs...)
}

// compileAll compiles side by side, as many at once as the runtime allows, and says on a terminal how far it is.
func (a *app) compileAll(ctx context.Context, rt *wasmplugin.Runtime, configs []*wasmplugin.Config) ([]compilationJSON, error) {
	results, errs := make([]compilationJSON, len(configs)), make([]error, len(configs))
	states := make([]wasmplugin.Status, len(configs))
	var mu sync.Mutex // guards states
	enter := func(i int, s wasmplugin.State) {
		mu.Lock()
		defer mu.Unlock()
		states[i] = wasmplugin.Status{Name: results[i].Name, State: s}
	}
	for i, c := range configs {
		results[i] = compilationJSON{Name: compiledName(c), Source: c.Source}
		enter(i, wasmplugin.StateCompiling)
	}
	stop := a.showProgress(func() []wasmplugin.Status {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(states)
	})
	defer stop()
	began := time.Now()
	var wg sync.WaitGroup
	for i, c := range configs {
		wg.Go(func() {
			r := &results[i]
			r.Cached, errs[i] = rt.Compile(ctx, c)
			r.Millis = time.Since(began).Milliseconds()
			if errs[i] != nil {
				r.Error = errs[i].Error()
			}
			enter(i, wasmplugin.StateReady)
		})
	}
	wg.Wait()
	return results, errors.Join(errs...)
}

// compiledName is the name of an entry, or of the plugin where there is no entry.
func compiledName(c *wasmplugin.Config) string {
	if c.Name != "" {
		return c.Name
	}
	if m, err := wasmplugin.ReadManifest(c.Wasm); err == nil {
		return m.Name
	}
	return c.Source
}

func (a *app) printCompilations(results []compilationJSON) error {
	if a.json {
		return a.writeJSON(map[string][]compilationJSON{"plugins": results})
	}
	for i := range results {
		r := &results[i]
		how := fmt.Sprintf("compiled (%.1f s)", time.Duration(r.Millis*int64(time.Millisecond)).Seconds())
		switch {
		case r.Error != "":
			continue // stderr says why
		case r.Cached:
			how = "was compiled already"
		}
		if err := a.printf("%s (%s): %s\n", printable(r.Name), printable(r.Source), how); err != nil {
			return err
		}
	}
	return nil
}
