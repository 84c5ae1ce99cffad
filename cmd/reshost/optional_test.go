package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reshost/reshost/host/wasmplugin"
)

// TestOptionalPlugins: what keeps a plugin from being served stops the start, unless the plugin is optional; then the log
// says why it is left out.
func TestOptionalPlugins(t *testing.T) {
	dir := t.TempDir()
	for file, wasm := range testModules() {
		writeFile(t, filepath.Join(dir, file), wasm)
	}
	writeFile(t, filepath.Join(dir, "traps.wasm"), trappingModule())
	bad := []struct{ name, entry, want string }{
		{"gone", "source: file:gone.wasm", "gone.wasm does not exist"},
		{"ungranted", "source: file:needs-fs.wasm", "needs the capability fs"},
		{"refused", "source: file:undeclared.wasm", `the manifest does not declare the capability "fs"`},
		{"claimed", "source: file:good.wasm", `the scheme "tiny" is claimed`},
		{"starts-badly", "source: file:traps.wasm\n    schemes: { tiny: traps }", "unreachable"},
	}
	config := func(optional bool, only string) string {
		var b strings.Builder
		b.WriteString("version: 1\nplugins:\n  - name: good\n    source: file:good.wasm\n")
		for _, p := range bad {
			if only == "" || p.name == only {
				b.WriteString("  - name: " + p.name + "\n    " + p.entry + "\n")
				if optional {
					b.WriteString("    optional: true\n")
				}
			}
		}
		name := filepath.Join(dir, "c.yaml")
		writeFile(t, name, []byte(b.String()))
		return name
	}
	for _, p := range bad {
		code, _, stderr := reshost(t, "config", "check", "--config", config(false, p.name))
		if code != exitFailure || !strings.Contains(stderr, p.want) || !strings.Contains(stderr, "c.yaml:") {
			t.Errorf("%s: exit %d, %s", p.name, code, stderr)
		}
	}
	code, stdout, stderr := reshost(t, "list", "--config", config(true, ""))
	if code != exitOK || strings.Count(stdout, "tiny://one") != 1 {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	for _, p := range bad {
		if log := strings.ReplaceAll(stderr, `\"`, `"`); !strings.Contains(log, p.want) || !strings.Contains(log, p.name) {
			t.Errorf("the log does not say %q of %s: %s", p.want, p.name, stderr)
		}
	}
}

// trappingModule is the module "tiny" with a start function that traps.
func trappingModule() []byte {
	const manifest = `{"abi":"reshost_v1","name":"tiny","schemes":["tiny"],"resources":[{"uri":"tiny://one","name":"one"}]}`
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, "\x02\x60\x00\x01\x7f\x60\x00\x00"), // () -> i32, () -> ()
		section(3, "\x02\x00\x01"), section(5, "\x01\x00\x01"),
		section(7, "\x02\x07rh_read\x00\x00\x06memory\x02\x00"), section(8, "\x01"),
		section(10, "\x02\x04\x00\x41\x01\x0b\x03\x00\x00\x0b"), customSection(manifest))
}

// TestProgress shows what a terminal gets.
func TestProgress(t *testing.T) {
	status := func(states ...wasmplugin.State) []wasmplugin.Status {
		list := make([]wasmplugin.Status, len(states))
		for i, s := range states {
			list[i] = wasmplugin.Status{Name: string(rune('a' + i)), State: s}
		}
		return list
	}
	const busy = wasmplugin.StateCompiling
	for _, tt := range []struct {
		plugins []wasmplugin.Status
		want    string
	}{
		{nil, ""},
		{status(wasmplugin.StateReady, wasmplugin.StateFailed), ""},
		{status(wasmplugin.StateReady, busy, wasmplugin.StateWaiting), "plugins: 1 of 3 ready; compiling and starting b (3 s)"},
		{status(busy, busy, busy, busy, busy), "plugins: 0 of 5 ready; compiling and starting a, b, c, 2 more (3 s)"},
		{status(wasmplugin.StateWaiting), "plugins: 0 of 1 ready (3 s)"},
	} {
		if got := progressText(tt.plugins, 3*time.Second); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	var screen bytes.Buffer
	line := &statusLine{w: &screen}
	line.Write([]byte("first\n"))
	line.set("busy")
	line.set("busy")
	line.Write([]byte("log\n"))
	line.set("")
	line.Write([]byte("last\n"))
	if got, want := screen.String(), "first\n"+clearLine+"busy"+clearLine+"log\nbusy"+clearLine+"last\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
