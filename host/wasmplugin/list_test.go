package wasmplugin

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

const listing = `{"abi":"reshost_v1","name":"letters","schemes":["letters"],"list":true,
	"resources":[{"uri":"letters://index","name":"index"}],
	"templates":[{"uriTemplate":"letters://{name}","name":"letter","vars":{"name":{"complete":true}}}]}`

// listGuest returns a guest whose rh_list runs code.
func listGuest(code func(g *guest) [][]byte) *guest {
	g := newGuest(listing)
	g.exported(abi.ExportList, code(g)...)
	return g.read(i32c(1))
}

func (g *guest) resource(r abi.Resource) []byte { return g.record(abi.KindResource, r.Append(nil)) }

func TestList(t *testing.T) {
	size := int64(3)
	priority := 0.5
	full := abi.Resource{
		URI: "Letters://b%7e", Name: "b", Title: "B", Description: "the b", MIMEType: "text/plain; charset=utf-8", Size: abi.Some(3),
		AnnotationsJSON: `{"audience":["user"],"priority":0.5,"lastModified":"2026-07-28T10:00:00Z","later":1}`,
		IconsJSON:       `[{"src":"https://x.test/i.png","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}]`,
		MetaJSON:        `{"com.example/k":1}`,
	}
	p, log := loadGuest(t, listGuest(func(g *guest) [][]byte {
		return [][]byte{
			g.resource(full),
			g.resource(abi.Resource{URI: "letters://index", Name: "the manifest's"}),
			g.resource(abi.Resource{URI: "letters://b~", Name: "again"}),
			g.resource(abi.Resource{URI: "other://x", Name: "foreign"}),
			g.resource(abi.Resource{URI: "letters://a/b", Name: "no template has a slash"}),
			g.resource(abi.Resource{URI: "letters://n"}),
			g.resource(abi.Resource{URI: "letters://i", Name: "i", IconsJSON: `[{"src":"http://x.test/i.png"}]`}),
			g.resource(abi.Resource{URI: "letters://p", Name: "p", AnnotationsJSON: `{"priority":2}`}),
			g.resource(abi.Resource{URI: "letters://s", Name: "s", Size: abi.Some(1 << 63)}),
			g.resource(abi.Resource{URI: "letters://z", Name: "z"}),
			g.record(abi.KindCursor, (&abi.Cursor{Next: "\x00z"}).Append(nil)),
			g.record(abi.KindInfo, (&abi.Info{TTLMillis: abi.Some(2000), Scope: abi.ScopePublic}).Append(nil)),
			ok(),
		}
	}), Config{})
	got, err := p.List(t.Context(), &provider.ListRequest{PageSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	want := &provider.ListResult{
		Resources: []provider.Resource{
			{
				URI: "letters://b~", Name: "b", Title: "B", Description: "the b", MIMEType: "text/plain; charset=utf-8", Size: &size,
				Annotations: &provider.Annotations{
					Audience: []string{"user"}, Priority: &priority, LastModified: time.Date(2026, 7, 28, 10, 0, 0, 0, time.UTC),
				},
				Icons: []provider.Icon{{Src: "https://x.test/i.png", MIMEType: "image/png", Sizes: []string{"48x48", "any"}, Theme: "dark"}},
				Meta:  provider.JSON(`{"com.example/k":1}`),
			},
			{URI: "letters://z", Name: "z"},
		},
		Next:  []byte("\x00z"),
		Cache: provider.Cache{TTL: 2 * time.Second, Set: true, Public: true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("list (-want +got):\n%s", d)
	}
	for _, why := range []string{"other://x", "a/b", "no name", "neither https nor data", "priority", "a size of"} {
		if !strings.Contains(log.String(), why) {
			t.Errorf("the log does not say why a record was rejected: %q", why)
		}
	}
}

func TestListLimits(t *testing.T) {
	three := func(g *guest) []byte {
		return append(append(g.resource(abi.Resource{URI: "letters://a", Name: "a"}), g.resource(abi.Resource{URI: "letters://b", Name: "b"})...),
			g.resource(abi.Resource{URI: "letters://c", Name: "c"})...)
	}
	t.Run("a page that is full ends with a cursor", func(t *testing.T) {
		p, _ := loadGuest(t, listGuest(func(g *guest) [][]byte {
			return [][]byte{three(g), g.record(abi.KindCursor, (&abi.Cursor{Next: "c"}).Append(nil)), ok()}
		}), Config{})
		got, err := p.List(t.Context(), &provider.ListRequest{PageSize: 2})
		if err != nil || len(got.Resources) != 2 || string(got.Next) != "c" {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("without a cursor the rest would be lost", func(t *testing.T) {
		p, _ := loadGuest(t, listGuest(func(g *guest) [][]byte { return [][]byte{three(g), ok()} }), Config{})
		_, err := p.List(t.Context(), &provider.ListRequest{PageSize: 2})
		wantCode(t, err, provider.Internal)
	})
	t.Run("bytes of a page", func(t *testing.T) {
		p, _ := loadGuest(t, listGuest(func(g *guest) [][]byte {
			return [][]byte{three(g), g.record(abi.KindCursor, (&abi.Cursor{Next: "c"}).Append(nil)), ok()}
		}), Config{Limits: Limits{PageBytes: 20}})
		got, err := p.List(t.Context(), &provider.ListRequest{PageSize: 100})
		if err != nil || len(got.Resources) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("a record of more than 64 KiB is skipped", func(t *testing.T) {
		p, log := loadGuest(t, listGuest(func(g *guest) [][]byte {
			return [][]byte{i32c(1), i32c(0), i32c(abi.MaxRecord + 1), callf(g.emit), opDrop, three(g), ok()}
		}), Config{})
		got, err := p.List(t.Context(), &provider.ListRequest{PageSize: 100})
		if err != nil || len(got.Resources) != 3 || !strings.Contains(log.String(), "65537 bytes, more than") {
			t.Errorf("%+v, %v\n%s", got, err, log)
		}
	})
	t.Run("a million records cost bounded memory", func(t *testing.T) {
		p, _ := loadGuest(t, listGuest(func(g *guest) [][]byte {
			return [][]byte{times(1_000_000, 0, g.resource(abi.Resource{URI: "letters://a", Name: "a"})), ok()}
		}), Config{})
		_, err := p.List(t.Context(), &provider.ListRequest{PageSize: 1000})
		wantCode(t, err, provider.Internal)
	})
}

func TestListStatus(t *testing.T) {
	for _, status := range []int64{8, 9} {
		p, _ := loadGuest(t, listGuest(func(*guest) [][]byte { return [][]byte{i32c(status)} }), Config{})
		_, err := p.List(t.Context(), &provider.ListRequest{PageSize: 1})
		wantCode(t, err, provider.Internal)
	}
	p, _ := loadGuest(t, newGuest(letters).read(ok()), Config{})
	_, err := p.List(t.Context(), &provider.ListRequest{PageSize: 1})
	wantCode(t, err, provider.Unsupported)
}

func TestComplete(t *testing.T) {
	g := newGuest(letters)
	value := func(s string) []byte { return g.record(abi.KindValue, (&abi.Value{Value: s}).Append(nil)) }
	g.exported(abi.ExportComplete, value("a b"), value("\xff"), value("c"),
		g.record(abi.KindInfo, (&abi.Info{Total: abi.Some(7), HasMore: true}).Append(nil)), ok())
	g.exported(abi.ExportRead, ok())
	p, _ := loadGuest(t, g, Config{})
	got, err := p.Complete(t.Context(), &provider.CompleteRequest{Template: "letters://{name}", Argument: "name"})
	if err != nil {
		t.Fatal(err)
	}
	total := int64(7)
	if d := cmp.Diff(&provider.CompleteResult{Values: []string{"a b", "c"}, Total: &total, HasMore: true}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestCompleteBounded(t *testing.T) {
	g := newGuest(letters)
	g.exported(abi.ExportComplete, times(1000, 0, g.record(abi.KindValue, (&abi.Value{Value: "v"}).Append(nil))), ok())
	g.exported(abi.ExportRead, ok())
	p, _ := loadGuest(t, g, Config{})
	got, err := p.Complete(t.Context(), &provider.CompleteRequest{Template: "letters://{name}", Argument: "name"})
	if err != nil || len(got.Values) != 100 || !got.HasMore {
		t.Errorf("%d values, %v", len(got.Values), err)
	}
}

// eventLog is a sink that writes events down.
type eventLog struct{ ch chan string }

func (e *eventLog) Updated(uri string) { e.ch <- uri }
func (e *eventLog) ListChanged()       { e.ch <- "list" }

func TestEvents(t *testing.T) {
	g := newGuest(letters)
	updated := func(u string) []byte { return g.record(abi.KindUpdated, (&abi.Updated{URI: u}).Append(nil)) }
	g.read(updated("letters://a"), updated("letters://a"), updated("LETTERS://%62"), g.record(abi.KindListChanged, nil), g.text("t"), ok())
	p, _ := loadGuest(t, g, Config{})
	sink := &eventLog{make(chan string, 16)}
	p.Attach(sink)
	if _, err := readURI(t.Context(), p, "letters://a"); err != nil {
		t.Fatal(err)
	}
	close(sink.ch)
	var got []string
	for e := range sink.ch {
		got = append(got, e)
	}
	if d := cmp.Diff([]string{"letters://a", "letters://b", "list"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
