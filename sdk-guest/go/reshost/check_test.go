package reshost_test

import (
	"strings"
	"testing"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

func noRead(*reshost.ReadRequest, *reshost.Response) error { return nil }

// TestCheck proves that each mistake in a registration is found natively, and by the exports that the pack step and the load
// run.
func TestCheck(t *testing.T) {
	tests := []struct {
		name string
		edit func(p *reshost.Plugin)
		want string // in the error; "" for none
	}{
		{"nothing wrong", func(*reshost.Plugin) {}, ""},
		{"no name", func(p *reshost.Plugin) { p.Name = "" }, `plugin name ""`},
		{"name with a space", func(p *reshost.Plugin) { p.Name = "a b" }, `plugin name "a b"`},
		{"name too long", func(p *reshost.Plugin) { p.Name = strings.Repeat("a", 65) }, "plugin name"},
		{"no scheme", func(p *reshost.Plugin) { p.Schemes = nil }, "no scheme"},
		{"scheme in capitals", func(p *reshost.Plugin) { p.Schemes = []string{"Greet"} }, `scheme "Greet"`},
		{"any scheme", func(p *reshost.Plugin) { p.Schemes = []string{"*"} }, ""},
		{"isolation", func(p *reshost.Plugin) { p.Isolation = "none" }, `isolation "none"`},
		{"poll without interval", func(p *reshost.Plugin) {
			p.Poll = func(*reshost.PollRequest, *reshost.PollResponse) error { return nil }
		}, "PollMillis"},
		{"interval without poll", func(p *reshost.Plugin) { p.PollMillis = 1 }, "PollMillis"},
		{"dynamic without handlers", func(p *reshost.Plugin) { p.Dynamic = &reshost.Dynamic{} }, "Dynamic"},
		{"capability without reason", func(p *reshost.Plugin) {
			p.Capabilities = []reshost.Capability{{Name: reshost.CapabilityFS}}
		}, "Reason"},
		{"capability twice", func(p *reshost.Plugin) {
			p.Capabilities = []reshost.Capability{{Name: "fs", Reason: "r"}, {Name: "fs", Reason: "r"}}
		}, "twice"},
		{"variable that the handler does not take", func(p *reshost.Plugin) { p.Templates[0].Vars = nil }, `"name" is not in Vars`},
		{"variable that the template does not have", func(p *reshost.Plugin) {
			p.Templates[0].Vars = append(p.Templates[0].Vars, reshost.Var{Name: "lang"})
		}, `"lang" is in Vars but not in the template`},
		{"variable declared twice", func(p *reshost.Plugin) {
			p.Templates[0].Vars = append(p.Templates[0].Vars, reshost.Var{Name: "name"})
		}, "in Vars twice"},
		{"template without handler", func(p *reshost.Plugin) { p.Templates[0].Read = nil }, "Read is required"},
		{"template without name", func(p *reshost.Plugin) { p.Templates[0].Name = "" }, "Name is required"},
		{"template twice", func(p *reshost.Plugin) { p.Templates = append(p.Templates, p.Templates[0]) }, "registered twice"},
		{"template of another scheme", func(p *reshost.Plugin) { p.Templates[0].URITemplate = "docs://{name}" }, `scheme "docs"`},
		{"template without scheme", func(p *reshost.Plugin) { p.Templates[0].URITemplate = "{name}" }, "no scheme"},
		{"open expression", func(p *reshost.Plugin) { p.Templates[0].URITemplate = "greet://{name" }, "without '}'"},
		{"closed expression", func(p *reshost.Plugin) { p.Templates[0].URITemplate = "greet://name}" }, "without '{'"},
		{"empty expression", func(p *reshost.Plugin) { p.Templates[0].URITemplate = "greet://{}" }, "not a variable's name"},
		{"prefix modifier", func(p *reshost.Plugin) { p.Templates[0].URITemplate = "greet://{name:3}" }, "not a variable's name"},
		{"reserved operator", func(p *reshost.Plugin) { p.Templates[0].URITemplate = "greet://{=name}" }, "reserves"},
		{"fragment expression", func(p *reshost.Plugin) { p.Templates[0].URITemplate = "greet://{#name}" }, "fragment"},
		{"variable twice in the template", func(p *reshost.Plugin) { p.Templates[0].URITemplate = "greet://{name}/{name}" }, "appears twice"},
		{"every operator", func(p *reshost.Plugin) {
			p.Templates[0].URITemplate = "greet://{a}/{+b}{/c*}{?d,e.f}"
			p.Templates[0].Vars = []reshost.Var{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}, {Name: "e.f"}}
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := greeter()
			tt.edit(p)
			got := ""
			if err := p.Check(); err != nil {
				got = err.Error()
			}
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("Check = %q, want %q", got, tt.want)
			}
			_, err := reshosttest.Start(t, p, nil)
			if (err == nil) != (tt.want == "") {
				t.Errorf("Start = %v, want %q", err, tt.want)
			}
		})
	}
	var none *reshost.Plugin
	if none.Check() == nil {
		t.Error("Check of no plugin passes")
	}
}

// TestCheckURI proves that a direct resource whose URI no request can equal is refused: the host normalises every request
// (RFC 3986 section 6.2.2).
func TestCheckURI(t *testing.T) {
	tests := []struct {
		uri, want string
	}{
		{"greet://world", ""},
		{"greet://world/a%20b?x=1&y=%2F", ""},
		{"greet:opaque", ""},
		{"greet:///a/b;c=1/@x", ""},
		{"greet://[::1]:80/x", ""},
		{"", "no scheme"},
		{"world", "no scheme"},
		{"other://world", "not in Schemes"},
		{"greet://World/A", "lower case"},
		{"greet://a/B", ""},
		{"greet://user@host/", "user"},
		{"greet://a#b", "fragment"},
		{"greet://a b", "percent-encode"},
		{"greet://é", "percent-encode"},
		{"greet://a/{b}", "percent-encode"},
		{"greet://a/%2f", "upper case"},
		{"greet://a/%41", `write "A" in place of %41`},
		{"greet://a/%4", "incomplete"},
		{"greet://a/%zz", "hexadecimal"},
		{"greet://a/../b", "segments"},
		{"greet://a/./b", "segments"},
		{"greet://a/b?../c", ""},
	}
	for _, tt := range tests {
		t.Run(tt.uri, func(t *testing.T) {
			p := greeter()
			p.Resources = []reshost.Resource{{URI: tt.uri, Name: "n", Read: noRead}}
			got := ""
			if err := p.Check(); err != nil {
				got = err.Error()
			}
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("Check = %q, want %q", got, tt.want)
			}
		})
	}
	p := greeter()
	p.Resources = []reshost.Resource{{URI: "greet://a", Name: "n"}}
	if p.Check() == nil {
		t.Error("a direct resource without Read passes")
	}
	p.Resources = []reshost.Resource{{URI: "greet://a", Read: noRead}}
	if p.Check() == nil {
		t.Error("a direct resource without Name passes")
	}
	p.Resources = []reshost.Resource{{URI: "greet://a", Name: "n", Read: noRead}, {URI: "greet://a", Name: "m", Read: noRead}}
	if p.Check() == nil {
		t.Error("a direct resource twice passes")
	}
}
