package main

import (
	"encoding/binary"
	"slices"

	"github.com/reshost/reshost/abi"
)

// testModules returns small modules, good and bad, by file name.
func testModules() map[string][]byte {
	const good = `{"abi":"reshost_v1","name":"tiny","version":"1.2.3","schemes":["tiny"],"resources":[{"uri":"tiny://one","name":"one"}]}`
	manifest := func(old, new string) string { return string(replaceOnce(good, old, new)) }
	return map[string][]byte{
		"good.wasm":         module(good),
		"empty.wasm":        {},
		"text.wasm":         []byte("not a module"),
		"truncated.wasm":    module(good)[:40],
		"no-manifest.wasm":  module(""),
		"two.wasm":          append(module(good), customSection(good)...),
		"not-json.wasm":     module("{"),
		"unknown-key.wasm":  module(manifest(`"version"`, `"versoin"`)),
		"future.wasm":       module(manifest(`reshost_v1`, `reshost_v9`)),
		"future-minor.wasm": module(manifest(`"name":"tiny"`, `"name":"tiny","min_minor":99`)),
		"web.wasm":          module(manifest(`"schemes":["tiny"],"resources":[{"uri":"tiny:`, `"schemes":["https"],"resources":[{"uri":"https:`)),
		"wrong-scheme.wasm": module(manifest(`"uri":"tiny:`, `"uri":"other:`)),
		"undeclared.wasm":   module(good, "reshost_fs_v1.stat"),
		"foreign.wasm":      module(good, "env.system"),
		"needs-fs.wasm":     module(manifest(`"name":"tiny"`, `"name":"tiny","capabilities":[{"name":"fs","reason":"reads the folder"}]`), "reshost_fs_v1.stat"),
		"schema.wasm": module(manifest(`"name":"tiny"`, `"name":"tiny","config_schema":{"properties":{"list":{"items":{"properties":{"path":{}},`+
			`"required":["path"],"additionalProperties":false}}}}`)),
		"schema-elsewhere.wasm": module(manifest(`"name":"tiny"`, `"name":"tiny","config_schema":{"$ref":"https://example.test/schema"}`)),
		"no-read.wasm":          moduleOf(good, false),
		"asks.wasm": module(manifest(`"name":"tiny"`, `"name":"tiny","poll_ms":2500,"dynamic":true,"isolation":"fresh",`+
			`"limits":{"timeout_ms":1500,"memory":1048576},"capabilities":[{"name":"kv","reason":"counts","optional":true}]`)),
		"bomb.wasm":      replaceOnce(string(module(good)), "\x0a\x06\x01\x04\x00\x41\x01\x0b", "\x0a\x0a\x01\x08\x01\xff\xff\x03\x7f\x41\x01\x0b"),
		"extism.wasm":    module("", "extism:host/env.input_length"),
		"component.wasm": []byte("\x00asm\x0d\x00\x01\x00"),
		"command.wasm":   command(),
	}
}

// command returns a module that exports _start alone.
func command() []byte {
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"), section(1, "\x01\x60\x00\x00"), section(3, "\x01\x00"),
		section(7, "\x01"+vec(abi.ExportStart)+"\x00\x00"), section(10, "\x01\x02\x00\x0b"))
}

func replaceOnce(s, old, new string) []byte {
	for i := 0; i+len(old) <= len(s); i++ {
		if s[i:i+len(old)] == old {
			return []byte(s[:i] + new + s[i+len(old):])
		}
	}
	panic("no " + old + " in " + s)
}

// module returns a module whose rh_read answers not_found. imports are named "module.name" and take four i32.
func module(manifest string, imports ...string) []byte { return moduleOf(manifest, true, imports...) }

func moduleOf(manifest string, read bool, imports ...string) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	// Types: 0 is () -> i32, 1 is (i32, i32, i32, i32) -> i32.
	out = append(out, section(1, "\x02\x60\x00\x01\x7f\x60\x04\x7f\x7f\x7f\x7f\x01\x7f")...)
	if len(imports) > 0 {
		body := string(uleb(len(imports)))
		for _, name := range imports {
			for i := range name {
				if name[i] == '.' {
					body += vec(name[:i]) + vec(name[i+1:]) + "\x00\x01"
					break
				}
			}
		}
		out = append(out, section(2, body)...)
	}
	out = append(out, section(3, "\x01\x00")...)     // one function of type 0
	out = append(out, section(5, "\x01\x00\x01")...) // a memory of one page
	exports := "\x01" + vec("memory") + "\x02\x00"
	if read {
		exports = "\x02" + vec("memory") + "\x02\x00" + vec(abi.ExportRead) + "\x00" + string(uleb(len(imports)))
	}
	out = append(out, section(7, exports)...)
	out = append(out, section(10, "\x01\x04\x00\x41\x01\x0b")...) // i32.const 1
	if manifest != "" {
		out = append(out, customSection(manifest)...)
	}
	return out
}

func customSection(manifest string) []byte { return section(0, vec(abi.ManifestSection)+manifest) }

func section(id byte, body string) []byte {
	return append(append([]byte{id}, uleb(len(body))...), body...)
}

func vec(s string) string { return string(uleb(len(s))) + s }

func uleb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }
