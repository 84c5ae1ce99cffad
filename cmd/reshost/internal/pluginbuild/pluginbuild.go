// Package pluginbuild builds Go plugins to WebAssembly and packs their manifest. The build (see buildplugins) and tests
// use it; it is no part of the reshost binary.
//
//	b, err := pluginbuild.New(ctx, &pluginbuild.Options{CacheDir: dir})
//	if err != nil { ... }
//	defer b.Close(ctx)
//	wasm, err := b.Build(ctx, "./plugins/docs")
//
// # Errors
//
// Build fails with the Go command's own output, or with what the runtime says about the module; each names the package.
package pluginbuild

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/reshost/reshost/cmd/reshost/internal/atomicfile"
	"github.com/reshost/reshost/host/wasmplugin"
)

// Options configure New.
type Options struct {
	// CacheDir keeps built modules and compiled code. Default: DefaultCacheDir.
	CacheDir string
	// Dir is a folder of the module that packages are named from. Default: the current one.
	Dir string
}

// Builder builds plugins. Its methods may be called concurrently.
type Builder struct {
	opts Options
	rt   *wasmplugin.Runtime
	// self is the digest of this program: another version of it may pack in another way.
	self string
}

// cacheVariable names the folder that all tests of the project share.
const cacheVariable = "RESHOST_TEST_CACHE"

// DefaultCacheDir returns $RESHOST_TEST_CACHE, or reshost-test in the user's cache folder.
func DefaultCacheDir() (string, error) {
	if dir := os.Getenv(cacheVariable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w; set %s", err, cacheVariable)
	}
	return filepath.Join(dir, "reshost-test"), nil
}

// CompiledDir returns the folder for compiled code below a cache folder.
func CompiledDir(cacheDir string) string { return filepath.Join(cacheDir, "compiled") }

// New returns a Builder.
func New(ctx context.Context, opts *Options) (*Builder, error) {
	b := &Builder{opts: *opts}
	if b.opts.CacheDir == "" {
		dir, err := DefaultCacheDir()
		if err != nil {
			return nil, err
		}
		b.opts.CacheDir = dir
	}
	if err := os.MkdirAll(filepath.Join(b.opts.CacheDir, "packed"), 0o700); err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if b.self, err = digestFile(exe); err != nil {
		return nil, err
	}
	b.rt, err = wasmplugin.NewRuntime(ctx, &wasmplugin.Options{CacheDir: CompiledDir(b.opts.CacheDir)})
	return b, err
}

// Close releases the runtime.
func (b *Builder) Close(ctx context.Context) error { return b.rt.Close(ctx) }

// Build returns the packed module of a package, such as "./plugins/docs". The same sources give the same bytes.
func (b *Builder) Build(ctx context.Context, pkg string) ([]byte, error) {
	raw, err := b.compile(ctx, pkg)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append([]byte(b.self), raw...))
	kept := filepath.Join(b.opts.CacheDir, "packed", hex.EncodeToString(sum[:])+".wasm")
	if packed, err := os.ReadFile(kept); err == nil {
		return packed, nil
	}
	packed, err := b.rt.Pack(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pkg, err)
	}
	return packed, WriteFile(kept, packed)
}

// compile runs the Go compiler.
func (b *Builder) compile(ctx context.Context, pkg string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "reshost-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, path.Base(pkg)+".wasm")
	// -w drops DWARF and keeps the function names that traps are reported with.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-buildmode=c-shared", "-ldflags=-w", "-o", out, pkg)
	cmd.Dir = b.opts.Dir
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=", "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: go build: %w\n%s", pkg, err, bytes.TrimSpace(output))
	}
	return os.ReadFile(out)
}

// Compress returns wasm as the binary embeds it. The same bytes give the same result.
func Compress(wasm []byte) ([]byte, error) {
	var buf bytes.Buffer
	z, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = z.Write(wasm)
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// WriteFile writes a file, and leaves one that has the same content alone, so that nothing that depends on it is built
// again.
func WriteFile(name string, data []byte) error {
	if old, err := os.ReadFile(name); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return atomicfile.Write(name, data, 0o644)
}

func digestFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
