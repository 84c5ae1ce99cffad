package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/wasmplugin"
)

// goTree is the largest tree that every machine with Go has.
func goTree(b *testing.B) string {
	b.Helper()
	dir := os.Getenv("GOROOT")
	if dir == "" {
		b.Skip("set GOROOT, such as with GOROOT=$(go env GOROOT)")
	}
	return dir
}

// BenchmarkFileList lists a large tree in pages of a thousand.
func BenchmarkFileList(b *testing.B) {
	p := plugin(b, "file", func(c *wasmplugin.Config) { c.Grants.FS = grant("go", goTree(b), "/go") })
	defer p.Close(b.Context())
	files, pages := 0, 0
	for b.Loop() {
		for cursor := []byte(nil); ; {
			page, err := p.List(b.Context(), &provider.ListRequest{Cursor: cursor, PageSize: 1000})
			if err != nil {
				b.Fatal(err)
			}
			files += len(page.Resources)
			pages++
			if cursor = page.Next; cursor == nil {
				break
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(pages), "µs/page")
	b.ReportMetric(float64(files)/float64(b.N), "files/op")
}

// BenchmarkFileRead reads files of several sizes.
func BenchmarkFileRead(b *testing.B) {
	dir := b.TempDir()
	write(b, dir, map[string]string{
		"1KiB.txt": strings.Repeat("0123456789abcde\n", 64), "1MiB.txt": strings.Repeat("0123456789abcde\n", 1<<16),
		"1MiB.bin": strings.Repeat("\xff", 1<<20),
	})
	p := plugin(b, "file", func(c *wasmplugin.Config) { c.Grants.FS = grant("docs", dir, "/docs") })
	defer p.Close(b.Context())
	for _, name := range []string{"1KiB.txt", "1MiB.txt", "1MiB.bin"} {
		b.Run(filepath.Base(name), func(b *testing.B) {
			req := &provider.ReadRequest{
				URI: "file:///docs/" + name, Template: "file:///{+path}", MaxBytes: 16 << 20,
				Vars: []provider.Var{{Name: "path", Value: "docs/" + name}},
			}
			for b.Loop() {
				got, err := p.Read(b.Context(), req)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(got.Contents[0].Body)))
			}
		})
	}
}
