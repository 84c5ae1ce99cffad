package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// changeJSON is a line of watch --json: one of the two.
type changeJSON struct {
	URI         string `json:"uri,omitzero"`
	ListChanged bool   `json:"listChanged,omitzero"`
}

func (a *app) watchCommand() *cobra.Command {
	return a.remoteFlags(a.jsonFlag(&cobra.Command{
		Use:   "watch URI…",
		Short: "Print changes of resources as they come",
		Long: `Print a line for each change of the resources, of what is below them, and of the lists. Changes in quick succession can
be told as one. With --url a lost connection is made anew, and since changes can be missed meanwhile, every resource is then
told as changed. It ends with Ctrl-C.`,
		Example: "  reshost watch docs://README.md --url http://127.0.0.1:8642/mcp",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("URI is missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSource(cmd.Context(), func(s source) error { return a.watch(cmd.Context(), s, args) })
		},
	}))
}

// watch ends without an error when it is interrupted.
func (a *app) watch(ctx context.Context, s source, uris []string) error {
	for c, err := range s.Watch(ctx, uris) {
		switch {
		case err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return nil
		case err != nil:
			return explainWatch(err, uris)
		case a.json:
			err = a.writeJSON(changeJSON{URI: c.URI, ListChanged: c.URI == ""})
		case c.URI == "":
			err = a.printf("list changed\n")
		default:
			err = a.printf("updated %s\n", printable(c.URI))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// explainWatch names the one URI where there is one; else the error does.
func explainWatch(err error, uris []string) error {
	if errors.As(err, new(notFound)) {
		return err
	}
	what := "watch"
	if len(uris) == 1 {
		what = uris[0]
	}
	return explain(err, what)
}
