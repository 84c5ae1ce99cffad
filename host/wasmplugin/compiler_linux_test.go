package wasmplugin

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestChildHasNoSecrets: a child gets neither the environment nor open files.
func TestChildHasNoSecrets(t *testing.T) {
	t.Setenv("API_TOKEN", "s3cret")
	open, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if _, err := unix.FcntlInt(open.Fd(), unix.F_SETFD, 0); err != nil { // as a careless library would
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	err = ChildCompiler(exe, lookArg).Compile(t.Context(), &CompileJob{Dir: t.TempDir(), Wasm: plain()})
	// Three streams, and what the look itself opens.
	if got := fmt.Sprint(err); got != `[]; 4` && got != `[]; 6` {
		t.Errorf("environment; open files: %s", got)
	}
}
