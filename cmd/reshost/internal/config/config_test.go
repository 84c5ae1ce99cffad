package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fakeEnvironment is an Environment of maps.
type fakeEnvironment struct {
	env   map[string]string
	files map[string]string
}

func (f fakeEnvironment) Getenv(name string) (string, bool) {
	v, ok := f.env[name]
	return v, ok
}

func (f fakeEnvironment) ReadFile(path string, most int64) ([]byte, error) {
	for name, text := range f.files {
		if abs, err := filepath.Abs(name); err == nil && abs == path {
			if int64(len(text)) > most {
				return nil, fmt.Errorf("%s is larger than %v", name, Bytes(most))
			}
			return []byte(text), nil
		}
	}
	return nil, errors.New(filepath.Base(path) + " does not exist")
}

var testEnvironment = fakeEnvironment{
	env:   map[string]string{"TOKEN": "env-value", "KEY": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="},
	files: map[string]string{"keys/current": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=\n", "keys/empty": "\n", "keys/bad": "\xff"},
}

const pluginHead = "version: 1\nplugins:\n- name: p\n  source: builtin:docs\n"

// TestErrors shows that each fault is one line with file, line, column, key and what to do.
func TestErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", "f.yaml: the file is empty: begin with version: 1"},
		{"only a comment", "# nothing\n", "f.yaml: the file is empty: begin with version: 1"},
		{"a list", "- a\n", "f.yaml:1:1: want keys and values, got a list: begin with version: 1"},
		{"not YAML", "version: [1\nb: 2\n", "f.yaml:2:2: not YAML: while parsing a flow sequence: did not find expected ',' or ']'"},
		{"tab", "version: 1\n\tserver: {}\n", "f.yaml:2:1: a tab in the indentation, which YAML does not take: indent with spaces"},
		{"not UTF-8", "version: 1\nserver: {name: \"\xff\"}\n", "f.yaml:2:17: not valid UTF-8: save the file as UTF-8"},
		{"two documents", "version: 1\n---\nversion: 1\n", "f.yaml:2:1: a second document (---): a configuration is one document"},
		{"version missing", "server: {}\n", "f.yaml:1:1: version: this key is required, such as version: 1"},
		{"version from the future", "version: 2\nfuture: {}\n", "f.yaml:1:10: version: this build knows version 1; the file is of version 2: install a newer reshost"},
		{"version far in the future", "version: 99999999999999999999\n", "f.yaml:1:10: version: this build knows version 1; the file is of version 99999999999999999999: install a newer reshost"},
		{"version zero", "version: 0\n", "f.yaml:1:10: version: want 1, got 0"},
		{"version of text", "version: \"1\"\n", `f.yaml:1:10: version: want a number, got the text "1"`},
		{"unknown key, near one", "version: 1\nsever: {}\n", `f.yaml:2:1: sever: unknown key; did you mean "server"?`},
		{"unknown key, swapped letters", "version: 1\nserver: {nmae: x}\n", `f.yaml:2:10: server.nmae: unknown key; did you mean "name"?`},
		{"unknown key, near none", "version: 1\nlog: {colour: x}\n", `f.yaml:2:7: log.colour: unknown key; the keys in log are level, format`},
		{"key twice", "version: 1\nlog: {}\nlog: {}\n", "f.yaml:3:1: log: this key stands already on line 2"},
		{"key that is no text", "version: 1\n? {a: b}\n: c\n", "f.yaml:2:3: a key must be text"},
		{"merge key", "version: 1\n<<: {a: 1}\n", "f.yaml:2:1: merge keys (<<) are not supported: repeat the keys, or name a whole section with an alias"},
		{"section is text", "version: 1\nserver: x\n", "f.yaml:2:9: server: want keys and values, got only a text"},
		{"secret is a number", "version: 1\nsecrets: {n: 12345678}\n", "f.yaml:2:14: secrets.n: want text or a reference such as ${env:NAME}, got only a number"},
		{"secrets are text", "version: 1\nsecrets: TOPSECRET\n", "f.yaml:2:10: secrets: want names and values, got only a text"},
		{"key without brackets", "version: 1\nserver: {keys: TOPSECRET}\n", "f.yaml:2:16: server.keys: want a list, got only a text"},
		{"text is a number", "version: 1\nserver: {name: 12}\n", "f.yaml:2:16: server.name: want text, got the number 12: quote it"},
		{"text is nothing", "version: 1\nserver: {name: }\n", "f.yaml:2:16: server.name: want text, got nothing: give a value or remove the key"},
		{"number out of range", "version: 1\nserver: {page_size: 1001}\n", "f.yaml:2:21: server.page_size: want a number from 1 to 1000, got 1001"},
		{"number of text", "version: 1\nserver: {page_size: many}\n", `f.yaml:2:21: server.page_size: want a number from 1 to 1000, got the text "many"`},
		{"enum", "version: 1\nlog: {level: inof}\n", `f.yaml:2:14: log.level: want one of trace, debug, info, warn, error, off, got "inof"; did you mean "info"?`},
		{"revision that is not known", "version: 1\nserver: {revisions: [\"2031-01-01\"]}\n", `f.yaml:2:22: server.revisions[0]: want one of 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, got "2031-01-01"`},
		{"revision without quotes", "version: 1\nserver: {revisions: [2031-01-01]}\n", `f.yaml:2:22: server.revisions[0]: want one of 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05, got "2031-01-01"`},
		{"duration without a unit", pluginHead + "  limits: {timeout: 2}\n", `f.yaml:5:21: plugins[0].limits.timeout: want a duration such as 30s, 5m or 250ms, got "2"`},
		{"negative duration", pluginHead + "  limits: {timeout: -2s}\n", `f.yaml:5:21: plugins[0].limits.timeout: want a duration that is not negative, got "-2s"`},
		{"decimal size", pluginHead + "  limits: {memory: 32MB}\n", `f.yaml:5:20: plugins[0].limits.memory: want a size such as 64KiB, 16MiB or 2GiB, got "32MB"`},
		{"size too large", pluginHead + "  limits: {memory: 9999999999999TiB}\n", `f.yaml:5:20: plugins[0].limits.memory: the size 9999999999999TiB is too large`},
		{"state beyond the host's bound", "version: 1\nlimits: {state: 9KiB}\n", `f.yaml:2:10: limits.state: want at most 8KiB, got 9KiB`},
		{"URI beyond the host's bound", "version: 1\nlimits: {uri: 9KiB}\n", `f.yaml:2:10: limits.uri: want at most 8KiB, got 9KiB`},
		{"state off", "version: 1\nlimits: {state: off}\n", `f.yaml:2:17: limits.state: want a size such as 64KiB, 16MiB or 2GiB, got "off"`},
		{"off where it is not known", "version: 1\nlimits: {instances: off}\n", `f.yaml:2:21: limits.instances: want a number of at least 1, got the text "off"`},
		{"admin for all the world", "version: 1\nadmin: {listen: \"0.0.0.0:1\"}\n", `f.yaml:2:9: admin.listen: want a loopback address such as 127.0.0.1:8643, or unix:PATH: whoever reaches it can ask what is cached for whom, got "0.0.0.0:1"`},
		{"http without a URL", pluginHead + "  grants: {http: {allow: []}}\n", "f.yaml:5:19: plugins[0].grants.http.allow: nothing is allowed: name a URL, such as allow: [{ url: https://api.test/v1/ }]"},
		{"a network with host bits", pluginHead + "  grants: {http: {allow: [{url: \"https://a.test/\"}], cidr: [10.0.0.1/8]}}\n", `f.yaml:5:61: plugins[0].grants.http.cidr[0]: want a network such as 10.0.0.0/8, got "10.0.0.1/8"`},
		{"header of an unknown secret", pluginHead + "  grants: {http: {allow: [{url: \"https://a.test/\", headers: {A: \"${secret:no}\"}}]}}\n", `f.yaml:5:62: plugins[0].grants.http.allow[0].headers.A: no secret is named "no": add it under secrets`},
		{"a secret in a URL", pluginHead + "  grants: {http: {allow: [{url: \"https://a.test/${env:TOKEN}\"}]}}\n", "f.yaml:5:33: plugins[0].grants.http.allow[0].url: ${env:TOKEN} cannot stand here: only secrets, server.keys and headers of grants.http may hold one"},
		{"kv quota", pluginHead + "  grants: {kv: {quota: 12}}\n", "f.yaml:5:17: plugins[0].grants.kv.quota: want at least 1KiB, got 12"},
		{"name missing", "version: 1\nplugins:\n- source: builtin:docs\n", "f.yaml:3:3: plugins[0].name: this key is required, such as name: handbook"},
		{"name twice", pluginHead + "- name: p\n  source: builtin:docs\n", `f.yaml:5:3: plugins[1].name: plugins[0] has the name "p" already: give each entry its own`},
		{"name with a space", "version: 1\nplugins:\n- {name: a b, source: builtin:docs}\n", `f.yaml:3:4: plugins[0].name: want 1 to 64 letters, digits, -, _ or ., got "a b"`},
		{"source without a kind", "version: 1\nplugins:\n- {name: a, source: ./a.wasm}\n", `f.yaml:3:13: plugins[0].source: want builtin:NAME or file:PATH, got "./a.wasm"; did you mean "file:./a.wasm"?`},
		{"key from an unset variable", "version: 1\nsecrets: {k: \"${env:NOPE}\"}\nserver: {keys: [\"${secret:k}\"]}\n", "f.yaml:2:11: secrets.k: the environment variable NOPE is not set: set it, or take the secret from a file with ${file:path}"},
		{"tab before a key of a section", "version: 1\nserver:\n\tname: x\n", "f.yaml:3:1: a tab in the indentation, which YAML does not take: indent with spaces"},
		{"source of the web", "version: 1\nplugins:\n- {name: a, source: \"https://x.test/a.wasm\"}\n", `f.yaml:3:13: plugins[0].source: plugins are not fetched by this build: download https://x.test/a.wasm and use file:PATH`},
		{"listen, a port alone", "version: 1\nserver: {listen: \"8642\"}\n", `f.yaml:2:10: server.listen: want host:port, got "8642"; did you mean 127.0.0.1:8642?`},
		{"listen, port too large", "version: 1\nserver: {listen: \"127.0.0.1:70000\"}\n", `f.yaml:2:10: server.listen: the port must be a number from 0 to 65535, got "70000"`},
		{"source of the future", "version: 1\nplugins:\n- {name: a, source: \"oci://a\"}\n", `f.yaml:3:13: plugins[0].source: oci sources are not supported yet by this build: use file:PATH`},
		{"scheme", pluginHead + "  schemes: {docs: Hand}\n", `f.yaml:5:13: plugins[0].schemes.docs: "Hand" is not a URI scheme: lower-case letters, digits, +, - and ., a letter first`},
		{"root and roots", pluginHead + "  grants: {fs: {root: a, roots: {}}}\n", "f.yaml:5:17: plugins[0].grants.fs.root: root and roots cannot stand together: root is short for roots: { main: { path: … } }"},
		{"no root", pluginHead + "  grants: {fs: {}}\n", "f.yaml:5:12: plugins[0].grants.fs: no folder is named: add root: PATH"},
		{"as is relative", pluginHead + "  grants: {fs: {roots: {m: {path: a, as: ../x}}}}\n", `f.yaml:5:38: plugins[0].grants.fs.roots.m.as: want an absolute path without . and .., such as /docs, got "../x"`},
		{"pattern", pluginHead + "  grants: {fs: {root: a, hide: [\"[\"]}}\n", `f.yaml:5:33: plugins[0].grants.fs.hide[0]: want a pattern such as *.tmp, got "["`},
		{"secret in config", pluginHead + "  config: {a: [{b: \"x ${env:TOKEN}\"}]}\n", "f.yaml:5:20: plugins[0].config.a[0].b: ${env:TOKEN} cannot stand here: the plugin would read the secret; only secrets, server.keys and headers of grants.http may hold one"},
		{"secret in a name", "version: 1\nserver: {name: \"${env:TOKEN}\"}\n", "f.yaml:2:16: server.name: ${env:TOKEN} cannot stand here: only secrets, server.keys and headers of grants.http may hold one"},
		{"variable not set", "version: 1\nsecrets: {a: \"${env:NOPE}\"}\n", "f.yaml:2:11: secrets.a: the environment variable NOPE is not set: set it, or take the secret from a file with ${file:path}"},
		{"secret file missing", "version: 1\nsecrets: {a: \"${file:nope}\"}\n", "f.yaml:2:11: secrets.a: nope does not exist"},
		{"secret file empty", "version: 1\nsecrets: {a: \"${file:keys/empty}\"}\n", "f.yaml:2:11: secrets.a: DIR/keys/empty is empty"},
		{"secret file not text", "version: 1\nsecrets: {a: \"${file:keys/bad}\"}\n", "f.yaml:2:11: secrets.a: DIR/keys/bad is not UTF-8 text"},
		{"secret of a secret", "version: 1\nsecrets: {a: \"${secret:b}\", b: x}\n", "f.yaml:2:11: secrets.a: a secret cannot be defined by another: use ${env:NAME} or ${file:path}"},
		{"reference of no kind", "version: 1\nsecrets: {a: \"${vault:x}\"}\n", "f.yaml:2:14: secrets.a: a reference must be ${env:NAME}, ${file:path} or ${secret:NAME}; write $${ for the text ${ itself"},
		{"reference without an end", "version: 1\nsecrets: {a: \"${env:x\"}\n", "f.yaml:2:14: secrets.a: a ${ without its }; write $${ for the text ${ itself"},
		{"secret not defined", "version: 1\nserver: {keys: [\"${secret:k}\"]}\n", "f.yaml:2:17: server.keys[0]: no secret is named \"k\": add it under secrets"},
		{"key with bits left over", "version: 1\nserver: {keys: [\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=\"]}\n", "f.yaml:2:17: server.keys[0]: want 32 bytes in base64; make one with: openssl rand -base64 32"},
		{"key with a line break", "version: 1\nserver: {keys: [\"AAAAAAAAAAAAAAAAAAAA\\nAAAAAAAAAAAAAAAAAAAAAAA=\"]}\n", "f.yaml:2:17: server.keys[0]: want 32 bytes in base64; make one with: openssl rand -base64 32"},
		{"key too short", "version: 1\nserver: {keys: [\"c2hvcnQ=\"]}\n", "f.yaml:2:17: server.keys[0]: want 32 bytes in base64; make one with: openssl rand -base64 32"},
		{"listen without a port", "version: 1\nserver: {listen: localhost}\n", `f.yaml:2:10: server.listen: want host:port such as 127.0.0.1:8642, or unix:PATH, got "localhost"`},
		{"path", "version: 1\nserver: {path: mcp}\n", `f.yaml:2:10: server.path: want a plain path such as /mcp, got "mcp"`},
		{"origin with a path", "version: 1\nserver: {origins: [\"https://a.test/x\"]}\n", `f.yaml:2:20: server.origins[0]: want an origin such as https://app.acme.test, got "https://a.test/x"`},
		{"public URL", "version: 1\nserver: {public_url: mcp.acme.test}\n", `f.yaml:2:10: server.public_url: want a URL such as https://mcp.acme.test/mcp, got "mcp.acme.test"`},
		{"cache bounds", pluginHead + "  cache: {min: 2h, max: 1h}\n", "f.yaml:5:11: plugins[0].cache.min: the least lifetime 2h is above the greatest, 1h"},
		{"huge number in config", pluginHead + "  config: {a: 99999999999999999999}\n", "f.yaml:5:15: plugins[0].config.a: the number 99999999999999999999 does not fit into 64 bits; quote it to make it text"},
		{"infinity in config", pluginHead + "  config: {a: .inf}\n", "f.yaml:5:15: plugins[0].config.a: JSON has no number .inf; quote it to make it text"},
		{"tag in config", pluginHead + "  config: {a: !!binary aGk=}\n", "f.yaml:5:15: plugins[0].config.a: the tag !!binary has no meaning here"},
		{"several at once", "version: 1\nlog: {level: 1, nope: 2}\nserver: {page_size: 0}\n", "f.yaml:2:14: log.level: want one of trace, debug, info, warn, error, off, got the number 1\n" +
			"f.yaml:2:17: log.nope: unknown key; the keys in log are level, format\n" +
			"f.yaml:3:21: server.page_size: want a number from 1 to 1000, got 0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg, err := Parse("f.yaml", []byte(test.in), testEnvironment)
			if err == nil {
				t.Fatalf("Parse gave %+v and no error", cfg)
			}
			dir, _ := filepath.Abs(".")
			got := strings.ReplaceAll(err.Error(), dir, "DIR")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValues(t *testing.T) {
	cfg, err := Parse("f.yaml", []byte(`
version: 1
server:
  listen: unix:run/sock
  tls: { cert: f.pem, key: /abs/key.pem }
  keys: ["${file:keys/current}", "${env:KEY}"]
limits: { call: 1m30s, read_bytes: off, requests: 5, page_bytes: 4096 }
secrets: { api: "${env:TOKEN}", odd: "a$${b}c" }
plugins:
- name: handbook
  source: file:plugins/docs.wasm
  schemes: { docs: handbook }
  config: { z: 1, a: { b: [1.5, true, ~, "x", 0x10] }, d: 2020-01-01 }
  grants: { fs: { root: ./docs, hide: [] } }
`), testEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	abs := func(p string) string {
		a, _ := filepath.Abs(p)
		return a
	}
	p := cfg.Plugins[0]
	checks := []struct {
		name      string
		got, want any
	}{
		{"listen", cfg.Server.Listen, ListenUnix + abs("run/sock")},
		{"cert", cfg.Server.TLS.Cert, Path(abs("f.pem"))},
		{"key", cfg.Server.TLS.Key, Path("/abs/key.pem")},
		{"default", cfg.Server.Path, "/mcp"},
		{"duration", cfg.Limits.Call.String(), "1m30s"},
		{"off", cfg.Limits.ReadBytes, Bytes(-1)},
		{"int", cfg.Limits.Requests, 5},
		{"plain bytes", cfg.Limits.PageBytes, Bytes(4096)},
		{"default limit", cfg.Limits.RequestBody, Bytes(4 << 20)},
		{"secret", revealed(cfg, "api"), "env-value"},
		{"escaped", revealed(cfg, "odd"), "a${b}c"},
		{"keys", cfg.Server.Keys[0].Reveal(), cfg.Server.Keys[1].Reveal()},
		{"source", p.Source, SourceFile + abs("plugins/docs.wasm")},
		{"config", string(p.Config), `{"z":1,"a":{"b":[1.5,true,null,"x",16]},"d":"2020-01-01"}`},
		{"short root", p.Grants.FS.Roots, map[string]FSRoot{MainRoot: {Path: Path(abs("docs"))}}},
		{"empty hide hides nothing", p.Grants.FS.Hide != nil && len(p.Grants.FS.Hide) == 0, true},
	}
	for _, c := range checks {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if pos, _ := cfg.At("plugins[0].grants.fs.roots.main.path"); pos != (Pos{14, 19}) {
		t.Errorf("the root stands at %v", pos)
	}
	if got := cfg.Errorf("plugins[0].source", "no %s", "such file").Error(); got != "f.yaml:11:3: plugins[0].source: no such file" {
		t.Errorf("Errorf gave %q", got)
	}
}

func revealed(c *Config, name string) string {
	s := c.Secrets[name]
	return s.Reveal()
}

// TestBounds shows that a small file cannot cost much: repeated aliases, depth, size, and a cycle.
func TestBounds(t *testing.T) {
	bomb := pluginHead + "  config:\n    a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 9; i++ {
		bomb += fmt.Sprintf("    a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	tests := []struct{ name, in, want string }{
		{"aliases", bomb, "aliases counted each time"},
		{"cycle", pluginHead + "  config: {a: &a [*a]}\n", "nested deeper than 32 levels"},
		{"depth", pluginHead + "  config: {a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "}\n", "nested deeper than 32 levels"},
		{"parser depth", "version: " + strings.Repeat("[", 20000), "not YAML"},
		{"size", "version: 1\n" + strings.Repeat("#", maxFile), "larger than 1MiB"},
		{"many errors", "version: 1\nlog:\n" + manyKeys(200), "and 150 more errors"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("f.yaml", []byte(test.in), testEnvironment)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %.300v, want %q in it", err, test.want)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  unknown%d: 1\n", i)
	}
	return b.String()
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		"missing.yaml": "does not exist",
		".":            "is a folder, not a file",
	} {
		_, err := Load(filepath.Join(dir, name), OS())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Load(%s) = %v, want one line with %q", name, err, want)
		}
	}
}

func TestForRoot(t *testing.T) {
	cfg, err := ForRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Server.Listen != "127.0.0.1:8642" || cfg.Plugins[0].Source != "builtin:file" {
		t.Errorf("got %+v", cfg)
	}
	if got := cfg.Errorf("plugins[0]", "no").Error(); got != "--root: no" {
		t.Errorf("Errorf gave %q", got)
	}
}

// FuzzParse shows that no file makes the reader panic, and that what it accepts it can print and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(Example))
	f.Add([]byte(pluginHead + "  config: {a: &a [1, .5, ~, \"x\"], b: *a}\n  grants: {fs: {root: x}}\n"))
	f.Add([]byte("version: 1\nserver: {keys: [\"${env:KEY}\"], tls: {cert: a, key: b}}\nlimits: {call: off}\nsecrets: {a: \"$${x} ${env:TOKEN}\"}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := Parse("f.yaml", data, testEnvironment)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Fatal("an error without a text")
			}
			return
		}
		shown, err := cfg.Show(true)
		if err != nil {
			t.Fatalf("Show: %v", err)
		}
		if len(cfg.Secrets) > 0 || len(cfg.Server.Keys) > 0 {
			return // printed masked
		}
		again, err := Parse("f.yaml", shown, testEnvironment)
		if err != nil {
			t.Fatalf("%v\nfor what Show printed:\n%s", err, shown)
		}
		second, err := again.Show(true)
		if err != nil || string(second) != string(shown) {
			t.Fatalf("printed twice (%v):\n%s\n---\n%s", err, shown, second)
		}
	})
}
