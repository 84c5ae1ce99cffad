// Package c_test builds what the C SDK's documentation shows, and compares the header with the ABI. The SDK's behaviour is tested
// in sdk-guest/conformance.
package c_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/wasmplugin"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// build builds a program by the README's line, with all warnings, and packs it.
func build(t *testing.T, r *wasmplugin.Runtime, program string) []byte {
	t.Helper()
	if _, err := exec.LookPath("clang"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no clang: install clang and lld")
		}
		t.Skip("no clang, so the C SDK is not tested: install clang and lld")
	}
	dir := t.TempDir()
	source, out := filepath.Join(dir, "plugin.c"), filepath.Join(dir, "plugin.wasm")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("clang", "--target=wasm32", "-mbulk-memory", "-Oz", "-nostdlib", "-Wl,--no-entry", "-Wl,--stack-first",
		"-Wall", "-Wextra", "-Werror", "-I.", "-o", out, source)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%s", err, text)
	}
	packed, err := r.Pack(t.Context(), []byte(readFile(t, out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(packed))
	return packed
}

func newRuntime(t *testing.T) *wasmplugin.Runtime {
	t.Helper()
	r, err := wasmplugin.NewRuntime(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// TestREADME loads the plugin of the README and uses it as the README does.
func TestREADME(t *testing.T) {
	_, program, _ := strings.Cut(readFile(t, "README.md"), "```c\n")
	program, _, _ = strings.Cut(program, "```")
	r := newRuntime(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "shopping list.txt"), []byte("buy milk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := r.Load(t.Context(), &wasmplugin.Config{
		Wasm: build(t, r, program), Config: []byte(`{"limit":100000}`),
		Grants: wasmplugin.Grants{FS: &wasmplugin.FSGrant{Roots: map[string]wasmplugin.FSRoot{"main": {Path: dir}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := p.List(t.Context(), &provider.ListRequest{PageSize: 10})
	if err != nil || len(page.Resources) != 1 || page.Resources[0].URI != "notes://shopping%20list.txt" {
		t.Errorf("list: %+v, %v", page, err)
	}
	got, err := p.Read(t.Context(), &provider.ReadRequest{
		URI: "notes://shopping%20list.txt", Template: "notes://{name}", Vars: []provider.Var{{Name: "name", Value: "shopping list.txt"}},
		MaxBytes: 1 << 20,
	})
	if err != nil || string(got.Contents[0].Body) != "buy milk\n" {
		t.Errorf("read: %+v, %v", got, err)
	}
	values, err := p.Complete(t.Context(), &provider.CompleteRequest{Template: "notes://{name}", Argument: "name", Value: "sh"})
	if err != nil || len(values.Values) != 1 || values.Values[0] != "shopping list.txt" {
		t.Errorf("complete: %+v, %v", values, err)
	}
}

// TestGreeter builds the plugin at the head of the header. Its size is the one that the README states.
func TestGreeter(t *testing.T) {
	var program strings.Builder
	lines := bufio.NewScanner(strings.NewReader(readFile(t, "reshost.h")))
	for lines.Scan() && lines.Text() != "#ifndef RESHOST_H" {
		if code, ok := strings.CutPrefix(lines.Text(), " *     "); ok && !strings.HasPrefix(code, "clang ") && !strings.HasPrefix(code, "reshost ") {
			program.WriteString(code + "\n")
		}
	}
	if size := len(build(t, newRuntime(t), program.String())); size > 9000 {
		t.Errorf("the greeter is %d bytes", size)
	}
}

// TestGolden compares the header's numbers and imports with the ABI's golden file.
func TestGolden(t *testing.T) {
	golden := map[string]string{}
	for line := range strings.Lines(readFile(t, "../../abi/testdata/reshost_v1.golden")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		golden[name] = value
	}
	header := readFile(t, "reshost.h")
	seen := 0
	for _, m := range regexp.MustCompile(`\bRH_([A-Z0-9_]+) = (\d+)`).FindAllStringSubmatch(header, -1) {
		name := constantName(m[1])
		if name == "MaxValues" { // the protocol's
			continue
		}
		seen++
		if golden[name] != m[2] {
			t.Errorf("RH_%s is %s, %s is %q", m[1], m[2], name, golden[name])
		}
	}
	if seen < 30 {
		t.Errorf("only %d constants found", seen)
	}
	imports := regexp.MustCompile(`RH_IMPORT\("([^"]+)", "([^"]+)"\)`).FindAllStringSubmatch(header, -1)
	for _, m := range imports {
		module, function := false, false
		for name, value := range golden {
			module = module || strings.HasPrefix(name, "Module") && value == `"`+m[1]+`"`
			function = function || strings.HasPrefix(name, "Import") && value == `"`+m[2]+`"`
		}
		if !module || !function {
			t.Errorf("import %s.%s is none of the ABI", m[1], m[2])
		}
	}
	if len(imports) < 15 {
		t.Errorf("only %d imports found", len(imports))
	}
}

// constantName turns NOT_FOUND into StatusNotFound, and KIND_LIST_CHANGED into KindListChanged.
func constantName(s string) string {
	words := strings.Split(strings.ToLower(s), "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	name := strings.Join(words, "")
	switch {
	case words[0] == "Kind" || words[0] == "Reply" || words[0] == "Level" || words[0] == "Max":
		return name
	case s == "OK":
		return "StatusOK"
	}
	return "Status" + name
}
