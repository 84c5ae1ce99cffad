package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
)

// authority signs certificates for 127.0.0.1, each with the next serial number.
type authority struct {
	t     *testing.T
	cert  *x509.Certificate
	key   crypto.Signer
	roots *x509.CertPool
	last  int64
}

// pair is a certificate with its chain, and its key, both PEM.
type pair struct {
	cert, key []byte
	serial    int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, roots: x509.NewCertPool()}
	der, key := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "an authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, time.Now().Add(48*time.Hour))
	var err error
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.key = key
	a.roots.AddCert(a.cert)
	return a
}

// sign returns a certificate until end and its key; the authority's own is signed with itself.
func (a *authority) sign(template *x509.Certificate, end time.Time) (der []byte, key crypto.Signer) {
	a.t.Helper()
	a.last++
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(a.last)
	template.NotBefore, template.NotAfter = end.Add(-72*time.Hour), end
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	if der, err = x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer); err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

func (a *authority) issueUntil(end time.Time) pair {
	a.t.Helper()
	der, key := a.sign(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, end)
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})...)
	return pair{chain, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), a.last}
}

func (a *authority) issue() pair {
	a.t.Helper()
	return a.issueUntil(time.Now().Add(24 * time.Hour))
}

// client returns a client that trusts the authority, and ends with the test. Each of its requests makes a connection of its own
// unless it keeps them.
func (a *authority) client(keeps, http2 bool, most uint16) *http.Client {
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.roots, MaxVersion: most, MinVersion: tls.VersionTLS10}, DisableKeepAlives: !keeps, ForceAttemptHTTP2: http2}
	a.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// replace puts data in the place of a file at once, as tools that renew certificates do.
func replace(t *testing.T, name string, data []byte) {
	t.Helper()
	writeFile(t, name+".new", data)
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// TestCertificateFiles shows what is said about files that cannot be used, by the server and by the check.
func TestCertificateFiles(t *testing.T) {
	a := newAuthority(t)
	one, other := a.issue(), a.issue()
	tests := []struct {
		name      string
		cert, key []byte
		want      []string
	}{
		{"no certificate", nil, one.key, []string{"server.tls.cert: ", "cert.pem does not exist"}},
		{"no key", one.cert, nil, []string{"server.tls.key: ", "key.pem does not exist"}},
		{"another's key", one.cert, other.key, []string{"server.tls: ", "cert.pem with the key ", "does not match", "both PEM"}},
		{"exchanged", one.key, one.cert, []string{"server.tls: ", "both PEM"}},
		{"half a certificate", one.cert[:200], one.key, []string{"server.tls: ", "both PEM"}},
		{"empty", []byte{}, []byte{}, []string{"server.tls: ", "both PEM"}},
		{"not PEM", []byte("\x00\x01"), one.key, []string{"server.tls: ", "both PEM"}},
		{"too large", bytes.Repeat(one.cert, maxPEM/len(one.cert)+1), one.key, []string{"server.tls.cert: ", "is larger than 1MiB"}},
		{"encrypted key", one.cert, []byte("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"), []string{"server.tls.key: ", "without a passphrase"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir, file := folder(t, "tls: { cert: cert.pem, key: key.pem }")
			for name, data := range map[string][]byte{"cert.pem": test.cert, "key.pem": test.key} {
				if data != nil {
					writeFile(t, filepath.Join(dir, name), data)
				}
			}
			for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"config", "check"}} {
				code, _, stderr := reshost(t, append(args, "--config", file)...)
				if code != exitFailure || strings.Count(stderr, "\n") != 1 {
					t.Errorf("%v: exit %d, want 1 and one line: %q", args, code, stderr)
				}
				for _, want := range append(test.want, file+":4:") {
					if !strings.Contains(stderr, want) {
						t.Errorf("%v says %q, want %q in it", args, stderr, want)
					}
				}
			}
		})
	}
}

// TestCertificateExpired shows that a certificate which clients refuse is served, and said.
func TestCertificateExpired(t *testing.T) {
	expired := newAuthority(t).issueUntil(time.Now().Add(-time.Minute))
	dir, file := folder(t, "tls: { cert: cert.pem, key: key.pem }")
	writeFile(t, filepath.Join(dir, "cert.pem"), expired.cert)
	writeFile(t, filepath.Join(dir, "key.pem"), expired.key)
	code, _, stderr := reshost(t, "config", "check", "--config", file)
	if code != exitOK || !strings.Contains(stderr, "it is not valid now") {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

// followed is a certificate whose files a test changes while time passes.
type followed struct {
	*certificate
	t        *testing.T
	certFile string
	keyFile  string
	log      *lines
	hangup   chan os.Signal
}

// follow runs f in a bubble of its own with a certificate that is followed there.
func follow(t *testing.T, f func(t *testing.T, a *authority, c *followed)) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		dir := t.TempDir()
		c := &followed{
			t: t, certFile: filepath.Join(dir, "cert.pem"), keyFile: filepath.Join(dir, "key.pem"),
			log: &lines{next: make(chan string)}, hangup: make(chan os.Signal, 1),
		}
		first := a.issue()
		writeFile(t, c.certFile, first.cert)
		writeFile(t, c.keyFile, first.key)
		cfg := &config.Config{Server: config.Server{TLS: &config.TLS{Cert: config.Path(c.certFile), Key: config.Path(c.keyFile)}}}
		log := slog.New(slog.NewTextHandler(c.log, nil))
		c.certificate = &certificate{cfg: cfg, env: config.OS(), log: log}
		if err := c.load(); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			watchFiles(ctx, c, certificatePoll, c.hangup)
		}()
		defer func() {
			cancel()
			<-done
		}()
		f(t, a, c)
	})
}

// after lets n looks at the files pass, and holds which certificate is used then.
func (c *followed) after(n int, serial int64) {
	c.t.Helper()
	time.Sleep(time.Duration(n) * certificatePoll)
	synctest.Wait()
	if got := c.inUse.Load().Leaf.SerialNumber.Int64(); got != serial {
		c.t.Errorf("certificate %d is used, want %d; the log:\n%s", got, serial, c.log)
	}
}

func (c *followed) warnings(want int) {
	c.t.Helper()
	if got := strings.Count(c.log.String(), "level=WARN"); got != want {
		c.t.Errorf("%d warnings, want %d:\n%s", got, want, c.log)
	}
}

func TestCertificateFollows(t *testing.T) {
	t.Run("nothing changes", func(t *testing.T) {
		follow(t, func(t *testing.T, a *authority, c *followed) {
			c.after(1000, a.last)
			if text := c.log.String(); text != "" {
				t.Errorf("the log says %q", text)
			}
		})
	})
	t.Run("replaced", func(t *testing.T) {
		follow(t, func(t *testing.T, a *authority, c *followed) {
			for range 3 {
				next := a.issue()
				replace(t, c.certFile, next.cert)
				replace(t, c.keyFile, next.key)
				c.after(2, next.serial)
			}
			c.warnings(0)
		})
	})
	t.Run("written in place", func(t *testing.T) {
		follow(t, func(t *testing.T, a *authority, c *followed) {
			next := a.issue()
			for name, data := range map[string][]byte{c.certFile: next.cert, c.keyFile: next.key} {
				writeFile(t, name, data)
				later := time.Now().Add(time.Hour)
				if err := os.Chtimes(name, later, later); err != nil {
					t.Fatal(err)
				}
			}
			c.after(2, next.serial)
			c.warnings(0)
		})
	})
	t.Run("still being written", func(t *testing.T) {
		follow(t, func(t *testing.T, a *authority, c *followed) {
			first := a.last
			next := a.issue()
			replace(t, c.keyFile, next.key)
			for n := range 4 { // the chain grows from look to look; its first block alone would parse
				replace(t, c.certFile, next.cert[:len(next.cert)*(n+1)/5])
				c.after(1, first)
			}
			c.warnings(0)
			replace(t, c.certFile, next.cert)
			c.after(2, next.serial)
			if got := len(c.inUse.Load().Certificate); got != 2 {
				t.Errorf("the chain has %d certificates, want 2", got)
			}
		})
	})
	t.Run("cannot be used", func(t *testing.T) {
		follow(t, func(t *testing.T, a *authority, c *followed) {
			first := a.last
			next := a.issue()
			replace(t, c.certFile, next.cert) // the key is still the first one's
			c.after(100, first)
			c.warnings(1) // once, not at each look
			replace(t, c.keyFile, next.key)
			c.after(2, next.serial)
		})
	})
	t.Run("away for a while", func(t *testing.T) {
		follow(t, func(t *testing.T, a *authority, c *followed) {
			first := a.last
			os.Remove(c.certFile)
			os.Remove(c.keyFile)
			c.after(100, first)
			c.warnings(1)
			next := a.issue()
			writeFile(t, c.keyFile, next.key)
			writeFile(t, c.certFile, next.cert)
			c.after(2, next.serial)
		})
	})
	t.Run("on SIGHUP", func(t *testing.T) {
		follow(t, func(t *testing.T, a *authority, c *followed) {
			next := a.issue()
			replace(t, c.certFile, next.cert)
			replace(t, c.keyFile, next.key)
			c.hangup <- os.Interrupt // which signal it is makes no difference here
			c.after(0, next.serial)
			c.after(10, next.serial)
			if got := strings.Count(c.log.String(), "certificate read again"); got != 1 {
				t.Errorf("read %d times, want once:\n%s", got, c.log)
			}
		})
	})
}

// TestCertificateSymlink shows the way of Kubernetes: the files are links into a folder that is itself a link, which is
// replaced.
func TestCertificateSymlink(t *testing.T) {
	follow(t, func(t *testing.T, a *authority, c *followed) {
		dir := filepath.Dir(c.certFile)
		point := func(at, to string) {
			t.Helper()
			if err := os.Symlink(to, at+".new"); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
			if err := os.Rename(at+".new", at); err != nil {
				t.Fatal(err)
			}
		}
		version := func(name string) pair {
			t.Helper()
			p := a.issue()
			writeFile(t, filepath.Join(dir, name, "cert.pem"), p.cert)
			writeFile(t, filepath.Join(dir, name, "key.pem"), p.key)
			return p
		}
		one := version("..1")
		point(filepath.Join(dir, "..data"), "..1")
		point(c.certFile, filepath.Join("..data", "cert.pem"))
		point(c.keyFile, filepath.Join("..data", "key.pem"))
		c.after(2, one.serial)
		two := version("..2")
		point(filepath.Join(dir, "..data"), "..2")
		if err := os.RemoveAll(filepath.Join(dir, "..1")); err != nil {
			t.Fatal(err)
		}
		c.after(2, two.serial)
		c.warnings(0)
	})
}

// TestServeTLSVersions shows that TLS 1.2 and 1.3 are spoken and nothing older, and HTTP/1.1 as well as HTTP/2.
func TestServeTLSVersions(t *testing.T) {
	a := newAuthority(t)
	s, _ := serveTLS(t, a)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for http2, proto := range map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"} {
			res, err := a.client(true, http2, version).Do(s.request("resources/list", ""))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.TLS.Version != version || res.Proto != proto {
				t.Errorf("%s over %s, want %s over %s", res.Proto, tls.VersionName(res.TLS.Version), proto, tls.VersionName(version))
			}
		}
	}
	if res, err := a.client(true, true, tls.VersionTLS11).Do(s.request("resources/list", "")); err == nil {
		res.Body.Close()
		t.Error("TLS 1.1 is spoken")
	}
}

// serveTLS starts a server with a certificate of the authority, and returns how to replace its files.
func serveTLS(t *testing.T, a *authority) (s *server, put func(pair)) {
	t.Helper()
	dir, file := folder(t, "tls: { cert: cert.pem, key: key.pem }")
	put = func(p pair) {
		t.Helper()
		replace(t, filepath.Join(dir, "cert.pem"), p.cert)
		replace(t, filepath.Join(dir, "key.pem"), p.key)
	}
	put(a.issue())
	return serve(t, "--config", file, "--listen", "127.0.0.1:0"), put
}
