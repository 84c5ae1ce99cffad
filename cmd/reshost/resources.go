package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/provider"
)

// quietLevel is the log level of commands that run for a moment: what is wrong, and nothing else.
const quietLevel = "warn"

// withHost opens the configured host for one command.
func (a *app) withHost(ctx context.Context, f func(*host.Host) error) error {
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	s, err := a.openReady(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(f(s.host), s.close())
}

func (a *app) listCommand() *cobra.Command {
	return a.remoteFlags(a.jsonFlag(&cobra.Command{
		Use:   "list",
		Short: "List the resources",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSource(cmd.Context(), func(s source) error { return a.list(cmd.Context(), s) })
		},
	}))
}

func (a *app) list(ctx context.Context, s source) error {
	out := a.newListing("resources", "URI\tNAME\tTYPE\tSIZE")
	var leftOut []string
	for cursor := ""; ; {
		page, err := s.List(ctx, cursor)
		if err != nil {
			return explain(err, "resources/list")
		}
		for i := range page.Resources {
			r := &page.Resources[i]
			size := ""
			if r.Size != nil {
				size = strconv.FormatInt(*r.Size, 10)
			}
			out.add(toResourceJSON(r), r.URI, r.Name, r.MIMEType, size)
		}
		leftOut = append(leftOut, page.LeftOut...)
		if cursor = page.Next; cursor == "" {
			return errors.Join(out.end(), incomplete(leftOut))
		}
	}
}

// incomplete says which plugins a list lacks; it is nil when it lacks none.
func incomplete(leftOut []string) error {
	if len(leftOut) == 0 {
		return nil
	}
	slices.Sort(leftOut)
	return fmt.Errorf("the list lacks what failed to answer: %s; the log says why", strings.Join(slices.Compact(leftOut), ", "))
}

func (a *app) templatesCommand() *cobra.Command {
	return a.remoteFlags(a.jsonFlag(&cobra.Command{
		Use:   "templates",
		Short: "List the templates of resources",
		Args:  exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSource(cmd.Context(), func(s source) error { return a.templates(cmd.Context(), s) })
		},
	}))
}

func (a *app) templates(ctx context.Context, s source) error {
	out := a.newListing("resourceTemplates", "TEMPLATE\tNAME\tTYPE")
	for cursor := ""; ; {
		page, err := s.Templates(ctx, cursor)
		if err != nil {
			return explain(err, "resources/templates/list")
		}
		for i := range page.Templates {
			t := &page.Templates[i]
			out.add(toTemplateJSON(t), t.URITemplate, t.Name, t.MIMEType)
		}
		if cursor = page.Next; cursor == "" {
			return out.end()
		}
	}
}

// listing prints entries as a table, or as one JSON object.
type listing struct {
	a       *app
	member  string
	table   *tabwriter.Writer
	entries []resourceJSON
}

func (a *app) newListing(member, head string) *listing {
	l := &listing{a: a, member: member, entries: []resourceJSON{}}
	if !a.json {
		l.table = tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(l.table, head)
	}
	return l
}

func (l *listing) add(entry resourceJSON, cells ...string) {
	if l.table == nil {
		l.entries = append(l.entries, entry)
		return
	}
	for i := range cells {
		if cells[i] = printable(cells[i]); cells[i] == "" {
			cells[i] = "-"
		}
	}
	fmt.Fprintln(l.table, strings.Join(cells, "\t"))
}

func (l *listing) end() error {
	if l.table == nil {
		return l.a.writeJSON(map[string][]resourceJSON{l.member: l.entries})
	}
	return l.table.Flush()
}

func (a *app) readCommand() *cobra.Command {
	return a.remoteFlags(a.jsonFlag(&cobra.Command{
		Use:     "read URI",
		Short:   "Read a resource",
		Long:    "Read a resource and write its bytes to stdout as they are. Several parts are told apart by a line before each.",
		Example: "  reshost read docs://index",
		Args:    exactArgs("URI"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSource(cmd.Context(), func(s source) error { return a.read(cmd.Context(), s, args[0]) })
		},
	}))
}

func (a *app) read(ctx context.Context, s source, uri string) error {
	r, err := s.Read(ctx, uri)
	if err != nil {
		return explainRead(err, uri, s.Schemes())
	}
	if a.json {
		return a.writeJSON(toReadJSON(r))
	}
	if len(r.Contents) == 0 {
		return fmt.Errorf("%s asks for more input, which this command cannot give", uri)
	}
	for i := range r.Contents {
		c := &r.Contents[i]
		if !c.Text && isTerminal(a.stdout) {
			return fmt.Errorf("%s is not text (%s, %d bytes): redirect stdout to a file, or use --json", c.URI, orUnknown(c.MIMEType), len(c.Body))
		}
		if len(r.Contents) > 1 {
			if err := a.printf("--- %s (%s, %d bytes)\n", printable(c.URI), printable(orUnknown(c.MIMEType)), len(c.Body)); err != nil {
				return err
			}
		}
		if _, err := a.stdout.Write(c.Body); err != nil {
			return err
		}
		if last := len(c.Body) - 1; i+1 == len(r.Contents) && isTerminal(a.stdout) && last >= 0 && c.Body[last] != '\n' {
			return a.printf("\n") // the prompt begins a line of its own; what is piped stays as it is
		}
		if i+1 < len(r.Contents) {
			if err := a.printf("\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

func orUnknown(mimeType string) string {
	if mimeType == "" {
		return "unknown type"
	}
	return mimeType
}

func (a *app) completeCommand() *cobra.Command {
	var known []string
	cmd := a.remoteFlags(a.jsonFlag(&cobra.Command{
		Use:     "complete TEMPLATE ARGUMENT VALUE",
		Short:   "Propose values for a variable of a template",
		Example: "  reshost complete 'docs://{name}' name REA",
		Args:    exactArgs("TEMPLATE", "ARGUMENT", "VALUE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := &host.CompleteRequest{Template: args[0], Argument: args[1], Value: args[2]}
			for _, v := range known {
				name, value, ok := strings.Cut(v, "=")
				if !ok || name == "" {
					return usagef("--known must be NAME=VALUE, not %q", v)
				}
				req.Context = append(req.Context, provider.Var{Name: name, Value: value})
			}
			return a.withSource(cmd.Context(), func(s source) error { return a.complete(cmd.Context(), s, req) })
		},
	}))
	cmd.Flags().StringArrayVar(&known, "known", nil, "another variable's value, as `NAME=VALUE`; may be repeated")
	return cmd
}

func (a *app) complete(ctx context.Context, s source, req *host.CompleteRequest) error {
	c, err := s.Complete(ctx, req)
	if err != nil {
		return explainComplete(err, req)
	}
	for _, v := range req.Context {
		if v.Name == req.Argument || !strings.Contains(variables(req.Template), ","+v.Name+",") {
			return usagef("--known %s: the template %s has no other variable of that name", v.Name, req.Template)
		}
	}
	if a.json {
		values := c.Values
		if values == nil {
			values = []string{}
		}
		return a.writeJSON(completionJSON{values, c.Total, c.HasMore})
	}
	for _, v := range c.Values {
		if err := a.printf("%s\n", printable(v)); err != nil {
			return err
		}
	}
	return nil
}

// notFound is a resource that is not there, or that may not be seen.
type notFound struct{ uri, hint string }

func (e notFound) Error() string { return e.uri + ": no such resource" + e.hint }

// explain says what was asked for in front of the error.
func explain(err error, what string) error {
	if !errors.As(err, new(*provider.Error)) {
		return err // of the way to a server, whose name it has
	}
	switch code := provider.CodeOf(err); code {
	case provider.NotFound, provider.Denied:
		return notFound{what, ""}
	case provider.Internal:
		return fmt.Errorf("%s: %w; the log has the cause", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// explainRead tells the operator more than a client may know: which schemes there are, and that a URI is malformed.
func explainRead(err error, uri string, schemes []string) error {
	scheme, _, ok := strings.Cut(uri, ":")
	switch provider.CodeOf(err) {
	case provider.NotFound:
		slices.Sort(schemes)
		if schemes = slices.Compact(schemes); ok && schemes != nil && !contains(schemes, strings.ToLower(scheme)) {
			return notFound{uri, "; no plugin serves the scheme " + scheme + ", served are " + joinOr(schemes, "none")}
		}
	case provider.Invalid:
		if u, parseErr := url.Parse(uri); parseErr != nil || !u.IsAbs() || u.Fragment != "" || u.User != nil {
			return usagef("%s: %w", uri, err)
		}
	}
	return explain(err, uri)
}

// explainComplete says which variables are not known yet where a plugin finds nothing without them.
func explainComplete(err error, req *host.CompleteRequest) error {
	if provider.CodeOf(err) == provider.NotFound {
		known := "," + req.Argument + ","
		for _, v := range req.Context {
			known += v.Name + ","
		}
		var missing []string
		for name := range strings.SplitSeq(strings.Trim(variables(req.Template), ","), ",") {
			if name != "" && !strings.Contains(known, ","+name+",") {
				missing = append(missing, "--known "+name+"=VALUE")
			}
		}
		if len(missing) > 0 {
			return usagef("%s: nothing was found; other variables are not known: add %s", req.Template, strings.Join(missing, " "))
		}
	}
	return explain(err, req.Template)
}

// variables returns the names of a template's variables, with a comma before and after each.
func variables(template string) string {
	names := ","
	for _, part := range strings.Split(template, "{")[1:] {
		expression, _, _ := strings.Cut(part, "}")
		for name := range strings.SplitSeq(strings.TrimLeft(expression, "+#./;?&"), ",") {
			name, _, _ = strings.Cut(strings.TrimSuffix(name, "*"), ":")
			names += name + ","
		}
	}
	return names
}
