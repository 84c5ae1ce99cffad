package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFront(t *testing.T) {
	tests := []struct{ name, in, title, description string }{
		{"heading and paragraph", "# Title\n\nFirst paragraph\nof two lines.\n\nSecond.\n", "Title", "First paragraph of two lines."},
		{"empty", "", "", ""},
		{"no heading", "Just text.\n", "", "Just text."},
		{"heading alone", "# Title", "Title", ""},
		{"a lower heading is the first heading", "### Deep\ntext", "Deep", "text"},
		{"only the first heading", "# One\n# Two\ntext", "One", "text"},
		{"closing hashes", "## Title ##\ntext", "Title", "text"},
		{"a hash in the title stays", "# C#\n", "C#", ""},
		{"seven hashes are text", "####### no\n", "", "####### no"},
		{"a hash without a space is text", "#tag\n", "", "#tag"},
		{"an empty heading is passed over", "#\n# Real\n", "Real", ""},
		{"underlined", "Title\n=====\n\ntext\n", "Title", "text"},
		{"underlined with hyphens", "Title\n---\ntext\n", "Title", "text"},
		{"paragraph before the heading", "Intro.\n\n# Title\n\ntext\n", "Title", "Intro."},
		{"front matter", "---\ntitle: no\n---\n# Yes\n\ntext\n", "Yes", "text"},
		{"front matter without an end", "---\n\n# Yes\n", "Yes", ""},
		{"byte order mark", "\ufeff# Title\n", "Title", ""},
		{"CR LF", "# Title\r\n\r\none\r\ntwo\r\n\r\nthree", "Title", "one two"},
		{"CR alone", "# Title\r\rone\rtwo", "Title", "one two"},
		{"fenced code", "```sh\n# not a heading\n\nnot text\n```\n# Title\ntext", "Title", "text"},
		{"a longer fence is closed by its like", "````\n```\n# no\n````\n# Title\n", "Title", ""},
		{"tildes", "~~~\n# no\n~~~\n# Title\n", "Title", ""},
		{"a fence without an end", "# Title\n```\ntext\n", "Title", ""},
		{"indented code", "    # no\n\n# Title\n", "Title", ""},
		{"comment", "<!-- # no\n\nno -->\n# Title\n\ntext", "Title", "text"},
		{"comment on one line", "<!-- no -->\ntext", "", "text"},
		{"HTML block", "<div align=\"center\">\nno\n</div>\n\n# Title\n", "Title", ""},
		{"HTML inside text", "<b>Bold</b> text<br/>\n", "", "Bold text"},
		{"list", "# Title\n\n- one\n- two\n\n  more of two\n\ntext", "Title", "text"},
		{"numbered list", "1. one\n2) two\n\ntext", "", "text"},
		{"a year is not a list", "It began in\n1999. It ended later.", "", "It began in 1999. It ended later."},
		{"quotation", "> said\n> so\n\ntext", "", "text"},
		{"table", "| a | b |\n|---|---|\n\ntext", "", "text"},
		{"thematic break", "***\n\n- - -\n\ntext", "", "text"},
		{"link definition", "[x]: https://example.test\n\ntext", "", "text"},
		{"badges alone", "# T\n\n[![build](b.svg)](https://ci.test) ![x](y.png)\n\ntext", "T", "text"},
		{"links", "A [link](https://example.test/a_(b)) and [another][ref].", "", "A link and another."},
		{"a bracket alone stays", "a [b] c", "", "a [b] c"},
		{"emphasis", "**Bold**, *it*, __b__, _i_, ~~old~~, snake_case_name, 2 * 3 and a~b", "", "Bold, it, b, i, old, snake_case_name, 2 * 3 and a~b"},
		{"code span", "Use `a*b*` or `` a`b ``, and ` alone", "", "Use a*b* or a`b, and ` alone"},
		{"autolink", "See <https://example.test> or <me@example.test>.", "", "See https://example.test or me@example.test."},
		{"less than", "a < b and c > d", "", "a < b and c > d"},
		{"escapes", `\# not \*em\* and \q`, "", `# not *em* and \q`},
		{"entities", "a &amp; b &lt;c&gt; &copy;", "", "a & b <c> &copy;"},
		{"white space", "a \t  b\u00a0 c", "", "a b c"},
		{"invalid UTF-8", "# a\xffb\n", "a\ufffdb", ""},
		{"a character cut at the end", "# Title\ncaf\xc3", "Title", "caf"},
		{"a control character", "a\x00b\x1b[0m", "", "a b [0m"},
		{"non-ASCII", "# Überblick über 日本語\n\nÄ.\n", "Überblick über 日本語", "Ä."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			title, description := front([]byte(tt.in))
			if title != tt.title || description != tt.description {
				t.Errorf("front(%q)\n got %q, %q\nwant %q, %q", tt.in, title, description, tt.title, tt.description)
			}
		})
	}
}

func TestFrontIsBounded(t *testing.T) {
	title, description := front([]byte("# " + strings.Repeat("word ", 200) + "\n\n" + strings.Repeat("ä", 4000)))
	if n := utf8.RuneCountInString(title); n > titleRunes || !strings.HasSuffix(title, "word…") {
		t.Errorf("title of %d characters: %q", n, title)
	}
	if n := utf8.RuneCountInString(description); n != descriptionRunes || !strings.HasSuffix(description, "ä…") {
		t.Errorf("description of %d characters: %q", n, description)
	}
}

func FuzzFront(f *testing.F) {
	for _, s := range []string{"# T\n\ntext", "---\na: b\n---\n> q", "[![a](b)](c) `` ` ``", "<!--", "```\n", "1.\n*\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		title, description := front(in)
		for _, s := range []string{title, description} {
			if !utf8.ValidString(s) || strings.ContainsAny(s, "\n\r\x00") || utf8.RuneCountInString(s) > descriptionRunes {
				t.Errorf("front(%q) gave %q", in, s)
			}
		}
	})
}

// Nested brackets are the costly case: each one looks for its end.
func BenchmarkFrontBrackets(b *testing.B) {
	in := []byte(strings.Repeat("[", frontBytes))
	for b.Loop() {
		front(in)
	}
}
