package wasmplugin

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// hostileGuests compute for ever in rh_read, each in a way of its own. code may define functions first.
var hostileGuests = []struct {
	name string
	code func(g *guest) [][]byte
}{
	{"loop", func(*guest) [][]byte { return [][]byte{loop()} }},
	{"tree of calls without a loop", func(g *guest) [][]byte {
		f := g.fn("", "", "", i32, get(0), i32c(3), opAdd, set(0))
		for range 24 {
			f = g.fn("", "", "", "", callf(f), callf(f), callf(f), callf(f))
		}
		return [][]byte{callf(f), ok()}
	}},
	{"a long straight line", func(*guest) [][]byte {
		line := slices.Concat(get(0), i32c(7), op(0x6e), set(0)) // division
		return [][]byte{loop(slices.Repeat(line, 10_000))}
	}},
	{"fill", func(g *guest) [][]byte {
		g.minPages = 1000
		return [][]byte{loop(i32c(0), i32c(1), i32c(1000*pageSize), opFill)}
	}},
	{"copy", func(g *guest) [][]byte {
		g.minPages = 1000
		return [][]byte{loop(i32c(0), i32c(1), i32c(1000*pageSize-1), op(0xfc, 0x0a, 0, 0))}
	}},
	{"recursion", func(g *guest) [][]byte {
		f := g.nImports + g.nFuncs
		down := slices.Concat(get(0), i32c(1), opSub, callf(f))
		g.fn("", i32, "", "", get(0), op(0x04, 0x40), down, down, op(0x0b))
		return [][]byte{i32c(60), callf(f), ok()}
	}},
	{"growth of the memory", func(*guest) [][]byte { return [][]byte{loop(i32c(1), opGrow, opDrop)} }},
	{"growth of a table", func(g *guest) [][]byte {
		g.table = 10
		return [][]byte{loop(op(0xd0, 0x70), i32c(1000), op(0xfc, 0x0f, 0), opDrop)}
	}},
	{"64 MiB of randomness", func(g *guest) [][]byte {
		g.minPages = 1024
		return [][]byte{loop(i32c(0), i32c(1024*pageSize), callf(g.random), opDrop)}
	}},
	{"many small host calls", func(g *guest) [][]byte { return [][]byte{loop(i32c(0), i32c(0), callf(g.req), opDrop)} }},
	{"sleep", func(g *guest) [][]byte {
		return [][]byte{
			i32c(0x2010), i32c(1), opStore32, i32c(0x2018), i64c(3600e9), op(0x37, 3, 0),
			loop(i32c(0x2000), i32c(0x3000), i32c(1), i32c(0x4000), callf(g.poll), opDrop),
		}
	}},
}

// TestComputingGuests: whatever a guest computes, its call ends in time, its plugin goes on, and a neighbour is answered
// meanwhile, with one processor and with two (WSM-02, WSM-03).
func TestComputingGuests(t *testing.T) {
	g := newGuest(letters)
	neighbour := g.read(g.text("good"), ok()).bytes()
	for _, procs := range []int{1, 2} {
		for _, tt := range hostileGuests {
			t.Run(tt.name, func(t *testing.T) {
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
				r, _ := testRuntime(t, nil)
				near := load(t, r, neighbour, Config{Name: "neighbour"})
				g := newGuest(letters)
				g.random = g.importFunc(wasiModuleName, "random_get", i32+i32, i32)
				g.poll = g.importFunc(wasiModuleName, "poll_oneoff", i32+i32+i32+i32, i32)
				code := tt.code(g)
				isIndex := slices.Concat(g.takeRequest(), i32c(requestAt+2+int64(len("letters://"))), opLoad8, i32c('i'), op(0x46))
				g.read(append([][]byte{isIndex, op(0x04, 0x40), g.text("good"), i32c(0), op(0x0f, 0x0b)}, code...)...)
				bad := load(t, r, g.bytes(), Config{Name: "bad", Limits: Limits{Timeout: deadline, Instances: 4}})
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() { endsInTime(t, bad) })
				}
				done := make(chan struct{})
				go func() { wg.Wait(); close(done) }()
				answersMeanwhile(t, near, done)
				res, err := bad.Read(t.Context(), &provider.ReadRequest{URI: "letters://index", TemplateIndex: -1})
				if err != nil || string(res.Contents[0].Body) != "good" {
					t.Errorf("afterwards: %v, %v", res, err)
				}
			})
		}
	}
}

// endsInTime wants a read to end by its deadline, and a second for the machine's other work.
func endsInTime(t *testing.T, p *Plugin) {
	start := time.Now()
	_, err := readURI(t.Context(), p, "letters://x")
	if d := time.Since(start); d > deadline+time.Second {
		t.Errorf("the call took %s", d)
	}
	if provider.CodeOf(err) != provider.Timeout {
		t.Errorf("the call ended with %v", err)
	}
}

// answersMeanwhile reads until done, and wants no read to take long.
func answersMeanwhile(t *testing.T, p *Plugin, done <-chan struct{}) {
	n, longest := 0, time.Duration(0)
	for {
		start := time.Now()
		if _, err := readURI(t.Context(), p, "letters://x"); err != nil {
			t.Errorf("the neighbour: %v", err)
		}
		n, longest = n+1, max(longest, time.Since(start))
		select {
		case <-done:
			if n < 10 || longest > time.Second {
				t.Errorf("the neighbour answered %d times, once after %s", n, longest)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// TestStackOverflow: a call has so much stack and no more, whatever its frames are like, and the error says so.
func TestStackOverflow(t *testing.T) {
	for _, locals := range []int{0, 2000} {
		g := newGuest(letters)
		f := g.nImports + g.nFuncs
		g.fn("", "", i32, strings.Repeat(i64, locals), callf(f), i32c(1), opAdd)
		names := slices.Concat(uleb(1), uleb(uint64(f)), lenPrefixed("the_culprit"))
		g.custom = append(g.custom, namedSection{"name", append([]byte{1}, lenPrefixed(string(names))...)})
		g.read(callf(f))
		p, _ := loadGuest(t, g, Config{})
		_, err := readURI(t.Context(), p, "letters://x")
		wantCode(t, err, provider.Internal)
		for _, want := range []string{"plugin letters", abi.ExportRead, "stack overflow: a call has 8 MiB", "the_culprit"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%d locals: %q is missing in %v", locals, want, err)
			}
		}
	}
}

// TestHostCallsArePaid: what a host function does for its guest shortens the guest's turn.
func TestHostCallsArePaid(t *testing.T) {
	g := newGuest(letters)
	g.minPages = 100
	g.read(i32c(0), i32c(64*pageSize), callf(g.req), opDrop, g.text("good"), ok())
	p, _ := loadGuest(t, g, Config{Isolation: abi.IsolationShared, Limits: Limits{Instances: 1}})
	inst := p.pool.ready[0]
	if _, err := readURI(t.Context(), p, "letters://x"); err != nil {
		t.Fatal(err)
	}
	before := int32(inst.counters.fuel.Get())
	c := &call{plugin: p, fuel: inst.counters.fuel}
	(guestMemory{inst.mod.Memory(), c}).view(0, 8000)
	c.pay(inst.mod)
	if got := before - int32(inst.counters.fuel.Get()); got != 1000+hostUnits {
		t.Errorf("8,000 bytes cost %d", got)
	}
}
