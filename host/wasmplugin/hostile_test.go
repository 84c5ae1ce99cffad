package wasmplugin

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// deadline is the limit of a call in the tests of hostile guests, and slack what a test allows on top.
const (
	deadline = 300 * time.Millisecond
	slack    = 3 * time.Second
)

// TestHostileReads runs guests that do their worst in rh_read: each ends its own call, with the right code, in time, and
// the plugin serves the next call (WSM-02).
func TestHostileReads(t *testing.T) {
	tests := []struct {
		name string
		// code is run for every URI but letters://index.
		code func(g *guest) [][]byte
		want provider.Code
		log  string
	}{
		{"loop", func(*guest) [][]byte { return [][]byte{loop()} }, provider.Timeout, "rh_read"},
		{"loop of host calls", func(g *guest) [][]byte {
			return [][]byte{loop(i32c(0), i32c(0), callf(g.req), opDrop)}
		}, provider.Timeout, ""},
		{"trap", func(*guest) [][]byte { return [][]byte{opUnreachable} }, provider.Internal, "unreachable"},
		{"division by zero", func(*guest) [][]byte { return [][]byte{i32c(1), i32c(0), op(0x6d)} }, provider.Internal, "divide by zero"},
		{"load out of bounds", func(*guest) [][]byte { return [][]byte{i32c(-4), opLoad32} }, provider.Internal, "out of bounds"},
		{"req: bad pointer", func(g *guest) [][]byte { return [][]byte{i32c(-8), i32c(4096), callf(g.req)} }, provider.Internal, "pointer out of range"},
		{"emit: bad pointer", func(g *guest) [][]byte { return [][]byte{i32c(4), i32c(-1), i32c(1), callf(g.emit)} }, provider.Internal, "pointer out of range"},
		{"emit: lying length", func(g *guest) [][]byte { return [][]byte{i32c(4), i32c(0), i32c(-1), callf(g.emit)} }, provider.Internal, "pointer out of range"},
		{"write: lying length", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, nil), i32c(0), i32c(0x7fffffff), callf(g.write)}
		}, provider.Internal, "pointer out of range"},
		{"log: bad pointer", func(g *guest) [][]byte {
			return [][]byte{i32c(0), i32c(0x10000000), i32c(1), callf(g.log), ok()}
		}, provider.Internal, "pointer out of range"},
		{"a body of 1 GB", func(g *guest) [][]byte {
			return [][]byte{g.record(abi.KindContent, nil), times(16384, 1, i32c(0), i32c(0x10000), callf(g.write), opDrop), ok()}
		}, provider.TooLarge, ""},
		{"a million parts", func(g *guest) [][]byte {
			return [][]byte{times(1_000_000, 1, g.record(abi.KindContent, nil)), ok()}
		}, provider.TooLarge, ""},
		{"a flood of malformed records", func(g *guest) [][]byte {
			return [][]byte{loop(g.record(abi.KindContent, []byte("\xff")))}
		}, provider.Timeout, ""},
		{"a flood of log lines", func(g *guest) [][]byte {
			return [][]byte{loop(i32c(3), i32c(0), i32c(64), callf(g.log))}
		}, provider.Timeout, ""},
		{"a flood of updates", func(g *guest) [][]byte {
			return [][]byte{loop(g.record(abi.KindUpdated, (&abi.Updated{URI: "letters://a"}).Append(nil)))}
		}, provider.Timeout, ""},
		{"endless recursion", func(g *guest) [][]byte {
			return [][]byte{callf(g.nImports + g.nFuncs)} // rh_read itself, which is defined next
		}, provider.Internal, "stack overflow"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && (strings.Contains(tt.name, "million") || strings.Contains(tt.name, "recursion")) {
				t.Skip("takes seconds under the race detector")
			}
			g := newGuest(letters)
			code := tt.code(g)
			// The direct resource is read without incident: by its name the guest is good.
			good := append([]byte{}, g.text("good")...)
			branch := [][]byte{
				g.takeRequest(), i32c(requestAt + 2 + int64(len("letters://")) - 1 + 1), opLoad8, i32c('i'), op(0x46), // == 'i'
				op(0x04, 0x40), good, i32c(0), op(0x0f, 0x0b), // if … return 0 end
			}
			g.read(append(branch, code...)...)
			timeout := deadline
			if tt.want != provider.Timeout {
				timeout = 0 // it ends by itself
			}
			p, _ := loadGuest(t, g, Config{Limits: Limits{Timeout: timeout}})
			start := time.Now()
			_, err := readURI(t.Context(), p, "letters://x")
			if d := time.Since(start); timeout > 0 && d > deadline+slack {
				t.Errorf("the call took %s", d)
			}
			wantCode(t, err, tt.want)
			if !strings.Contains(err.Error(), tt.log) || strings.Contains(err.Error(), "goroutine") {
				t.Errorf("error %q, want it to hold %q", err, tt.log)
			}
			res, err := p.Read(t.Context(), &provider.ReadRequest{URI: "letters://index", TemplateIndex: -1})
			if err != nil || string(res.Contents[0].Body) != "good" {
				t.Errorf("afterwards: %v, %v", res, err)
			}
		})
	}
}

// TestHostileWASI is TestHostileReads for the system interface.
func TestHostileWASI(t *testing.T) {
	tests := []struct {
		name, fn, params, results string
		code                      func(f int) [][]byte
		want                      provider.Code
		log                       string
	}{
		{"proc_exit", "proc_exit", i32, "", func(f int) [][]byte { return [][]byte{i32c(3), callf(f), ok()} }, provider.Internal, "exited with code 3"},
		{"proc_exit 0", "proc_exit", i32, "", func(f int) [][]byte { return [][]byte{i32c(0), callf(f), ok()} }, provider.Internal, "exited with code 0"},
		{"sleep", "poll_oneoff", i32 + i32 + i32 + i32, i32, func(f int) [][]byte {
			// userdata 0, tag clock, id monotonic, an hour, relative
			return [][]byte{
				i32c(0x2010), i32c(1), opStore32, i32c(0x2018), i64c(3600e9), op(0x37, 3, 0),
				i32c(0x2000), i32c(0x3000), i32c(1), i32c(0x4000), callf(f),
			}
		}, provider.Timeout, ""},
		{"endless randomness", "random_get", i32 + i32, i32, func(f int) [][]byte {
			return [][]byte{loop(i32c(0), i32c(0x20000), callf(f), opDrop)}
		}, provider.Timeout, ""},
		{"random_get: bad pointer", "random_get", i32 + i32, i32, func(f int) [][]byte {
			return [][]byte{i32c(0x1fff0), i32c(0x100), callf(f)}
		}, provider.Internal, "pointer out of range"},
		{"fd_write of 4e9 buffers", "fd_write", i32 + i32 + i32 + i32, i32, func(f int) [][]byte {
			return [][]byte{i32c(1), i32c(0x8000), i32c(-1), i32c(0), callf(f)}
		}, provider.Internal, "pointer out of range"},
		{"a flood on stderr", "fd_write", i32 + i32 + i32 + i32, i32, func(f int) [][]byte {
			return [][]byte{
				i32c(0x8000), i32c(0), opStore32, i32c(0x8004), i32c(0x8000), opStore32,
				loop(i32c(2), i32c(0x8000), i32c(1), i32c(0x9000), callf(f), opDrop),
			}
		}, provider.Timeout, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(letters)
			f := g.importFunc(wasiModuleName, tt.fn, tt.params, tt.results)
			g.read(tt.code(f)...)
			p, _ := loadGuest(t, g, Config{Limits: Limits{Timeout: deadline}})
			start := time.Now()
			_, err := readURI(t.Context(), p, "letters://x")
			if d := time.Since(start); d > deadline+slack {
				t.Errorf("the call took %s", d)
			}
			wantCode(t, err, tt.want)
			if !strings.Contains(err.Error(), tt.log) {
				t.Errorf("error %q, want it to hold %q", err, tt.log)
			}
		})
	}
}

// TestHostileStarts runs guests that fail while they start: the load fails in time and says where.
func TestHostileStarts(t *testing.T) {
	tests := []struct {
		name string
		make func(g *guest)
		log  string
	}{
		{"_initialize loops", func(g *guest) { g.fn(abi.ExportInitialize, "", "", "", loop()) }, "deadline exceeded"},
		{"_initialize traps", func(g *guest) { g.fn(abi.ExportInitialize, "", "", "", opUnreachable) }, "unreachable"},
		{"the start function loops", func(g *guest) { g.start = g.fn("", "", "", "", loop()) + 1 }, "deadline exceeded"},
		{"the start function traps", func(g *guest) { g.start = g.fn("", "", "", "", opUnreachable) + 1 }, "unreachable"},
		{"rh_init loops", func(g *guest) { g.exported(abi.ExportInit, loop()) }, "rh_init: context deadline exceeded"},
		{"rh_init traps", func(g *guest) { g.exported(abi.ExportInit, opUnreachable) }, "rh_init: wasm error: unreachable"},
		{"rh_init refuses", func(g *guest) {
			g.exported(abi.ExportInit, g.record(abi.KindError, (&abi.Error{Message: "config: title is missing"}).Append(nil)), i32c(2))
		}, "rh_init failed (invalid): config: title is missing"},
		{"rh_init emits what it may not", func(g *guest) {
			g.exported(abi.ExportInit, g.record(abi.KindUpdated, nil), ok())
		}, "UPDATED is not legal here"},
		{"_initialize exits", func(g *guest) {
			g.fn(abi.ExportInitialize, "", "", "", i32c(0), callf(g.nImports-1))
		}, "exited with code 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuest(letters)
			g.importFunc(wasiModuleName, "proc_exit", i32, "")
			tt.make(g)
			g.read(ok())
			r, _ := testRuntime(t, nil)
			start := time.Now()
			_, err := r.Load(t.Context(), &Config{Name: "bad", Source: "file:bad.wasm", Wasm: g.bytes(), Limits: Limits{Timeout: deadline}})
			if err == nil {
				t.Fatal("no error")
			}
			if d := time.Since(start); d > deadline+slack {
				t.Errorf("the load took %s", d)
			}
			if !strings.Contains(err.Error(), tt.log) || !strings.HasPrefix(err.Error(), "plugin bad (file:bad.wasm): ") {
				t.Errorf("error %q, want it to hold %q", err, tt.log)
			}
			if used := r.memory.used.Load(); used != 0 {
				t.Errorf("%d bytes of memory are still counted", used)
			}
		})
	}
}

// TestCallerLeaves shows that a guest is stopped when nobody waits for it any more (CAN-01).
func TestCallerLeaves(t *testing.T) {
	p, _ := loadGuest(t, newGuest(letters).read(loop()), Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := readURI(ctx, p, "letters://x")
	wantCode(t, err, provider.Timeout)
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = readURI(ctx, p, "letters://x")
	wantCode(t, err, provider.Canceled)
}

// TestMemoryLimit shows that growth ends at the instance's limit, and that the guest is told so.
func TestMemoryLimit(t *testing.T) {
	g := newGuest(letters)
	// Grows page by page until it fails; the size in pages is the answer's only byte.
	g.read(op(0x03, 0x40), i32c(1), opGrow, i32c(-1), op(0x47, 0x0d, 0, 0x0b),
		i32c(0x100), op(0x3f, 0), opStore8, g.record(abi.KindContent, nil), i32c(0x100), i32c(1), callf(g.write), opDrop, ok())
	p, _ := loadGuest(t, g, Config{Limits: Limits{Memory: 16*pageSize + 100}})
	for range 3 {
		res, err := readURI(t.Context(), p, "letters://x")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]byte{16}, res.Contents[0].Body); d != "" {
			t.Errorf("pages (-want +got):\n%s", d)
		}
	}
	r, _ := testRuntime(t, nil)
	g = newGuest(letters)
	g.minPages = 100
	_, err := r.Load(t.Context(), &Config{Wasm: g.read(ok()).bytes(), Limits: Limits{Memory: 1 << 20}})
	if err == nil || !strings.Contains(err.Error(), "raise limits.memory") {
		t.Errorf("error %v", err)
	}
}

// TestMemoryIsGivenBack shows that what instances took is counted, and given back.
func TestMemoryIsGivenBack(t *testing.T) {
	r, _ := testRuntime(t, nil)
	g := newGuest(letters)
	p := load(t, r, g.read(i32c(20), opGrow, opDrop, opUnreachable).bytes(), Config{})
	for range 50 {
		if _, err := readURI(t.Context(), p, "letters://x"); err == nil {
			t.Fatal("no error")
		}
	}
	settle(t, p)
	// None may be ready at this moment: a trapped instance is gone at once, and the next is made off the caller's path.
	if used := r.memory.used.Load(); used < 0 || used > 10<<20 {
		t.Errorf("%d bytes are counted while at most a few instances are ready", used)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if used := r.memory.used.Load(); used != 0 {
		t.Errorf("%d bytes are counted after Close", used)
	}
}

// TestTotalMemory shows that all plugins share one sum, that idle instances give way, and that a caller without room is
// told to come again.
func TestTotalMemory(t *testing.T) {
	r, _ := testRuntime(t, &Options{MaxMemory: 40 * pageSize})
	g := newGuest(letters)
	g.minPages = 16
	wasm := g.read(g.text("t"), ok()).bytes()
	a := load(t, r, wasm, Config{Name: "a"})
	b := load(t, r, wasm, Config{Name: "b"})
	c := load(t, r, wasm, Config{Name: "c"})
	for range 5 {
		for _, p := range []*Plugin{a, b, c} {
			if _, err := readURI(t.Context(), p, "letters://x"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if used := r.memory.used.Load(); used > 40*pageSize {
		t.Errorf("%d bytes are used", used)
	}
}

// TestIsolation shows that nothing of one call can be read in the next, unless the operator granted that (CAN-03).
func TestIsolation(t *testing.T) {
	counter := func() *guest {
		g := newGuest(letters)
		g.read(i32c(0x100), i32c(0x100), opLoad32, i32c(1), opAdd, opStore32,
			g.record(abi.KindContent, nil), i32c(0x100), i32c(1), callf(g.write), opDrop, ok())
		return g
	}
	for _, tt := range []struct {
		isolation string
		want      byte
	}{{"", 1}, {"reset", 1}, {"fresh", 1}, {"shared", 4}} {
		t.Run("isolation "+tt.isolation, func(t *testing.T) {
			p, _ := loadGuest(t, counter(), Config{Isolation: tt.isolation, Limits: Limits{Instances: 1}})
			var last byte
			for range 4 {
				res, err := readURI(t.Context(), p, "letters://x")
				if err != nil {
					t.Fatal(err)
				}
				last = res.Contents[0].Body[0]
			}
			if last != tt.want {
				t.Errorf("the fourth call finds %d, want %d", last, tt.want)
			}
		})
	}
}

// TestOneLine: a trap is one line of a log, whatever names the module gives its functions (WSM-13, CWE-117).
func TestOneLine(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"one already", "module closed", "module closed"},
		{
			"a trace", "wasm error: unreachable\nwasm stack trace:\n\t.rh_read() i32\n\t.main.x(i32)",
			"wasm error: unreachable; wasm stack trace: .rh_read() i32; .main.x(i32)",
		},
		{
			"forged lines", "wasm error: unreachable\nwasm stack trace:\n\t.a\nERROR: all is lost\r\n\x1b[2J()",
			`wasm error: unreachable; wasm stack trace: .a; ERROR: all is lost; \x1b[2J()`,
		},
		{"without end", strings.Repeat("x", 2*maxTrace), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := oneLine(tt.text)
			if len(got) > maxTrace || tt.want != "" && got != tt.want {
				t.Errorf("got %q of %d bytes, want %q", got, len(got), tt.want)
			}
		})
	}
}
