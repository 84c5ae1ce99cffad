//go:build unix

package e2e_test

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/wasmplugin"
)

func link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// FS-02: a link that leads out of the root leads nowhere, one that stays inside leads to what it names.
func TestFileLinks(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "docs")
	write(t, top, map[string]string{"secret.txt": "S", "docs/a.txt": "A", "docs/sub/b.txt": "B"})
	for name, target := range map[string]string{
		"abs": filepath.Join(top, "secret.txt"), "rel": "../secret.txt", "dir": "/etc", "chain1": "chain2", "chain2": "../secret.txt",
		"loop": "loop", "in": "a.txt", "self": ".", "folder": "sub", "up": "..", "sub/back": "..",
	} {
		link(t, target, filepath.Join(dir, name))
	}
	h := serveFolder(t, dir, nil)
	for _, path := range []string{"abs", "rel", "dir", "dir/passwd", "chain1", "loop", "self/../secret.txt", "up/secret.txt", "up"} {
		wantMissing(t, h, "file:///srv/docs/"+path)
	}
	for path, want := range map[string]string{"in": "A", "self/a.txt": "A", "folder/b.txt": "B", "sub/back/a.txt": "A"} {
		if got, err := read(t, h, "file:///srv/docs/"+path); body(got) != want {
			t.Errorf("read %s: %v", path, err)
		}
	}
	var uris []string
	all, _ := listAll(t, h)
	for _, r := range all {
		uris = append(uris, r.URI)
	}
	if len(uris) != 3 || uris[0] != "file:///srv/docs/a.txt" || uris[1] != "file:///srv/docs/in" || uris[2] != "file:///srv/docs/sub/b.txt" {
		t.Errorf("list: %q", uris)
	}
}

// FS-02: a link that is swapped between any check and the open never yields what lies outside.
func TestFileLinkSwapped(t *testing.T) {
	rounds := 500 // package rootfs does it ten thousand times, without a guest
	if testing.Short() {
		rounds = 100
	}
	top := t.TempDir()
	dir := filepath.Join(top, "docs")
	write(t, top, map[string]string{"secret/x": "S", "docs/good/x": "G"})
	link(t, "good", filepath.Join(dir, "swap"))
	h := serveFolder(t, dir, nil)
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		next := filepath.Join(dir, "next")
		for i := 0; !done.Load(); i++ {
			target := "good"
			if i%2 == 0 {
				target = "../secret"
			}
			if os.Symlink(target, next) != nil || os.Rename(next, filepath.Join(dir, "swap")) != nil {
				return
			}
		}
	})
	served := 0
	for range rounds {
		got, err := h.Read(t.Context(), nil, "file:///srv/docs/swap/x")
		if err == nil {
			served++
			if body(got) != "G" {
				t.Errorf("read %q", body(got))
				break
			}
		}
	}
	done.Store(true)
	wg.Wait()
	t.Logf("%d of %d reads were served", served, rounds)
	if served == 0 {
		t.Error("no read was served: the test shows nothing")
	}
}

// FS-04: what is neither file nor folder does not exist, and nothing waits for it.
func TestFileSpecial(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.txt": "A"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Skip("no pipes here: ", err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "sock"))
	if err != nil {
		t.Skip("no sockets here: ", err)
	}
	defer l.Close()
	link(t, "/dev/zero", filepath.Join(dir, "zero"))
	link(t, "pipe", filepath.Join(dir, "topipe"))
	h := serveFolder(t, dir, nil)
	for _, name := range []string{"pipe", "sock", "zero", "topipe", "pipe/", "pipe/x"} {
		wantMissing(t, h, "file:///srv/docs/"+name)
	}
	if all, _ := listAll(t, h); len(all) != 1 {
		t.Errorf("list: %+v", all)
	}
	if got, err := read(t, h, "file:///srv/docs"); body(got) != "file:///srv/docs/a.txt" {
		t.Errorf("the folder: %q, %v", body(got), err)
	}
	// A device in the folder itself needs the right to make one.
	if err := syscall.Mknod(filepath.Join(dir, "mem"), syscall.S_IFCHR|0o666, 1<<8|5); err == nil {
		wantMissing(t, h, "file:///srv/docs/mem")
	}
}

// FS-04: a file that grows while it is read comes as it was at one moment, or not at all.
func TestFileGrowing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "grow.log")
	line := []byte("one line of sixteen bytes each..\n")[:16]
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := serveFolder(t, dir, func(c *wasmplugin.Config) { c.Limits.ReadBytes = 4 << 20 })
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			if _, err := f.Write(line); err != nil {
				return
			}
			if info, err := f.Stat(); err == nil && info.Size() > 1<<20 {
				f.Truncate(0)
				f.Seek(0, 0)
			}
		}
	})
	for range 50 {
		got, err := read(t, h, "file:///srv/docs/grow.log")
		if err != nil {
			if provider.CodeOf(err) != provider.Unavailable {
				t.Errorf("read: %v", err)
			}
			continue
		}
		if n := len(got.Contents[0].Body); n%len(line) != 0 {
			t.Errorf("%d bytes, which the file never had", n)
		}
	}
	done.Store(true)
	wg.Wait()
	if got, err := read(t, h, "file:///srv/docs/grow.log"); err != nil || len(got.Contents) != 1 {
		t.Errorf("at rest: %v", err)
	}
}

// FS-04: files that say they are empty and are not. They are read to their end, under the limit.
func TestFileOfProc(t *testing.T) {
	const dir = "/proc/self/net"
	if info, err := os.Stat(dir + "/dev"); err != nil || info.Size() != 0 {
		t.Skip("no /proc here")
	}
	h := serveFolder(t, dir, func(c *wasmplugin.Config) { c.Limits.ReadBytes = 1 << 20 })
	if got, err := read(t, h, "file:///srv/docs/dev"); err != nil || body(got) == "" {
		t.Errorf("a file of /proc: %q, %v", body(got), err)
	}
	h = serveFolder(t, dir, func(c *wasmplugin.Config) { c.Limits.ReadBytes = 10 })
	if _, err := read(t, h, "file:///srv/docs/dev"); provider.CodeOf(err) != provider.TooLarge || err == nil {
		t.Errorf("a file of /proc over the limit: %v", err)
	}
}
