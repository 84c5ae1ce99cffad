package host

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/reshost/reshost/host/internal/httpd"
	"github.com/reshost/reshost/host/internal/mcp"
	"github.com/reshost/reshost/host/internal/stdio"
	"github.com/reshost/reshost/host/provider"
)

// backend is the host as the protocol sees it. Its requests have been admitted.
type backend struct{ h *Host }

func (b backend) caller(c *mcp.Caller) *caller { return newCaller(c.Principal, c.Remote, c.Meta) }

// Features implements mcp.Backend.
func (b backend) Features(context.Context, *mcp.Caller) mcp.Features {
	var f mcp.Features
	for _, v := range b.h.snap.Load().views {
		f.Completions = f.Completions || v.completes()
		f.Logging = f.Logging || v.clientLogs
		f.Subscribe = f.Subscribe || v.info.Watch
	}
	f.ListChanged = true // providers come and go, if nothing else
	return f
}

// ListResources implements mcp.Backend.
func (b backend) ListResources(ctx context.Context, c *mcp.Caller, cursor *string) (*mcp.ResourcePage, error) {
	return b.h.list(ctx, b.caller(c), cursor)
}

// ListTemplates implements mcp.Backend.
func (b backend) ListTemplates(ctx context.Context, c *mcp.Caller, cursor *string) (*mcp.TemplatePage, error) {
	return b.h.templates(ctx, b.caller(c), cursor)
}

// Read implements mcp.Backend.
func (b backend) Read(ctx context.Context, c *mcp.Caller, req *mcp.ReadParams) (*mcp.ReadResult, error) {
	return b.h.read(ctx, b.caller(c), req)
}

// Complete implements mcp.Backend.
func (b backend) Complete(ctx context.Context, c *mcp.Caller, req *mcp.CompleteParams) (*mcp.Completion, error) {
	return b.h.complete(ctx, b.caller(c), req)
}

// Listen implements mcp.Backend.
func (b backend) Listen(_ context.Context, c *mcp.Caller, list bool) (mcp.Subscription, error) {
	s, err := b.h.subscribe(newCaller(c.Principal, c.Remote, nil), list)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (h *Host) serverOptions() *mcp.Options {
	return &mcp.Options{
		Logger: h.log, Name: h.opts.Name, Title: h.opts.Title, Version: h.opts.Version,
		Instructions: h.opts.Instructions, Revisions: h.opts.Revisions, Admit: h.admitRemote,
		MaxDepth: h.opts.Limits.JSONDepth, MaxSessions: h.opts.Limits.Sessions, SessionIdle: h.opts.Limits.SessionIdle,
		// Waiting for a person must not use up what serves all others.
		MaxAsking: max(h.opts.Limits.Requests/4, 1), AskTimeout: h.opts.Limits.Input, MaxMeta: h.opts.Limits.MetaBytes,
	}
}

// admitRemote is admit for requests that arrive by a transport.
func (h *Host) admitRemote(_ context.Context, c *mcp.Caller, _ string) (func(), error) {
	release, refused := h.admit(newCaller(c.Principal, c.Remote, nil))
	if refused != nil {
		return nil, &mcp.Refusal{TooMany: refused.tooMany, RetryAfterMillis: retryAfter.Milliseconds()}
	}
	return release, nil
}

func (h *Host) httpOptions() *httpd.Options {
	o := &httpd.Options{
		Logger: h.log, Origins: slices.Clone(h.opts.Origins), Hosts: slices.Clone(h.opts.Hosts),
		MaxBody: h.opts.Limits.RequestBytes, WriteTimeout: h.opts.Limits.WriteStall,
		MaxConcurrent: h.opts.Limits.Requests,
	}
	if identify := h.opts.Principal; identify != nil {
		o.Principal = func(r *http.Request) (*provider.Principal, error) {
			p, err := identify(r)
			if err != nil {
				return nil, err
			}
			return &p, nil
		}
	}
	if u, err := url.Parse(h.opts.PublicURL); err == nil && u.Host != "" {
		o.Hosts = append(o.Hosts, u.Hostname())
		o.Origins = append(o.Origins, u.Scheme+"://"+u.Host)
	}
	for i, name := range o.Hosts {
		if bare, _, err := net.SplitHostPort(name); err == nil {
			o.Hosts[i] = bare
		}
	}
	if len(o.Hosts) > 0 { // those who reach the machine itself need no public name
		o.Hosts = append(o.Hosts, "localhost", "127.0.0.1", "::1")
	}
	return o
}

func (h *Host) stdioOptions() *stdio.Options {
	return &stdio.Options{Logger: h.log, MaxMessage: int(min(h.opts.Limits.RequestBytes, 1<<31-1)), MaxConcurrent: h.opts.Limits.Requests, MaxRunning: h.opts.Limits.PrincipalRequests, Closing: h.serving}
}
