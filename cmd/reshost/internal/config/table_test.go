package config

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// docs is the folder of the project's pages.
const docs = "../../docs"

// golden compares got with a file, which -update writes.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n"))), string(got)); diff != "" {
		t.Errorf("%s is out of date (-file +now); run this test with -update:\n%s", name, diff)
	}
}

func TestReferencePage(t *testing.T) {
	golden(t, filepath.Join(docs, "configuration.md"), Reference())
	if _, err := Parse("f.yaml", []byte(Example), testEnvironment); err != nil {
		t.Errorf("the page's example: %v", err)
	}
}

func TestSchema(t *testing.T) {
	schema, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join(docs, "config.schema.json"), schema)
	if !jsontext.Value(schema).IsValid() {
		t.Error("the schema is not valid JSON")
	}
}

// TestTable checks every row of the table: each has a text, and its default and example are values that it takes.
func TestTable(t *testing.T) {
	var walk func(rt reflect.Type, path string)
	walk = func(rt reflect.Type, path string) {
		for _, f := range fieldsOf(rt) {
			key, ft := childKey(path, f.key), rt.Field(f.index).Type
			if !strings.HasSuffix(f.doc, ".") {
				t.Errorf("%s: the text %q does not end with a full stop", key, f.doc)
			}
			tag := rt.Field(f.index).Tag
			for name, b := range map[string]*int64{"min": f.min, "max": f.max} {
				if _, ok := tag.Lookup(name); ok != (b != nil) {
					t.Errorf("%s: the tag %s is no number", key, name)
				}
			}
			if f.def != "" {
				if err := setScalar(reflect.New(ft).Elem(), &f, f.def, ""); err != nil {
					t.Errorf("%s: default: %v", key, err)
				}
			}
			if inner, _ := innerSection(ft); inner != nil {
				walk(inner, key)
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
}

// TestShow shows what is printed: the file's keys, or all; never a secret.
func TestShow(t *testing.T) {
	cfg, err := Parse("f.yaml", []byte(`version: 1
server: { keys: ["${env:KEY}"], page_size: 10 }
limits: { read_bytes: off }
secrets: { a: plain-secret, b: "Bearer ${env:TOKEN}", c: "x${env:TOKEN}" }
plugins:
- name: p
  source: builtin:docs
  config: { n: "12", s: hello, e: {}, l: [] }
  grants: { fs: { roots: { m: { path: /srv/docs, as: /d } }, hide: [] } }
`), testEnvironment)
	if err != nil {
		t.Fatal(err)
	}
	for name, effective := range map[string]bool{"show": false, "effective": true} {
		got, err := cfg.Show(effective)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", name+".yaml"), got)
		json := cfg.ShowJSON(effective)
		if !jsontext.Value(json).IsValid() {
			t.Errorf("%s: not JSON: %s", name, json)
		}
		for _, secret := range []string{"plain-secret", "env-value", testEnvironment.env["KEY"]} {
			if bytes.Contains(got, []byte(secret)) || bytes.Contains(json, []byte(secret)) {
				t.Errorf("%s prints the secret %q", name, secret)
			}
		}
	}
	for name, s := range cfg.Secrets {
		if text := s.GoString() + s.String(); strings.Contains(text, s.Reveal()) {
			t.Errorf("the secret %s prints itself: %s", name, text)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"listen", "name", "origins", "page_size"}
	for word, want := range map[string]string{
		"lisen": "listen", "listne": "listen", "nmae": "name", "orgin": "origins", "pagesize": "page_size", "zzz": "", "": "",
		strings.Repeat("a", 100): "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestScalarTexts(t *testing.T) {
	for in, want := range map[string]string{"90s": "1m30s", "1h": "1h", "1h30m": "1h30m", "250ms": "250ms", "0": "0s", "60s": "1m", "10s": "10s"} {
		d, err := parseDuration(in)
		if err != nil || d.String() != want {
			t.Errorf("duration %s = %v, %v, want %s", in, d, err, want)
		}
	}
	for in, want := range map[string]string{"1024": "1KiB", "1025": "1025", "64 KiB": "64KiB", "2048MiB": "2GiB", "0": "0"} {
		b, err := parseBytes(in)
		if err != nil || b.String() != want {
			t.Errorf("size %s = %v, %v, want %s", in, b, err, want)
		}
	}
	for _, in := range []string{"", "KiB", "-1", "1.5MiB", "1kb", "0x10", "1e3"} {
		if b, err := parseBytes(in); err == nil {
			t.Errorf("size %q = %v, want an error", in, b)
		}
	}
}

// TestReadme shows that the configuration in the project's README is one.
func TestReadme(t *testing.T) {
	page, err := os.ReadFile("../../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```yaml\n")
	text, _, ended := strings.Cut(rest, "```")
	if !ok || !ended {
		t.Fatal("the README has no configuration")
	}
	if _, err := Parse("f.yaml", []byte(text), testEnvironment); err != nil {
		t.Error(err)
	}
}
