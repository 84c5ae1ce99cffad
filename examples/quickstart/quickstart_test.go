// Package quickstart_test runs the commands that the example's README shows.
package quickstart_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// command builds reshost and returns a function that runs it on the example's configuration. A reshost that was built
// without its plugins (go test alone, make test builds them first) cannot serve the example.
func command(t *testing.T) func(args ...string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "reshost")
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command: ", err)
	}
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/reshost").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command(bin, "plugin", "list").CombinedOutput(); err != nil || !bytes.Contains(out, []byte("builtin:file")) {
		t.Skipf("reshost carries no plugins: %s", out)
	}
	state := t.TempDir()
	return func(args ...string) string {
		t.Helper()
		cmd := exec.Command(bin, append(args, "--config", "reshost.yaml", "--state-dir", state)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("reshost %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
		}
		return string(out)
	}
}

func TestQuickstart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and starts reshost several times")
	}
	reshost := command(t)
	var list struct {
		Resources []struct{ URI, Title string }
	}
	if err := json.Unmarshal([]byte(reshost("list", "--json")), &list); err != nil {
		t.Fatal(err)
	}
	titles := map[string]string{}
	for _, r := range list.Resources {
		titles[r.URI] = r.Title
	}
	for uri, title := range map[string]string{
		"docs://index":                               "The quickstart's documents",
		"docs://README.md":                           "Start here",
		"docs://how%20a%20read%20works.md":           "How a read works",
		"docs://na%C3%AFve%20questions.md":           "Naïve questions",
		"docs://%C3%9Cberblick.md":                   "Überblick",
		"file:///samples/dot.png":                    "",
		"file:///samples/measures.csv":               "",
		"file:///samples/notes/a%20first%20note.txt": "",
		"file:///samples/notes/empty.txt":            "",
	} {
		if got, ok := titles[uri]; !ok || got != title {
			t.Errorf("%s is listed: %t, with the title %q, want %q", uri, ok, got, title)
		}
	}
	document, err := os.ReadFile(filepath.Join("docs", "naïve questions.md"))
	if err != nil {
		t.Fatal(err)
	}
	for uri, want := range map[string]string{
		"docs://na%C3%AFve%20questions.md": string(document),
		"docs://naïve questions.md":        string(document),
		"file:///samples/notes/":           "file:///samples/notes/a%20first%20note.txt\nfile:///samples/notes/empty.txt",
	} {
		if got := reshost("read", uri); got != want {
			t.Errorf("read %s: %q, want %q", uri, got, want)
		}
	}
	var index []struct{ URI string }
	if err := json.Unmarshal([]byte(reshost("read", "docs://index")), &index); err != nil || len(index) != 4 {
		t.Errorf("the index has %d documents: %v", len(index), err)
	}
	if got := strings.Fields(reshost("complete", "file:///{+path}", "path", "samples/n")); !slices.Equal(got, []string{"samples/notes/"}) {
		t.Errorf("completion: %q", got)
	}
}

// What the documents link to is there.
func TestLinks(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("docs", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, part := range strings.Split(string(text), "](")[1:] {
		target, _, _ := strings.Cut(part, ")")
		name := strings.NewReplacer("%20", " ", "%C3%AF", "ï", "%C3%9C", "Ü").Replace(target)
		if _, err := os.Stat(filepath.Join("docs", name)); err != nil {
			t.Error(err)
		}
		links++
	}
	if links == 0 {
		t.Error("no links were found")
	}
}
