package reshost_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/sdk-guest/go/reshost"
	"github.com/reshost/reshost/sdk-guest/go/reshost/reshosttest"
)

// configured runs init with a config, and returns what a load would say.
func configured(t *testing.T, config string, init func(c *reshost.InitCall) error) error {
	t.Helper()
	p := reading(noRead)
	p.Init = init
	_, err := reshosttest.Start(t, p, &reshosttest.Options{
		Config: config, RootPrefixes: map[string]string{"main": "/srv/docs"},
		Roots: fstestRoots("main"), Schemes: map[string]string{"t": "renamed"},
	})
	return err
}

func TestConfig(t *testing.T) {
	const config = `{"s":"text","n":12,"big":9007199254740993,"t":true,"f":false,"null":null,"a":["x",2,"z"],"o":{"a/b":{"~":"deep"}},"e":""}`
	err := configured(t, config, func(c *reshost.InitCall) error {
		cfg := c.Config()
		got := map[string]any{}
		got["s"] = cfg.String("/s", "def")
		got["e"] = cfg.String("/e", "def")
		got["absent"] = cfg.String("/absent", "def")
		got["null"] = cfg.String("/null", "def")
		got["o"] = cfg.String("/o", "")
		got["deep"] = cfg.String(reshost.Pointer("o", "a/b", "~"), "")
		got["a"] = cfg.Strings("/a")
		got["none"] = cfg.Strings("/none")
		got["n"], _ = cfg.Int("/n", 0)
		got["big"], _ = cfg.Int("/big", 0)
		got["i"], _ = cfg.Int("/i", -7)
		got["t"], _ = cfg.Bool("/t", false)
		got["f"], _ = cfg.Bool("/f", true)
		got["b"], _ = cfg.Bool("/b", true)
		got["one"], _ = cfg.OneOf("/s", "", "other", "text")
		got["one absent"], _ = cfg.OneOf("/mode", "listing", "listing", "contents")
		got["root"], _ = cfg.Root("main")
		_, got["no root"] = cfg.Root("other")
		got["scheme"] = c.Scheme("t")
		want := map[string]any{
			"s": "text", "e": "", "absent": "def", "null": "null", "o": `{"a/b":{"~":"deep"}}`, "deep": "deep",
			"a": []string{"x", "2", "z"}, "none": []string(nil), "n": int64(12), "big": int64(9007199254740993), "i": int64(-7),
			"t": true, "f": false, "b": true, "one": "text", "one absent": "listing", "root": "/srv/docs", "no root": false,
			"scheme": "renamed",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("config (-want +got):\n%s", d)
		}
		return nil
	})
	if err != nil {
		t.Errorf("Start = %v", err)
	}
}

// TestConfigLong: a value longer than the buffer that most fit into.
func TestConfigLong(t *testing.T) {
	long := strings.Repeat("x", 5000)
	err := configured(t, `{"long":"`+long+`"}`, func(c *reshost.InitCall) error {
		if got := c.Config().String("/long", ""); got != long {
			t.Errorf("%d bytes, want %d", len(got), len(long))
		}
		return nil
	})
	if err != nil {
		t.Errorf("Start = %v", err)
	}
}

// TestConfigErrors: a value of another kind ends the load with a text that names it.
func TestConfigErrors(t *testing.T) {
	tests := map[string]struct {
		init func(c *reshost.InitCall) error
		want string
	}{
		"int":   {func(c *reshost.InitCall) error { _, err := c.Config().Int("/s", 0); return err }, `config /s: want a whole number, got "text"`},
		"bool":  {func(c *reshost.InitCall) error { _, err := c.Config().Bool("/s", false); return err }, `config /s: want true or false, got "text"`},
		"oneof": {func(c *reshost.InitCall) error { _, err := c.Config().OneOf("/s", "a", "a", "b"); return err }, `config /s: got "text", want one of "a" "b"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := configured(t, `{"s":"text"}`, tt.init)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Start = %v, want %s", err, tt.want)
			}
		})
	}
}

// fstestRoots grants empty folders.
func fstestRoots(names ...string) map[string]fsRoot {
	roots := make(map[string]fsRoot)
	for _, n := range names {
		roots[n] = fstest.MapFS{}
	}
	return roots
}
