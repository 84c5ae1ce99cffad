package wasmplugin

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

// manifestWith returns the manifest letters with further members.
func manifestWith(members string) string {
	return strings.TrimSuffix(letters, "}") + "," + members + "}"
}

func TestManifestErrors(t *testing.T) {
	tests := []struct{ name, manifest, want string }{
		{"not JSON", `{`, "unexpected EOF"},
		{"not an object", `[]`, "does not fit here"},
		{"no abi", `{"name":"a"}`, `"abi" is missing`},
		{"abi from the future", `{"abi":"reshost_v2","later":1}`, `newer than this host's "reshost_v1": update the host`},
		{"other abi", `{"abi":"wasi_v9"}`, `"abi" is "wasi_v9"`},
		{"minor from the future", `{"abi":"reshost_v1","min_minor":9,"later":1}`, "needs minor version 9"},
		{"unknown key", manifestWith(`"prompts":[]`), `unknown key "prompts"`},
		{"case counts", manifestWith(`"Version":"1"`), `unknown key "Version"`},
		{"duplicate key", manifestWith(`"name":"b"`), "duplicate"},
		{"invalid UTF-8", manifestWith("\"version\":\"\xff\""), "UTF-8"},
		{"deep", manifestWith(`"config_schema":` + strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)), "nested deeper"},
		{"bad name", strings.Replace(letters, `"name":"letters"`, `"name":"a/b"`, 1), `"name" is "a/b"`},
		{"no schemes", `{"abi":"reshost_v1","name":"a"}`, `"schemes" is missing`},
		{"bad scheme", `{"abi":"reshost_v1","name":"a","schemes":["A b"]}`, "not a scheme"},
		{"resource of another scheme", strings.Replace(letters, "letters://index", "x://index", 1), `scheme "x" is not in "schemes"`},
		{"resource twice", strings.Replace(letters, `"resources":[`, `"resources":[{"uri":"letters://INDEX","name":"i"},`, 1), "stands there twice"},
		{"resource without a name", strings.Replace(letters, `,"name":"index"`, "", 1), `"name" is missing`},
		{"unknown key in a resource", strings.Replace(letters, `"name":"index"`, `"name":"index","text":"x"`, 1), `unknown key "text"`},
		{"bad icon", strings.Replace(letters, `"name":"index"`, `"name":"index","icons":[{"src":"file:///x"}]`, 1), "neither https nor data"},
		{"reserved _meta", strings.Replace(letters, `"name":"index"`, `"name":"index","_meta":{"dev.mcp/a":1}`, 1), "reserved"},
		{"variable that the handler lacks", strings.Replace(letters, "{name}", "{name}{?page}", 1), `does not take the variable "page"`},
		{"variable that the template lacks", strings.Replace(letters, `"vars":{`, `"vars":{"page":{},`, 1), `"page", which the template does not have`},
		{"template that cannot be matched", strings.Replace(letters, "{name}", "{name}{other}", 1), "nothing tells where one ends"},
		{"unknown key of a variable", strings.Replace(letters, `"complete":true`, `"complet":true`, 1), `unknown key "complet"`},
		{"bad isolation", manifestWith(`"isolation":"none"`), "reset, fresh or shared"},
		{"bad capability", manifestWith(`"capabilities":[{"name":"FS"}]`), "not a capability's name"},
		{"capability twice", manifestWith(`"capabilities":[{"name":"fs"},{"name":"fs"}]`), "twice"},
		{"wrong type", manifestWith(`"poll_ms":"1s"`), `at "/poll_ms"`},
		{"negative poll", manifestWith(`"poll_ms":-1`), "poll_ms"},
		{"too long", manifestWith(`"version":"` + strings.Repeat("x", maxManifest) + `"`), "more than the limit of 262144"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadManifest(newGuest(tt.manifest).read(ok()).bytes())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want it to hold %q", err, tt.want)
			}
			if err != nil && (strings.Contains(err.Error(), "\n") || len(err.Error()) > 600) {
				t.Errorf("not one short line: %q", err)
			}
		})
	}
}

func TestManifest(t *testing.T) {
	got, err := ReadManifest(newGuest(manifestWith(`"version":"1.2","x-vendor":{"a":1},"isolation":"fresh","poll_ms":1500,
		"limits":{"memory":1048576,"timeout_ms":2000},"capabilities":[{"name":"fs","reason":"r","optional":true}],"config_schema":{"type":"object"}`)).read(ok()).bytes())
	if err != nil {
		t.Fatal(err)
	}
	want := &Manifest{
		ABI: "reshost_v1", Name: "letters", Version: "1.2", Schemes: []string{"letters"},
		Resources: []provider.Resource{{URI: "letters://index", Name: "index"}},
		Templates: []provider.Template{{
			URITemplate: "letters://{name}", Name: "letter", Vars: []provider.TemplateVar{{Name: "name", Complete: true}},
		}},
		Capabilities: []Capability{{Name: "fs", Reason: "r", Optional: true}},
		Limits:       ManifestLimits{Memory: 1 << 20, Timeout: 2 * time.Second},
		Isolation:    "fresh", Poll: 1500 * time.Millisecond, ConfigSchema: provider.JSON(`{"type":"object"}`),
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestForeignModules(t *testing.T) {
	with := func(change func(g *guest)) []byte {
		g := newGuest("")
		change(g)
		return g.bytes()
	}
	tests := []struct {
		name string
		wasm []byte
		want string
	}{
		{"empty", nil, "the file is empty"},
		{"text", []byte("#!/bin/sh\necho hello\n"), "not a WebAssembly module"},
		{"component", []byte("\x00asm\x0d\x00\x01\x00"), "component"},
		{"other version", []byte("\x00asm\x02\x00\x00\x00"), "another version"},
		{"cut", newGuest(letters).read(ok()).bytes()[:60], "malformed module at offset"},
		{"extism", with(func(g *guest) { g.importFunc("extism:host/env", "input_length", "", i64) }), "plugin for Extism"},
		{"command", with(func(g *guest) { g.fn("_start", "", "", "") }), "WASI command"},
		{"not packed", with(func(g *guest) { g.exported(abi.ExportDescribe, ok()) }), "plugin pack"},
		{"something else", with(func(g *guest) { g.exported("add", ok()) }), "not a reshost plugin"},
		{"two manifests", with(func(g *guest) {
			g.custom = []namedSection{{manifestSection, []byte(letters)}, {manifestSection, []byte(letters)}}
		}), "a second section"},
		{"a section longer than the file", []byte("\x00asm\x01\x00\x00\x00\x01\xff\xff\xff\xff\x0f"), "longer than the file"},
		{"a vector that lies", []byte("\x00asm\x01\x00\x00\x00\x01\x05\xff\xff\xff\xff\x0f"), "unexpected end"},
		{"too large", make([]byte, maxModule+1), "more than the limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadManifest(tt.wasm)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want it to hold %q", err, tt.want)
			}
		})
	}
}

// TestLoadRefusals shows the one line that a plugin which cannot be loaded gets, and that nothing is left half started.
func TestLoadRefusals(t *testing.T) {
	plain := func() *guest { return newGuest(letters).read(ok()) }
	tests := []struct {
		name string
		make func() *guest
		cfg  Config
		want string
	}{
		{"import of nothing known", func() *guest {
			g := newGuest(letters)
			g.importFunc("env", "abort", i32, "")
			return g.read(ok())
		}, Config{}, `imports "env" "abort", which this host does not have`},
		{"unknown function of the core", func() *guest {
			g := newGuest(letters)
			g.importFunc(abi.Module, "fetch", i32, i32)
			return g.read(ok())
		}, Config{}, `imports "reshost_v1" "fetch"`},
		{"import with another signature", func() *guest {
			g := newGuest(letters)
			g.importFunc(abi.Module, abi.ImportWrite, i64+i32, i32)
			return g.read(ok())
		}, Config{}, "as (i64, i32) -> (i32), but it is (i32, i32) -> (i32)"},
		{"capability that is not declared", func() *guest {
			g := newGuest(letters)
			g.importFunc(abi.ModuleFS, abi.ImportFSClose, i32, i32)
			return g.read(ok())
		}, Config{}, `does not declare the capability "fs"`},
		{"import of a memory", func() *guest {
			g := newGuest(letters)
			g.imports = append(g.imports, append(append(lenPrefixed("env"), lenPrefixed("memory")...), kindMemory, 0, 1))
			g.noMemory = true
			return g.read(ok())
		}, Config{}, "only functions can be imported"},
		{"capability that is not granted", func() *guest {
			return newGuest(manifestWith(`"capabilities":[{"name":"fs","reason":"reads the letters"}]`)).read(ok())
		}, Config{}, "needs the capability fs (reads the letters): add grants: {fs:"},
		{"capability of a later host", func() *guest {
			return newGuest(manifestWith(`"capabilities":[{"name":"quantum"}]`)).read(ok())
		}, Config{}, `"quantum", which this host does not know: update the host`},
		{"root that does not exist", func() *guest {
			return newGuest(manifestWith(`"capabilities":[{"name":"fs"}]`)).read(ok())
		}, Config{Grants: Grants{FS: &FSGrant{Roots: map[string]FSRoot{"main": {Path: "/does/not/exist"}}}}}, "/does/not/exist"},
		{"no rh_read", func() *guest { return newGuest(letters).exported(abi.ExportComplete, ok()) }, Config{}, "does not export rh_read"},
		{"rh_read of another type", func() *guest {
			g := newGuest(letters).exported(abi.ExportComplete, ok())
			g.fn(abi.ExportRead, i32, i32, "", ok())
			return g
		}, Config{}, "the export rh_read is a function (i32) -> (i32)"},
		{"list without rh_list", func() *guest { return newGuest(listing).read(ok()) }, Config{}, "does not export rh_list"},
		{"complete without rh_complete", func() *guest { return newGuest(letters).exported(abi.ExportRead, ok()) }, Config{}, "does not export rh_complete"},
		{"dynamic without rh_describe", func() *guest { return newGuest(manifestWith(`"dynamic":true`)).read(ok()) }, Config{}, "does not export rh_describe"},
		{"_start", func() *guest { g := plain(); g.fn(abi.ExportStart, "", "", ""); return g }, Config{}, "-buildmode=c-shared"},
		{"no memory", func() *guest { g := plain(); g.noMemory, g.data = true, nil; return g }, Config{}, `does not export a memory`},
		{"web scheme", plain, Config{Schemes: map[string]string{"letters": "https"}}, "allow_web_schemes"},
		{"unknown scheme", plain, Config{Schemes: map[string]string{"docs": "d"}}, `no scheme "docs" (it has letters)`},
		{"bad scheme", plain, Config{Schemes: map[string]string{"letters": "Not OK"}}, "not a scheme"},
		{"only outside", plain, Config{Only: []string{"docs://a"}}, `only: "docs://a"`},
		{"any scheme unnamed", func() *guest {
			return newGuest(`{"abi":"reshost_v1","name":"a","schemes":["*"]}`).read(ok())
		}, Config{}, "name at least one"},
		{"bad name", plain, Config{Name: "a b"}, "name:"},
		{"bad isolation", plain, Config{Isolation: "none"}, "none of reset, fresh, shared"},
		{"bad config", plain, Config{Config: []byte(`{"a":1,"a":2}`)}, "config: "},
		{"config is not an object", plain, Config{Config: []byte(`[1]`)}, "must be a JSON object"},
		{"bad fact", plain, Config{Grants: Grants{Principal: []string{"password"}}}, "grants.principal"},
		{"memory", func() *guest { return newGuest(manifestWith(`"limits":{"memory":100000000}`)).read(ok()) }, Config{}, "raise limits.memory"},
		{"code that does not validate", func() *guest { return newGuest(letters).read() }, Config{}, "the module is refused at offset 0xa3: function 4"},
	}
	r, _ := testRuntime(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Wasm = tt.make().bytes()
			tt.cfg.Source = "file:x.wasm"
			_, err := r.Load(t.Context(), &tt.cfg)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line that holds %q", err, tt.want)
			}
			if n := len(r.snapshot()); n != 0 || r.memory.used.Load() != 0 || len(r.code.entries) != 0 {
				t.Errorf("left over: %d plugins, %d bytes, %d entries of code", n, r.memory.used.Load(), len(r.code.entries))
			}
		})
	}
}

// TestOptionalCapability shows that an optional capability without a grant answers denied, in all its functions.
func TestOptionalCapability(t *testing.T) {
	g := newGuest(manifestWith(`"capabilities":[{"name":"fs","optional":true},{"name":"later","optional":true}]`))
	stat := g.importFunc(abi.ModuleFS, abi.ImportFSStat, i32+i32+i32+i32, i32)
	later := g.importFunc("reshost_later_v1", "go", i32, i32)
	p, _ := loadGuest(t, g.read(i32c(0), i32c(0), i32c(0), i32c(0), callf(stat), i32c(0), callf(later), opAdd, i32c(-6), op(0x46), i32c(1), opSub, i32c(-3), op(0x6c)), Config{})
	// -3 + -3 == -6 gives 1, minus 1, times -3: status 0, without CONTENT.
	_, err := readURI(t.Context(), p, "letters://a")
	if !strings.Contains(err.Error(), "status 0 without CONTENT") {
		t.Error(err)
	}
}

func TestSchemes(t *testing.T) {
	r, _ := testRuntime(t, nil)
	any := newGuest(`{"abi":"reshost_v1","name":"any","schemes":["*","letters"],"templates":[{"uriTemplate":"letters://{name}","name":"l","vars":{"name":{}}}]}`).read(ok()).bytes()
	p := load(t, r, any, Config{Schemes: map[string]string{"letters": "post", "notes": "notes"}})
	info := p.Info()
	if d := cmp.Diff([]string{"post", "notes"}, info.Schemes); d != "" {
		t.Errorf("schemes (-want +got):\n%s", d)
	}
	if got := info.Templates[0].URITemplate; got != "post://{name}" {
		t.Errorf("template %q", got)
	}
	if got := p.Manifest().Templates[0].URITemplate; got != "letters://{name}" {
		t.Errorf("the manifest's template became %q", got)
	}
	web := load(t, r, newGuest(letters).read(ok()).bytes(), Config{
		Name: "web", Schemes: map[string]string{"letters": "https"}, AllowWebSchemes: true, Only: []string{"https://a/"},
	})
	if got := len(web.Info().Resources); got != 0 {
		t.Errorf("%d resources outside of only", got)
	}
}

// describing returns a dynamic guest that describes itself by a text.
func describing(section, emitted string) *guest {
	g := newGuest(section)
	g.exported(abi.ExportDescribe, g.record(abi.KindManifest, []byte(emitted)), ok())
	return g.read(ok())
}

func TestDynamic(t *testing.T) {
	emitted := `{"abi":"reshost_v1","name":"other","version":"9","schemes":["letters"],"list":true,
		"resources":[{"uri":"letters://new","name":"new"}],"templates":[{"uriTemplate":"letters://t/{a}","name":"t","vars":{"a":{}}}]}`
	p, _ := loadGuest(t, describing(manifestWith(`"dynamic":true,"version":"1"`), emitted), Config{Schemes: map[string]string{"letters": "post"}})
	got := p.Info()
	want := provider.Info{
		Name: "letters", Version: "1", Schemes: []string{"post"}, Resources: []provider.Resource{{URI: "post://new", Name: "new"}},
		Templates: []provider.Template{{URITemplate: "post://t/{a}", Name: "t", Vars: []provider.TemplateVar{{Name: "a"}}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	r, _ := testRuntime(t, nil)
	_, err := r.Load(t.Context(), &Config{Wasm: describing(manifestWith(`"dynamic":true`), `{"abi":"reshost_v1"}`).bytes()})
	if err == nil || !strings.Contains(err.Error(), "rh_describe: ") {
		t.Errorf("error %v", err)
	}
}

func TestPack(t *testing.T) {
	r, _ := testRuntime(t, nil)
	g := describing("", letters)
	packed, err := r.Pack(t.Context(), g.bytes())
	if err != nil {
		t.Fatal(err)
	}
	m, err := ReadManifest(packed)
	if err != nil || m.Name != "letters" {
		t.Fatalf("%+v, %v", m, err)
	}
	load(t, r, packed, Config{})
	again, err := r.Pack(t.Context(), packed)
	if err != nil || !bytes.Equal(again, packed) {
		t.Errorf("packing twice differs: %v", err)
	}
	stale, err := r.Pack(t.Context(), describing(strings.Replace(letters, "index", "old", 2), letters).bytes())
	if err != nil {
		t.Fatal(err)
	}
	if m, err := ReadManifest(stale); err != nil || m.Resources[0].URI != "letters://index" {
		t.Errorf("the old section stands: %+v, %v", m, err)
	}
}

func TestPackRefusals(t *testing.T) {
	tests := []struct {
		name string
		g    *guest
		want string
	}{
		{"nothing to describe", newGuest(letters).read(ok()), "not a reshost plugin"},
		{"malformed manifest", describing("", `{"abi":"reshost_v1"}`), "rh_describe: "},
		{"a manifest that its exports do not keep", describing("", listing), "does not export rh_list"},
		{"no manifest emitted", newGuest("").exported(abi.ExportDescribe, ok()).read(ok()), "emitted no MANIFEST"},
	}
	r, _ := testRuntime(t, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := r.Pack(t.Context(), tt.g.bytes())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want it to hold %q", err, tt.want)
			}
		})
	}
}

// TestPackGrantsNothing shows that a guest which is packed has no file system, whatever it imports.
func TestPackGrantsNothing(t *testing.T) {
	g := newGuest("")
	stat := g.importFunc(abi.ModuleFS, abi.ImportFSStat, i32+i32+i32+i32, i32)
	g.exported(abi.ExportDescribe, g.record(abi.KindManifest, []byte(manifestWith(`"capabilities":[{"name":"fs"}]`))),
		// status 0 only if stat answers -3
		i32c(0), i32c(0), i32c(0), i32c(0), callf(stat), i32c(3), opAdd)
	r, _ := testRuntime(t, nil)
	if _, err := r.Pack(t.Context(), g.read(ok()).bytes()); err != nil {
		t.Error(err)
	}
}

func TestInspect(t *testing.T) {
	r, _ := testRuntime(t, nil)
	g := newGuest(manifestWith(`"isolation":"shared","capabilities":[{"name":"fs"}]`))
	g.importFunc("env", "abort", i32, "")
	rep, err := r.Inspect(t.Context(), &Config{Wasm: g.read(ok()).bytes()})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(rep.Digest, "sha256:") || rep.Isolation != "reset" || len(rep.Warnings) != 1 || len(rep.Problems) != 2 {
		t.Errorf("%+v", rep)
	}
	if d := cmp.Diff([]string{"env.abort", "reshost_v1.emit", "reshost_v1.log", "reshost_v1.req", "reshost_v1.write"}, rep.Imports); d != "" {
		t.Errorf("imports (-want +got):\n%s", d)
	}
	if fmt.Sprint(rep.Exports) != "[memory rh_complete rh_read]" {
		t.Errorf("exports %v", rep.Exports)
	}
}
