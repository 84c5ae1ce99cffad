package wasmplugin

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/provider"
)

const kvManifest = `"capabilities":[{"name":"kv"}]`

// kvGuest puts value at key, or gets it, by the first letter of the read's name: p or g.
func kvGuest(key, value string, ttl int64) *guest {
	g := newGuest(manifestWith(kvManifest))
	read := g.importFunc(abi.ModuleKV, abi.ImportKVGet, i32+i32+i32+i32, i32)
	put := g.importFunc(abi.ModuleKV, abi.ImportKVPut, i32+i32+i32+i32+i64, i32)
	del := g.importFunc(abi.ModuleKV, abi.ImportKVDel, i32+i32, i32)
	k, kn := g.bytesAt([]byte(key))
	v, vn := g.bytesAt([]byte(value))
	first := slices.Concat(i32c(requestAt+2+int64(len("letters://"))), opLoad8)
	is := func(c rune, then ...[]byte) []byte {
		return slices.Concat(first, i32c(int64(c)), op(0x46, 0x04, 0x40), slices.Concat(then...), op(0x0b))
	}
	return g.read(g.takeRequest(),
		is('p', outcome(g, slices.Concat(i32c(k), i32c(kn), i32c(v), i32c(vn), i64c(ttl), callf(put)))),
		is('g', outcome(g, slices.Concat(i32c(k), i32c(kn), i32c(bufAt), i32c(bufSize), callf(read)))),
		is('d', outcome(g, slices.Concat(i32c(k), i32c(kn), callf(del)))), ok())
}

// as reads as somebody and takes the outcome apart.
func as(t *testing.T, p *Plugin, who *provider.Principal, name string) (int32, string) {
	t.Helper()
	res, err := p.Read(t.Context(), &provider.ReadRequest{
		Caller: provider.Caller{Principal: who}, URI: "letters://" + name, Template: "letters://{name}", Vars: []provider.Var{{Name: "name", Value: name}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := res.Contents[0].Body
	return int32(uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24), string(b[4:])
}

// TestKVPartitions: what one caller's request puts, nobody else's gets; it outlives the plugin.
func TestKVPartitions(t *testing.T) {
	r, _ := testRuntime(t, nil)
	wasm := kvGuest("key", "value", 0).bytes()
	cfg := Config{Name: "kv", Grants: Grants{KV: &KVGrant{}}}
	p := load(t, r, wasm, cfg)
	alice := &provider.Principal{Issuer: "i", Subject: "alice"}
	if n, _ := as(t, p, alice, "p"); n != 0 {
		t.Fatalf("put: %d", n)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	p = load(t, r, wasm, cfg)
	if n, v := as(t, p, alice, "g"); v != "value" {
		t.Errorf("after a reload: %d, %q", n, v)
	}
	for name, who := range map[string]*provider.Principal{
		"anonymous": nil, "another": {Issuer: "i", Subject: "bob"}, "another issuer": {Issuer: "j", Subject: "alice"}, "no issuer": {Subject: "alice"},
		"another tenant": {Issuer: "i", Subject: "alice", Tenant: "t"}, "more scopes": {Issuer: "i", Subject: "alice", Scopes: []string{"s"}},
		"shifted": {Issuer: "ia", Subject: "lice"},
	} {
		if n, _ := as(t, p, who, "g"); n != -int32(abi.StatusNotFound) {
			t.Errorf("%s gets %d", name, n)
		}
	}
	other := load(t, r, wasm, Config{Name: "other", Grants: Grants{KV: &KVGrant{}}})
	if n, _ := as(t, other, alice, "g"); n != -int32(abi.StatusNotFound) {
		t.Errorf("another plugin gets %d", n)
	}
	r.kv.put("kv", kvShared, "key", "for all", time.Time{}, defaultQuota)
	if _, v := as(t, p, nil, "g"); v != "for all" {
		t.Errorf("shared: %q", v)
	}
	if _, v := as(t, p, alice, "g"); v != "value" {
		t.Errorf("own before shared: %q", v)
	}
	if n, _ := as(t, p, nil, "d"); n != 0 {
		t.Errorf("del: %d", n)
	}
	if _, v := as(t, p, nil, "g"); v != "for all" {
		t.Errorf("a request deleted what is shared: %q", v)
	}
}

// TestKVRefused: over quota, bad keys, a call that may not.
func TestKVRefused(t *testing.T) {
	for _, tt := range []struct {
		name, key, value string
		ttl              int64
		want             abi.Status
	}{
		{"over quota", "k", strings.Repeat("x", 2000), 0, abi.StatusTooLarge},
		{"over a caller's half", "k", strings.Repeat("x", 1200), 0, abi.StatusTooLarge},
		{"no key", "", "v", 0, abi.StatusInvalid},
		{"a long key", strings.Repeat("k", maxKey+1), "v", 0, abi.StatusInvalid},
		{"negative time", "k", "v", -1, abi.StatusInvalid},
	} {
		p, log := loadGuest(t, kvGuest(tt.key, tt.value, tt.ttl), Config{Grants: Grants{KV: &KVGrant{Quota: 2048}}})
		if n, _ := as(t, p, nil, "p"); n != -int32(tt.want) {
			t.Errorf("%s: %d, want %d", tt.name, n, -int32(tt.want))
		}
		if tt.want == abi.StatusTooLarge && !strings.Contains(log.String(), "over the quota") {
			t.Errorf("%s: the log does not say so", tt.name)
		}
	}
}

// TestKVGrants: required and not granted, granted and not asked for.
func TestKVGrants(t *testing.T) {
	r, log := testRuntime(t, nil)
	_, err := r.Load(t.Context(), &Config{Wasm: kvGuest("k", "v", 0).bytes()})
	if err == nil || !strings.Contains(err.Error(), "add grants: {kv: {}}") {
		t.Errorf("not granted: %v", err)
	}
	g := newGuest(letters)
	load(t, r, g.read(g.text("x"), ok()).bytes(), Config{Grants: Grants{KV: &KVGrant{}, HTTP: &HTTPGrant{}}})
	for _, name := range []string{"kv", "http"} {
		if !strings.Contains(log.String(), "grants."+name+" is granted, but the plugin does not ask for it") {
			t.Errorf("no warning of %s: %s", name, log)
		}
	}
}

// TestMemoryKV: quota, shares, expiry, and exact accounts.
func TestMemoryKV(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemoryKV()
		put := func(part, key, value string, ttl time.Duration) bool {
			var at time.Time
			if ttl > 0 {
				at = time.Now().Add(ttl)
			}
			return s.put("p", part, key, value, at, 4*kvEntry+40)
		}
		if !put("a", "1", "x", time.Minute) || !put("a", "2", "x", 0) || put("a", "3", "x", 0) {
			t.Error("a caller's half")
		}
		if !put("a", "2", "yy", 0) {
			t.Error("a value in place of another")
		}
		if !put("b", "1", "x", 0) || !put(kvShared, "1", "x", 0) || put("c", "1", "x", 0) {
			t.Error("the quota")
		}
		time.Sleep(time.Minute)
		if _, ok := s.get("p", "a", "1"); ok {
			t.Error("an expired value is there")
		}
		if !put("c", "1", "x", time.Second) {
			t.Error("what expired still counts")
		}
		time.Sleep(time.Second)
		if !put("d", "1", "x", 0) {
			t.Error("what expired is not swept")
		}
		for _, part := range []string{"a", "b", "c", "d", kvShared} {
			s.del("p", part, "1")
			s.del("p", part, "2")
		}
		if p := s.plugins["p"]; p.used != 0 || len(p.parts) != 0 {
			t.Errorf("%d bytes in %d parts are left", p.used, len(p.parts))
		}
	})
}

func TestMemoryKVHammer(t *testing.T) {
	s := newMemoryKV()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 500 {
				part, key := fmt.Sprint(k%3), fmt.Sprint(k%17)
				s.put("p", part, key, strings.Repeat("x", k%100), time.Now().Add(time.Duration(k%5)*time.Millisecond), 4096)
				s.get("p", part, key)
				if k%7 == i {
					s.del("p", part, key)
				}
			}
		})
	}
	wg.Wait()
	if s.plugins["p"].used > 4096 {
		t.Errorf("%d bytes are used", s.plugins["p"].used)
	}
}
