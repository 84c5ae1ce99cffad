package rootfs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree makes files from a map; a value that begins with "-> " is a link, a name that ends with "/" a folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		p := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(p), 0o755)
		if err == nil {
			if to, ok := strings.CutPrefix(content, "-> "); ok {
				err = os.Symlink(strings.ReplaceAll(to, "DIR", dir), p)
			} else if strings.HasSuffix(name, "/") {
				err = os.MkdirAll(p, 0o755)
			} else {
				err = os.WriteFile(p, []byte(content), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func open(t testing.TB, dir string, hide ...string) *FS {
	t.Helper()
	f, err := Open(map[string]string{"main": dir}, hide)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func read(f *FS, p string) (string, error) {
	file, err := f.OpenFile(p)
	if err != nil {
		return "", err
	}
	defer file.Close()
	b, err := io.ReadAll(file)
	return string(b), err
}

// TestEscapes is case FS-02 and the paths of URI-09: nothing outside of the folder is ever read.
func TestEscapes(t *testing.T) {
	dir := tree(t, map[string]string{
		"secret.txt": "S", "docs/a.txt": "A", "docs/sub/b.txt": "B", "docs/abs": "-> DIR/secret.txt", "docs/rel": "-> ../secret.txt",
		"docs/dir": "-> ..", "docs/chain1": "-> chain2", "docs/chain2": "-> ../secret.txt", "docs/loop": "-> loop", "docs/in": "-> a.txt",
		"docs/self": "-> .", "docs/sub/up": "-> ../a.txt", "docs/inabs": "-> DIR/docs/a.txt", "docs/dangling": "-> nowhere",
	})
	f := open(t, filepath.Join(dir, "docs"))
	tests := []struct {
		path, want string
		err        error
	}{
		{"main/a.txt", "A", nil},
		{"main/in", "A", nil},
		{"main/sub/up", "A", nil},
		{"main/self/a.txt", "A", nil},
		{"main/abs", "", ErrNotExist},
		{"main/rel", "", ErrNotExist},
		{"main/dir/secret.txt", "", ErrNotExist},
		{"main/chain1", "", ErrNotExist},
		{"main/loop", "", ErrNotExist},
		{"main/dangling", "", ErrNotExist},
		{"main/inabs", "", ErrNotExist},
		{"main/a.txt/b", "", ErrNotExist},
		{"main/self/../secret.txt", "", ErrPath},
		{"main/../secret.txt", "", ErrPath},
		{"main/./a.txt", "", ErrPath},
		{"main//a.txt", "", ErrPath},
		{"main/a.txt\x00.md", "", ErrPath},
		{"main/", "", ErrPath},
		{"", "", ErrPath},
		{"/main/a.txt", "", ErrPath},
		{"other/a.txt", "", ErrNotExist},
		{"main/" + strings.Repeat("x", 5000), "", ErrNotExist},
		{"main", "", ErrKind},
		{"main/sub", "", ErrKind},
	}
	for _, tt := range tests {
		t.Run(tt.path[:min(len(tt.path), 40)], func(t *testing.T) {
			got, err := read(f, tt.path)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%q, %v; want %q, %v", got, err, tt.want, tt.err)
			}
		})
	}
}

// TestSwappedLink swaps a link between a file inside and one that must not be seen, outside or hidden, while it is read:
// never is it that one (FS-02).
func TestSwappedLink(t *testing.T) {
	for name, target := range map[string]string{"outside": "../secret.txt", "hidden": ".secret", "in a hidden folder": ".hid/secret"} {
		t.Run(name, func(t *testing.T) { swapLink(t, target) })
	}
}

func swapLink(t *testing.T, target string) {
	dir := tree(t, map[string]string{
		"secret.txt": "S", "docs/.secret": "S", "docs/.hid/secret": "S", "docs/a.txt": "A", "docs/link": "-> a.txt",
	})
	f := open(t, filepath.Join(dir, "docs"), ".*")
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			tmp := filepath.Join(dir, "docs", "tmp")
			to := [...]string{"a.txt", target}[i%2]
			if os.Symlink(to, tmp) == nil {
				os.Rename(tmp, filepath.Join(dir, "docs", "link"))
			}
		}
	}()
	rounds, served := 10_000, 0
	if testing.Short() {
		rounds = 1000
	}
	for range rounds {
		got, err := read(f, "main/link")
		if got == "S" {
			t.Fatal("the secret was read")
		}
		if err == nil {
			served++
		}
	}
	close(stop)
	<-done
	if served == 0 {
		t.Error("the link was never served, so nothing was shown")
	}
}

func TestHidden(t *testing.T) {
	files := map[string]string{
		".env": "E", "a.txt": "A", ".git/config": "G", "sub/.x/y": "Y", "sub/key.pem": "K", "sub/a.txt": "B", "private/p": "P",
		"cfg": "-> .env", "git": "-> .git", "chain": "-> sub/up", "sub/up": "-> ../.env", "deep": "-> sub/.x", "ok": "-> sub", "pem": "-> sub/key.pem",
	}
	tests := []struct {
		name   string
		hide   []string
		hidden []string
		seen   []string
	}{
		{
			"dotfiles",
			[]string{".*"},
			[]string{".env", ".git", ".git/config", "sub/.x/y", "cfg", "git", "git/config", "chain", "deep/y", "ok/up", "ok/.x/y", "ok/up"},
			[]string{"a.txt", "sub/key.pem", "ok/a.txt", "pem"},
		},
		{"nothing", nil, nil, []string{".env", ".git/config", "sub/.x/y", "cfg", "git/config", "chain", "deep/y"}},
		{
			"by path",
			[]string{"private", "sub/*.pem"},
			[]string{"private/p", "private", "sub/key.pem", "ok/key.pem", "pem"},
			[]string{"sub/a.txt", ".env", "cfg"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := open(t, tree(t, files), tt.hide...)
			for _, p := range tt.hidden {
				if _, err := f.Stat("main/" + p); !errors.Is(err, ErrNotExist) {
					t.Errorf("%s: %v", p, err)
				}
				if got, err := read(f, "main/"+p); !errors.Is(err, ErrNotExist) {
					t.Errorf("%s: read %q, %v", p, got, err)
				}
			}
			for _, p := range tt.seen {
				if _, err := f.Stat("main/" + p); err != nil {
					t.Errorf("%s: %v", p, err)
				}
			}
			for _, e := range list(t, f, "main") {
				for _, p := range tt.hidden {
					if e == p {
						t.Errorf("%s is listed", e)
					}
				}
			}
		})
	}
	if _, err := Open(map[string]string{"main": t.TempDir()}, []string{"[a"}); err == nil {
		t.Error("a malformed pattern is accepted")
	}
}

func list(t testing.TB, f *FS, p string) []string {
	t.Helper()
	l, err := f.List(p, -1, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var names []string
	if err := l.After("", func(e Entry) bool { names = append(names, e.Name); return true }); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestList(t *testing.T) {
	dir := tree(t, map[string]string{
		"B": "", "a": "xyz", "ä": "", "a b": "", "sub/": "", "link": "-> a", "out": "-> ../..", "dirlink": "-> sub", "z.txt": "",
	})
	f := open(t, dir)
	if d := cmp.Diff([]string{"B", "a", "a b", "dirlink", "link", "sub", "z.txt", "ä"}, list(t, f, "main")); d != "" {
		t.Errorf("byte order (-want +got):\n%s", d)
	}
	l, err := f.List("main", -1, func() error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var got []Entry
	if err := l.After("a b", func(e Entry) bool { e.MTime, e.Version = 0, ""; got = append(got, e); return len(got) < 3 }); err != nil {
		t.Fatal(err)
	}
	want := []Entry{{Name: "dirlink", Kind: Folder, Link: true}, {Name: "link", Kind: File, Size: 3, Link: true}, {Name: "sub", Kind: Folder}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("after (-want +got):\n%s", d)
	}
	if _, err := f.List("main/a", -1, func() error { return nil }); !errors.Is(err, ErrKind) {
		t.Errorf("a file was listed: %v", err)
	}
	if _, err := f.List("main", 3, func() error { return nil }); !errors.Is(err, ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	stop := errors.New("stop")
	if _, err := f.List("main", -1, func() error { return stop }); !errors.Is(err, stop) {
		t.Errorf("step's error: %v", err)
	}
}

func TestVersion(t *testing.T) {
	dir := tree(t, map[string]string{"a": "one"})
	f := open(t, dir)
	before, err := f.Stat("main/a")
	if err != nil {
		t.Fatal(err)
	}
	if before.Version == "" || strings.ContainsFunc(before.Version, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		t.Errorf("version %q", before.Version)
	}
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("four"), 0o644); err != nil {
		t.Fatal(err)
	}
	after, err := f.Stat("main/a")
	if err != nil || after.Version == before.Version {
		t.Errorf("version %q stays, %v", after.Version, err)
	}
}

// TestRootSwapped shows that a root which is a link follows it, as trees are swapped in Kubernetes.
func TestRootSwapped(t *testing.T) {
	dir := tree(t, map[string]string{"v1/a": "1", "v2/a": "2", "now": "-> v1"})
	f := open(t, filepath.Join(dir, "now"))
	if got, err := read(f, "main/a"); got != "1" {
		t.Fatalf("%q, %v", got, err)
	}
	if err := errors.Join(os.Symlink("v2", filepath.Join(dir, "new")), os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "now"))); err != nil {
		t.Fatal(err)
	}
	if got, err := read(f, "main/a"); got != "2" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Remove(filepath.Join(dir, "now")); err != nil {
		t.Fatal(err)
	}
	if _, err := read(f, "main/a"); err == nil || errors.Is(err, ErrNotExist) {
		t.Errorf("a root that is gone looks like a missing file: %v", err)
	}
}
