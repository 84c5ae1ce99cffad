package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
)

const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
)

func (a *app) serveCommand() *cobra.Command {
	var stdio bool
	var listen string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve resources over HTTP, or over stdio",
		Long: `Serve resources to MCP clients: over Streamable HTTP, or with --stdio to the one client that started this process.

On the first interrupt or SIGTERM the server ends in order: calls in flight are waited for. The second one ends it at once.
With server.tls the certificate is read again when its files change, and at once on SIGHUP.

Plugins are replaced while others are served when the configuration, a plugin's file or a secret's file changes, and on SIGHUP: all
or nothing, and no call is lost. What cannot be loaded leaves what was served before; the log says why.`,
		Example: "  reshost serve --config reshost.yaml\n  reshost serve --root ./docs\n  reshost serve --root ./docs --stdio",
		Args:    exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if stdio && listen != "" {
				return usagef("--stdio and --listen cannot stand together")
			}
			if listen != "" && !isUnix(listen) {
				if problem := config.CheckListen(listen); problem != "" {
					return usagef("--listen: %s", problem)
				}
			}
			a.env = newReadFiles(a.env)
			cfg, err := a.loadConfig()
			if err != nil {
				return err
			}
			if listen != "" {
				cfg.Server.Listen = listen
			}
			if stdio {
				return a.serveStdio(cmd.Context(), cfg)
			}
			return a.serveHTTP(cmd.Context(), cfg)
		},
	}
	cmd.Flags().BoolVar(&stdio, "stdio", false, "speak MCP on stdin and stdout")
	cmd.Flags().StringVar(&listen, "listen", "", "`ADDRESS` to listen on, host:port or unix:PATH, in place of server.listen")
	return cmd
}

// openToServe opens the stack with the keys that cursors of an earlier run were sealed with.
func (a *app) openToServe(ctx context.Context, cfg *config.Config, log *slog.Logger) (*stack, error) {
	var dir string
	var err error
	if len(cfg.Server.Keys) == 0 {
		if dir, err = a.statePath(cfg); err != nil {
			return nil, err
		}
	}
	keys, err := sealingKeys(cfg, dir)
	if err != nil {
		return nil, err
	}
	return a.openStack(ctx, cfg, log, keys)
}

func (a *app) serveStdio(ctx context.Context, cfg *config.Config) error {
	log := a.logger(cfg, "")
	s, err := a.openToServe(ctx, cfg, log)
	if err != nil {
		return err
	}
	a.follow(cfg, s, log)
	log.Info("serving on stdio", "server", cfg.Server.Name, "plugins", len(s.served))
	defer a.showProgress(s.runtime.Status)()
	stopAdmin, err := startAdmin(ctx, cfg, s.host, log)
	if err != nil {
		return errors.Join(err, s.close())
	}
	err = s.host.ServeStdio(ctx, a.stdin, a.stdout)
	if ctx.Err() != nil {
		err = nil // asked to end
	}
	return errors.Join(err, s.close(), stopAdmin())
}

func (a *app) serveHTTP(ctx context.Context, cfg *config.Config) error {
	log := a.logger(cfg, "")
	cert, err := a.openCertificate(cfg, log)
	if err != nil {
		return err
	}
	defer cert.follow()()
	// The address is taken first, so that nothing is started when it is in use; connections wait until plugins are ready.
	ln, err := listen(ctx, cfg)
	if err != nil {
		return err
	}
	s, err := a.openToServe(ctx, cfg, log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	mux := http.NewServeMux()
	mux.Handle(cfg.Server.Path, s.host.Handler())
	mux.Handle("POST /hooks/{plugin}", s.hooks)
	srv := &http.Server{
		Handler: mux, TLSConfig: cert.tlsConfig(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	a.announce(cfg, ln.Addr(), s, log)
	a.follow(cfg, s, log)
	defer a.showProgress(s.runtime.Status)()
	return a.serveUntilDone(ctx, srv, ln, s, log)
}

// serveUntilDone serves until ctx ends, then waits for requests in flight.
func (a *app) serveUntilDone(ctx context.Context, srv *http.Server, ln net.Listener, s *stack, log *slog.Logger) error {
	served := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			served <- srv.ServeTLS(ln, "", "")
			return
		}
		served <- srv.Serve(ln)
	}()
	select {
	case err := <-served:
		return errors.Join(err, s.close())
	case <-ctx.Done():
	}
	log.Info("ending: waiting for requests in flight")
	end, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	// The host ends its streams while the server waits for its connections: each needs the other.
	closed := make(chan error, 1)
	go func() { closed <- s.close() }()
	err := srv.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("requests were still in flight at the end", "waited", closeTimeout)
		err = srv.Close()
	}
	if served := <-served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return errors.Join(err, <-closed)
}

// listenError says in one line why an address cannot be had.
func listenError(cfg *config.Config, addr string, err error) error {
	var op *net.OpError
	cause := err
	if errors.As(err, &op) {
		cause = op.Err
	}
	what := fmt.Sprintf("cannot listen on %s: %v", addr, cause)
	if isInUse(err) {
		what = fmt.Sprintf("cannot listen on %s: the address is in use; end the other process, or take another with --listen HOST:PORT", addr)
	}
	if remedy := listenRemedy(addr, err); remedy != "" {
		what += "; " + remedy
	}
	if _, ok := cfg.At("server.listen"); ok {
		return cfg.Errorf("server.listen", "%s", what)
	}
	return errors.New(what)
}

// listenRemedy says what to do about an address that cannot be had, or nothing where the cause says enough.
func listenRemedy(addr string, err error) string {
	path, unix := strings.CutPrefix(addr, config.ListenUnix)
	var dns *net.DNSError
	switch {
	case unix && errors.Is(err, os.ErrNotExist):
		return "create the folder " + filepath.Dir(path) + ", or name another path"
	case unix && errors.Is(err, os.ErrPermission):
		return "let this user write to the folder " + filepath.Dir(path) + ", or name another path"
	case errors.Is(err, os.ErrPermission):
		return "ports below 1024 are for privileged users: take a higher one"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine does not have the address: take 127.0.0.1, or 0.0.0.0 for all it has"
	case errors.As(err, &dns):
		return "give the address as a number, such as 127.0.0.1"
	}
	return ""
}
