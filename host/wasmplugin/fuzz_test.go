package wasmplugin

import (
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/reshost/reshost/abi"
)

// FuzzScanModule feeds files to the section scanner: no panic, no work beyond the file's size, and what it finds is
// within the file.
func FuzzScanModule(f *testing.F) {
	f.Add(newGuest(letters).read(ok()).bytes())
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x02\x0b\x01\x03env\x03mem\x02\x03\x01\x02"))
	f.Add([]byte("\x00asm\x0d\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := scanModule(b)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") && !strings.Contains(err.Error(), `"`) {
				t.Errorf("not one line: %q", err)
			}
			return
		}
		if len(m.imports)+len(m.exports)+len(m.types)+len(m.funcs) > 4*len(b) {
			t.Errorf("%d imports, %d exports, %d types, %d functions of %d bytes", len(m.imports), len(m.exports), len(m.types), len(m.funcs), len(b))
		}
		if m.manifest != nil {
			packed := setManifest(m, b, []byte("{}"))
			again, err := scanModule(packed)
			if err != nil || string(again.manifest) != "{}" {
				t.Errorf("packed: %v", err)
			}
		}
		_ = m.foreign()
		_, _ = m.readManifest()
	})
}

// FuzzManifest feeds texts to the manifest's decoder: what passes can be served.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(letters))
	f.Add([]byte(manifestWith(`"limits":{"memory":1},"capabilities":[{"name":"fs"}],"x-a":[1],"config_schema":{}`)))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseManifest(b)
		if err != nil {
			return
		}
		cfg := &Config{Name: m.Name, AllowWebSchemes: true}
		names, err := nameSchemes(m, cfg)
		if err != nil {
			return // any scheme
		}
		s, err := serve(m, names, cfg)
		if err != nil {
			t.Fatalf("accepted, but cannot be served: %v", err)
		}
		for _, r := range s.info.Resources {
			if _, ok := s.resolve(r.URI); !ok {
				t.Errorf("%q does not lead back", r.URI)
			}
		}
	})
}

// FuzzRecords feeds records of any kind to any export: no panic, and what is taken is sound.
func FuzzRecords(f *testing.F) {
	f.Add(byte(4), byte(0), (&abi.Content{URI: "letters://a", MIMEType: "text/plain", Text: true, MetaJSON: `{"a":1}`, ETag: "e"}).Append(nil))
	f.Add(byte(1), byte(1), (&abi.Resource{URI: "letters://a", Name: "a", AnnotationsJSON: `{"priority":1}`, IconsJSON: `[]`}).Append(nil))
	f.Add(byte(6), byte(0), (&abi.Error{Message: "m\x00", DetailJSON: `{}`}).Append(nil))
	f.Add(byte(7), byte(0), (&abi.Input{Key: "k", Method: "roots/list"}).Append(nil))
	f.Add(byte(9), byte(2), (&abi.Updated{URI: "letters://a"}).Append(nil))
	man, err := parseManifest([]byte(letters))
	if err != nil {
		f.Fatal(err)
	}
	cfg := &Config{Name: "letters"}
	names, err := nameSchemes(man, cfg)
	if err != nil {
		f.Fatal(err)
	}
	s, err := serve(man, names, cfg)
	if err != nil {
		f.Fatal(err)
	}
	p := &Plugin{name: "letters", manifest: man, limits: Limits{}.withDefaults(), log: newPluginLog(slog.New(slog.DiscardHandler), -1)}
	f.Fuzz(func(t *testing.T, kind, export byte, b []byte) {
		read, list, complete := &readSink{maxParts: 10, maxBytes: 100}, &listSink{maxItems: 10, maxBytes: 1000}, &completeSink{}
		kinds := []struct {
			export string
			sink   sink
		}{{abi.ExportRead, read}, {abi.ExportList, list}, {abi.ExportComplete, complete}, {abi.ExportDescribe, &describeSink{}}, {abi.ExportInit, initSink{}}}
		k := kinds[int(export)%len(kinds)]
		c := &call{plugin: p, export: k.export, sink: k.sink, served: s, out: &output{log: p.log}}
		for range 2 {
			c.emit(abi.Kind(kind), len(b), func() string { return string(b) })
			c.sink.write(c, b)
		}
		for status := abi.Status(0); status < 12; status++ {
			if err := c.statusError(status); err == nil && k.export == abi.ExportRead {
				if res, err := read.result(c, status, ""); err == nil {
					for _, part := range res.Contents {
						if part.Text && !utf8.Valid(part.Body) || part.Body == nil || part.Meta != nil && !jsontext.Value(part.Meta).IsValid() {
							t.Errorf("unsound part %+v", part)
						}
					}
				}
			}
		}
		for _, r := range list.resources {
			if got, ok := s.resolve(r.URI); !ok || got != r.URI || r.Name == "" || !utf8.ValidString(r.Name) {
				t.Errorf("unsound resource %+v", r)
			}
		}
		if e := c.failure; e != nil {
			if text := safeText(e.Message, abi.MaxErrorMessage); len(text) > abi.MaxErrorMessage || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\x1b\x00") {
				t.Errorf("unsafe text %q", text)
			}
		}
	})
}

// FuzzConfigPointer feeds JSON Pointers to the configuration: no panic, and an answer only with status ok.
func FuzzConfigPointer(f *testing.F) {
	for _, s := range []string{"", "/a", "/o/k~11/~0/1", "/$schemes/docs", "/$roots", "/~", "//"} {
		f.Add(s)
	}
	g, err := newGuestConfig([]byte(`{"a":"x","n":1.5,"o":{"k/1":{"~":[10,{"e":null}]}},"":{"":""}}`), map[string]string{"docs": "d"}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, pointer string) {
		if v, status := g.get(pointer); status != abi.StatusOK && v != "" {
			t.Errorf("%q with %s", v, status)
		}
	})
}
