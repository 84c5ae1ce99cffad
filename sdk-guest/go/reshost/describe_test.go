package reshost_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

// full has everything that a manifest can hold.
func full() *reshost.Plugin {
	priority := 0.25
	complete := func(*reshost.CompleteRequest, *reshost.Completion) error { return nil }
	return &reshost.Plugin{
		Name: "full", Version: "1.2.3", Schemes: []string{"full", "other"},
		Resources: []reshost.Resource{{
			URI: "full://a", Name: "a", Title: "A \"quoted\"", Description: "line\nline", MIMEType: "text/plain",
			Size: reshost.Bytes(3), Meta: `{"x":1}`,
			Annotations: &reshost.Annotations{Audience: []string{"user", "assistant"}, Priority: &priority, LastModifiedMillis: 1},
			Icons:       []reshost.Icon{{Src: "https://a.test/i.svg"}}, Read: noRead,
		}},
		Templates: []reshost.Template{{
			URITemplate: "other://{a}{?b}", Name: "t", MIMEType: "text/markdown",
			Vars: []reshost.Var{{Name: "a", Slash: true, Complete: complete}, {Name: "b"}}, Read: noRead,
		}},
		List:         func(*reshost.ListRequest, *reshost.ListResponse) error { return nil },
		Poll:         func(*reshost.PollRequest, *reshost.PollResponse) error { return nil },
		PollMillis:   30_000,
		Capabilities: []reshost.Capability{{Name: "fs", Reason: "reads the documents"}, {Name: "kv", Reason: "r", Optional: true}},
		Isolation:    "fresh", ConfigSchema: `{"type":"object"}`, MemoryBytes: 1 << 20, TimeoutMillis: 2000,
	}
}

func TestManifest(t *testing.T) {
	const want = `{"abi":"reshost_v1","min_minor":0,"name":"full","version":"1.2.3","schemes":["full","other"],` +
		`"resources":[{"uri":"full://a","name":"a","title":"A \"quoted\"","description":"line\nline","mimeType":"text/plain","size":3,` +
		`"annotations":{"audience":["user","assistant"],"priority":0.25,"lastModified":"1970-01-01T00:00:00Z"},` +
		`"icons":[{"src":"https://a.test/i.svg"}],"_meta":{"x":1}}],"list":true,` +
		`"templates":[{"uriTemplate":"other://{a}{?b}","name":"t","mimeType":"text/markdown",` +
		`"vars":{"a":{"slash":true,"complete":true},"b":{}}}],` +
		`"capabilities":[{"name":"fs","reason":"reads the documents"},{"name":"kv","reason":"r","optional":true}],` +
		`"isolation":"fresh","limits":{"memory":1048576,"timeout_ms":2000},"poll_ms":30000,"config_schema":{"type":"object"}}`
	got := reshosttest.New(t, full(), nil).Manifest()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("manifest (-want +got):\n%s", d)
	}
	if !json.Valid([]byte(got)) {
		t.Error("the manifest is not JSON")
	}
	const least = `{"abi":"reshost_v1","min_minor":0,"name":"n","schemes":["s"],"resources":[],"templates":[]}`
	if got := reshosttest.New(t, &reshost.Plugin{Name: "n", Schemes: []string{"s"}}, nil).Manifest(); got != least {
		t.Errorf("the least manifest is %s, want %s", got, least)
	}
}

// TestDynamic: what is known at load only is described there and read through one handler, beside what is static.
func TestDynamic(t *testing.T) {
	p := reading(func(_ *reshost.ReadRequest, o *reshost.Response) error { return o.Text("static") })
	p.Dynamic = &reshost.Dynamic{
		Describe: func(_ *reshost.Call, d *reshost.Description) error {
			d.AddResource(reshost.Resource{URI: "t://late", Name: "late"})
			d.AddTemplate(reshost.Template{
				URITemplate: "t://rows/{key}", Name: "rows",
				Vars: []reshost.Var{{Name: "key", Complete: func(*reshost.CompleteRequest, *reshost.Completion) error { return nil }}},
			})
			return nil
		},
		Read: func(r *reshost.ReadRequest, o *reshost.Response) error {
			return o.Text("late " + r.Template + " " + r.Var("key"))
		},
		Complete: func(r *reshost.CompleteRequest, o *reshost.Completion) error {
			o.Add(r.Template + r.Argument)
			return nil
		},
	}
	g := reshosttest.New(t, p, &reshosttest.Options{Schemes: map[string]string{"t": "r"}})
	for uri, want := range map[string]string{
		"r://plain": "static", "r://x/1": "static", "r://late": "late  ", "r://rows/a": "late r://rows/{key} a",
	} {
		got, err := g.Read(uri)
		if err != nil || got.Text() != want {
			t.Errorf("Read(%s) = %q, %v; want %q", uri, got.Text(), err, want)
		}
	}
	values, err := g.Complete("t://rows/{key}", "key", "", nil)
	if err != nil || len(values.Values) != 1 || values.Values[0] != "r://rows/{key}key" {
		t.Errorf("Complete = %+v, %v", values, err)
	}
	if !strings.Contains(g.Manifest(), `"dynamic":true`) {
		t.Errorf("the manifest does not say that it is dynamic: %s", g.Manifest())
	}
}

// TestDynamicChecked: what is described at load is held to the same rules.
func TestDynamicChecked(t *testing.T) {
	p := reading(noRead)
	p.Dynamic = &reshost.Dynamic{
		Read: noRead,
		Describe: func(_ *reshost.Call, d *reshost.Description) error {
			d.AddTemplate(reshost.Template{URITemplate: "t://rows/{key}", Name: "rows"})
			return nil
		},
	}
	if _, err := reshosttest.Start(t, p, nil); err == nil {
		t.Error("a described template without its variable passes")
	}
}

// TestPackSkipsInit: packing runs the plugin without a config, so Init does not run.
func TestPackSkipsInit(t *testing.T) {
	p := reading(noRead)
	runs := 0
	p.Init = func(*reshost.InitCall) error { runs++; return nil }
	reshosttest.New(t, p, nil)
	if runs != 1 {
		t.Errorf("Init ran %d times, want once", runs)
	}
}

// TestTimestamp compares the SDK's calendar with the standard library's, which is too heavy for a guest.
func TestTimestamp(t *testing.T) {
	stamp := func(ms int64) string {
		p := reading(noRead)
		p.Resources[0].Annotations = &reshost.Annotations{LastModifiedMillis: ms}
		m := reshosttest.New(t, p, nil).Manifest()
		_, m, _ = strings.Cut(m, `"lastModified":"`)
		m, _, _ = strings.Cut(m, `"`)
		return m
	}
	for _, ms := range []int64{
		1, 999, -1, -1000, 951_782_400_000, 951_868_799_999, 1_709_164_800_000, 4_107_542_399_000, -62_135_596_800_000 + 1,
		253_402_300_799_999, -2_203_891_200_000, 1_780_000_000_000,
	} {
		want := time.UnixMilli(ms).UTC().Format(time.RFC3339)
		if got := stamp(ms); got != want {
			t.Errorf("%d ms = %s, want %s", ms, got, want)
		}
	}
	for d := int64(-719_000); d < 800_000; d += 7919 {
		ms := d * 86_400_000
		if got, want := stamp(ms), time.UnixMilli(ms).UTC().Format(time.RFC3339); ms != 0 && got != want {
			t.Errorf("%d ms = %s, want %s", ms, got, want)
		}
	}
	if got := stamp(1 << 62); got != "9999-12-31T23:59:59Z" {
		t.Errorf("a time after the calendar = %s", got)
	}
	if got := stamp(-1 << 62); got != "0001-01-01T00:00:00Z" {
		t.Errorf("a time before the calendar = %s", got)
	}
}

func TestPriority(t *testing.T) {
	for f, want := range map[float64]string{0: "0", 1: "1", 0.5: "0.5", 0.05: "0.05", 0.1234: "0.123", 0.9999: "1", -3: "0", 7: "1"} {
		p := reading(noRead)
		p.Resources[0].Annotations = &reshost.Annotations{Priority: &f}
		if m := reshosttest.New(t, p, nil).Manifest(); !strings.Contains(m, `"priority":`+want+"}") {
			t.Errorf("priority %v: want %s in %s", f, want, m)
		}
	}
}
