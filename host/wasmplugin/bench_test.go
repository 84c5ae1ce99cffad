package wasmplugin

import (
	"fmt"
	"log/slog"
	"os"
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

// BenchmarkStart starts an instance and drops it: what isolation fresh adds to a call.
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
		b.Run(name, func(b *testing.B) {
			cfg := Config{Isolation: "fresh"}
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
