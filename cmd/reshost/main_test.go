package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/reshost/reshost/cmd/reshost/internal/builtin"
	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/cmd/reshost/internal/pluginbuild"
)

// TestMain runs the tests, or plays the part of a compiler's child, or another's.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case compileChild:
			main()
		case serveNotes:
			os.Exit(mainServeNotes())
		case roleServer:
			os.Exit(playServer(os.Args[2:]))
		case roleControl:
			os.Exit(playControl())
		case roleClient:
			os.Exit(playClient(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// repository is the top of the repository; tests change the folder they run in.
var repository, repositoryErr = filepath.Abs(filepath.Join("..", ".."))

// testPlugins builds the plugins that the binary carries, once for all tests. The runtime they are packed with keeps
// compiled code where the tests' own runtimes look for it.
var testPlugins = sync.OnceValues(func() (fs.FS, error) {
	if repositoryErr != nil {
		return nil, repositoryErr
	}
	ctx := context.Background()
	b, err := pluginbuild.New(ctx, &pluginbuild.Options{Dir: repository})
	if err != nil {
		return nil, err
	}
	defer b.Close(ctx)
	files := make(fstest.MapFS)
	for _, name := range []string{"docs", "file"} {
		wasm, err := b.Build(ctx, "./plugins/"+name)
		if err != nil {
			return nil, err
		}
		packed, err := pluginbuild.Compress(wasm)
		if err != nil {
			return nil, err
		}
		files[name+".wasm.gz"] = &fstest.MapFile{Data: packed}
	}
	return files, nil
})

// testEnvironment is the process's own, but for where state is kept.
type testEnvironment struct {
	config.Environment
	state string
	vars  map[string]string
}

func (e testEnvironment) Getenv(name string) (string, bool) {
	switch name {
	case "STATE_DIRECTORY":
		return e.state, true
	case "NO_COLOR":
		return "", false
	}
	v, ok := e.vars[name]
	return v, ok
}

// newApp returns a program with the plugins built in, or without any.
func newApp(t *testing.T, carriesPlugins bool, stdin io.Reader, stdout, stderr io.Writer) *app {
	t.Helper()
	plugins := builtin.NewSet(fstest.MapFS{"README.md": {}})
	if carriesPlugins {
		files, err := testPlugins()
		if err != nil {
			t.Fatal(err)
		}
		plugins = builtin.NewSet(files)
	}
	state, err := pluginbuild.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	env := testEnvironment{config.OS(), state, map[string]string{"TOKEN": "s3cret-token"}}
	return &app{stdin: stdin, stdout: stdout, stderr: stderr, env: env, builtins: plugins}
}

// reshost runs one command line.
func reshost(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = newApp(t, true, strings.NewReader(""), &out, &errs).run(t.Context(), args)
	return code, out.String(), errs.String()
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
