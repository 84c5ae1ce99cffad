package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
)

const (
	// certificatePoll is how often the files of the certificate are looked at. Their status is asked rather than the kernel
	// for news: it also shows a symbolic link that points elsewhere now, on every system and over networks.
	certificatePoll = 5 * time.Second
	// maxPEM bounds each of the files.
	maxPEM = 1 << 20
)

// certificate is what the server proves itself with. It follows its files; files that cannot be used leave the one before in
// place. Connections keep the one that they began with.
type certificate struct {
	cfg   *config.Config
	env   config.Environment
	log   *slog.Logger
	inUse atomic.Pointer[tls.Certificate]
	// read is the state of the files when they were last read. Only the goroutine of follow touches it once that runs.
	read pairInfo
}

// openCertificate reads the certificate of server.tls. It returns nil where there is none: plain HTTP.
func (a *app) openCertificate(cfg *config.Config, log *slog.Logger) (*certificate, error) {
	if cfg.Server.TLS == nil {
		return nil, nil
	}
	c := &certificate{cfg: cfg, env: a.env, log: log}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// tlsConfig returns the configuration of the listener; [http.Server] adds HTTP/2 to it.
func (c *certificate) tlsConfig() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.inUse.Load(), nil },
	}
}

// follow reads the files again when they have changed, and at once on SIGHUP, until the returned function is called.
func (c *certificate) follow() (stop func()) {
	if c == nil {
		return func() {}
	}
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.watch(ctx, hangup)
	}()
	return func() {
		cancel()
		<-done
		signal.Stop(hangup)
	}
}

// watch is the goroutine of follow. Files that changed are read once they have stayed as they are from one look to the next:
// two files are not replaced at one time, and a half-written chain may parse.
func (c *certificate) watch(ctx context.Context, hangup <-chan os.Signal) {
	ticker := time.NewTicker(certificatePoll)
	defer ticker.Stop()
	seen := c.read
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			c.reload()
		case <-ticker.C:
			now := c.stat()
			if now.same(seen) && !now.same(c.read) {
				c.reload()
			}
			seen = now
		}
	}
}

func (c *certificate) reload() {
	if err := c.load(); err != nil {
		c.log.Warn("the certificate in use is kept", "error", err, "not_after", c.inUse.Load().Leaf.NotAfter)
		return
	}
	c.log.Info("certificate read again", "cert", c.cfg.Server.TLS.Cert, "not_after", c.inUse.Load().Leaf.NotAfter)
}

// load reads the files and puts their certificate to use.
func (c *certificate) load() error {
	c.read = c.stat()
	cert, err := readCertificate(c.cfg, c.env)
	if err != nil {
		return err
	}
	if now := time.Now(); now.Before(cert.Leaf.NotBefore) || now.After(cert.Leaf.NotAfter) {
		c.log.Warn("clients will refuse the certificate: it is not valid now", "cert", c.cfg.Server.TLS.Cert,
			"not_before", cert.Leaf.NotBefore, "not_after", cert.Leaf.NotAfter)
	}
	c.inUse.Store(cert)
	return nil
}

func (c *certificate) stat() pairInfo {
	// What cannot be looked at is like a file that is not there; reading says why.
	cert, _ := os.Stat(string(c.cfg.Server.TLS.Cert))
	key, _ := os.Stat(string(c.cfg.Server.TLS.Key))
	return pairInfo{cert, key}
}

// pairInfo is the state of the two files, each nil where there is none.
type pairInfo struct{ cert, key fs.FileInfo }

func (p pairInfo) same(q pairInfo) bool { return sameState(p.cert, q.cert) && sameState(p.key, q.key) }

func sameState(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// readCertificate reads the two files of server.tls, which must be there.
func readCertificate(cfg *config.Config, env config.Environment) (*tls.Certificate, error) {
	t := cfg.Server.TLS
	chain, err := env.ReadFile(string(t.Cert), maxPEM)
	if err != nil {
		return nil, cfg.Errorf("server.tls.cert", "%v", err)
	}
	key, err := env.ReadFile(string(t.Key), maxPEM)
	if err != nil {
		return nil, cfg.Errorf("server.tls.key", "%v", err)
	}
	cert, err := tls.X509KeyPair(chain, key)
	switch {
	case err == nil:
		return &cert, nil
	case bytes.Contains(key, []byte("ENCRYPTED")): // in the PEM type or in the header, as the form is
		return nil, cfg.Errorf("server.tls.key", "%s is encrypted: give a key without a passphrase", t.Key)
	}
	return nil, cfg.Errorf("server.tls", "%s with the key %s: %s; cert takes the server's certificate and then its chain, key what belongs to it, both PEM",
		t.Cert, t.Key, strings.TrimPrefix(err.Error(), "tls: "))
}
