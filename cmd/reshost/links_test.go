package main

import (
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLinks holds that every relative link of the repository's Markdown leads to a file or a folder that is there.
func TestLinks(t *testing.T) {
	const root = "../.."
	link := regexp.MustCompile(`\]\(<?([^()<>\s]+)>?\)`)
	pages, links := 0, 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (entry.Name()[0] == '.' || entry.Name() == "testdata" || entry.Name() == "bin"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".md"):
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		pages++
		for _, m := range link.FindAllStringSubmatch(prose(string(text)), -1) {
			u, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: the link %q is malformed: %v", name, m[1], err)
				continue
			}
			if u.Scheme != "" || u.Host != "" || u.Path == "" {
				continue // elsewhere, or a heading of the same page
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), filepath.FromSlash(u.Path))); err != nil {
				t.Errorf("%s: the link %q leads nowhere", name, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if pages < 10 || links < 15 {
		t.Errorf("only %d pages with %d links found: the walk is wrong", pages, links)
	}
}

// prose returns the text of a page without its blocks of code, where brackets are no links.
func prose(text string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if !code {
			b.WriteString(line)
		}
	}
	return b.String()
}
