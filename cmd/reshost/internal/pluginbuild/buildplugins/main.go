// Command buildplugins is the build step for plugins: it builds packages to WebAssembly, packs their manifests, and
// writes them where the reshost binary embeds them, or plain for an example.
//
//	buildplugins -embed cmd/reshost/internal/builtin/wasm ./plugins/docs ./plugins/file
//	buildplugins -plain examples/conformance ./examples/conformance/plugin
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reshost/reshost/cmd/reshost/internal/pluginbuild"
)

const (
	wasmSuffix = ".wasm"
	gzSuffix   = ".wasm.gz"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

func run(ctx context.Context, args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("buildplugins", flag.ContinueOnError)
	flags.SetOutput(stderr)
	embed := flags.String("embed", "", "`DIR` for NAME.wasm.gz; others there are removed")
	plain := flags.String("plain", "", "`DIR` for NAME.wasm")
	name := flags.String("name", "", "`NAME` of the only package's module, in place of its folder's")
	cache := flags.String("cache", "", "`DIR` for what can be used again")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if (*embed == "") == (*plain == "") || flags.NArg() == 0 || (*name != "" && flags.NArg() > 1) {
		fmt.Fprintln(stderr, "buildplugins: want either -embed DIR or -plain DIR, and packages")
		return 2
	}
	j := job{dir: *embed + *plain, compress: *embed != "", name: *name, packages: flags.Args()}
	if err := j.run(ctx, *cache); err != nil {
		fmt.Fprintln(stderr, "buildplugins:", err)
		return 1
	}
	return 0
}

// job is one call of the command.
type job struct {
	dir, name string
	compress  bool
	packages  []string
}

func (j *job) run(ctx context.Context, cache string) error {
	b, err := pluginbuild.New(ctx, &pluginbuild.Options{CacheDir: cache})
	if err != nil {
		return err
	}
	defer b.Close(ctx)
	var written []string
	for _, pkg := range j.packages {
		wasm, err := b.Build(ctx, pkg)
		if err != nil {
			return err
		}
		name := j.name
		if name == "" {
			name = path.Base(pkg)
		}
		suffix := wasmSuffix
		if j.compress {
			suffix = gzSuffix
			if wasm, err = pluginbuild.Compress(wasm); err != nil {
				return err
			}
		}
		if err := pluginbuild.WriteFile(filepath.Join(j.dir, name+suffix), wasm); err != nil {
			return err
		}
		written = append(written, name+suffix)
	}
	if !j.compress {
		return nil
	}
	return removeOthers(j.dir, written)
}

// removeOthers removes plugins that are no longer built, which would otherwise stay in the binary.
func removeOthers(dir string, keep []string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), gzSuffix) && !slices.Contains(keep, e.Name()) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
