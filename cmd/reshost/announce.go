package main

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/host/provider"
)

// announce says what is served and how to try it: as text for people, or as one log line where logs are JSON.
func (a *app) announce(cfg *config.Config, addr net.Addr, s *stack, log *slog.Logger) {
	if cfg.Log.Format == "json" {
		log.Info("serving", "url", endpoint(cfg, addr), "server", cfg.Server.Name, "plugins", len(s.served))
	} else {
		writeBanner(a.stderr, cfg, addr, s.host.Providers())
	}
	if cfg.Server.TLS == nil && !isLoopback(addr) {
		log.Warn("clients beyond this machine can connect, unencrypted and without identification: put a proxy in front, or listen on 127.0.0.1", "listen", addr)
	}
}

func writeBanner(w io.Writer, cfg *config.Config, addr net.Addr, providers []provider.Info) {
	fmt.Fprintf(w, "reshost serves %s at %s\n", printable(cfg.Server.Name), endpoint(cfg, addr))
	if len(providers) == 0 {
		fmt.Fprintf(w, "  no plugins: add some under plugins in %s\n", cfg.File())
	}
	sources := make(map[string]string, len(cfg.Plugins))
	for i := range cfg.Plugins {
		sources[cfg.Plugins[i].Name] = cfg.Plugins[i].Source
	}
	for i := range providers {
		p := &providers[i]
		fmt.Fprintf(w, "  %-12s %s (%s)\n", printable(p.Name), printable(strings.Join(schemesOf(p), " ")), sources[p.Name])
	}
	fmt.Fprintf(w, "try it:\n  %s\n", curlLine(cfg, addr))
}

func schemesOf(p *provider.Info) []string {
	if len(p.Only) > 0 {
		return p.Only
	}
	schemes := make([]string, len(p.Schemes))
	for i, s := range p.Schemes {
		schemes[i] = s + "://"
	}
	return schemes
}

// endpoint returns the URL that a client on this machine connects to.
func endpoint(cfg *config.Config, addr net.Addr) string {
	scheme := "http"
	if cfg.Server.TLS != nil {
		scheme = "https"
	}
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return scheme + "://localhost" + cfg.Server.Path
	}
	host := *tcp
	if host.IP.IsUnspecified() {
		host.IP = net.IPv4(127, 0, 0, 1)
	}
	return scheme + "://" + host.String() + cfg.Server.Path
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return !ok || tcp.IP.IsLoopback()
}

// curlLine returns a shell command that lists the resources, with all headers that the revision asks for.
func curlLine(cfg *config.Config, addr net.Addr) string {
	const body = `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` +
		tryRevision + `","io.modelcontextprotocol/clientCapabilities":{}}}}`
	var b strings.Builder
	b.WriteString("curl -sS ")
	if addr.Network() == "unix" {
		b.WriteString("--unix-socket " + shellQuote(addr.String()) + " ")
	}
	if t := cfg.Server.TLS; t != nil {
		b.WriteString("--cacert " + shellQuote(string(t.Cert)) + " ")
	}
	b.WriteString(shellQuote(endpoint(cfg, addr)))
	for _, header := range [...]string{
		"Content-Type: application/json", "Accept: application/json, text/event-stream",
		"MCP-Protocol-Version: " + tryRevision, "Mcp-Method: resources/list",
	} {
		b.WriteString(" -H " + shellQuote(header))
	}
	b.WriteString(" -d " + shellQuote(body))
	return b.String()
}

// tryRevision is the protocol revision of the command that is printed.
const tryRevision = "2026-07-28"

// shellQuote quotes s for a POSIX shell where it needs it.
func shellQuote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
