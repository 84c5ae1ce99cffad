package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// An address that cannot be had is one line that says what to do.
func TestListenRemedies(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "no-such", "sock")
	tests := []struct {
		name, listen string
		code         int
		want         string
	}{
		{"folder of a socket missing", "unix:" + missing, exitFailure, "create the folder " + filepath.Dir(missing)},
		{"not an address of this machine", "203.0.113.1:0", exitFailure, "this machine does not have the address"},
		{"port too large", "127.0.0.1:65536", exitUsage, "from 0 to 65535"},
		{"port alone", "8642", exitUsage, "did you mean 127.0.0.1:8642?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, _, stderr := reshost(t, "serve", "--root", t.TempDir(), "--listen", test.listen)
			if code != test.code || !strings.Contains(stderr, test.want) {
				t.Errorf("exit %d, %q, want %d and %q in it", code, stderr, test.code, test.want)
			}
		})
	}
}
