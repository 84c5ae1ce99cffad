package memprovider_test

import (
	"context"
	"fmt"

	"github.com/reshost/reshost/host/memprovider"
	"github.com/reshost/reshost/host/provider"
)

func Example() {
	notes, err := memprovider.New("notes", &memprovider.Options{Title: "Notes"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for path, text := range map[string]string{"todo/today.md": "# Today\n", "todo/café 1.md": "# Café\n"} {
		if err := notes.SetText(path, "text/markdown", text); err != nil {
			fmt.Println(err)
			return
		}
	}
	// A host does the rest: host.Add(notes). What it will list:
	page, err := notes.List(context.Background(), &provider.ListRequest{PageSize: 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range page.Resources {
		fmt.Println(r.URI, *r.Size, r.MIMEType)
	}
	// Output:
	// notes://todo/caf%C3%A9%201.md 8 text/markdown
	// notes://todo/today.md 8 text/markdown
}
