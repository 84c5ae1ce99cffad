package config

import (
	"slices"
	"testing"
)

func TestDifferences(t *testing.T) {
	parse := func(text string) *Config {
		cfg, err := Parse("c.yaml", []byte("version: 1\n"+text), OS())
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	a := parse("server: { name: a, origins: [\"https://a.test\"] }\nsecrets: { s: x }\n")
	b := parse("server: { name: b, origins: [\"https://a.test\"], tls: { cert: c, key: k } }\nlog: { level: warn }\nsecrets: { s: y }\nplugins: [{ name: x, source: \"builtin:docs\" }]\n")
	if got, want := a.Differences(b), []string{"server.name", "server.tls", "log.level"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	b.KeepGlobals(a)
	if got := a.Differences(b); len(got) != 0 {
		t.Errorf("kept, and different: %q", got)
	}
	if len(b.Plugins) != 1 || !b.Has("plugins[0].name") {
		t.Error("the plugins are not kept")
	}
}
