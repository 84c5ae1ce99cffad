package wasmplugin

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// benchPlugin loads a module without logging.
func benchPlugin(b *testing.B, wasm []byte, cfg Config) *Plugin {
	b.Helper()
	r, _ := testRuntime(b, &Options{Logger: slog.New(slog.DiscardHandler)})
	return load(b, r, wasm, cfg)
}

// smallGuest serves a note of 80 bytes.
func smallGuest() []byte {
	g := newGuest(letters)
	return g.read(g.takeRequest(), g.text(strings.Repeat("0123456789", 8)), ok()).bytes()
}

func isolations(b *testing.B, run func(b *testing.B, isolation string)) {
	for _, isolation := range []string{"shared", "reset", "fresh"} {
		b.Run(isolation, func(b *testing.B) { run(b, isolation) })
	}
}

// BenchmarkRead is the whole provider path of a small read: queue, request, guest, records, checks, result.
func BenchmarkRead(b *testing.B) {
	wasm := smallGuest()
	isolations(b, func(b *testing.B, isolation string) {
		p := benchPlugin(b, wasm, Config{Isolation: isolation})
		b.ReportAllocs()
		for b.Loop() {
			if _, err := readURI(b.Context(), p, "letters://a"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkReadParallel is BenchmarkRead from all cores.
func BenchmarkReadParallel(b *testing.B) {
	wasm := smallGuest()
	isolations(b, func(b *testing.B, isolation string) {
		p := benchPlugin(b, wasm, Config{Isolation: isolation})
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := readURI(b.Context(), p, "letters://a"); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

// BenchmarkReadFile reads a file of 80 bytes through the plugin file, packed, which RESHOST_BENCH_GUEST names: a guest in
// Go with its heap and collector.
func BenchmarkReadFile(b *testing.B) {
	file := os.Getenv("RESHOST_BENCH_GUEST")
	if file == "" {
		b.Skip("RESHOST_BENCH_GUEST names no guest")
	}
	wasm, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.md"), bytes.Repeat([]byte("x"), 80), 0o600); err != nil {
		b.Fatal(err)
	}
	isolations(b, func(b *testing.B, isolation string) {
		p := benchPlugin(b, wasm, Config{Isolation: isolation, Grants: Grants{FS: &FSGrant{Roots: map[string]FSRoot{"main": {Path: dir, As: "/docs"}}}}})
		req := &provider.ReadRequest{
			URI: "file:///docs/a.md", Template: p.Info().Templates[0].URITemplate, Vars: []provider.Var{{Name: "path", Value: "docs/a.md"}},
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Read(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRestore puts an instance back after a read: what isolation reset costs beside the caller's path.
func BenchmarkRestore(b *testing.B) {
	guests := map[string][]byte{"by hand": smallGuest()}
	if file := os.Getenv("RESHOST_BENCH_GUEST"); file != "" {
		wasm, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		guests["from file"] = wasm
	}
	for _, name := range sortedKeys(guests) {
		for _, way := range []string{"copied", "mapped"} {
			b.Run(name+"/"+way, func(b *testing.B) {
				p := benchPlugin(b, guests[name], Config{Grants: Grants{FS: &FSGrant{Roots: map[string]FSRoot{"main": {Path: b.TempDir(), As: "/docs"}}}}})
				if p.began.image == nil && way == "mapped" {
					b.Skip("small, or not mapped here")
				}
				inst, err := p.newInstance(b.Context(), start{})
				if err != nil {
					b.Fatal(err)
				}
				defer inst.close()
				s := *p.began
				if way == "copied" && s.image != nil {
					s.memory, s.image = bytes.Clone(inst.mem.bytes()), nil
				}
				for b.Loop() {
					b.StopTimer()
					c := &call{plugin: p, export: abi.ExportRead, sink: &readSink{maxParts: 1, maxBytes: 1 << 20}, served: p.served.Load(), out: inst.out}
					c.request = p.readRequest(&provider.ReadRequest{URI: "letters://a", Template: p.Info().Templates[0].URITemplate}, abi.Common{}, 1<<20)
					if _, err := p.invoke(b.Context(), inst, c); err != nil {
						b.Fatal(err)
					}
					c.close()
					b.StartTimer()
					if !inst.restore(&s) {
						b.Fatal("not put back")
					}
				}
			})
		}
	}
}

// BenchmarkReadMiB reads 1 MiB, which the guest fills anew.
func BenchmarkReadMiB(b *testing.B) {
	wasm := bigLetters(1 << 20).bytes()
	isolations(b, func(b *testing.B, isolation string) {
		p := benchPlugin(b, wasm, Config{Isolation: isolation})
		b.SetBytes(1 << 20)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := readURI(b.Context(), p, "letters://a"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkList lists a page of 100 resources.
func BenchmarkList(b *testing.B) {
	g := listGuest(func(g *guest) [][]byte {
		var code [][]byte
		for i := range 100 {
			code = append(code, g.resource(abi.Resource{URI: fmt.Sprintf("letters://item-%d", i), Name: fmt.Sprint("item ", i), MIMEType: "text/plain"}))
		}
		return append(code, ok())
	})
	p := benchPlugin(b, g.bytes(), Config{Isolation: "shared"})
	b.ReportAllocs()
	for b.Loop() {
		if res, err := p.List(b.Context(), &provider.ListRequest{PageSize: 100}); err != nil || len(res.Resources) != 100 {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart starts an instance and drops it: what isolation fresh adds to a call, and what an instance more costs
// under reset.
func BenchmarkStart(b *testing.B) {
	guests := map[string][]byte{"by hand": smallGuest()}
	if file := os.Getenv("RESHOST_BENCH_GUEST"); file != "" {
		wasm, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		guests["from file"] = wasm
	}
	for _, name := range sortedKeys(guests) {
		for _, isolation := range []string{"fresh", "reset"} {
			b.Run(name+"/"+isolation, func(b *testing.B) {
				cfg := Config{Isolation: isolation}
				if name == "from file" {
					cfg.Grants.FS = &FSGrant{Roots: map[string]FSRoot{"main": {Path: b.TempDir(), As: "/docs"}}}
				}
				p := benchPlugin(b, guests[name], cfg)
				b.ReportAllocs()
				for b.Loop() {
					inst, err := p.newInstance(b.Context(), start{})
					if err != nil {
						b.Fatal(err)
					}
					inst.close()
				}
			})
		}
	}
}

// BenchmarkLoad loads a plugin: cold, without compiled code on disk, and warm.
func BenchmarkLoad(b *testing.B) {
	wasm := smallGuest()
	if file := os.Getenv("RESHOST_BENCH_GUEST"); file != "" {
		var err error
		if wasm, err = os.ReadFile(file); err != nil {
			b.Fatal(err)
		}
	}
	cfg := Config{Wasm: wasm, Grants: Grants{FS: &FSGrant{Roots: map[string]FSRoot{"main": {Path: b.TempDir(), As: "/docs"}}}}}
	for _, temperature := range []string{"cold", "warm"} {
		b.Run(temperature, func(b *testing.B) {
			dir := b.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				b.Fatal(err)
			}
			opts := &Options{Logger: slog.New(slog.DiscardHandler), CacheDir: dir}
			if temperature == "cold" {
				opts.CacheDir = ""
			}
			once := func() {
				r, err := NewRuntime(b.Context(), opts)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := r.Load(b.Context(), &cfg); err != nil {
					b.Fatal(err)
				}
				if err := r.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			if temperature == "warm" {
				once()
			}
			for b.Loop() {
				once()
			}
		})
	}
}
