package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/reshost/reshost/cmd/reshost/internal/config"
	"github.com/reshost/reshost/host"
)

// maxExplanation bounds what is read of a server's answer.
const maxExplanation = 1 << 20

func (a *app) cacheCommand() *cobra.Command {
	cmd := &cobra.Command{
		SuggestionsMinimumDistance: 2,
		Use:                        "cache", Short: "Look into the cache",
		Args: noCommand, RunE: help,
	}
	cmd.AddCommand(a.cacheExplainCommand())
	return cmd
}

func (a *app) cacheExplainCommand() *cobra.Command {
	var as, admin string
	cmd := a.jsonFlag(&cobra.Command{
		Use:   "explain URI",
		Short: "Say what is cached of a resource, for whom, and why",
		Long: `Say what is cached of a resource for one caller: the key, the partition, age, lifetime and uses, and why nothing is.

With --admin a running server is asked, at its admin.listen. Without it the resource is read once in this process, as that caller, and what
would be kept of it is told.`,
		Example: "  reshost cache explain docs://index\n  reshost cache explain docs://index --as issuer=https://idp.acme.test,subject=ann --admin 127.0.0.1:8643",
		Args:    exactArgs("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			who, err := parsePrincipal(as)
			if err != nil {
				return err
			}
			if admin != "" {
				return a.explainRemote(cmd.Context(), admin, args[0], who)
			}
			return a.withHost(cmd.Context(), func(h *host.Host) error {
				if _, err := h.Read(cmd.Context(), who, args[0]); err != nil {
					return explainRead(err, args[0], local{h}.Schemes())
				}
				x, err := h.ExplainCache(cmd.Context(), who, args[0])
				if err != nil {
					return explainRead(err, args[0], local{h}.Schemes())
				}
				return a.printExplanation(toCacheJSON(x))
			})
		},
	})
	cmd.Flags().StringVar(&as, "as", "", "the `CALLER`: a subject, or issuer=…,subject=…,tenant=…,group=…,scope=… (default anonymous)")
	cmd.Flags().StringVar(&admin, "admin", "", "`ADDRESS` of a running server's admin.listen")
	return cmd
}

// parsePrincipal reads the value of --as. A word without = is a subject; group and scope may be repeated.
func parsePrincipal(text string) (*host.Principal, error) {
	p := &host.Principal{}
	if text == "" {
		return p, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		if !ok {
			name, value = "subject", part
		}
		switch name {
		case "issuer":
			p.Issuer = value
		case "subject":
			p.Subject = value
		case "tenant":
			p.Tenant = value
		case "group":
			p.Groups = append(p.Groups, value)
		case "scope":
			p.Scopes = append(p.Scopes, value)
		default:
			return nil, usagef("--as: %q is none of issuer, subject, tenant, group and scope", name)
		}
	}
	return p, nil
}

// explainRemote asks a running server.
func (a *app) explainRemote(ctx context.Context, admin, uri string, who *host.Principal) error {
	network, addr := "tcp", admin
	if path, ok := strings.CutPrefix(admin, config.ListenUnix); ok {
		network, addr = "unix", path
	}
	client := &http.Client{Timeout: closeTimeout, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, addr)
		},
		DisableKeepAlives: true,
	}}
	q := url.Values{"uri": {uri}, "issuer": {who.Issuer}, "subject": {who.Subject}, "tenant": {who.Tenant}, "group": who.Groups, "scope": who.Scopes}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+pathExplain+"?"+q.Encode(), nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("the server at %s cannot be asked: %w; is admin.listen in its configuration?", admin, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxExplanation))
	if err != nil {
		return err
	}
	if res.StatusCode == http.StatusNotFound {
		return notFound{uri, ""}
	}
	var x cacheJSON
	if err := json.Unmarshal(body, &x); res.StatusCode != http.StatusOK || err != nil {
		return errors.Join(fmt.Errorf("the server at %s answered %s: %s", admin, res.Status, printable(string(body))), err)
	}
	return a.printExplanation(x)
}

func (a *app) printExplanation(x cacheJSON) error {
	if a.json {
		return a.writeJSON(x)
	}
	err := a.printf("uri        %s\nplugin     %s\nstate      %s\n", printable(x.URI), printable(x.Provider), x.State)
	if x.Why != "" {
		err = errors.Join(err, a.printf("why        %s\n", printable(x.Why)))
	}
	err = errors.Join(err, a.printf("partition  %s\nkey        %s\n", x.Partition, x.Key))
	if x.State == "absent" {
		return err
	}
	return errors.Join(err, a.printf("age        %v\nttl        %v\nhits       %d\nbytes      %d\netag       %s\n",
		time.Duration(x.AgeMs)*time.Millisecond, time.Duration(x.TTLMs)*time.Millisecond, x.Hits, x.Bytes, orNone(printable(x.ETag))))
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
