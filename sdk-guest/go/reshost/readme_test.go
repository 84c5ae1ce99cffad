package reshost_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxGuest is what a minimal guest may weigh, in bytes, with its function names.
const maxGuest = 2 << 20

// goBlocks returns the Go programs of the README.
func goBlocks(t *testing.T) []string {
	t.Helper()
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(b), -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// program writes files into a folder of this module that no pattern matches, so that they build as a newcomer's would.
func program(t *testing.T, files map[string]string) string {
	t.Helper()
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("testdata", "program")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return "./" + filepath.ToSlash(dir)
}

func run(t *testing.T, env []string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestREADME runs the README's test of the README's plugin, and builds it for the sandbox.
func TestREADME(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	blocks := goBlocks(t)
	if len(blocks) != 2 {
		t.Fatalf("the README has %d programs, want the plugin and its test", len(blocks))
	}
	dir := program(t, map[string]string{"main.go": blocks[0], "main_test.go": blocks[1]})
	run(t, nil, "test", dir)
	build(t, dir)
}

// build builds a guest by the README's line and returns its size.
func build(t *testing.T, dir string) int64 {
	t.Helper()
	out := filepath.Join(t.TempDir(), "guest.wasm")
	run(t, []string{"GOOS=wasip1", "GOARCH=wasm"}, "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-w", "-o", out, dir)
	info, err := os.Stat(out)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestSize builds the plugin of the package's documentation.
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	b, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.SplitSeq(string(b), "\n") {
		if code, ok := strings.CutPrefix(line, "//\t"); ok && !strings.Contains(code, "GOOS=") && !strings.HasPrefix(code, "reshost plugin") {
			text.WriteString(code + "\n")
		}
	}
	if size := build(t, program(t, map[string]string{"main.go": text.String()})); size > maxGuest {
		t.Errorf("a minimal guest is %d bytes, more than %d", size, maxGuest)
	} else {
		t.Logf("a minimal guest is %d bytes", size)
	}
}
