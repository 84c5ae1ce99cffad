package fetch

import (
	"encoding/base64"
	"io"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
)

// TestCaseSSRF04 holds every form of address that leads inside, and some that do not.
func TestCaseSSRF04(t *testing.T) {
	n := &networks{}
	for _, tt := range []struct {
		name, addr string
		want       bool
	}{
		{"public", "93.184.216.34", true},
		{"public, six", "2606:2800:220:1::1", true},
		{"loopback", "127.0.0.1", false},
		{"loopback elsewhere", "127.127.0.9", false},
		{"this network", "0.0.0.0", false},
		{"this network, a host", "0.1.2.3", false},
		{"private 10", "10.0.0.1", false},
		{"private 172", "172.31.255.255", false},
		{"beside private 172", "172.32.0.1", true},
		{"private 192", "192.168.1.1", false},
		{"CGNAT, a cloud's metadata", "100.100.100.200", false},
		{"link-local, metadata", "169.254.169.254", false},
		{"Azure's host", "168.63.129.16", false},
		{"IETF, a cloud's metadata", "192.0.0.192", false},
		{"6to4 relay", "192.88.99.1", false},
		{"documentation", "198.51.100.7", false},
		{"benchmarks", "198.19.0.1", false},
		{"multicast", "224.0.0.1", false},
		{"reserved", "250.1.1.1", false},
		{"broadcast", "255.255.255.255", false},
		{"mapped loopback", "::ffff:127.0.0.1", false},
		{"mapped metadata", "::ffff:a9fe:a9fe", false},
		{"compatible", "::127.0.0.1", false},
		{"compatible, public", "::93.184.216.34", false},
		{"translatable", "::ffff:0:a9fe:a9fe", false},
		{"NAT64", "64:ff9b::a9fe:a9fe", false},
		{"NAT64, public", "64:ff9b::5db8:d822", false},
		{"NAT64, local use", "64:ff9b:1::a9fe:a9fe", false},
		{"6to4", "2002:7f00:1::", false},
		{"6to4, public", "2002:5db8:d822::1", false},
		{"Teredo", "2001:0:4136:e378:8000:63bf:80ff:fffe", false},
		{"ISATAP", "2606:2800:220:1:0:5efe:7f00:1", false},
		{"ISATAP, universal", "2606:2800:220:1:200:5efe:a00:1", false},
		{"link-local with a zone", "fe80::1%eth0", false},
		{"public with a zone", "2606:2800:220:1::1%eth0", false},
		{"unique local, metadata", "fd00:ec2::254", false},
		{"unspecified", "::", false},
		{"loopback, six", "::1", false},
		{"site-local", "fec0::1", false},
		{"multicast, six", "ff02::1", false},
		{"documentation, six", "2001:db8::1", false},
		{"documentation, new", "3fff::1", false},
		{"ORCHID", "2001:20::1", false},
		{"segment routing", "5f00::1", false},
		{"discard", "100::1", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := n.allows(netip.MustParseAddr(tt.addr)); got != tt.want {
				t.Errorf("%s: %v", tt.addr, got)
			}
		})
	}
	granted := &networks{prefixes("10.1.0.0/16", "64:ff9b::/96")}
	for addr, want := range map[string]bool{
		"10.1.2.3": true, "10.2.0.1": false, "::ffff:10.1.2.3": true, "64:ff9b::a01:203": true, "64:ff9b::5db8:d822": true,
		"64:ff9b::a9fe:a9fe": false, "2002:a01:203::1": false,
	} {
		if got := granted.allows(netip.MustParseAddr(addr)); got != want {
			t.Errorf("granted: %s: %v", addr, got)
		}
	}
	if n.allows(netip.Addr{}) {
		t.Error("no address is allowed")
	}
}

// TestTarget: URLs have one form, and what could be read in two ways is refused.
func TestTarget(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"https://API.test:443", "https://api.test/"},
		{"HTTP://api.test.:080/a?b=/../%41", "http://api.test/a?b=/../%41"},
		{"https://api.test/%41%7e%2fx%c3%a9", "https://api.test/A~%2Fx%C3%A9"},
		{"https://[::FFFF:127.0.0.1]:8080/", "https://127.0.0.1:8080/"},
		{"https://[2606:2800::0:1]/a//b", "https://[2606:2800::1]/a//b"},
		{"https://api.test?x", "https://api.test/?x"},
		{"ftp://api.test/", ""},
		{"//api.test/", ""},
		{"https:/api.test/", ""},
		{"https:api.test", ""},
		{"javascript://api.test/", ""},
		{"https://user@api.test/", ""},
		{"https://api.test@evil.test/", ""},
		{"https://api.test\\@evil.test/", ""},
		{"https://api.test#@evil.test/", ""},
		{"https://api.test/#f", ""},
		{"https://api.test%2eevil.test/", ""},
		{"https:///a", ""},
		{"https://:80/", ""},
		{"https://a..b/", ""},
		{"https://./", ""},
		{"https://api.test../", ""},
		{"https://127.1/", ""},
		{"https://0x7f.1/", ""},
		{"https://2130706433/", ""},
		{"https://0177.0.0.1/", ""},
		{"https://1.2.3.4.5/", ""},
		{"https://127.0.0.0x1/", ""},
		{"https://①②⑦.0.0.1/", ""},
		{"https://127。0。0。1/", ""},
		{"https://[fe80::1%25eth0]/", ""},
		{"https://[::1/", ""},
		{"https://[127.0.0.1]/", ""},
		{"https://[::1]x/", ""},
		{"https://api.test:0/", ""},
		{"https://api.test:65536/", ""},
		{"https://api.test:+80/", ""},
		{"https://api.test:80:80/", ""},
		{"https://api.test:8o/", ""},
		{"https://api.test/a b", ""},
		{"https://api.test/a\r\nHost: evil", ""},
		{"https://api.test/%", ""},
		{"https://api.test/%4", ""},
		{"https://api.test/?%zz", ""},
		{"https://api.test/../a", ""},
		{"https://api.test/a/.", ""},
		{"https://api.test/%2e%2E/a", ""},
		{"https://api.test/.%2e", ""},
		{"https://api.test/..%2fa", ""},
		{"https://api.test/a%2f..%2fb", ""},
		{"https://api.test/..%5ca", ""},
		{"https://api.test/%252e%252e/", ""},
		{"https://api.test/%25252e%25252e%25252fa", ""},
		{"https://api.test/..;/a", ""},
		{"https://api.test/..;x=1/a", ""},
		{"https://api.test/%2e%2e%3b/a", ""},
		{"https://api.test/%00", ""},
		{"https://api.test/%0d%0a", ""},
		{"https://api.test/HEAD~1..2/a...b/..a", "https://api.test/HEAD~1..2/a...b/..a"},
		{"https://api.test/" + strings.Repeat("a", maxURL), ""},
	} {
		got, err := parseTarget(tt.url)
		if tt.want == "" {
			if err == nil {
				t.Errorf("%.80s is taken as %s", tt.url, got)
			}
			continue
		}
		if err != nil || got.String() != tt.want {
			t.Errorf("%s: %v, %v", tt.url, got, err)
		}
	}
}

// TestCovers: a prefix ends at a slash, and scheme, host, port and method are compared whole.
func TestCovers(t *testing.T) {
	r, err := compileRule(Rule{URL: "https://api.test/v1", Methods: []string{"GET"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, url string
		want        bool
	}{
		{"GET", "https://api.test/v1", true},
		{"GET", "https://api.test/v1/x?y", true},
		{"GET", "https://API.TEST.:443/v1/x", true},
		{"GET", "https://api.test/v%31/x", true},
		{"GET", "https://api.test/v1?x", true},
		{"GET", "https://api.test/v10", false},
		{"GET", "https://api.test/V1/", false},
		{"GET", "https://api.test/", false},
		{"GET", "https://api.test/v1%2Fx", false},
		{"GET", "http://api.test/v1/", false},
		{"GET", "https://api.test:8443/v1/", false},
		{"GET", "https://api.test.evil.test/v1/", false},
		{"GET", "https://sub.api.test/v1/", false},
		{"POST", "https://api.test/v1/", false},
		{"get", "https://api.test/v1/", false},
	} {
		target, err := parseTarget(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.covers(tt.method, target); got != tt.want {
			t.Errorf("%s %s: %v", tt.method, tt.url, got)
		}
	}
}

// TestBadRules: each mistake of an operator is one.
func TestBadRules(t *testing.T) {
	for name, r := range map[string]Rule{
		"no URL": {}, "a query": {URL: "https://a.test/?x"}, "a fragment": {URL: "https://a.test/#x"}, "dots": {URL: "https://a.test/../"},
		"CONNECT": {URL: "https://a.test/", Methods: []string{"CONNECT"}}, "lower case": {URL: "https://a.test/", Methods: []string{"get"}},
		"a name": {URL: "https://a.test/", Headers: map[string]Header{"a b": {Value: "x"}}},
		"Host":   {URL: "https://a.test/", Headers: map[string]Header{"host": {Value: "x"}}},
		"a line": {URL: "https://a.test/", Headers: map[string]Header{"A": {Value: "x\r\nB: y"}}},
		"twice":  {URL: "https://a.test/", Headers: map[string]Header{"A-B": {Value: "x"}, "a_b": {Value: "x"}}},
		"inside": {URL: "http://127.0.0.1/"}, "inside, six": {URL: "http://[::1]/"},
	} {
		if _, err := New(&Config{Rules: []Rule{r}}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := New(&Config{}); err == nil {
		t.Error("nothing allowed is taken")
	}
}

// TestHeaders: what is not the plugin's to set, in whatever spelling.
func TestHeaders(t *testing.T) {
	r, err := compileRule(Rule{URL: "https://a.test/", Headers: map[string]Header{"X-Api-Key": {Value: "k", Secrets: []string{"k"}}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields("Host authorization COOKIE Proxy-Authorization proxy_connection Connection Keep-Alive TE Trailer Transfer-Encoding " +
		"transfer_encoding Upgrade Content-Length Expect Accept-Encoding X-Forwarded-For x_forwarded_host Forwarded Via X-Real-IP Sec-Fetch-Site " +
		"X-HTTP-Method-Override x-original-url X-API-KEY x_api_key Range If-Range") {
		if err := checkHeaders([][2]string{{name, "x"}}, r); KindOf(err) != Denied {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, h := range [][2]string{{"", "x"}, {"A b", "x"}, {"A:", "x"}, {"A\r\n", "x"}, {"A", "x\r\nB: y"}, {"A", "x\ny"}, {"A", "x\x00"}, {"A", "x\x7f"}} {
		if err := checkHeaders([][2]string{h}, r); KindOf(err) != Invalid {
			t.Errorf("%q: %v", h, err)
		}
	}
	if err := checkHeaders([][2]string{{"Accept", "text/html"}, {"If-None-Match", "\"x\""}, {"X-Empty", ""}}, r); err != nil {
		t.Error(err)
	}
	if err := checkHeaders(make([][2]string, maxHeaders+1), r); KindOf(err) != TooLarge {
		t.Error(err)
	}
	if err := checkHeaders([][2]string{{"A", strings.Repeat("x", maxHeaderBytes)}}, r); KindOf(err) != TooLarge {
		t.Error(err)
	}
}

// TestBlank: a secret does not pass, in whatever encoding and however the answer is cut.
func TestBlank(t *testing.T) {
	const secret = "s3cr3t/+\"value\" é=="
	b := newBlanks([]string{secret, "s3cr3t", ""})
	texts := []string{secret, "x" + secret + secret, url.QueryEscape(secret), strings.ReplaceAll(secret, `"`, `\"`), "s3cr3t/" + secret}
	for offset := range 6 {
		texts = append(texts, base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", offset)+secret)),
			base64.URLEncoding.EncodeToString([]byte(strings.Repeat("x", offset)+secret+"y")))
	}
	for _, text := range texts {
		for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text))} {
			body := &body{from: io.NopCloser(r), blanks: b, left: 1 << 20, max: 1 << 20}
			got, err := io.ReadAll(iotest.OneByteReader(body))
			if err != nil || len(got) != len(text) {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			for _, part := range []string{"s3cr3t", "value", "czNjcjN0", "dmFsdW", "ZhbHVl", "M2NyM3"} {
				if strings.Contains(string(got), part) {
					t.Errorf("%s: %q of %q", name, got, text)
				}
			}
		}
	}
	if got := b.text("nothing here"); got != "nothing here" {
		t.Errorf("%q", got)
	}
}

func FuzzTarget(f *testing.F) {
	f.Add("https://api.test/v1/users/..%2F..%2Fadmin?x=1")
	f.Add("http://[::ffff:127.0.0.1]:80/%252e%252e;/")
	r, err := compileRule(Rule{URL: "https://api.test/v1/"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseTarget(text)
		if err != nil {
			return
		}
		b, err := parseTarget(a.String())
		if err != nil || *a != *b {
			t.Fatalf("%q is %q, and that is %v, %v", text, a, b, err)
		}
		u, err := url.Parse(a.String())
		if err != nil || u.Hostname() != a.host || u.EscapedPath() != a.path || u.User != nil {
			t.Fatalf("%q is %q, and net/url reads %v, %v", text, a, u, err)
		}
		if r.covers("GET", a) && !strings.HasPrefix(u.JoinPath().EscapedPath(), "/v1/") {
			t.Fatalf("%q leaves the prefix", text)
		}
	})
}
