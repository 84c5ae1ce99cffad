// Package rust_test builds what the Rust SDK's documentation shows, and compares its numbers with the ABI. The SDK's behaviour is
// tested in sdk-guest/conformance.
package rust_test

import (
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

// rustc is Debian's compiler where it has its library for WebAssembly, else the first on the path.
func rustc(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/usr/lib/rustlib/wasm32-unknown-unknown"); err == nil {
		return "/usr/bin/rustc"
	}
	name, err := exec.LookPath("rustc")
	switch {
	case err == nil:
		return name
	case os.Getenv("CI") != "":
		t.Fatal("no rustc: install rustc and libstd-rust-dev-wasm32")
	}
	t.Skip("no rustc, so the Rust SDK is not tested: install rustc and libstd-rust-dev-wasm32")
	return ""
}

func compile(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(rustc(t), append([]string{"--edition", "2021", "-D", "warnings"}, args...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("rustc: %v\n%s", err, text)
	}
}

const target = "--target=wasm32-unknown-unknown"

// TestREADME builds the plugin of the README with its profile, loads it, and uses it as the README does.
func TestREADME(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the Rust compiler")
	}
	_, program, _ := strings.Cut(readFile(t, "README.md"), "```rust\n")
	program, _, _ = strings.Cut(program, "```")
	dir := t.TempDir()
	lib, source, out := filepath.Join(dir, "libreshost.rlib"), filepath.Join(dir, "lib.rs"), filepath.Join(dir, "notes.wasm")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	compile(t, target, "-C", "opt-level=s", "--crate-type=rlib", "--crate-name=reshost", "--cfg", `feature="std"`, "-o", lib, "src/lib.rs")
	compile(t, target, "-C", "opt-level=s", "--crate-type=cdylib", "--crate-name=notes", "--extern", "reshost="+lib, "-C", "lto",
		"-C", "panic=abort", "-C", "strip=debuginfo", "-o", out, source)

	r, err := wasmplugin.NewRuntime(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	packed, err := r.Pack(t.Context(), []byte(readFile(t, out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", len(packed))
	notes := t.TempDir()
	if err := os.WriteFile(filepath.Join(notes, "shopping list.txt"), []byte("buy milk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := r.Load(t.Context(), &wasmplugin.Config{
		Wasm: packed, Config: []byte(`{"limit":100000}`),
		Grants: wasmplugin.Grants{FS: &wasmplugin.FSGrant{Roots: map[string]wasmplugin.FSRoot{"main": {Path: notes}}}},
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

// TestWithoutStd builds the crate with alloc alone, for the sandbox and natively, where the host's functions are stand-ins.
func TestWithoutStd(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the Rust compiler")
	}
	out := filepath.Join(t.TempDir(), "libreshost.rlib")
	compile(t, target, "--crate-type=rlib", "--crate-name=reshost", "-o", out, "src/lib.rs")
	compile(t, "--crate-type=rlib", "--crate-name=reshost", "-o", out, "src/lib.rs")
}

// TestGolden compares the crate's numbers and imports with the ABI's golden file.
func TestGolden(t *testing.T) {
	golden := map[string]string{}
	for line := range strings.Lines(readFile(t, "../../abi/testdata/reshost_v1.golden")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		golden[strings.ToLower(name)] = value
	}
	source := readFile(t, "src/abi.rs")
	constants := regexp.MustCompile(`pub const (\w+): \w+ = (\d+);`).FindAllStringSubmatch(source, -1)
	for _, m := range constants {
		if name := strings.ToLower(strings.ReplaceAll(m[1], "_", "")); name != "maxvalues" && golden[name] != m[2] {
			t.Errorf("%s is %s, in the ABI %q", m[1], m[2], golden[name])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^    (\w+) = (\d+),$`).FindAllStringSubmatch(source, -1) {
		if golden["level"+strings.ToLower(m[1])] != m[2] {
			t.Errorf("Level::%s is %s", m[1], m[2])
		}
	}
	module, imports := "", 0
	for _, m := range regexp.MustCompile(`(?m)^    "(\w+)" \{|^        "(\w+)" fn `).FindAllStringSubmatch(source, -1) {
		if m[1] != "" {
			module = strings.TrimSuffix(strings.TrimPrefix(m[1], "reshost_"), "_v1")
			if module == "v1" {
				module = ""
			}
			if golden["module"+module] != `"`+m[1]+`"` {
				t.Errorf("module %s is none of the ABI", m[1])
			}
			continue
		}
		imports++
		if golden["import"+module+m[2]] != `"`+m[2]+`"` {
			t.Errorf("import %s of %q is none of the ABI", m[2], module)
		}
	}
	if len(constants) < 25 || imports < 15 {
		t.Errorf("only %d constants and %d imports found", len(constants), imports)
	}
}
