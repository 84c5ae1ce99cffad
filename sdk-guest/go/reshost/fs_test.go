package reshost_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

type fsRoot = fs.FS

// inFS runs f during a read, with a folder granted as main.
func inFS(t *testing.T, f func(fs reshost.FS, out *reshost.Response) error) (*reshosttest.ReadResult, error) {
	t.Helper()
	files := fstest.MapFS{
		"a.md":         {Data: []byte("# A"), ModTime: time.UnixMilli(1_700_000_000_123)},
		"big":          {Data: bytes.Repeat([]byte("0123456789"), 20_000)},
		"empty":        {},
		".hidden":      {Data: []byte("secret")},
		"sub/b.txt":    {Data: []byte("b")},
		"sub/.git/cfg": {Data: []byte("secret")},
	}
	for i := range 3000 {
		files[fmt.Sprintf("many/%s%04d", strings.Repeat("n", 40), i)] = &fstest.MapFile{}
	}
	g := reshosttest.New(t, reading(func(r *reshost.ReadRequest, o *reshost.Response) error { return f(r.FS(), o) }),
		&reshosttest.Options{Roots: map[string]fs.FS{"main": files}})
	return g.Read("t://plain")
}

func TestFS(t *testing.T) {
	_, err := inFS(t, func(fs reshost.FS, out *reshost.Response) error {
		info, err := fs.Stat("main/a.md")
		if err != nil || info.Name != "a.md" || info.Dir || info.Size != 3 || info.ModMillis != 1_700_000_000_123 || info.Version == "" {
			t.Errorf("Stat = %+v, %v", info, err)
		}
		if info, err = fs.Stat("main"); err != nil || !info.Dir {
			t.Errorf("Stat of a root = %+v, %v", info, err)
		}
		for path, want := range map[string]string{"main/a.md": "# A", "main/empty": "", "main/sub/b.txt": "b"} {
			if b, err := fs.ReadFile(path, 3); err != nil || string(b) != want {
				t.Errorf("ReadFile(%s) = %q, %v", path, b, err)
			}
		}
		if b, err := fs.ReadFile("main/big", 1<<20); err != nil || len(b) != 200_000 {
			t.Errorf("ReadFile of a long file: %d bytes, %v", len(b), err)
		}
		f, err := fs.Open("main/a.md")
		if err != nil {
			return err
		}
		var b [2]byte
		n, err := f.ReadAt(b[:], 1)
		if n != 2 || err != nil || string(b[:]) != " A" {
			t.Errorf("ReadAt = %q, %v", b[:n], err)
		}
		if n, err = f.ReadAt(b[:], 2); n != 1 || err != io.EOF {
			t.Errorf("ReadAt over the end = %d, %v", n, err)
		}
		if all, err := io.ReadAll(f); err != nil || string(all) != "# A" {
			t.Errorf("ReadAll = %q, %v", all, err)
		}
		if err := errors.Join(f.Close()); err != nil {
			t.Errorf("Close = %v", err)
		}
		if err := f.Close(); reshost.CodeOf(err) != reshost.CodeInvalid {
			t.Errorf("Close again = %v, want invalid", err)
		}
		return out.Text("x")
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFSList(t *testing.T) {
	_, err := inFS(t, func(fs reshost.FS, out *reshost.Response) error {
		var names []string
		for e, err := range fs.Entries("main", "") {
			if err != nil {
				return err
			}
			names = append(names, fmt.Sprint(e.Name, e.Dir))
		}
		if d := cmp.Diff([]string{"a.mdfalse", "bigfalse", "emptyfalse", "manytrue", "subtrue"}, names); d != "" {
			t.Errorf("Entries (-want +got):\n%s", d)
		}
		count, last := 0, ""
		for e, err := range fs.Entries("main/many", strings.Repeat("n", 40)+"0009") {
			if err != nil {
				return err
			}
			if e.Name <= last {
				t.Fatalf("%s comes after %s", e.Name, last)
			}
			last = e.Name
			count++
		}
		if count != 2990 {
			t.Errorf("%d entries of a large folder, want 2990", count)
		}
		for _, err := range fs.Entries("main/none", "") {
			if reshost.CodeOf(err) != reshost.CodeNotFound {
				t.Errorf("Entries of no folder = %v", err)
			}
		}
		return out.Text("x")
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFSErrors(t *testing.T) {
	_, err := inFS(t, func(fs reshost.FS, out *reshost.Response) error {
		open := func(path string) error { _, err := fs.Open(path); return err }
		list := func(path string) error { _, err := fs.List(path, ""); return err }
		read := func(path string) error { _, err := fs.ReadFile(path, 2); return err }
		for _, tt := range []struct {
			name string
			err  error
			want reshost.Code
		}{
			{"absent", open("main/none"), reshost.CodeNotFound},
			{"another root", open("other/a.md"), reshost.CodeNotFound},
			{"hidden", open("main/.hidden"), reshost.CodeNotFound},
			{"hidden folder", list("main/sub/.git"), reshost.CodeNotFound},
			{"a step up", open("main/../a.md"), reshost.CodeInvalid},
			{"a NUL", open("main/a\x00"), reshost.CodeInvalid},
			{"a folder as a file", open("main/sub"), reshost.CodeInvalid},
			{"a file as a folder", list("main/a.md"), reshost.CodeInvalid},
			{"longer than the limit", read("main/a.md"), reshost.CodeTooLarge},
		} {
			if got := reshost.CodeOf(tt.err); tt.err == nil || got != tt.want {
				t.Errorf("%s: %v, want %v", tt.name, tt.err, tt.want)
			}
		}
		for range 64 {
			if err := open("main/a.md"); err != nil {
				t.Fatal(err)
			}
		}
		if err := open("main/a.md"); err == nil {
			t.Error("a 65th handle is given")
		}
		return out.Text("x")
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCopyFile(t *testing.T) {
	got, err := inFS(t, func(fs reshost.FS, out *reshost.Response) error {
		if err := out.Part(reshost.Part{Text: true}); err != nil {
			return err
		}
		return fs.CopyFile(out, "main/big")
	})
	if err != nil || len(got.Text()) != 200_000 {
		t.Errorf("CopyFile: %d bytes, %v", len(got.Text()), err)
	}
}

// TestFSDenied: without a grant the functions of an optional capability answer denied.
func TestFSDenied(t *testing.T) {
	g := reshosttest.New(t, reading(func(r *reshost.ReadRequest, _ *reshost.Response) error {
		_, err := r.FS().Stat("main/a.md")
		return err
	}), nil)
	if _, err := g.Read("t://plain"); !isCode(err, reshost.CodeDenied) {
		t.Errorf("Read = %v, want denied", err)
	}
}
