package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPluginCompile fills the cache for files and for a configuration; what fails costs no other plugin its turn.
func TestPluginCompile(t *testing.T) {
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	for file, wasm := range testModules() {
		writeFile(t, filepath.Join(dir, file), wasm)
	}
	good, needs, bad := filepath.Join(dir, "good.wasm"), filepath.Join(dir, "needs-fs.wasm"), filepath.Join(dir, "undeclared.wasm")
	config := filepath.Join(dir, "c.yaml")
	writeFile(t, config, []byte("version: 1\nplugins:\n  - name: one\n    source: file:good.wasm\n  - name: two\n    source: file:gone.wasm\n    optional: true\n"))
	compile := func(args ...string) (int, string, string) {
		return reshost(t, append([]string{"plugin", "compile", "--state-dir", state}, args...)...)
	}
	entries := func() int {
		found, err := filepath.Glob(filepath.Join(state, cacheFolder, "wazero-*", "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	code, stdout, stderr := compile(good, bad, needs)
	if code != exitFailure || strings.Count(stdout, ": compiled (") != 2 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "undeclared.wasm") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	if n := entries(); n != 2 {
		t.Errorf("%d entries", n)
	}
	code, stdout, stderr = compile("--config", config)
	if code != exitOK || stdout != "one (file:"+good+"): was compiled already\n" || !strings.Contains(stderr, "left out") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
	code, stdout, _ = compile("--json", good)
	if code != exitOK || !strings.Contains(stdout, `"name":"tiny","source":"`+good+`","cached":true,`) {
		t.Errorf("exit %d\n%s", code, stdout)
	}
	if err := os.Chmod(filepath.Join(state, cacheFolder), 0o777); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr = compile(good); code != exitFailure || !strings.Contains(stderr, "can be written by others") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if code, _, stderr = compile(filepath.Join(dir, "nope.wasm")); code != exitFailure || !strings.Contains(stderr, "does not exist") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}
