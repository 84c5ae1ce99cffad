package wasmplugin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// outcome sends the reply of a host call as four bytes, and then what it wrote to bufAt.
func outcome(g *guest, call []byte) []byte {
	return slices.Concat(g.record(abi.KindContent, nil),
		i32c(0x200), call, op(0x22, 0), opStore32, i32c(0x200), i32c(4), callf(g.write), opDrop,
		get(0), i32c(0), op(0x4a), op(0x04, 0x40), // if reply > 0
		i32c(bufAt), get(0), i32c(bufSize), get(0), i32c(bufSize), op(0x48), op(0x1b), callf(g.write), opDrop, // min
		op(0x0b))
}

const (
	bufAt   = 0x8000
	bufSize = 0x4000
)

// configGuest reads one pointer.
func configGuest(pointer string) *guest {
	g := newGuest(letters)
	f := g.importFunc(abi.ModuleConfig, abi.ImportConfigGet, i32+i32+i32+i32, i32)
	ptr, n := g.bytesAt([]byte(pointer))
	return g.read(outcome(g, slices.Concat(i32c(ptr), i32c(n), i32c(bufAt), i32c(bufSize), callf(f))), ok())
}

// replyOf takes the answer of outcome apart.
func replyOf(t testing.TB, p *Plugin) (int32, string) {
	t.Helper()
	res, err := readURI(t.Context(), p, "letters://a")
	if err != nil {
		t.Fatal(err)
	}
	b := res.Contents[0].Body
	return int32(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24), string(b[4:])
}

func TestConfigGet(t *testing.T) {
	g, err := newGuestConfig([]byte(`{"a": "x\"y", "n": 1.50, "b": true, "z": null, "o": {"k/1": {"~": [10, "e"]}}, "": {"": "empty"}}`),
		map[string]string{"docs": "handbook"}, map[string]string{"main": "/docs", "b": "/b\""})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		pointer, want string
		status        abi.Status
	}{
		{"/a", `x"y`, 0},
		{"/n", "1.50", 0},
		{"/b", "true", 0},
		{"/z", "null", 0},
		{"/o", `{"k/1":{"~":[10,"e"]}}`, 0},
		{"/o/k~11/~0/1", "e", 0},
		{"/o/k~11/~0/01", "", abi.StatusNotFound},
		{"/o/k~11/~0/2", "", abi.StatusNotFound},
		{"/o/k~11/~0/-", "", abi.StatusNotFound},
		{"//", "empty", 0},
		{"/missing", "", abi.StatusNotFound},
		{"/a/b", "", abi.StatusNotFound},
		{"a", "", abi.StatusInvalid},
		{"/o/~2", "", abi.StatusInvalid},
		{"/o/~", "", abi.StatusInvalid},
		{"/$schemes/docs", "handbook", 0},
		{"/$schemes/nope", "", abi.StatusNotFound},
		{"/$roots/main", "/docs", 0},
		{"/$roots", `{"b":"/b\"","main":"/docs"}`, 0},
	}
	for _, tt := range tests {
		got, status := g.get(tt.pointer)
		if got != tt.want || status != tt.status {
			t.Errorf("%s: %q, %s; want %q, %s", tt.pointer, got, status, tt.want, tt.status)
		}
	}
}

func TestConfigCapability(t *testing.T) {
	for _, tt := range []struct {
		pointer, want string
		reply         int32
	}{{"/title", "Handbook", 8}, {"/none", "", -1}, {"/$schemes/letters", "post", 4}, {strings.Repeat("/a", 8<<10), "", -2}} {
		p, _ := loadGuest(t, configGuest(tt.pointer), Config{Config: []byte(`{"title":"Handbook"}`), Schemes: map[string]string{"letters": "post"}})
		res, err := p.Read(t.Context(), &provider.ReadRequest{URI: "post://index", TemplateIndex: -1})
		if err != nil {
			t.Fatal(err)
		}
		if reply, got := replyOf(t, p); reply != tt.reply || got != tt.want {
			t.Errorf("%.20s: %d, %q; want %d, %q (%v)", tt.pointer, reply, got, tt.reply, tt.want, res)
		}
	}
}

const fsManifest = `"capabilities":[{"name":"fs"}]`

func fsGrant(t testing.TB, dir string) Grants {
	t.Helper()
	return Grants{FS: &FSGrant{Roots: map[string]FSRoot{"main": {Path: dir, As: "/docs"}}}}
}

func TestFSStat(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path  string
		reply int32
		want  abi.Entry
	}{
		{"main/a.txt", 0, abi.Entry{Name: "a.txt", Kind: abi.EntryFile, Size: 5}},
		{"main", 0, abi.Entry{Name: "main", Kind: abi.EntryFolder}},
		{"main/none", -1, abi.Entry{}},
		{"main/../x", -2, abi.Entry{}},
		{"main/.hidden", -1, abi.Entry{}},
		{"main/" + strings.Repeat("x", 9000), -1, abi.Entry{}},
	} {
		g := newGuest(manifestWith(fsManifest))
		f := g.importFunc(abi.ModuleFS, abi.ImportFSStat, i32+i32+i32+i32, i32)
		ptr, n := g.bytesAt([]byte(tt.path))
		g.read(outcome(g, slices.Concat(i32c(ptr), i32c(n), i32c(bufAt), i32c(bufSize), callf(f))), ok())
		p, _ := loadGuest(t, g, Config{Grants: fsGrant(t, dir)})
		reply, body := replyOf(t, p)
		if tt.reply < 0 {
			if reply != tt.reply {
				t.Errorf("%.20s: %d, want %d", tt.path, reply, tt.reply)
			}
			continue
		}
		var got abi.Entry
		if err := got.Decode(body); err != nil {
			t.Fatal(err)
		}
		got.MTimeNanos, got.Version = 0, ""
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, d)
		}
	}
}

// TestFSRead opens, reads at an offset, and lets the handle die with the call.
func TestFSRead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(strings.Repeat("0123456789", 20000)), 0o600); err != nil {
		t.Fatal(err)
	}
	g := newGuest(manifestWith(fsManifest))
	open := g.importFunc(abi.ModuleFS, abi.ImportFSOpen, i32+i32, i32)
	read := g.importFunc(abi.ModuleFS, abi.ImportFSRead, i32+i64+i32+i32, i32)
	ptr, n := g.bytesAt([]byte("main/a.txt"))
	g.read(i32c(ptr), i32c(n), callf(open), set(1), outcome(g, slices.Concat(get(1), i64c(199_995), i32c(bufAt), i32c(bufSize), callf(read))), ok())
	p, _ := loadGuest(t, g, Config{Grants: fsGrant(t, dir), Isolation: "shared"})
	for range 3 {
		if reply, got := replyOf(t, p); reply != 5 || got != "56789" {
			t.Errorf("%d, %q", reply, got)
		}
	}
}

func TestFSHandles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	type imports struct{ open, read, close int }
	build := func(code func(g *guest, f imports, ptr, n int64) []byte) int32 {
		g := newGuest(manifestWith(fsManifest))
		f := imports{
			g.importFunc(abi.ModuleFS, abi.ImportFSOpen, i32+i32, i32), g.importFunc(abi.ModuleFS, abi.ImportFSRead, i32+i64+i32+i32, i32),
			g.importFunc(abi.ModuleFS, abi.ImportFSClose, i32, i32),
		}
		ptr, n := g.bytesAt([]byte("main/a"))
		g.read(outcome(g, code(g, f, ptr, n)), ok())
		p, _ := loadGuest(t, g, Config{Grants: fsGrant(t, dir)})
		reply, _ := replyOf(t, p)
		return reply
	}
	if got := build(func(_ *guest, f imports, ptr, n int64) []byte {
		return slices.Concat(times(abi.MaxHandles, 1, i32c(ptr), i32c(n), callf(f.open), opDrop), i32c(ptr), i32c(n), callf(f.open))
	}); got != -int32(abi.StatusTooLarge) {
		t.Errorf("one handle too many: %d", got)
	}
	if got := build(func(_ *guest, f imports, _, _ int64) []byte {
		return slices.Concat(i32c(-1), i64c(0), i32c(0), i32c(8), callf(f.read))
	}); got != -int32(abi.StatusInvalid) {
		t.Errorf("a handle that was never given: %d", got)
	}
	if got := build(func(_ *guest, f imports, ptr, n int64) []byte {
		return slices.Concat(i32c(ptr), i32c(n), callf(f.open), op(0x22, 1), callf(f.close), opDrop, get(1), callf(f.close))
	}); got != -int32(abi.StatusInvalid) {
		t.Errorf("a handle closed twice: %d", got)
	}
	if got := build(func(_ *guest, f imports, ptr, n int64) []byte {
		return slices.Concat(i32c(ptr), i32c(n), callf(f.open), i64c(-1), i32c(0), i32c(8), callf(f.read))
	}); got != -int32(abi.StatusInvalid) {
		t.Errorf("a negative offset: %d", got)
	}
}

// TestFSList walks a folder in pieces: what fits whole, in byte order, to the end.
func TestFSList(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 300 {
		name := fmt.Sprintf("file-%03d", i)
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := func(after string, size int64) (int32, []string) {
		g := newGuest(manifestWith(fsManifest))
		f := g.importFunc(abi.ModuleFS, abi.ImportFSList, i32+i32+i32+i32+i32+i32, i32)
		path, n := g.bytesAt([]byte("main"))
		at, an := g.bytesAt([]byte(after))
		g.read(outcome(g, slices.Concat(i32c(path), i32c(n), i32c(at), i32c(an), i32c(bufAt), i32c(size), callf(f))), ok())
		p, _ := loadGuest(t, g, Config{Grants: fsGrant(t, dir)})
		reply, rest := replyOf(t, p)
		if int64(reply) > size {
			return reply, nil
		}
		var names []string
		for rest != "" {
			e, r, err := abi.TakeEntry(rest)
			if err != nil {
				t.Fatal(err)
			}
			names, rest = append(names, e.Name), r
		}
		return reply, names
	}
	var got []string
	for {
		after := ""
		if len(got) > 0 {
			after = got[len(got)-1]
		}
		reply, names := list(after, 8000)
		if reply == 0 {
			break
		}
		got = append(got, names...)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if reply, names := list("", 10); reply <= 10 || names != nil {
		t.Errorf("no room for one entry: %d, %q", reply, names)
	}
}

// TestFSAtStart shows that rh_init may not touch files.
func TestFSAtStart(t *testing.T) {
	g := newGuest(manifestWith(fsManifest))
	f := g.importFunc(abi.ModuleFS, abi.ImportFSStat, i32+i32+i32+i32, i32)
	ptr, n := g.bytesAt([]byte("main"))
	g.exported(abi.ExportInit, i32c(ptr), i32c(n), i32c(bufAt), i32c(bufSize), callf(f), i32c(3), opAdd)
	loadGuest(t, g.read(ok()), Config{Grants: fsGrant(t, t.TempDir())})
}

func TestRootPrefix(t *testing.T) {
	for _, tt := range []struct{ as, want string }{{"/", "/"}, {"/docs", "/docs"}, {"/a b/ü", "/a%20b/%C3%BC"}, {"docs", ""}, {"/docs/", ""}, {"/a/../b", ""}} {
		got, err := rootPrefix(FSRoot{Path: ".", As: tt.as})
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: %q, %v", tt.as, got, err)
		}
	}
}

// TestWASI runs the functions that runtimes live by, and shows that the rest answers without doing anything.
func TestWASI(t *testing.T) {
	for name, f := range wasiModule() {
		if f.typ.results != i32 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			g := newGuest(letters)
			i := g.importFunc(wasiModuleName, name, f.typ.params, f.typ.results)
			var args []byte
			for k := range len(f.typ.params) {
				if f.typ.params[k:k+1] == i64 {
					args = append(args, i64c(0)...)
				} else {
					args = append(args, i32c(0)...)
				}
			}
			p, _ := loadGuest(t, g.read(outcome(g, append(args, callf(i)...)), ok()), Config{})
			want := int32(errnoBadf)
			switch name {
			case "args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "clock_res_get", "clock_time_get", "sched_yield", "random_get":
				want = errnoSuccess
			case "proc_raise":
				want = errnoNotcapable
			case "poll_oneoff":
				want = errnoInval
			}
			if got, _ := replyOf(t, p); got != want {
				t.Errorf("errno %d, want %d", got, want)
			}
		})
	}
}

// TestStderr shows that output becomes log lines, and that a trap carries its end.
func TestStderr(t *testing.T) {
	g := newGuest(letters)
	f := g.importFunc(wasiModuleName, "fd_write", i32+i32+i32+i32, i32)
	ptr, n := g.bytesAt([]byte("first line\npanic: no\x07 luck"))
	g.read(i32c(bufAt), i32c(ptr), opStore32, i32c(bufAt+4), i32c(n), opStore32, i32c(2), i32c(bufAt), i32c(1), i32c(bufAt+8), callf(f), opDrop, opUnreachable)
	p, log := loadGuest(t, g, Config{Name: "mine"})
	_, err := readURI(t.Context(), p, "letters://a")
	wantCode(t, err, provider.Internal)
	if !strings.Contains(err.Error(), `plugin mine: rh_read: `) || !strings.Contains(err.Error(), `stderr ends with: first line\npanic: no\a luck`) {
		t.Errorf("error %q", err)
	}
	if !strings.Contains(log.String(), `msg="first line" plugin=mine stream=stderr`) {
		t.Errorf("log: %s", log)
	}
}

// TestLogLimit shows that a plugin's lines are limited, and that what was dropped is said.
func TestLogLimit(t *testing.T) {
	g := newGuest(letters)
	g.read(times(500, 0, i32c(6), i32c(0), i32c(4), callf(g.log)), g.text("t"), ok())
	p, log := loadGuest(t, g, Config{Limits: Limits{LogLines: 10}})
	if _, err := readURI(t.Context(), p, "letters://a"); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "\n"); n > 20 {
		t.Errorf("%d lines", n)
	}
}
