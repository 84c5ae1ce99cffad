package abi_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/abi"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// TestGolden keeps every exported constant at its value. A line may be added; one that changes or goes is a break of the
// ABI, and needs the specification and every SDK in the same commit.
func TestGolden(t *testing.T) {
	got := constantsText(t)
	path := filepath.Join("testdata", "reshost_v1.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(string(want), got); d != "" {
		t.Errorf("constants differ from %s; rewrite it with -update if that is meant (-want +got):\n%s", path, d)
	}
}

// source returns the package's files and its type information.
func source(t *testing.T) (*types.Package, []*ast.File) {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check("abi", fset, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg, files
}

// constantsText writes every exported constant in the order of the source, file by file.
func constantsText(t *testing.T) string {
	t.Helper()
	pkg, files := source(t)
	var b strings.Builder
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				for _, id := range spec.(*ast.ValueSpec).Names {
					if id.IsExported() {
						fmt.Fprintf(&b, "%s = %s\n", id.Name, constantOf(pkg, id.Name).ExactString())
					}
				}
			}
		}
	}
	return b.String()
}

func constantOf(pkg *types.Package, name string) constant.Value {
	c, ok := pkg.Scope().Lookup(name).(*types.Const)
	if !ok {
		return constant.MakeUnknown()
	}
	return c.Val()
}

// protoField is a field of the .proto, such as {"ReadRequest", "uri", "1"}.
type protoField struct{ message, name, number string }

var (
	protoBlock = regexp.MustCompile(`(?s)(message|enum) (\w+) \{\n(.*?)\n\}`)
	protoLine  = regexp.MustCompile(`(?m)^  (?:repeated )?(?:bytes |uint64 |bool )?(\w+) = (\d+)(?: \[packed = false\])?;`)
)

// protoFields reads the .proto: its messages, or its enums.
func protoFields(t *testing.T, kind string) []protoField {
	t.Helper()
	b, err := os.ReadFile("reshost_v1.proto")
	if err != nil {
		t.Fatal(err)
	}
	var list []protoField
	for _, block := range protoBlock.FindAllStringSubmatch(string(b), -1) {
		if block[1] != kind {
			continue
		}
		for _, line := range protoLine.FindAllStringSubmatch(block[3], -1) {
			list = append(list, protoField{block[2], line[1], line[2]})
		}
	}
	return list
}

// initials are the words that Go writes in capitals, and words that the constants spell otherwise.
var initials = map[string]string{
	"uri": "URI", "json": "JSON", "mime": "MIMEType", "etag": "ETag", "url": "URL", "ms": "Millis", "ns": "Nanos", "mtime": "MTime",
	"ttl": "TTL",
}

// goName turns var_name into VarName.
func goName(s string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(s, "_") {
		if w, ok := initials[word]; ok {
			b.WriteString(w)
		} else {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return strings.Replace(b.String(), "TTLMillis", "TTL", 1) // the unit stands in the field of the struct
}

// TestProtoFields compares the .proto with the constants, both ways.
func TestProtoFields(t *testing.T) {
	pkg, _ := source(t)
	shared := map[string]bool{"ReadRequest": true, "ListRequest": true, "CompleteRequest": true, "PollRequest": true, "InitRequest": true}
	seen := make(map[string]bool)
	for _, f := range protoFields(t, "message") {
		name := f.message + goName(f.name)
		c := constantOf(pkg, name)
		if c.Kind() == constant.Unknown && shared[f.message] {
			name = "Field" + goName(f.name)
			c = constantOf(pkg, name)
		}
		if c.Kind() == constant.Unknown {
			t.Errorf("%s.%s has no constant (looked for %s)", f.message, f.name, name)
			continue
		}
		if c.ExactString() != f.number {
			t.Errorf("%s.%s is %s in the .proto, %s = %s", f.message, f.name, f.number, name, c.ExactString())
		}
		seen[name] = true
	}
	for _, line := range fieldConstants(t) {
		if !seen[line] {
			t.Errorf("%s is not in the .proto", line)
		}
	}
}

// fieldConstants returns the names of the constants in field.go that number fields.
func fieldConstants(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "field.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{
		"ScopePublic": true, "EntryFile": true, "EntryFolder": true,
		"SQLNull": true, "SQLInt": true, "SQLFloat": true, "SQLText": true, "SQLBytes": true,
	}
	var names []string
	for _, d := range f.Decls {
		for _, spec := range d.(*ast.GenDecl).Specs {
			for _, id := range spec.(*ast.ValueSpec).Names {
				if !values[id.Name] {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}

// TestProtoMessages holds the set of messages in the .proto to those that this package has.
func TestProtoMessages(t *testing.T) {
	var got []string
	for _, f := range protoFields(t, "message") {
		if !slices.Contains(got, f.message) {
			got = append(got, f.message)
		}
	}
	var want []string
	for name := range messages() {
		want = append(want, name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("messages of the .proto (-want +got):\n%s", d)
	}
}

// TestProtoc has the real compiler decode a message, where it is installed.
func TestProtoc(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("protoc is not installed; the continuous build installs it")
		}
		t.Skip("protoc is not installed")
	}
	cmd := exec.Command(protoc, "--decode=reshost_v1.ReadRequest", "reshost_v1.proto")
	cmd.Stdin = bytes.NewReader(smallRead().Append(nil))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("protoc: %v\n%s", err, out)
	}
	for _, line := range []string{
		`uri: "docs://guide/install.md"`, `template_index: 1`, `var_name: "name"`, `var_value: "guide/install.md"`,
		`deadline_ms: 10000`, `now_ms: 1780000000000`, `uri_template: "docs://{name}"`,
	} {
		if !strings.Contains(string(out), line+"\n") {
			t.Errorf("protoc does not show %q; it shows\n%s", line, out)
		}
	}
}

// TestProtoEnums compares statuses and kinds with the .proto by their names.
func TestProtoEnums(t *testing.T) {
	var want []protoField
	for s := abi.StatusOK; s <= abi.StatusNotModified; s++ {
		want = append(want, protoField{"Status", strings.ToUpper(s.String()), fmt.Sprint(int32(s))})
	}
	want = append(want, protoField{"Kind", "KIND_UNSET", "0"})
	for k := abi.Kind(1); k <= abi.KindProgress; k++ {
		if k.String() != "" {
			want = append(want, protoField{"Kind", "KIND_" + k.String(), fmt.Sprint(int32(k))})
		}
	}
	got := protoFields(t, "enum")
	order := func(a, b protoField) int { return cmp.Compare(a.message+a.name, b.message+b.name) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if d := gocmp.Diff(want, got, gocmp.AllowUnexported(protoField{})); d != "" {
		t.Errorf("enums (-want +got):\n%s", d)
	}
}
