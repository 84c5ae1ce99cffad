package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/reshost/reshost/cmd/reshost/internal/client"
	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// source is what the commands that look at resources ask: a host of their own, or a running server.
type source interface {
	List(ctx context.Context, cursor string) (*host.ResourcePage, error)
	Templates(ctx context.Context, cursor string) (*host.TemplatePage, error)
	Read(ctx context.Context, uri string) (*host.ReadResult, error)
	Complete(ctx context.Context, req *host.CompleteRequest) (*host.Completion, error)
	Watch(ctx context.Context, uris []string) iter.Seq2[host.Change, error]
	// Schemes are those that are served; nil when the source does not tell.
	Schemes() []string
}

// local is the configured host, asked as nobody in particular.
type local struct{ h *host.Host }

func (l local) List(ctx context.Context, cursor string) (*host.ResourcePage, error) {
	return l.h.List(ctx, nil, cursor)
}

func (l local) Templates(ctx context.Context, cursor string) (*host.TemplatePage, error) {
	return l.h.Templates(ctx, nil, cursor)
}

func (l local) Read(ctx context.Context, uri string) (*host.ReadResult, error) {
	return l.h.Read(ctx, nil, uri)
}

func (l local) Complete(ctx context.Context, req *host.CompleteRequest) (*host.Completion, error) {
	return l.h.Complete(ctx, nil, req)
}

func (l local) Watch(ctx context.Context, uris []string) iter.Seq2[host.Change, error] {
	return l.h.Watch(ctx, nil, uris...)
}

func (l local) Schemes() []string {
	schemes := []string{}
	for _, info := range l.h.Providers() {
		schemes = append(schemes, info.Schemes...)
	}
	return schemes
}

// remoteFlags are the flags of commands that can ask a running server.
type remoteFlags struct {
	url, ca, tokenFile string
	headers            []string
}

// remoteFlags gives a command the flags of a running server.
func (a *app) remoteFlags(cmd *cobra.Command) *cobra.Command {
	f := cmd.Flags()
	f.StringVar(&a.remote.url, "url", "", "ask the running server at this `URL`: http://…, https://…, or unix:SOCKET")
	f.StringArrayVar(&a.remote.headers, "header", nil, "send this header, as `'NAME: VALUE'`; may be repeated")
	f.StringVar(&a.remote.tokenFile, "token-file", "", "send the token in this `FILE` (Authorization: Bearer)")
	f.StringVar(&a.remote.ca, "ca", "", "trust the certificate authorities in this PEM `FILE`, in place of the system's")
	return cmd
}

// maxCredential bounds a file that a flag names.
const maxCredential = 1 << 20

// withSource opens what the flags name for one command.
func (a *app) withSource(ctx context.Context, f func(source) error) error {
	r := &a.remote
	if r.url == "" {
		if r.ca != "" || r.tokenFile != "" || len(r.headers) > 0 {
			return usagef("--ca, --token-file and --header go with --url")
		}
		return a.withHost(ctx, func(h *host.Host) error { return f(local{h}) })
	}
	if a.root != "" || a.configFile != "" {
		return usagef("--url asks a running server: leave out --config and --root")
	}
	opts := &client.Options{URL: r.url, Name: "reshost", Version: buildVersion().Version}
	var err error
	if opts.Header, err = a.remoteHeader(); err != nil {
		return err
	}
	if r.ca != "" {
		if opts.CA, err = a.env.ReadFile(r.ca, maxCredential); err != nil {
			return usagef("--ca: %w", err)
		}
	}
	c, err := client.New(opts)
	if err != nil {
		return usagef("--url: %w", err)
	}
	defer c.Close()
	return f(remoteServer{a, c})
}

// remoteHeader is the header that --header and --token-file ask for.
func (a *app) remoteHeader() (http.Header, error) {
	h := http.Header{}
	for _, line := range a.remote.headers {
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || !validHeader(name, value) {
			return nil, usagef("--header must be 'NAME: VALUE', not %q", name)
		}
		h.Add(name, value)
	}
	if a.remote.tokenFile != "" {
		b, err := a.env.ReadFile(a.remote.tokenFile, maxCredential)
		if err != nil {
			return nil, usagef("--token-file: %w", err)
		}
		token := strings.TrimSpace(string(b))
		if token == "" || !validHeader("Authorization", token) {
			return nil, usagef("--token-file: %s does not hold a token", a.remote.tokenFile)
		}
		h.Set("Authorization", "Bearer "+token)
	}
	return h, nil
}

// validHeader keeps a header on its line (RFC 9110 section 5).
func validHeader(name, value string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	for _, c := range []byte(value) {
		if c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return name != "" && value != ""
}

// remoteServer is a running server. Its errors are those of a host: *provider.Error with the server's sentence.
type remoteServer struct {
	a *app
	c *client.Client
}

func (s remoteServer) Schemes() []string { return nil }

// call makes a request and decodes its result.
func (s remoteServer) call(ctx context.Context, method, name string, params map[string]any, result any) error {
	b, err := s.c.Call(ctx, method, name, params)
	if err != nil {
		return remoteError(err)
	}
	if err := json.Unmarshal(b, result); err != nil {
		return fmt.Errorf("the server's result of %s is malformed: %w", method, err)
	}
	return nil
}

// remoteError gives what a server answers the code that a host gives: rules R2 and P7, and the data that this host adds.
func remoteError(err error) error {
	e := new(client.Error)
	if !errors.As(err, &e) {
		return err
	}
	var data struct {
		URI        *string `json:"uri"`
		Reason     string  `json:"reason"`
		RetryAfter int64   `json:"retryAfterMs"`
	}
	_ = json.Unmarshal(e.Data, &data) // data of another shape tells nothing
	code := provider.Internal
	switch {
	case e.Code == client.CodeNotFound, e.Code == client.CodeInvalidParams && data.URI != nil:
		code = provider.NotFound
	case data.Reason == provider.TooLarge.String():
		code = provider.TooLarge
	case e.Code == client.CodeInvalidParams:
		code = provider.Invalid
	case data.Reason == provider.Unavailable.String():
		code = provider.Unavailable
	case data.Reason == provider.Timeout.String():
		code = provider.Timeout
	}
	pe := provider.Errorf(code, "%s", e.Message)
	pe.RetryAfter = time.Duration(data.RetryAfter) * time.Millisecond
	return pe
}

// pageParams are the parameters of a list.
func pageParams(cursor string) map[string]any {
	if cursor == "" {
		return map[string]any{}
	}
	return map[string]any{"cursor": cursor}
}

func (s remoteServer) List(ctx context.Context, cursor string) (*host.ResourcePage, error) {
	var page struct {
		Resources  []resourceJSON `json:"resources"`
		NextCursor string         `json:"nextCursor"`
	}
	if err := s.call(ctx, "resources/list", "", pageParams(cursor), &page); err != nil {
		return nil, err
	}
	out := &host.ResourcePage{Next: page.NextCursor}
	for i := range page.Resources {
		out.Resources = append(out.Resources, page.Resources[i].resource())
	}
	return out, nil
}

func (s remoteServer) Templates(ctx context.Context, cursor string) (*host.TemplatePage, error) {
	var page struct {
		Templates  []resourceJSON `json:"resourceTemplates"`
		NextCursor string         `json:"nextCursor"`
	}
	if err := s.call(ctx, "resources/templates/list", "", pageParams(cursor), &page); err != nil {
		return nil, err
	}
	out := &host.TemplatePage{Next: page.NextCursor}
	for i := range page.Templates {
		out.Templates = append(out.Templates, page.Templates[i].template())
	}
	return out, nil
}

func (s remoteServer) Read(ctx context.Context, uri string) (*host.ReadResult, error) {
	var r struct {
		Contents   []contentJSON `json:"contents"`
		TTL        int64         `json:"ttlMs"`
		CacheScope string        `json:"cacheScope"`
	}
	if err := s.call(ctx, "resources/read", uri, map[string]any{"uri": uri}, &r); err != nil {
		return nil, err
	}
	out := &host.ReadResult{Cache: host.CacheHint{TTL: time.Duration(r.TTL) * time.Millisecond, Public: r.CacheScope == "public"}}
	for _, c := range r.Contents {
		content := provider.Content{URI: c.URI, MIMEType: c.MIMEType, Meta: provider.JSON(c.Meta), Body: c.Blob}
		if c.Text != nil {
			content.Text, content.Body = true, []byte(*c.Text)
		}
		out.Contents = append(out.Contents, content)
	}
	return out, nil
}

func (s remoteServer) Complete(ctx context.Context, req *host.CompleteRequest) (*host.Completion, error) {
	params := map[string]any{
		"ref":      map[string]any{"type": "ref/resource", "uri": req.Template},
		"argument": map[string]any{"name": req.Argument, "value": req.Value},
	}
	if len(req.Context) > 0 {
		arguments := map[string]any{}
		for _, v := range req.Context {
			arguments[v.Name] = v.Value
		}
		params["context"] = map[string]any{"arguments": arguments}
	}
	var r struct {
		Completion completionJSON `json:"completion"`
	}
	if err := s.call(ctx, "completion/complete", "", params, &r); err != nil {
		return nil, err
	}
	return &host.Completion{Values: r.Completion.Values, Total: r.Completion.Total, HasMore: r.Completion.HasMore}, nil
}

func (s remoteServer) Watch(ctx context.Context, uris []string) iter.Seq2[host.Change, error] {
	return func(yield func(host.Change, error) bool) {
		errStop := errors.New("the loop ended")
		err := s.c.Watch(ctx, uris, func(c client.Change) error {
			if !yield(host.Change(c), nil) {
				return errStop
			}
			return nil
		}, func(err error, wait time.Duration) {
			fmt.Fprintf(s.a.stderr, "reshost: %s; connecting again in %s\n", printable(err.Error()), wait.Round(100*time.Millisecond))
		})
		refused := new(client.Refused)
		switch {
		case errors.Is(err, errStop):
		case errors.As(err, &refused):
			yield(host.Change{}, notFound{strings.Join(refused.URIs, ", "), " that can be watched"})
		default:
			yield(host.Change{}, remoteError(err))
		}
	}
}

// resource and template are the inverse of toResourceJSON and toTemplateJSON.
func (r *resourceJSON) resource() provider.Resource {
	return provider.Resource{
		URI: r.URI, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType, Size: r.Size,
		Icons: fromIconsJSON(r.Icons), Annotations: r.Annotations.annotations(), Meta: provider.JSON(r.Meta),
	}
}

func (r *resourceJSON) template() provider.Template {
	return provider.Template{
		URITemplate: r.URITemplate, Name: r.Name, Title: r.Title, Description: r.Description, MIMEType: r.MIMEType,
		Icons: fromIconsJSON(r.Icons), Annotations: r.Annotations.annotations(), Meta: provider.JSON(r.Meta),
	}
}

func fromIconsJSON(icons []iconJSON) []provider.Icon {
	var out []provider.Icon
	for _, icon := range icons {
		out = append(out, provider.Icon(icon))
	}
	return out
}

func (a *annotationsJSON) annotations() *provider.Annotations {
	if a == nil {
		return nil
	}
	out := &provider.Annotations{Audience: a.Audience, Priority: a.Priority}
	out.LastModified, _ = time.Parse(time.RFC3339, a.LastModified) // zero: unknown
	return out
}
