package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

// TestScripts runs the scripts in testdata. A script is an archive: its files become a folder, and its comment holds
// commands and what they print. A line "$ reshost …" is a command; the lines after it are its stdout, its stderr with "2| "
// before each line, and its exit code where that is not 0. The lines before the first command are a comment.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, name := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) { runScript(t, name) })
	}
}

func runScript(t *testing.T, name string) {
	name, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if work, err = filepath.EvalSymlinks(work); err != nil {
		t.Fatal(err)
	}
	changed := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, f := range archive.Files {
		path := filepath.Join(work, filepath.FromSlash(f.Name))
		writeFile(t, path, f.Data)
		if err := os.Chtimes(path, changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	for file, wasm := range testModules() {
		writeFile(t, filepath.Join(work, "wasm", file), wasm)
	}
	t.Chdir(work)
	script := &script{t: t, work: work}
	for line := range strings.Lines(string(archive.Comment)) {
		script.line(line)
	}
	if *update {
		archive.Comment = script.out.Bytes()
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(archive.Comment), script.out.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", filepath.Base(name), diff)
	}
}

// script runs commands and gathers them with what they print.
type script struct {
	t       *testing.T
	work    string
	started bool
	out     bytes.Buffer
}

func (s *script) line(line string) {
	switch {
	case strings.HasPrefix(line, "$ "):
		s.started = true
		s.out.WriteString(line)
		s.command(strings.TrimSpace(line[2:]))
	case !s.started:
		s.out.WriteString(line)
	}
}

func (s *script) command(line string) {
	args, err := splitArgs(strings.ReplaceAll(line, "$WORK", filepath.ToSlash(s.work)))
	if err != nil {
		s.t.Fatal(err)
	}
	name := args[0]
	if name != "reshost" && name != "bare-reshost" {
		s.t.Fatalf("%q is no command", name)
	}
	var stdout, stderr bytes.Buffer
	code := newApp(s.t, name == "reshost", strings.NewReader(""), &stdout, &stderr).run(s.t.Context(), args[1:])
	s.print("", stdout.String())
	s.print("2| ", stderr.String())
	if code != 0 {
		fmt.Fprintf(&s.out, "exit %d\n", code)
	}
}

// print adds output; what differs from run to run is given a name.
func (s *script) print(prefix, text string) {
	text = strings.ReplaceAll(text, s.work, "$WORK")
	for line := range strings.Lines(text) {
		s.out.WriteString(prefix + strings.TrimSuffix(line, "\n") + "\n")
	}
}

// splitArgs splits a line at spaces; single quotes keep them.
func splitArgs(line string) ([]string, error) {
	var args []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if rest, ok := strings.CutPrefix(line, "'"); ok {
			arg, after, ok := strings.Cut(rest, "'")
			if !ok {
				return nil, fmt.Errorf("a quote without its end: %s", line)
			}
			args, line = append(args, arg), after
			continue
		}
		arg, after, _ := strings.Cut(line, " ")
		args, line = append(args, arg), after
	}
	return args, nil
}
