package host_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/printer"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// apiPackages are what embedders and authors of providers and SDKs import.
func apiPackages() []string {
	return []string{"abi", "host", "host/memprovider", "host/provider", "host/providertest", "host/wasmplugin"}
}

// Each line of the golden file says how far its name can be relied on. A stable name keeps its meaning and its signature within a
// major version; an experimental one may change with any release. -update gives new names the second.
const (
	stable       = "stable"
	experimental = "experimental"
)

// TestExportedAPI holds every exported name against testdata/api.golden. Run it with -update after a deliberate change, and read
// the difference: a stable line that goes is a break.
func TestExportedAPI(t *testing.T) {
	golden := filepath.Join("testdata", "api.golden")
	old, err := os.ReadFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	levels := map[string]string{} // package and declaration, to level
	pkg := ""
	for line := range strings.Lines(string(old)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "package "); ok {
			pkg = name
		} else if level, decl, ok := strings.Cut(line, " "); ok {
			if level != stable && level != experimental {
				t.Errorf("%s: %q is neither %s nor %s", golden, line, stable, experimental)
			}
			levels[pkg+" "+strings.TrimSpace(decl)] = level
		}
	}
	fset, files := sources(t)
	var got bytes.Buffer
	for _, pkg := range apiPackages() {
		fmt.Fprintf(&got, "package %s\n", pkg)
		decls := map[string]bool{}
		for i := range files {
			if files[i].pkg == pkg {
				exported(fset, files[i].file, decls)
			}
		}
		for _, decl := range slices.Sorted(maps.Keys(decls)) {
			level := levels[pkg+" "+decl]
			if level == "" {
				level = experimental
			}
			fmt.Fprintf(&got, "%-13s%s\n", level, decl)
		}
		got.WriteByte('\n')
	}
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(string(old), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("the exported API changed: go test ./host -run ExportedAPI -update (-golden +source):\n%s", diff)
	}
}

// exported adds a line for each exported declaration of a file, and for each exported field and method.
func exported(fset *token.FileSet, file *ast.File, decls map[string]bool) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !d.Name.IsExported() || d.Recv != nil && !exportedReceiver(d.Recv) {
				continue
			}
			kind := "func "
			if d.Recv != nil {
				kind = "method (" + printed(fset, d.Recv.List[0].Type) + ") "
			}
			decls[kind+d.Name.Name+strings.TrimPrefix(printed(fset, d.Type), "func")] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.IsExported() {
							decls[d.Tok.String()+" "+name.Name] = true
						}
					}
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						exportedType(fset, spec, decls)
					}
				}
			}
		}
	}
}

func exportedType(fset *token.FileSet, spec *ast.TypeSpec, decls map[string]bool) {
	name := spec.Name.Name
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		decls["type "+name+" struct"] = true
		members(fset, "field "+name+".", typ.Fields, decls)
	case *ast.InterfaceType:
		decls["type "+name+" interface"] = true
		members(fset, "method "+name+".", typ.Methods, decls)
	default:
		equals := ""
		if spec.Assign.IsValid() {
			equals = "= "
		}
		decls["type "+name+" "+equals+printed(fset, spec.Type)] = true
	}
}

func members(fset *token.FileSet, prefix string, list *ast.FieldList, decls map[string]bool) {
	for _, field := range list.List {
		if len(field.Names) == 0 {
			decls[prefix+"embedded "+printed(fset, field.Type)] = true
		}
		for _, name := range field.Names {
			if !name.IsExported() {
				continue
			}
			if _, method := field.Type.(*ast.FuncType); method && strings.HasPrefix(prefix, "method") {
				decls[prefix+name.Name+strings.TrimPrefix(printed(fset, field.Type), "func")] = true
			} else {
				decls[prefix+name.Name+" "+printed(fset, field.Type)] = true
			}
		}
	}
}

func exportedReceiver(recv *ast.FieldList) bool {
	typ := recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// printed prints a type on one line.
func printed(fset *token.FileSet, n ast.Node) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, fset, n); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
