package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/host"
)

func TestVersion(t *testing.T) {
	code, stdout, stderr := reshost(t, "version", "--json")
	if code != exitOK || stderr != "" {
		t.Fatalf("%d %q", code, stderr)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"abi": "reshost_v1", "abiMinor": 0.0, "plugins": []any{"docs", "file"}} {
		if got, ok := v[key]; !ok || !equalJSON(got, want) {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}
	for _, key := range []string{"version", "commit", "modified", "go", "platform"} {
		if _, ok := v[key]; !ok {
			t.Errorf("no %s in %s", key, stdout)
		}
	}
	if code, stdout, _ := reshost(t, "version"); code != exitOK || !strings.Contains(stdout, "2026-07-28") {
		t.Errorf("as text: %d %q", code, stdout)
	}
}

func equalJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// TestCompletion shows that the shells get scripts, commands, and the values of flags.
func TestCompletion(t *testing.T) {
	for shell, want := range map[string]string{
		"bash": "__start_reshost", "zsh": "#compdef reshost", "fish": "complete -c reshost", "powershell": "Register-ArgumentCompleter",
	} {
		if code, stdout, stderr := reshost(t, "completion", shell); code != exitOK || stderr != "" || !strings.Contains(stdout, want) {
			t.Errorf("completion %s: %d, %q on stderr, no %q in %d bytes", shell, code, stderr, want, len(stdout))
		}
	}
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"ser"}, "serve"},
		{[]string{"config", ""}, "schema"},
		{[]string{"serve", "--log-level", "w"}, "warn"},
		{[]string{"serve", "--log-format", ""}, "json"},
		{[]string{"serve", "--config", ""}, "yaml"},
		{[]string{"serve", "--li"}, "--listen"},
	}
	for _, test := range tests {
		if _, stdout, _ := reshost(t, append([]string{"__complete"}, test.args...)...); !strings.Contains(stdout, test.want) {
			t.Errorf("completing %v gives %q, want %q in it", test.args, stdout, test.want)
		}
	}
}

// TestPrintable shows that names from plugins cannot steer a terminal.
func TestPrintable(t *testing.T) {
	if got := printable("a\x1b[31mb\n\u202ec\u009bé"); got != "a\uFFFD[31mb\uFFFD\uFFFDc\uFFFDé" {
		t.Errorf("got %q", got)
	}
}

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{"http://127.0.0.1:1/mcp": "http://127.0.0.1:1/mcp", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := shellQuote(in); got != want {
			t.Errorf("shellQuote(%q) = %s, want %s", in, got, want)
		}
	}
}

// TestRevisions shows that the configuration's table and the printed command know what the host knows.
func TestRevisions(t *testing.T) {
	var quoted []string
	for _, r := range host.Revisions() {
		quoted = append(quoted, `"`+r+`"`)
	}
	schema, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(schema)), "")
	if want := `"enum":[` + strings.Join(quoted, ",") + `]`; !strings.Contains(flat, want) {
		t.Errorf("the schema does not have %s for revisions", want)
	}
	if !slices.Contains(host.Revisions(), tryRevision) {
		t.Errorf("the printed command uses %s, which is not served", tryRevision)
	}
}
