package body_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/reshost/reshost/plugins/internal/body"
	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

// plugin serves root main as x://{name}, with nothing but a Server.
func plugin() *reshost.Plugin {
	s := new(body.Server)
	return &reshost.Plugin{
		Name: "x", Schemes: []string{"x"},
		Capabilities: []reshost.Capability{{Name: reshost.CapabilityFS, Reason: "test"}},
		Templates: []reshost.Template{{
			URITemplate: "x://{name}", Name: "x", Vars: []reshost.Var{{Name: "name"}},
			Read: func(req *reshost.ReadRequest, out *reshost.Response) error {
				path := "main/" + req.Var("name")
				info, err := req.FS().Stat(path)
				if err != nil {
					return err
				}
				return s.Serve(req.FS(), out, &body.File{
					Path: path, Info: info, MIMEType: "text/x", MaxBytes: req.MaxBytes, Name: "the file",
				})
			},
		}},
	}
}

// restless is a folder whose file f is another version at each of the first changes looks at it.
type restless struct {
	looks, changes int
	content        []byte
	// says is the size that the file says it has; negative: the real one.
	says int64
}

func (r *restless) Open(name string) (fs.File, error) {
	file := &fstest.MapFile{Data: r.content, Mode: 0o444, ModTime: time.UnixMilli(1_000_000 + int64(min(r.looks, r.changes)))}
	r.looks++
	f, err := fstest.MapFS{"f": file}.Open(name)
	if err != nil || r.says < 0 {
		return f, err
	}
	return sized{f, r.says}, nil
}

type sized struct {
	fs.File
	size int64
}

func (s sized) Stat() (fs.FileInfo, error) {
	info, err := s.File.Stat()
	return sizedInfo{info, s.size}, err
}

type sizedInfo struct {
	fs.FileInfo
	size int64
}

func (i sizedInfo) Size() int64 { return i.size }

func read(t *testing.T, r *restless, maxBytes int64) (*reshosttest.ReadResult, error) {
	t.Helper()
	g := reshosttest.New(t, plugin(), &reshosttest.Options{Roots: map[string]fs.FS{"main": r}, MaxBytes: maxBytes})
	return g.Read("x://f")
}

func codeOf(err error) reshost.Code {
	if f, ok := err.(*reshosttest.Failure); ok {
		return f.Code
	}
	return 0
}

// FS-04 grow.log: a file that changes while it is read is read again; one that does not come to rest is an error.
func TestServeChanging(t *testing.T) {
	small, long := []byte("small"), []byte(strings.Repeat("0123456789abcde\n", 40_000))
	tests := []struct {
		name    string
		content []byte
		changes int
		want    reshost.Code
	}{
		{"small, at rest", small, 0, 0},
		{"small, comes to rest", small, 4, 0},
		{"small, restless", small, 1000, reshost.CodeUnavailable},
		{"long, at rest", long, 0, 0},
		{"long, comes to rest", long, 4, 0},
		{"long, restless", long, 1000, reshost.CodeUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t, &restless{content: tt.content, changes: tt.changes, says: -1}, 0)
			if codeOf(err) != tt.want {
				t.Fatalf("read: %v, want %v", err, tt.want)
			}
			if tt.want == 0 && (err != nil || len(got.Parts) != 1 || !bytes.Equal(got.Parts[0].Body, tt.content)) {
				t.Errorf("read %d parts, %v", len(got.Parts), err)
			}
		})
	}
}

// FS-04: the cap is on the bytes that are read, whatever the file says about its size (as those of /proc do).
func TestServeCountsBytes(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	tests := []struct {
		name, content string
		says, max     int64
		want          reshost.Code
	}{
		{"says nothing, fits", "0123456789", 0, 10, 0},
		{"says nothing, does not fit", "0123456789a", 0, 10, reshost.CodeTooLarge},
		{"says nothing, long text", long, 0, 1<<20 - 1, reshost.CodeTooLarge},
		{"says nothing, long bytes", "\xff" + long, 0, 1 << 20, reshost.CodeTooLarge},
		{"says nothing, long, fits", long, 0, 1 << 20, 0},
		{"says too much", "0123456789", 11, 10, reshost.CodeTooLarge},
		{"sparse", "", 8 << 30, 1 << 20, reshost.CodeTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(t, &restless{content: []byte(tt.content), says: tt.says}, tt.max)
			if codeOf(err) != tt.want || tt.want == 0 && err != nil {
				t.Fatalf("read: %v, want %v", err, tt.want)
			}
			if err == nil && string(got.Parts[0].Body) != tt.content {
				t.Errorf("read %d bytes, want %d", len(got.Parts[0].Body), len(tt.content))
			}
		})
	}
}

// The same server serves one file after the other; none sees bytes of the one before.
func TestServeAgain(t *testing.T) {
	g := reshosttest.New(t, plugin(), &reshosttest.Options{Roots: map[string]fs.FS{"main": fstest.MapFS{
		"long": {Data: bytes.Repeat([]byte("long"), 1<<18)}, "short": {Data: []byte("s")}, "empty": {},
	}}})
	for _, name := range []string{"long", "short", "empty", "long", "empty"} {
		got, err := g.Read("x://" + name)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(got.Parts[0].Body); n != map[string]int{"long": 1 << 20, "short": 1}[name] {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}
