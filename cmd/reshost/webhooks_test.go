package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// polledModule is the module "tiny" with an rh_poll that answers a status.
func polledModule(status string) []byte {
	const manifest = `{"abi":"reshost_v1","name":"tiny","schemes":["tiny"],"poll_ms":60000,"resources":[{"uri":"tiny://one","name":"one"}]}`
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, "\x01\x60\x00\x01\x7f"), section(3, "\x02\x00\x00"), section(5, "\x01\x00\x01"),
		section(7, "\x03\x07rh_read\x00\x00\x07rh_poll\x00\x01\x06memory\x02\x00"),
		section(10, "\x02\x04\x00\x41\x01\x0b\x04\x00\x41"+status+"\x0b"), customSection(manifest))
}

// TestWebhooks: who signs reaches the plugin, everybody else learns a status; the log says why.
func TestWebhooks(t *testing.T) {
	const secret = "It's a Secret to Everybody"
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "good.wasm"), polledModule("\x00"))
	writeFile(t, filepath.Join(dir, "bad.wasm"), polledModule("\x07"))
	const entry = "  webhook: { scheme: github, secret: \"${secret:hook}\" }\n"
	writeFile(t, filepath.Join(dir, "c.yaml"), []byte("version: 1\nsecrets: { hook: \"${file:secret}\" }\nplugins:\n"+
		"- name: good\n  source: file:good.wasm\n"+entry+
		"- name: bad\n  source: file:bad.wasm\n  schemes: { tiny: bad }\n"+entry+
		"- name: none\n  source: file:good.wasm\n  schemes: { tiny: none }\n"))
	writeFile(t, filepath.Join(dir, "secret"), []byte(secret+"\n"))
	s := serve(t, "--listen", "127.0.0.1:0", "--config", filepath.Join(dir, "c.yaml"))
	send := func(method, plugin, delivery, key, body string) int {
		t.Helper()
		req, err := http.NewRequest(method, strings.TrimSuffix(s.url, "/mcp")+"/hooks/"+plugin, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(body))
		req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		req.Header.Set("X-GitHub-Delivery", delivery)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, _ := io.ReadAll(res.Body); res.StatusCode != http.StatusMethodNotAllowed && len(text) > 0 {
			t.Errorf("the answer says %q", text)
		}
		return res.StatusCode
	}
	for _, tt := range []struct {
		name, method, plugin, delivery, key, body string
		want                                      int
		log                                       string
	}{
		{"signed", "POST", "good", "1", secret, "{}", http.StatusNoContent, ""},
		{"delivered before", "POST", "good", "1", secret, "{}", http.StatusUnauthorized, "the delivery was taken before"},
		{"of another key", "POST", "good", "2", "another key, as long as it", "{}", http.StatusUnauthorized, "the signature does not fit"},
		{"too large", "POST", "good", "3", secret, strings.Repeat("x", maxHook+1), http.StatusRequestEntityTooLarge, "larger than 1 MiB"},
		{"as large as it may be", "POST", "good", "3", secret, strings.Repeat("x", maxHook), http.StatusNoContent, ""},
		{"the plugin fails", "POST", "bad", "1", secret, "{}", http.StatusServiceUnavailable, "reshost.bad: a webhook is refused"},
		{"and is tried again", "POST", "bad", "1", secret, "{}", http.StatusServiceUnavailable, ""},
		{"a plugin without webhooks", "POST", "none", "1", secret, "{}", http.StatusNotFound, "no plugin of that name has a webhook"},
		{"no plugin", "POST", "gone", "1", secret, "{}", http.StatusNotFound, ""},
		{"another method", "GET", "good", "4", secret, "", http.StatusMethodNotAllowed, ""},
	} {
		if got := send(tt.method, tt.plugin, tt.delivery, tt.key, tt.body); got != tt.want {
			t.Errorf("%s: %d, want %d\n%s", tt.name, got, tt.want, s.stderr)
		}
		if !strings.Contains(s.stderr.String(), tt.log) {
			t.Errorf("%s: the log lacks %q:\n%s", tt.name, tt.log, s.stderr)
		}
	}
	last := 0
	for i := 0; i < 200 && last != http.StatusTooManyRequests; i++ {
		last = send("POST", "good", "many"+strings.Repeat("x", i), secret, "{}")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("as many as one likes are taken; the last answer was %d", last)
	}
}

// TestWebhookConfig: what would not work is refused where it stands.
func TestWebhookConfig(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "plain.wasm"), testModules()["good.wasm"])
	writeFile(t, filepath.Join(dir, "polled.wasm"), polledModule("\x00"))
	for _, tt := range []struct{ source, webhook, want string }{
		{"plain.wasm", "{ scheme: github, secret: 0123456789abcdef }", "plugins[0].webhook: plugin x takes no webhooks"},
		{"polled.wasm", "{ scheme: github, secret: short }", "plugins[0].webhook.secret: the secret has 5 bytes"},
		{"polled.wasm", "{ scheme: standard, secret: \"whsec_?\" }", "plugins[0].webhook.secret: want whsec_"},
		{"polled.wasm", "{ scheme: standard, secret: \"${secret:gone}\" }", `no secret is named "gone"`},
		{"polled.wasm", "{ scheme: sha1, secret: 0123456789abcdef }", "want one of standard, github"},
	} {
		name := filepath.Join(dir, "c.yaml")
		writeFile(t, name, []byte("version: 1\nplugins:\n- name: x\n  source: file:"+tt.source+"\n  webhook: "+tt.webhook+"\n"))
		if code, _, stderr := reshost(t, "config", "check", "--config", name); code != exitFailure || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit %d, %s", tt.webhook, code, stderr)
		}
	}
}
