package provider_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/reshost/reshost/host/provider"
)

// What differs in identity or rights never shares a partition, however the texts are cut (CWE-639).
func TestPartition(t *testing.T) {
	type principal = provider.Principal
	for _, tt := range []struct {
		name string
		a, b *principal
		same bool
	}{
		{"nil is anonymous", nil, &principal{}, true},
		{"order of scopes", &principal{Subject: "s", Scopes: []string{"b", "a", "a"}}, &principal{Subject: "s", Scopes: []string{"a", "b"}}, true},
		{"subject is not issuer", &principal{Issuer: "x"}, &principal{Subject: "x"}, false},
		{"issuer runs into subject", &principal{Issuer: "ab", Subject: "c"}, &principal{Issuer: "a", Subject: "bc"}, false},
		{"tenant", &principal{Subject: "s", Tenant: "t"}, &principal{Subject: "s"}, false},
		{"fewer scopes", &principal{Subject: "s", Scopes: []string{"a", "b"}}, &principal{Subject: "s", Scopes: []string{"a"}}, false},
		{"two scopes are not one", &principal{Subject: "s", Scopes: []string{"a b"}}, &principal{Subject: "s", Scopes: []string{"a", "b"}}, false},
		{"group is not scope", &principal{Subject: "s", Groups: []string{"a"}}, &principal{Subject: "s", Scopes: []string{"a"}}, false},
		{"anonymous with a tenant", &principal{Tenant: "t"}, &principal{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.a.AppendPartition(nil)) == string(tt.b.AppendPartition(nil)); got != tt.same {
				t.Errorf("same partition: %v, want %v", got, tt.same)
			}
		})
	}
}

func TestPartitionIsInjective(t *testing.T) {
	word := rapid.StringOfN(rapid.SampledFrom([]rune{'a', 'b', 0, 1, 2}), 0, 3, -1)
	any := rapid.Custom(func(t *rapid.T) [5]string {
		return [5]string{word.Draw(t, "issuer"), word.Draw(t, "subject"), word.Draw(t, "tenant"), word.Draw(t, "group"), word.Draw(t, "scope")}
	})
	partition := func(f [5]string) string {
		p := provider.Principal{Issuer: f[0], Subject: f[1], Tenant: f[2], Groups: []string{f[3]}, Scopes: []string{f[4]}}
		return string(p.AppendPartition(nil))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := any.Draw(t, "a"), any.Draw(t, "b")
		if (partition(a) == partition(b)) != (a == b) {
			t.Fatalf("%q and %q", a, b)
		}
	})
}
