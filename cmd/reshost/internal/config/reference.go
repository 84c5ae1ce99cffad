package config

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
)

const referenceHead = `# Configuration

Generated from the table in ` + "`cmd/reshost/internal/config`" + `: edit there, then run ` + "`go test ./cmd/reshost/internal/config -update`" + `.

reshost is configured by one YAML file: ` + "`reshost serve --config reshost.yaml`" + `. ` + "`reshost config check`" + ` checks it,
` + "`reshost config show --effective`" + ` prints it with all defaults, and ` + "`reshost config schema`" + ` prints its JSON Schema for editors.

- The file is read strictly: an unknown key, a wrong type, a conflict or a key that this build cannot serve yet is an error
  that names file, line, column and key. All errors are reported at once.
- Relative paths are relative to the file's folder.
- Durations are written like ` + "`30s`, `5m` or `250ms`" + `, sizes like ` + "`64KiB`, `16MiB`" + ` or a plain number of bytes.
- Secrets come from the environment, ` + "`${env:NAME}`" + `, or from a file, ` + "`${file:path}`" + `; those under ` + "`secrets`" + ` are used elsewhere as
  ` + "`${secret:NAME}`" + `. They can stand only in ` + "`secrets`, `server.keys`, `plugins[].grants` and `plugins[].webhook`" + `, never in
  ` + "`plugins[].config`" + `, which the plugin reads. ` + "`$${`" + ` stands for the text ` + "`${`" + `. Wherever a configuration is printed, secrets are masked.
- Anchors and aliases work; merge keys (` + "`<<`" + `) do not.

A small file:

` + "```yaml\n" + Example + "```\n"

// Example is the file that the reference page shows.
const Example = `version: 1
server:
  name: acme
  title: Acme resources
plugins:
  - name: handbook
    source: builtin:docs
    schemes: { docs: handbook }
    grants:
      fs: { root: ./docs }
`

// Reference returns the reference page of all keys, in Markdown.
func Reference() []byte {
	var b bytes.Buffer
	b.WriteString(referenceHead)
	writeSection(&b, reflect.TypeFor[Config](), "")
	return b.Bytes()
}

func writeSection(b *bytes.Buffer, t reflect.Type, path string) {
	title := "The file"
	if path != "" {
		title = "`" + path + "`"
	}
	fmt.Fprintf(b, "\n## %s\n\n| key | takes | default | meaning |\n| --- | --- | --- | --- |\n", title)
	fields := fieldsOf(t)
	for i := range fields {
		f := &fields[i]
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.key, cell(takes(t.Field(f.index).Type, f)), code(f.def), cell(meaning(f)))
	}
	for i := range fields {
		f := &fields[i]
		if inner, suffix := innerSection(t.Field(f.index).Type); inner != nil {
			writeSection(b, inner, strings.TrimPrefix(path+"."+f.key, ".")+suffix)
		}
	}
}

// innerSection returns the section that a key leads to, if any, and how its path goes on.
func innerSection(t reflect.Type) (reflect.Type, string) {
	suffix := ""
	switch shapeOf(t) {
	case shapeList:
		t, suffix = t.Elem(), "[]"
	case shapeMap:
		t, suffix = t.Elem(), ".NAME"
	}
	if shapeOf(t) != shapeSection {
		return nil, ""
	}
	return section(t), suffix
}

func takes(t reflect.Type, f *field) string {
	switch shapeOf(t) {
	case shapeList:
		return "a list: " + takes(t.Elem(), f)
	case shapeMap:
		return "names, each with " + takes(t.Elem(), f)
	case shapeSection:
		return "a section"
	case shapeSecret:
		return "text or a secret"
	case shapeDuration:
		return withOff("a duration", f)
	case shapeBytes:
		return withOff("a size", f)
	}
	return want(t, f)
}

func withOff(s string, f *field) string {
	if f.off {
		return s + ", or off"
	}
	return s
}

func meaning(f *field) string {
	s := f.doc
	if f.required {
		s = "Required. " + s
	}
	if f.soon {
		s = "**" + soonNote + "** " + s
	}
	if f.example != "" {
		s += " Example: " + code(f.key+": "+f.example) + "."
	}
	return s
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// cell keeps a | from ending a table's cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
