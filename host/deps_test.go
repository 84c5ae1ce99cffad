package host_test

import (
	"os/exec"
	"strings"
	"testing"
)

// An application that embeds the host with native providers links no WebAssembly engine.
func TestNoEngineLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "github.com/reshost/reshost/host").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if !strings.Contains(string(out), "github.com/reshost/reshost/host/internal/httpd") {
		t.Fatalf("go list did not list the host: %s", out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "wazero") || strings.Contains(line, "wasmplugin") {
			t.Errorf("host depends on %s", line)
		}
	}
}
