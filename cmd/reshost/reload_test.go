//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// reloads is a server whose files change.
type reloads struct {
	*server
	t   *testing.T
	dir string
}

func serveFiles(t *testing.T, config string, files map[string][]byte) *reloads {
	t.Helper()
	// Should the server not catch the signal, the test fails instead of ending the process.
	caught := make(chan os.Signal, 100)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
	dir := t.TempDir()
	for name, data := range files {
		writeFile(t, filepath.Join(dir, name), data)
	}
	writeFile(t, filepath.Join(dir, "c.yaml"), []byte(config))
	return &reloads{serve(t, "--listen", "127.0.0.1:0", "--config", filepath.Join(dir, "c.yaml")), t, dir}
}

// put replaces a file by a rename, as most programs write.
func (r *reloads) put(name string, data []byte) {
	r.t.Helper()
	writeFile(r.t, filepath.Join(r.dir, name+".new"), data)
	if err := os.Rename(filepath.Join(r.dir, name+".new"), filepath.Join(r.dir, name)); err != nil {
		r.t.Fatal(err)
	}
}

// until waits until the server lists what has all of want, and none of those that begin with "!".
func (r *reloads) until(want ...string) {
	r.t.Helper()
	r.wait(fmt.Sprint(want), func() bool {
		_, body := r.post(http.DefaultClient, "resources/list", "")
		for _, w := range want {
			if not, ok := strings.CutPrefix(w, "!"); ok && strings.Contains(body, not) || !ok && !strings.Contains(body, w) {
				return false
			}
		}
		return true
	})
}

// says waits until the log has text.
func (r *reloads) says(text string) {
	r.t.Helper()
	r.wait(text, func() bool { return strings.Contains(r.stderr.String(), text) })
}

func (r *reloads) wait(what string, done func() bool) {
	r.t.Helper()
	waitFor(r.t, r.server, what, done)
}

// tiny is a plugin that serves NAME://one.
func tiny(name string) []byte {
	return module(fmt.Sprintf(`{"abi":"reshost_v1","name":"tiny","schemes":[%q],"resources":[{"uri":"%s://one","name":"one"}]}`, name, name))
}

const twoPlugins = "version: 1\nplugins:\n- { name: a, source: \"file:a.wasm\" }\n- { name: b, source: \"file:b.wasm\" }\n"

// TestReload changes plugins and the configuration of a running server, well and badly.
func TestReload(t *testing.T) {
	r := serveFiles(t, twoPlugins, map[string][]byte{"a.wasm": tiny("a"), "b.wasm": tiny("b")})
	r.until("a://one", "b://one")

	t.Log("a plugin's file is replaced: nobody has to say so")
	r.put("a.wasm", tiny("a2"))
	r.until("a2://one", "!a://one", "b://one")

	t.Log("two plugins exchange what they claim")
	r.put("a.wasm", tiny("b"))
	r.put("b.wasm", tiny("a2"))
	hangup(t)
	r.says("new=2")
	r.until("a2://one", "b://one")

	t.Log("a file that is cut short is not loaded, and keeps nobody else from it")
	r.put("a.wasm", tiny("c")[:60])
	r.put("b.wasm", tiny("d"))
	r.until("b://one", "d://one")
	r.says("a plugin cannot be replaced; the one before serves on")
	r.put("a.wasm", tiny("c"))
	r.until("c://one", "d://one")

	t.Log("the configuration is taken as a whole or not at all")
	r.put("e.wasm", tiny("e"))
	r.put("c.yaml", []byte(twoPlugins+"- { name: e, source: \"file:e.wasm\" }\n- { name: f, source: \"file:gone.wasm\" }\n"))
	r.says("c.yaml:6:14: plugins[3].source:")
	r.until("!e://one", "c://one", "d://one")
	r.put("c.yaml", []byte(twoPlugins+"- { name: e, source: \"file:e.wasm\", color: red }\n"))
	r.says("c.yaml:5:37: plugins[2].color: unknown key")
	r.put("c.yaml", []byte(twoPlugins+"- { name: e, source: \"file:e.wasm\", schemes: { e: c } }\n"))
	r.says(`the scheme \"c\" is claimed`)
	r.until("!e://one", "c://one", "d://one")
	r.put("c.yaml", []byte(strings.Replace(twoPlugins, "- { name: b", "- { name: e, source: \"file:e.wasm\" }\n#", 1)))
	r.until("e://one", "c://one", "!d://one")

	t.Log("what cannot change while serving is said")
	r.put("c.yaml", []byte("server: { listen: \"127.0.0.1:1\" }\n"+twoPlugins))
	r.says("a change takes effect at the next start")
	r.says("key=server.listen")
	r.until("d://one", "!e://one")
	if code := r.end(); code != exitOK {
		t.Errorf("exit code %d:\n%s", code, r.stderr)
	}
}

// TestReloadThroughLinks: a mounted ConfigMap changes by a link that leads elsewhere; so may a folder that is served.
func TestReloadThroughLinks(t *testing.T) {
	dir := t.TempDir()
	for i, name := range []string{"one", "two"} {
		writeFile(t, filepath.Join(dir, name, "docs", name+".md"), []byte("# Hello\n"))
		writeFile(t, filepath.Join(dir, name, "c.yaml"), fmt.Appendf(nil,
			"version: 1\nplugins:\n- name: docs\n  source: builtin:docs\n  schemes: { docs: tree%d }\n  grants: { fs: { root: ../tree } }\n", i+1))
	}
	link := func(name, to string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name+".new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("..data", "one")
	link("tree", "one/docs")
	r := &reloads{serve(t, "--listen", "127.0.0.1:0", "--config", filepath.Join(dir, "..data", "c.yaml")), t, dir}
	r.until("tree1://", "one.md")
	link("..data", "two")
	r.until("tree2://", "one.md", "!tree1://")
	link("tree", "two/docs")
	r.until("tree2://", "two.md", "!one.md")
}

// TestReloadUnderLoad: no call fails while plugins are replaced, again and again, and what the process takes from the system grows
// by no more than a tenth after the first hundred. RESHOST_RELOADS is how often; make soak sets it to 1,000.
func TestReloadUnderLoad(t *testing.T) {
	r := serveFiles(t, "version: 1\nplugins:\n- { name: docs, source: \"file:a.wasm\" }\n", map[string][]byte{"a.wasm": tiny("v0")})
	rounds := 10
	if n, err := strconv.Atoi(os.Getenv("RESHOST_RELOADS")); err == nil {
		rounds = n
	}
	var taken uint64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var load sync.WaitGroup
	var calls atomic.Int64
	for range 2 {
		load.Go(func() {
			for ctx.Err() == nil {
				if status, body := r.post(http.DefaultClient, "resources/list", ""); status != http.StatusOK || !strings.Contains(body, "://one") {
					t.Errorf("while plugins are replaced: %d %s", status, body)
				}
				calls.Add(1)
			}
		})
	}
	for i := range rounds {
		r.put("a.wasm", tiny(fmt.Sprintf("v%d", i%2+1)))
		hangup(t)
		r.until(fmt.Sprintf("v%d://one", i%2+1))
		if i == 99 {
			taken = systemMemory()
		}
	}
	if now := systemMemory(); taken > 0 && now > taken+taken/10 {
		t.Errorf("%d bytes after 100 reloads, %d after %d", taken, now, rounds)
	}
	stop()
	load.Wait()
	if calls.Load() == 0 {
		t.Error("no call was made meanwhile")
	}
	if strings.Contains(r.stderr.String(), "ERROR") {
		t.Error(r.stderr)
	}
}

func systemMemory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}
