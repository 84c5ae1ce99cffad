package main

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Bounds on what is taken from a document's front.
const (
	// frontBytes is how much of a document is looked at for its title and description.
	frontBytes = 8 << 10
	// blockBytes is how much of one paragraph or heading is kept before its markup is taken off.
	blockBytes       = 1 << 10
	titleRunes       = 200
	descriptionRunes = 300
	// linkDepth is how deep links and images may be nested before they are taken literally.
	linkDepth = 4
)

// front returns the text of a Markdown document's first heading and of its first paragraph, both on one line, without
// inline markup, and cut to a length that suits a list. Either is empty where the document, of which head is the
// beginning, has none. A YAML front matter, code, HTML, lists, quotations, tables and paragraphs of images alone are
// passed over. It covers the common part of CommonMark and never fails: what it does not know stands for itself.
func front(head []byte) (title, description string) {
	p := frontParser{rest: trimPartialRune(head)}
	p.rest = bytes.TrimPrefix(p.rest, []byte("\ufeff"))
	p.skipFrontMatter()
	for !p.done() {
		line, ok := p.nextLine()
		if !ok {
			break
		}
		p.take(line)
	}
	p.endParagraph()
	return cut(p.title, titleRunes), cut(p.description, descriptionRunes)
}

type frontParser struct {
	rest               []byte
	paragraph          []byte
	title, description string
	// until ends a block that is passed over: a closing fence, "-->", or "" for a blank line.
	until    string
	skipping bool
	inList   bool
}

func (p *frontParser) done() bool { return p.title != "" && p.description != "" }

// nextLine returns the next line without its end, which is LF, CR LF or CR.
func (p *frontParser) nextLine() ([]byte, bool) {
	if len(p.rest) == 0 {
		return nil, false
	}
	i := bytes.IndexAny(p.rest, "\r\n")
	if i < 0 {
		line := p.rest
		p.rest = nil
		return line, true
	}
	line := p.rest[:i]
	if p.rest[i] == '\r' && i+1 < len(p.rest) && p.rest[i+1] == '\n' {
		i++
	}
	p.rest = p.rest[i+1:]
	return line, true
}

// skipFrontMatter passes over a leading block between two lines of three hyphens. A block that does not end is text.
func (p *frontParser) skipFrontMatter() {
	all := p.rest
	line, ok := p.nextLine()
	if !ok || string(bytes.TrimRight(line, " \t")) != "---" {
		p.rest = all
		return
	}
	for {
		line, ok = p.nextLine()
		if !ok {
			p.rest = all
			return
		}
		if s := string(bytes.TrimRight(line, " \t")); s == "---" || s == "..." {
			return
		}
	}
}

// take adds one line to the block it belongs to.
func (p *frontParser) take(line []byte) {
	text := bytes.Trim(line, " \t")
	if p.skipping {
		p.skip(text)
		return
	}
	if len(text) == 0 {
		p.endParagraph()
		return
	}
	indent := indentation(line)
	if len(p.paragraph) == 0 && (indent >= 4 || p.inList && indent >= 2) {
		return // indented code, or the next paragraph of a list item
	}
	p.inList = false
	if indent < 4 && p.interrupts(text) {
		return
	}
	if len(p.paragraph) > 0 {
		p.paragraph = append(p.paragraph, ' ')
	}
	if room := blockBytes - len(p.paragraph); room > 0 {
		p.paragraph = append(p.paragraph, text[:min(room, len(text))]...)
	}
}

// skip passes over one line of a block and ends the block where it ends.
func (p *frontParser) skip(text []byte) {
	switch {
	case p.until == "":
		p.skipping = len(text) > 0
	case p.until == "-->":
		p.skipping = !bytes.Contains(text, []byte(p.until))
	default:
		closes := bytes.HasPrefix(text, []byte(p.until)) && len(bytes.Trim(text, p.until[:1])) == 0
		p.skipping = !closes
	}
}

// interrupts reports whether text, a line indented by less than four, belongs to no paragraph, and takes it.
func (p *frontParser) interrupts(text []byte) bool {
	open := len(p.paragraph) > 0
	if open && isUnderline(text) {
		p.setTitle(p.paragraph)
		p.paragraph = p.paragraph[:0]
		return true
	}
	if heading, ok := atxHeading(text); ok {
		p.endParagraph()
		p.setTitle(heading)
		return true
	}
	if isBreak(text) {
		p.endParagraph()
		return true
	}
	if fence := codeFence(text); fence != "" {
		p.startSkip(fence)
		return true
	}
	if bytes.HasPrefix(text, []byte("<!--")) {
		if !bytes.Contains(text[len("<!--"):], []byte("-->")) {
			p.startSkip("-->")
		}
		return true
	}
	if text[0] == '>' || isListItem(text, open) {
		p.startSkip("")
		p.inList = text[0] != '>'
		return true
	}
	if open {
		return false
	}
	if text[0] == '|' || isHTMLBlock(text) {
		p.startSkip("")
		return true
	}
	return isLinkDefinition(text)
}

func (p *frontParser) startSkip(until string) {
	p.endParagraph()
	p.skipping, p.until = true, until
}

func (p *frontParser) setTitle(text []byte) {
	if p.title == "" {
		p.title = plain(text[:min(len(text), blockBytes)], linkDepth)
	}
}

func (p *frontParser) endParagraph() {
	if p.description == "" && len(p.paragraph) > 0 {
		p.description = plain(p.paragraph, linkDepth)
	}
	p.paragraph = p.paragraph[:0]
}

// indentation counts leading columns; a tab leads to the next multiple of four.
func indentation(line []byte) int {
	n := 0
	for _, c := range line {
		switch c {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// atxHeading returns the text of a line such as "## Text ##".
func atxHeading(text []byte) ([]byte, bool) {
	level := 0
	for level < len(text) && text[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || (level < len(text) && text[level] != ' ' && text[level] != '\t') {
		return nil, false
	}
	text = bytes.Trim(text[level:], " \t")
	if closed := bytes.TrimRight(text, "#"); len(closed) == 0 || closed[len(closed)-1] == ' ' || closed[len(closed)-1] == '\t' {
		text = bytes.TrimRight(closed, " \t")
	}
	return text, true
}

// isUnderline reports whether text makes the paragraph above it a heading.
func isUnderline(text []byte) bool {
	return len(bytes.Trim(text, "=")) == 0 || len(bytes.Trim(text, "-")) == 0
}

// isBreak reports whether text is a thematic break: three or more of *, - or _, with spaces between them or not.
func isBreak(text []byte) bool {
	c, n := text[0], 0
	if c != '*' && c != '-' && c != '_' {
		return false
	}
	for _, d := range text {
		switch d {
		case c:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// codeFence returns the fence that text opens a code block with, or "".
func codeFence(text []byte) string {
	n := 0
	for n < len(text) && text[n] == text[0] {
		n++
	}
	if n < 3 || (text[0] != '`' && text[0] != '~') || (text[0] == '`' && bytes.IndexByte(text[n:], '`') >= 0) {
		return ""
	}
	return string(text[:n])
}

// isListItem reports whether text begins a list item. Within a paragraph only an item that is not empty does, and
// only a numbered one that begins with 1, so that a year at a line's start stays text.
func isListItem(text []byte, inParagraph bool) bool {
	n := 0
	for n < len(text) && n < 9 && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	switch {
	case n > 0:
		if n == len(text) || (text[n] != '.' && text[n] != ')') || (inParagraph && string(text[:n]) != "1") {
			return false
		}
	case text[0] != '-' && text[0] != '*' && text[0] != '+':
		return false
	}
	after := text[n:][1:]
	return len(after) == 0 && !inParagraph || len(after) > 0 && (after[0] == ' ' || after[0] == '\t')
}

// isHTMLBlock reports whether text begins a block of HTML: a line that begins with a block-level tag, or one that
// is a single tag.
func isHTMLBlock(text []byte) bool {
	if len(text) < 2 || text[0] != '<' {
		return false
	}
	if text[1] == '!' || text[1] == '?' {
		return true
	}
	name := bytes.TrimPrefix(text[1:], []byte("/"))
	n := 0
	for n < len(name) && isAlnum(name[n]) {
		n++
	}
	if n == 0 || (n < len(name) && name[n] != ' ' && name[n] != '\t' && name[n] != '>' && name[n] != '/') {
		return false
	}
	switch strings.ToLower(string(name[:n])) {
	case "address", "article", "aside", "blockquote", "body", "center", "details", "dialog", "div", "dl", "fieldset",
		"figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header", "hr", "html", "iframe", "link",
		"main", "menu", "meta", "nav", "ol", "p", "picture", "pre", "script", "section", "style", "summary", "table",
		"textarea", "ul", "video":
		return true
	}
	return bytes.IndexByte(text, '>') == len(text)-1
}

// isLinkDefinition reports whether text is like "[name]: target".
func isLinkDefinition(text []byte) bool {
	if text[0] != '[' {
		return false
	}
	i := bytes.IndexByte(text, ']')
	return i > 1 && i+1 < len(text) && text[i+1] == ':'
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// cut shortens s to at most n runes, at a space where there is one in the second half.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	end := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	if i := strings.LastIndexByte(s[:end], ' '); i > end/2 {
		end = i
	}
	return strings.TrimRight(s[:end], " ,;:") + "…"
}

// trimPartialRune drops the first bytes of a character that the end of b cut off.
func trimPartialRune(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			return b
		}
	}
	return b
}
