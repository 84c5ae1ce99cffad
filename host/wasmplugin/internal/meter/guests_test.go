package meter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// goGuest builds testdata/goguest as a plugin is built.
func goGuest(tb testing.TB) []byte {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), "guest.wasm")
	cmd := exec.Command("go", "build", "-trimpath", "-buildmode=c-shared", "-ldflags=-w", "-o", out, ".")
	cmd.Dir = filepath.Join("testdata", "goguest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	return build(tb, cmd, out)
}

// cGuest builds a file of testdata/c through clang; see missing.
func cGuest(tb testing.TB, name string, flags ...string) []byte {
	tb.Helper()
	if _, err := exec.LookPath("clang"); err != nil {
		missing(tb, "no clang: C guests are not tested")
	}
	if _, err := exec.LookPath("wasm-ld"); err != nil {
		missing(tb, "no wasm-ld: C guests are not tested")
	}
	out := filepath.Join(tb.TempDir(), "guest.wasm")
	args := append([]string{
		"--target=wasm32-unknown-unknown", "-nostdlib", "-O2", "-mbulk-memory", "-Wl,--no-entry",
		"-Wl,--stack-first", "-Wl,-z,stack-size=1048576", "-o", out, filepath.Join("testdata", "c", name),
	}, flags...)
	return build(tb, exec.Command("clang", args...), out)
}

// missing skips a test whose tool is not there; the continuous build provides it.
func missing(tb testing.TB, message string) {
	tb.Helper()
	if os.Getenv("CI") != "" {
		tb.Fatal(message)
	}
	tb.Skip(message)
}

func build(tb testing.TB, cmd *exec.Cmd, out string) []byte {
	tb.Helper()
	if msg, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%v: %v\n%s", cmd, err, msg)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}
