package wasmplugin

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// secretGuest keeps what it can: for URIs that begin with s it copies the request, grows its memory, fills the new pages
// and others with 0xa5, and sets a global; l loops after that, t traps. For others it answers the global's value
// and how many bytes 0xa5 it finds in all of its memory, new pages included (at most 255 each).
func secretGuest(pages uint32, grow int64) *guest {
	g := newGuest(letters)
	g.minPages, g.global = pages, true
	is := func(c rune, then ...[]byte) []byte {
		return slices.Concat(get(0), i32c(int64(c)), op(0x46, 0x04, 0x40), slices.Concat(then...), op(0x0b))
	}
	opGlobal := func(b byte) []byte { return op(b, 0) }
	keep := slices.Concat(g.takeRequest(), i32c(77), opGlobal(0x24), i32c(grow), opGrow, set(1),
		get(1), i32c(pageSize), op(0x6c), i32c(0xa5), i32c(grow*pageSize), opFill, i32c(0x3000), i32c(0xa5), i32c(0x100), opFill)
	count := slices.Concat(i32c(grow), opGrow, opDrop, i32c(0), set(1), i32c(0), set(2),
		op(0x03, 0x40), get(1), opLoad8, i32c(0xa5), op(0x46), get(2), opAdd, set(2),
		get(1), i32c(1), opAdd, op(0x22, 1), op(0x3f, 0), i32c(pageSize), op(0x6c), op(0x49, 0x0d, 0, 0x0b))
	answer := slices.Concat(i32c(0x200), opGlobal(0x23), opStore8, i32c(0x201), get(2), i32c(255), get(2), i32c(255), op(0x49, 0x1b), opStore8,
		g.record(abi.KindContent, nil), i32c(0x200), i32c(2), callf(g.write), opDrop, ok())
	g.fn(abi.ExportRead, "", i32, i32+i32+i32, i32c(requestAt), i32c(32), callf(g.req), opDrop,
		g.takeRequest(), i32c(requestAt+2+int64(len("letters://"))), opLoad8, set(0),
		is('s', keep), is('l', keep, loop()), is('t', keep, opUnreachable), count, answer)
	g.exported(abi.ExportComplete, i32c(0))
	return g
}

// TestNothingIsLeft: no byte of a call's request, heap or globals is there in the next one, however the call ended, on
// small instances and on large ones, which are put back in different ways (CAN-03).
func TestNothingIsLeft(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pages uint32
		grow  int64
	}{
		{"copied", 2, 3},
		{"copied, much to clear", 2, 50},
		{"mapped", 20, 3},
		{"mapped, much to drop", 20, 50},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pages := tt.pages
			g := secretGuest(pages, tt.grow)
			if pages > 10 {
				g.put(9*pageSize, []byte("here is the end of what it begins with"))
			}
			p, _ := loadGuest(t, g, Config{Limits: Limits{Instances: 1, Timeout: time.Second}})
			if got := p.began.image != nil; got != (pages > 10 && canMap()) {
				t.Errorf("mapped: %v", got)
			}
			for _, uri := range []string{"letters://secret", "letters://loops", "letters://traps", "letters://secret"} {
				_, err := readURI(t.Context(), p, uri)
				if want := map[byte]provider.Code{'l': provider.Timeout, 't': provider.Internal}[uri[10]]; provider.CodeOf(err) != want && err != nil {
					t.Errorf("%s: %v", uri, err)
				}
				res, err := readURI(t.Context(), p, "letters://x")
				if err != nil {
					t.Fatal(err)
				}
				// The call's own request is in memory too, and its clock and deadline may hold a few such bytes: what
				// would be left of the other call is 256 of them at least.
				if b := res.Contents[0].Body; b[0] != 0 || b[1] > 16 {
					t.Errorf("after %s the next call finds the global at %d and %d bytes", uri, b[0], b[1])
				}
				settle(t, p)
				untouched(t, p, "secret", "loops", "traps", "\xa5")
			}
		})
	}
}

// untouched wants every ready instance to be what instances begin with, with nothing above.
func untouched(t *testing.T, p *Plugin, secrets ...string) {
	t.Helper()
	p.pool.mu.Lock()
	ready := slices.Clone(p.pool.ready)
	p.pool.mu.Unlock()
	for _, inst := range ready {
		all := inst.mem.bytes()
		for _, s := range secrets {
			if bytes.Contains(all, []byte(s)) {
				t.Errorf("%q is still in an instance's memory", s)
			}
		}
		if i := slices.IndexFunc(all[p.began.size:], func(b byte) bool { return b != 0 }); i >= 0 {
			t.Errorf("a byte is left %d above the beginning's end", i)
		}
		for k, g := range inst.globals {
			if g.Get() != p.began.globals[k] {
				t.Errorf("global %s is %d, not %d", p.globals[k], g.Get(), p.began.globals[k])
			}
		}
	}
}

// TestNothingIsLeftInGo is TestNothingIsLeft for a guest of the Go SDK, with Go's heap, stacks and collector.
func TestNothingIsLeftInGo(t *testing.T) {
	wasm := buildGuest(t, "github.com/reshost/reshost/plugins/file")
	r, err := NewRuntime(t.Context(), &Options{CacheDir: sharedCache(t), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	packed, err := r.Pack(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	secret := strings.Repeat("the secret of one caller. ", 1000)
	if err := os.WriteFile(filepath.Join(dir, "hidden-name.md"), []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	p := load(t, r, packed, Config{Grants: Grants{FS: &FSGrant{Roots: map[string]FSRoot{"main": {Path: dir, As: "/docs"}}}}, Limits: Limits{Instances: 2}})
	if p.Isolation() != abi.IsolationReset {
		t.Fatalf("isolation %s", p.Isolation())
	}
	settle(t, p)
	want := bytes.Clone(p.pool.ready[0].mem.bytes())
	seen := 0
	for range 10 {
		uri := "file:///docs/hidden-name.md"
		res, err := p.Read(t.Context(), &provider.ReadRequest{
			URI: uri, Template: p.Info().Templates[0].URITemplate,
			Vars: []provider.Var{{Name: "path", Value: "docs/hidden-name.md"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if string(res.Contents[0].Body) == secret {
			seen++
		}
		settle(t, p)
		untouched(t, p, "the secret of one", "hidden-name")
		for _, inst := range p.pool.ready {
			if !bytes.Equal(inst.mem.bytes()[:len(want)], want) {
				t.Error("an instance is not what it began as")
			}
		}
	}
	if seen != 10 {
		t.Errorf("the secret was read %d times", seen)
	}
}

// TestGrownInstance: an instance that outgrew what is worth keeping is dropped, and its memory given back.
func TestGrownInstance(t *testing.T) {
	g := newGuest(letters)
	p, _ := loadGuest(t, g.read(i32c(500), opGrow, opDrop, g.text("good"), ok()), Config{Limits: Limits{Instances: 2}})
	for range 5 {
		if _, err := readURI(t.Context(), p, "letters://x"); err != nil {
			t.Fatal(err)
		}
	}
	settle(t, p)
	if used := p.budget.used.Load(); used > 8*pageSize {
		t.Errorf("%d bytes are in use", used)
	}
}

// TestFreshReasons: a module that changes more than a reset puts back gets instances of its own, and both the log and
// Inspect say why.
func TestFreshReasons(t *testing.T) {
	g := newGuest(letters)
	g.table = 1
	wasm := g.read(i32c(0), op(0xd0, 0x70), op(0x26, 0), g.text("good"), ok()).bytes()
	r, log := testRuntime(t, nil)
	const why = "isolation is fresh, not reset: what table.set (offset "
	rep, err := r.Inspect(t.Context(), &Config{Wasm: wasm})
	if err != nil {
		t.Fatal(err)
	}
	if rep.Isolation != abi.IsolationFresh || len(rep.Warnings) != 1 || !strings.HasPrefix(rep.Warnings[0], why) {
		t.Errorf("%s, %q", rep.Isolation, rep.Warnings)
	}
	p := load(t, r, wasm, Config{})
	if p.Isolation() != abi.IsolationFresh || !strings.Contains(log.String(), why) {
		t.Errorf("%s\n%s", p.Isolation(), log)
	}
	if p := load(t, r, wasm, Config{Isolation: abi.IsolationShared}); p.Isolation() != abi.IsolationShared {
		t.Errorf("granted shared, it gets %s", p.Isolation())
	}
	if _, err := readURI(t.Context(), p, "letters://x"); err != nil {
		t.Error(err)
	}
}
