//go:build unix

package rootfs

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestSpecialFiles is case FS-04: FIFO, socket and device are answered at once, are never listed, and are not opened.
func TestSpecialFiles(t *testing.T) {
	dir := tree(t, map[string]string{"a.txt": "A", "tolink": "-> pipe"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("unix", filepath.Join(dir, "sock")); err == nil {
		defer l.Close()
	}
	f := open(t, dir)
	names := []string{"pipe", "sock", "tolink"}
	if os.Geteuid() == 0 && syscall.Mknod(filepath.Join(dir, "zero"), syscall.S_IFCHR|0o644, 1<<8|5) == nil {
		names = append(names, "zero")
	}
	start := time.Now()
	for _, n := range names {
		if _, err := read(f, "main/"+n); !errors.Is(err, ErrNotExist) {
			t.Errorf("%s: %v", n, err)
		}
		if _, err := f.Stat("main/" + n); !errors.Is(err, ErrNotExist) {
			t.Errorf("stat %s: %v", n, err)
		}
	}
	if d := time.Since(start); d > time.Second {
		t.Errorf("took %s", d)
	}
	if got := list(t, f, "main"); !slices.Equal(got, []string{"a.txt"}) {
		t.Errorf("listed %q", got)
	}
}

// TestFIFOSwappedIn swaps a FIFO in for a file while it is opened: no opening waits for a writer.
func TestFIFOSwappedIn(t *testing.T) {
	dir := tree(t, map[string]string{"file": "A", "x": "A"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := open(t, dir)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				tmp := filepath.Join(dir, "tmp")
				if os.Link(filepath.Join(dir, [...]string{"file", "pipe"}[i%2]), tmp) == nil {
					os.Rename(tmp, filepath.Join(dir, "x"))
				}
			}
		}
	}()
	for range 2000 {
		if got, err := read(f, "main/x"); err == nil && got != "A" {
			t.Errorf("read %q", got)
		}
	}
	close(stop)
	<-done
}
