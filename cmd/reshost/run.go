package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/reshost/reshost/cmd/reshost/internal/builtin"
	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/cmd/reshost/internal/logging"
)

// defaultConfig is the file that is used when the command line names none.
const defaultConfig = "reshost.yaml"

// app is one run of the program: its streams, its environment and the flags that all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            config.Environment
	builtins       builtin.Set

	configFile, root, stateDir string
	logLevel, logFormat        string
	json                       bool
	remote                     remoteFlags
}

// run runs one command line and returns its exit code. It is the whole program; tests call it too.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr, env: config.OS(), builtins: builtin.Embedded()}
	if term, _ := a.env.Getenv("TERM"); isTerminal(stderr) && term != "dumb" {
		a.stderr = &statusLine{w: stderr}
	}
	return a.run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) int {
	cmd := a.command()
	cmd.SetArgs(args)
	cmd.SetIn(a.stdin)
	cmd.SetOut(a.stdout)
	cmd.SetErr(a.stderr)
	err := cmd.ExecuteContext(ctx)
	report(a.stderr, err)
	return exitCode(err)
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "reshost",
		Short:         "Serves resources of sandboxed WebAssembly plugins over the Model Context Protocol",
		Args:          noCommand,
		RunE:          help,
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := root.PersistentFlags()
	flags.StringVarP(&a.configFile, "config", "c", "", "configuration `FILE` (default "+defaultConfig+" in this folder)")
	flags.StringVar(&a.root, "root", "", "serve this `DIR` as it is, without a configuration")
	flags.StringVar(&a.stateDir, "state-dir", "", "`DIR` for what survives a restart, in place of state_dir")
	flags.StringVar(&a.logLevel, "log-level", "", "least `LEVEL` logged: trace, debug, info, warn, error or off")
	flags.StringVar(&a.logFormat, "log-format", "", "`FORM` of log lines: text or json")
	root.AddCommand(
		a.serveCommand(), a.listCommand(), a.templatesCommand(), a.readCommand(), a.completeCommand(), a.watchCommand(), a.cacheCommand(),
		a.configCommand(), a.pluginCommand(), a.versionCommand(), a.compileChildCommand(),
	)
	completeFlags(root)
	return root
}

// completeFlags gives the shells the values of flags.
func completeFlags(root *cobra.Command) {
	fixed := func(values ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	for name, f := range map[string]cobra.CompletionFunc{
		"log-level":  fixed(logLevels...),
		"log-format": fixed(logFormats...),
		"config": func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
		"root": func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	} {
		// It fails only for a flag that is not there, which TestCompletion would show.
		_ = root.RegisterFlagCompletionFunc(name, f)
	}
}

// noCommand is the Args of a command that only holds others.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("unknown command %q; did you mean %q?", args[0], near[0])
	}
	return usagef("unknown command %q", args[0])
}

func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// jsonFlag gives a command the flag --json.
func (a *app) jsonFlag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.json, "json", false, "print JSON, whose form is stable")
	return cmd
}

// exactArgs is cobra.ExactArgs with a usage error that names the arguments.
func exactArgs(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef("%s is missing", names[len(args)])
		case len(args) > len(names):
			return usagef("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// The values of the log flags; the configuration's table has the same.
var (
	logLevels  = []string{"trace", "debug", "info", "warn", "error", "off"}
	logFormats = []string{"text", "json"}
)

// loadConfig returns the configuration that the flags name, with the flags' own values in it.
func (a *app) loadConfig() (*config.Config, error) {
	if err := a.checkLogFlags(); err != nil {
		return nil, err
	}
	cfg, err := a.readConfig()
	if err != nil {
		return nil, err
	}
	if a.logLevel != "" {
		cfg.Log.Level = a.logLevel
	}
	if a.logFormat != "" {
		cfg.Log.Format = a.logFormat
	}
	if a.stateDir != "" {
		cfg.StateDir = config.Path(a.stateDir)
	}
	return cfg, nil
}

func (a *app) checkLogFlags() error {
	if a.logLevel != "" && !contains(logLevels, a.logLevel) {
		return usagef("--log-level must be trace, debug, info, warn, error or off, not %q", a.logLevel)
	}
	if a.logFormat != "" && !contains(logFormats, a.logFormat) {
		return usagef("--log-format must be text or json, not %q", a.logFormat)
	}
	return nil
}

func (a *app) readConfig() (*config.Config, error) {
	switch {
	case a.root != "" && a.configFile != "":
		return nil, usagef("--root and --config cannot stand together: --root serves one folder without a configuration")
	case a.root != "":
		return config.ForRoot(a.root)
	case a.configFile != "":
		return config.Load(a.configFile, a.env)
	}
	if _, err := os.Stat(defaultConfig); err != nil {
		return nil, usagef("no %s in this folder: name a configuration with --config FILE, or a folder with --root DIR", defaultConfig)
	}
	return config.Load(defaultConfig, a.env)
}

// logger returns the logger for a command: least is the level below which lines are dropped where neither flag nor file
// says otherwise.
func (a *app) logger(cfg *config.Config, least string) *slog.Logger {
	level := cfg.Log.Level
	if _, set := cfg.At("log.level"); !set && a.logLevel == "" && least != "" {
		level = least
	}
	return a.newLogger(level, cfg.Log.Format)
}

func (a *app) newLogger(level, format string) *slog.Logger {
	_, noColor := a.env.Getenv("NO_COLOR")
	_, terminal := a.stderr.(*statusLine)
	return logging.New(a.stderr, &logging.Options{Level: level, Format: format, NoColor: noColor, Terminal: terminal})
}

// printf writes to stdout.
func (a *app) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.stdout, format, args...)
	return err
}
