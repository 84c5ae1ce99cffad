package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/reshost/reshost/cmd/reshost/internal/pluginbuild"
)

// hostileEnv makes TestHostileGuests run every guest for seconds, with the bounds that are promised; `make hostile` sets it.
const hostileEnv = "RESHOST_HOSTILE"

const (
	// hostileTimeout is the time of one call of a hostile guest, and hostileCopies how many run at once: the default limit
	// of instances.
	hostileTimeout = 500 * time.Millisecond
	hostileCopies  = 32
	neighbourRate  = 100 // reads a second
)

// hostileBounds are what a hostile guest may cost others.
type hostileBounds struct {
	// rounds of quiet and attack by turns: what else the machine does falls on both.
	rounds        int
	quiet, attack time.Duration
	// p99 is by how much that of the neighbours may rise, late how long after its deadline a call may end, and rss by how many
	// bytes the process may have grown afterwards. What a server that does nothing is late by is the machine's, and is added.
	p99, late time.Duration
	rss       int64
}

var (
	promisedBounds = hostileBounds{3, time.Second, time.Second, 25 * time.Millisecond, 100 * time.Millisecond, 32 << 20}
	// looseBounds are for a machine that does other things meanwhile.
	looseBounds = hostileBounds{1, time.Second, time.Second, time.Second, 3 * time.Second, 2 * 32 << 20}
)

// hostileGuest is one way to do harm.
type hostileGuest struct {
	// guest names the function of hostile.c that rh_read runs; flags are further macros.
	guest string
	flags []string
	// wasm makes a module where C cannot.
	wasm func() []byte
	// method and params are what is asked; reads of hostile://x by default.
	method, params string
	// want is in every answer.
	want string
	// short: it is run without hostileEnv, too.
	short bool
}

func (g *hostileGuest) name() string {
	return strings.TrimSpace(cmp.Or(g.guest, "table_growth") + " " + strings.Join(g.flags, " "))
}

func hostileGuests() []hostileGuest {
	const (
		late    = `"reason":"timeout"`
		failure = `"code":-32603`
		refused = `"error"` // by its deadline, or because there is no memory for so many
		gone    = `"reason":"unavailable"`
	)
	return []hostileGuest{
		{guest: "loop", want: late, short: true},
		{guest: "call_tree", want: late},
		{guest: "straight_line", want: late},
		{guest: "divisions", want: late},
		{guest: "host_calls", want: late},
		{guest: "fill", want: refused, short: true},
		{guest: "copy", want: refused},
		{guest: "random_60mib", want: refused},
		{guest: "recursion_of_small_frames", want: failure},
		{guest: "recursion_of_large_frames", want: failure},
		{guest: "deep_and_back", want: `"jsonrpc"`, short: true},
		{guest: "memory_growth", want: refused},
		{guest: "memory_kept", want: `"jsonrpc"`},
		{wasm: tableGrowth, want: late},
		{guest: "records", want: failure},
		{guest: "body_of_1gb", want: "larger than the limit"},
		{guest: "malformed_records", want: late},
		{guest: "bad_pointer", want: failure},
		{guest: "lying_length", want: failure},
		{guest: "updates", want: late},
		{guest: "trap", want: failure},
		{guest: "calm", flags: []string{"-DLIST=trap"}, method: "resources/list", want: "calm://"},
		{
			guest: "calm", flags: []string{"-DCOMPLETE=trap"}, method: "completion/complete",
			params: `"ref":{"type":"ref/resource","uri":"hostile://{name}"},"argument":{"name":"name","value":"x"},`, want: failure,
		},
		{guest: "calm", flags: []string{"-DLIST=loop"}, method: "resources/list", want: "calm://"},
		{guest: "leave", want: failure},
		{guest: "sleep_an_hour", want: late},
		{guest: "log_flood", want: late},
		{guest: "stderr_flood", want: late},
		{guest: "calm", flags: []string{"-DSTART=loop"}, want: gone},
		{guest: "calm", flags: []string{"-DSTART=trap"}, want: gone},
	}
}

// hostileManifest is that of the hostile guests and, under another name, of their neighbour in C.
const hostileManifest = `{"abi":"reshost_v1","name":"hostile","schemes":["hostile"],"list":true,
	"resources":[{"uri":"hostile://x","name":"x"}],
	"templates":[{"uriTemplate":"hostile://{name}","name":"n","vars":{"name":{"complete":true}}}]}`

// tableGrowth grows a table for ever.
func tableGrowth() []byte {
	const grow = "\x03\x40\xd0\x6f\x41\x01\xfc\x0f\x00\x1a\x0c\x00\x0b\x00" // loop: table.grow 0 (ref.null extern) 1
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, "\x01\x60\x00\x01\x7f"), section(3, "\x03\x00\x00\x00"), section(4, "\x01\x6f\x00\x01"), section(5, "\x01\x00\x01"),
		section(7, "\x04\x07rh_read\x00\x00\x07rh_list\x00\x01\x0brh_complete\x00\x02\x06memory\x02\x00"),
		section(10, "\x03"+vec("\x00"+grow+"\x0b")+vec("\x00\x41\x00\x0b")+vec("\x00\x41\x00\x0b")))
}

// compile returns the guest as a plugin.
func (g *hostileGuest) compile(t *testing.T) []byte {
	t.Helper()
	if g.wasm != nil {
		return append(g.wasm(), customSection(hostileManifest)...)
	}
	out := filepath.Join(t.TempDir(), "guest.wasm")
	args := append([]string{
		"--target=wasm32", "-mbulk-memory", "-O1", "-Wall", "-Wextra", "-Werror", "-nostdlib", "-Wl,--no-entry", "-Wl,--stack-first",
		"-I", filepath.Join(repository, "sdk-guest", "c"), "-DGUEST=" + g.guest, "-o", out, filepath.Join("testdata", "hostile", "hostile.c"),
	}, g.flags...)
	if text, err := exec.Command("clang", args...).CombinedOutput(); err != nil {
		t.Fatalf("clang: %v\n%s", err, text)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return append(wasm, customSection(hostileManifest)...)
}

// TestHostileGuests serves each hostile guest beside two good plugins and calls as many of it at once as there may be
// instances. A client in a process of its own reads from the good ones meanwhile, at a fixed rate: none of its reads fails, and they
// take hardly longer than before. Each of the hostile calls ends soon after its deadline, and the memory is given back.
func TestHostileGuests(t *testing.T) {
	if testing.Short() {
		t.Skip("serves and calls for seconds")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the resident size is read as Linux tells it")
	}
	for _, tool := range []string{"clang", "wasm-ld"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, "no "+tool+": hostile guests in C are not tested")
		}
	}
	all, bounds := os.Getenv(hostileEnv) != "", looseBounds
	if all {
		bounds = promisedBounds
	}
	dir := t.TempDir()
	builtins, control := writeBuiltins(t, dir), startControl(t)
	writeFile(t, filepath.Join(dir, "docs", "README.md"), []byte("# Hello\n"))
	calm := hostileGuest{guest: "calm"}
	writeFile(t, filepath.Join(dir, "calm.wasm"), calm.compile(t))
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "guest\tneighbours' p99, quiet\tbeside it\tmost\tcontrol\terrors\tits calls\tlongest\tMiB more")
	for _, g := range hostileGuests() {
		if !all && !g.short {
			continue
		}
		t.Run(g.name(), func(t *testing.T) {
			writeFile(t, filepath.Join(dir, "hostile.wasm"), g.compile(t))
			r := attack(t, dir, builtins, control, &g, &bounds)
			fmt.Fprintf(w, "%s\t%.1f ms\t%.1f ms\t%.1f ms\t%.1f ms\t%d\t%d\t%.0f ms\t%d\n", g.name(), quantile(r.quiet.Times, 0.99), quantile(r.beside.Times, 0.99), quantile(r.beside.Times, 1),
				quantile(r.beside.Control, 0.99), r.beside.Errors, r.calls, r.longest.Seconds()*1000, r.grown>>20)
			r.check(t, &bounds)
		})
	}
	w.Flush()
	t.Logf("%d copies, deadline %s, %d reads a second\n%s", hostileCopies, hostileTimeout, neighbourRate, table.String())
}

// missing skips a test whose tool is not there; the continuous build has it.
func missing(t *testing.T, message string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
}

// writeBuiltins puts the plugins that the binary carries where another process finds them.
func writeBuiltins(t *testing.T, dir string) string {
	t.Helper()
	files, err := testPlugins()
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "builtin")
	if err := os.CopyFS(to, files); err != nil {
		t.Fatal(err)
	}
	return to
}

// attackResult is what came of one guest.
type attackResult struct {
	quiet, beside neighbours
	calls         int
	longest       time.Duration
	wrong         string // an answer that lacks what was expected
	grown         int64
}

func (r *attackResult) check(t *testing.T, bounds *hostileBounds) {
	t.Helper()
	if r.beside.Errors > 0 || r.quiet.Errors > 0 {
		t.Errorf("%d of %d reads of the neighbours failed: %s", r.beside.Errors, r.beside.Reads, r.beside.First+r.quiet.First)
	}
	quiet, beside, control := quantile(r.quiet.Times, 0.99), quantile(r.beside.Times, 0.99), quantile(r.beside.Control, 0.99)
	if rise := beside - max(quiet, control); rise > bounds.p99.Seconds()*1000 {
		t.Errorf("the neighbours' p99 rose by %.1f ms, from %.1f to %.1f; that of a server that does nothing is %.1f", rise, quiet, beside, control)
	}
	machine := time.Duration(quantile(r.beside.Control, 1) * float64(time.Millisecond))
	if limit := hostileTimeout + bounds.late + machine; r.longest > limit {
		t.Errorf("a call took %s, more than %s (of that %s because the machine was busy)", r.longest, limit, machine)
	}
	if r.calls == 0 || r.wrong != "" {
		t.Errorf("%d calls; unexpected: %q", r.calls, r.wrong)
	}
	if r.grown > bounds.rss {
		t.Errorf("the process keeps %d MiB", r.grown>>20)
	}
}

// attack serves the guest, measures its neighbours alone and beside it, and ends the server.
func attack(t *testing.T, dir, builtins, control string, g *hostileGuest, bounds *hostileBounds) *attackResult {
	t.Helper()
	s := startHostileServer(t, dir, builtins, control)
	defer s.end(t)
	var r attackResult
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: hostileCopies}}
	s.prepared(client)
	s.neighbours(t, bounds.quiet/4) // what is used for the first time
	before := s.resident(t)
	for range bounds.rounds {
		r.quiet.add(s.neighbours(t, bounds.quiet))
		stop := r.call(client, s.url, g)
		r.beside.add(s.neighbours(t, bounds.attack))
		stop()
	}
	client.CloseIdleConnections()
	// What a call leaves is put back off its caller's path.
	for end := time.Now().Add(3 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if r.grown = s.resident(t) - before; r.grown <= bounds.rss || time.Now().After(end) {
			return &r
		}
	}
}

// prepared waits until the guest is compiled and started, or that has failed.
func (s *hostileServer) prepared(client *http.Client) {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		body, err := post(client, s.url, "resources/read", `"uri":"hostile://x",`)
		if err != nil || !strings.Contains(body, "is being prepared") {
			return
		}
	}
}

// call calls the guest, so many times at once, until stop is called; stop waits for the last call.
func (r *attackResult) call(client *http.Client, url string, g *hostileGuest) (stop func()) {
	var mu sync.Mutex // guards r
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range hostileCopies {
		wg.Go(func() {
			for {
				start := time.Now()
				body, err := post(client, url, cmp.Or(g.method, "resources/read"), cmp.Or(g.params, `"uri":"hostile://x",`))
				took := time.Since(start)
				mu.Lock()
				r.calls++
				r.longest = max(r.longest, took)
				if (err != nil || !strings.Contains(body, g.want)) && r.wrong == "" {
					r.wrong = fmt.Sprintf("%.300s (%v)", body, err)
				}
				mu.Unlock()
				// A guest that ends at once is not called in a flood: that would measure the HTTP server.
				select {
				case <-done:
					return
				case <-time.After(hostileTimeout - took):
				}
			}
		})
	}
	return func() {
		close(done)
		wg.Wait()
	}
}

// post sends one request and returns the body of its answer.
func post(client *http.Client, url, method, params string) (string, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `"_meta":{"io.modelcontextprotocol/protocolVersion":"` +
		tryRevision + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	for k, v := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": tryRevision, "Mcp-Method": method,
	} {
		req.Header.Set(k, v)
	}
	if _, rest, ok := strings.Cut(params, `"uri":"`); ok && method == "resources/read" {
		uri, _, _ := strings.Cut(rest, `"`)
		req.Header.Set("Mcp-Name", uri)
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// hostileServer is `reshost serve` in a process of its own: this program, which plays it.
type hostileServer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	log *lines
	// url is where it serves, control where the server is that does nothing.
	url, control string
}

func startHostileServer(t *testing.T, dir, builtins, control string) *hostileServer {
	t.Helper()
	state, err := pluginbuild.DefaultCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "reshost.yaml")
	writeFile(t, file, fmt.Appendf(nil, `version: 1
plugins:
  - { name: docs, source: "builtin:docs", grants: { fs: { root: ./docs } } }
  - { name: calm, source: "file:calm.wasm", schemes: { hostile: calm } }
  - { name: hostile, source: "file:hostile.wasm", optional: true, limits: { timeout: %s } }
`, hostileTimeout))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &hostileServer{control: control, log: &lines{next: make(chan string, 1000)}}
	s.cmd = exec.Command(exe, roleServer, builtins, state, "serve", "--config", file, "--listen", "127.0.0.1:0")
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	s.cmd.Stderr = s.log
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.After(time.Minute)
	for s.url == "" {
		select {
		case line := <-s.log.next:
			if _, url, ok := strings.Cut(line, " at http"); ok {
				s.url = "http" + url
			}
		case <-deadline:
			s.cmd.Process.Kill()
			t.Fatalf("serve does not say what it serves:\n%s", s.log)
		}
	}
	return s
}

// startControl starts the server that does nothing, and returns its URL.
func startControl(t *testing.T) (url string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, roleControl)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if _, err := fmt.Fscanln(out, &url); err != nil {
		t.Fatal(err)
	}
	return url
}

// resident returns the size of the process after it gave back what it can.
func (s *hostileServer) resident(t *testing.T) (n int64) {
	t.Helper()
	fmt.Fprintln(s.in, "resident")
	if _, err := fmt.Fscanln(s.out, &n); err != nil {
		t.Fatalf("the server has ended: %v\n%.4000s", err, s.log)
	}
	return n
}

// neighbours reads from the good plugins, from a process of its own.
func (s *hostileServer) neighbours(t *testing.T, d time.Duration) (n neighbours) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, roleClient, s.url, s.control, fmt.Sprint(neighbourRate), d.String(), "docs://README.md", "calm://x")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &n)
	}
	if err != nil {
		t.Fatalf("client: %v: %s", err, out)
	}
	return n
}

// end wants the server to end in order.
func (s *hostileServer) end(t *testing.T) {
	t.Helper()
	s.in.Close()
	late := time.AfterFunc(30*time.Second, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v:\n%.4000s", err, s.log)
	}
}
