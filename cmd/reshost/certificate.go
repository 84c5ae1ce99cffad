package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
)

const (
	// certificatePoll is how often the files of the certificate are looked at.
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
	read map[string]fs.FileInfo
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
	return followFiles(c, certificatePoll)
}

func (c *certificate) lastRead() map[string]fs.FileInfo { return c.read }

func (c *certificate) reload(context.Context, bool) {
	if err := c.load(); err != nil {
		c.log.Warn("the certificate in use is kept", "error", err, "not_after", c.inUse.Load().Leaf.NotAfter)
		return
	}
	c.log.Info("certificate read again", "cert", c.cfg.Server.TLS.Cert, "not_after", c.inUse.Load().Leaf.NotAfter)
}

// load reads the files and puts their certificate to use.
func (c *certificate) load() error {
	c.read = map[string]fs.FileInfo{}
	for _, path := range []config.Path{c.cfg.Server.TLS.Cert, c.cfg.Server.TLS.Key} {
		c.read[string(path)] = stamp(string(path))
	}
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
