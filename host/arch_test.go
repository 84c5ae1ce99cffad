package host_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/reshost/reshost"

// Modules outside the standard library, as the table below names them.
const (
	modJSON     = "github.com/go-json-experiment/json"
	modTemplate = "github.com/yosida95/uritemplate/v3"
	modWazero   = "github.com/tetratelabs/wazero"
	modSys      = "golang.org/x/sys"
	modCobra    = "github.com/spf13/cobra"
	modHclog    = "github.com/hashicorp/go-hclog"
	modYAML     = "go.yaml.in/yaml/v4"
	modOtter    = "github.com/maypok86/otter/v2"
	modSchema   = "github.com/santhosh-tekuri/jsonschema/v6"
)

// arrow says what the packages of one folder may import beside the standard library: folders of this module, and modules.
// "x/..." is x and all below it.
type arrow struct {
	folder  string
	imports []string
}

// arrows returns the table of the repository's imports. The first line whose folder fits a package counts. A package without a
// line, or an import that its line lacks, fails the test: a new arrow is a line changed here, with its reason in the commit.
func arrows() []arrow {
	return []arrow{
		// The contract between host and guest is read by both: the standard library only.
		{"abi/...", nil},
		// The seam. It names no engine, no protocol and no codec.
		{"host/provider", nil},
		{"host/internal/uri", nil},
		{"host/internal/uritemplate", []string{"host/internal/uri", "host/provider", modTemplate}},
		// Protocol: transports call the dispatcher, and the dispatcher knows resources only through its Backend.
		{"host/internal/jsonrpc", nil},
		{"host/internal/subs", nil},
		{"host/internal/flight", nil},
		{"host/internal/epoch", nil},
		// Results between requests. Which of them goes when there is no room is a library's affair.
		{"host/cache", []string{"host/provider", modOtter}},
		{"host/cachetest", []string{"host/cache", "host/provider"}},
		{"host/internal/question", []string{"host/provider", modJSON}},
		{"host/internal/mcp", []string{"host/internal/jsonrpc", "host/internal/question", "host/provider", modJSON}},
		{"host/internal/stdio", []string{"host/internal/mcp", "host/internal/jsonrpc", "host/provider"}},
		{"host/internal/httpd", []string{"host/internal/mcp", "host/internal/jsonrpc", "host/provider"}},
		// The core. It imports no engine: an application with native providers alone links none.
		{"host", []string{"host/provider", "host/internal/...", "host/cache", modJSON}},
		{"host/memprovider", []string{"host/provider"}},
		{"host/providertest", []string{"host/provider", "host/internal/question", "host/internal/uri", "host/internal/uritemplate", modJSON}},
		// The engine, and the only importer of wazero.
		{"host/wasmplugin", []string{
			"abi", "host/provider", "host/internal/question", "host/internal/uri", "host/internal/uritemplate", "host/wasmplugin/internal/...",
			modWazero, modJSON, modSys,
		}},
		{"host/wasmplugin/internal/...", []string{modSys}},
		// Guests know the contract alone.
		{"sdk-guest/go/reshost", []string{"abi"}},
		{"sdk-guest/go/reshost/reshosttest", []string{"abi", "sdk-guest/go/reshost"}},
		{"sdk-guest/conformance/go", []string{"sdk-guest/go/reshost"}},
		{"plugins/...", []string{"sdk-guest/go/reshost", "plugins/internal/..."}},
		{"examples/conformance", []string{"sdk-guest/go/reshost"}},
		{"examples/ask", []string{"sdk-guest/go/reshost"}},
		// Examples for embedders and the command are clients of the public API.
		{"examples/...", []string{"host", "host/provider", "host/memprovider", "host/wasmplugin", "sdk-guest/go/reshost"}},
		{"cmd/reshost/internal/pluginbuild/...", []string{"cmd/reshost/internal/...", "host/wasmplugin"}},
		{"cmd/reshost/internal/builtin", nil},
		{"cmd/reshost/internal/pluginschema", []string{modSchema}},
		{"cmd/reshost/...", []string{
			"abi", "host", "host/provider", "host/memprovider", "host/wasmplugin", "cmd/reshost/internal/...", modJSON, modCobra, modHclog, modYAML, modSys,
		}},
	}
}

// fits reports whether a package path is named by a pattern of the table.
func fits(pattern, pkg string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == prefix || strings.HasPrefix(pkg, prefix+"/")
	}
	return pkg == pattern
}

// inModule reports whether an import is a package of a module of the table.
func inModule(module, pkg string) bool { return pkg == module || strings.HasPrefix(pkg, module+"/") }

// source is a Go file that is no test, of any build constraint.
type source struct {
	name string // from the repository's root, with slashes
	pkg  string // its folder
	file *ast.File
}

// sources parses the repository. Folders with a go.mod of their own are other modules.
func sources(t *testing.T) (*token.FileSet, []source) {
	t.Helper()
	const root = ".."
	fset := token.NewFileSet()
	var out []source
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() {
			if name != root && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" || isModule(name)) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		out = append(out, source{rel, path.Dir(rel), file})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("only %d files found: the walk is wrong", len(out))
	}
	return fset, out
}

func isModule(folder string) bool {
	matches, err := filepath.Glob(filepath.Join(folder, "go.mod"))
	return err == nil && len(matches) > 0
}

// imports returns the paths that a file imports from outside the standard library, those of this module without its path.
func (s *source) imports(t *testing.T) []string {
	var out []string
	for _, spec := range s.file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if own, ok := strings.CutPrefix(name, modulePath+"/"); ok {
			out = append(out, own)
		} else if first, _, _ := strings.Cut(name, "/"); strings.Contains(first, ".") {
			out = append(out, name)
		}
	}
	return out
}

// TestImportArrows holds every import of the repository against the table.
func TestImportArrows(t *testing.T) {
	table := arrows()
	used := make([]bool, len(table))
	_, files := sources(t)
	for i := range files {
		s := &files[i]
		line := slices.IndexFunc(table, func(a arrow) bool { return fits(a.folder, s.pkg) })
		if line < 0 {
			t.Errorf("%s: package %s has no line in the table", s.name, s.pkg)
			continue
		}
		used[line] = true
		for _, name := range s.imports(t) {
			if !slices.ContainsFunc(table[line].imports, func(p string) bool { return fits(p, name) || inModule(p, name) }) {
				t.Errorf("%s imports %s: the line of %s has no such arrow", s.name, name, table[line].folder)
			}
		}
	}
	for i, a := range table {
		if !used[i] && !strings.HasSuffix(a.folder, "/...") {
			t.Errorf("the table has a line for %s, and there is no such package", a.folder)
		}
	}
}

// TestHostLinksNoEngine follows the imports of package host: an application with native providers carries no WebAssembly.
func TestHostLinksNoEngine(t *testing.T) {
	_, files := sources(t)
	next := []string{"host", "host/memprovider", "host/providertest"}
	seen := map[string]bool{}
	for len(next) > 0 {
		pkg := next[0]
		next = next[1:]
		if seen[pkg] {
			continue
		}
		seen[pkg] = true
		for i := range files {
			if files[i].pkg != pkg {
				continue
			}
			for _, name := range files[i].imports(t) {
				if inModule(modWazero, name) || name == "host/wasmplugin" {
					t.Errorf("%s imports %s, and package host depends on it", files[i].name, name)
				}
				next = append(next, name)
			}
		}
	}
	if !seen["host/internal/uri"] {
		t.Error("host/internal/uri was not reached: the walk is wrong")
	}
}

// TestNoHiddenState: no init, no environment outside cmd, no printing and no exit from libraries (style rules 5 and 24). Guests
// are programs of their own.
func TestNoHiddenState(t *testing.T) {
	banned := map[string]bool{
		"os.Getenv": true, "os.LookupEnv": true, "os.Environ": true, "os.ExpandEnv": true, "os.Exit": true, "log.Fatal": true,
		"fmt.Print": true, "fmt.Println": true, "fmt.Printf": true,
	}
	fset, files := sources(t)
	for i := range files {
		s := &files[i]
		if top, _, _ := strings.Cut(s.pkg, "/"); top != "host" && top != "abi" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					t.Errorf("%s: func init", fset.Position(n.Pos()))
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && banned[x.Name+"."+n.Sel.Name] {
					t.Errorf("%s: %s.%s", fset.Position(n.Pos()), x.Name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestRevisionsStandInOnePlace: only host/internal/mcp knows protocol revisions (style rule 2).
func TestRevisionsStandInOnePlace(t *testing.T) {
	revision := regexp.MustCompile(`^"20\d\d-\d\d-\d\d"$`)
	fset, files := sources(t)
	found := false
	for i := range files {
		s := &files[i]
		if top, _, _ := strings.Cut(s.pkg, "/"); top != "host" {
			continue // clients speak a revision of their choice
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && revision.MatchString(lit.Value) {
				if s.pkg == "host/internal/mcp" {
					found = true
				} else {
					t.Errorf("%s: revision %s", fset.Position(lit.Pos()), lit.Value)
				}
			}
			return true
		})
	}
	if !found {
		t.Error("host/internal/mcp names no revision: the test looks for the wrong thing")
	}
}

// TestArrowsCanFail shows that the table's patterns tell packages apart.
func TestArrowsCanFail(t *testing.T) {
	for _, tt := range []struct {
		pattern, pkg string
		want         bool
	}{
		{"host", "host", true},
		{"host", "host/provider", false},
		{"host/internal/...", "host/internal/mcp", true},
		{"host/internal/...", "host/internals", false},
		{"abi/...", "abi", true},
	} {
		if got := fits(tt.pattern, tt.pkg); got != tt.want {
			t.Errorf("fits(%q, %q) = %v", tt.pattern, tt.pkg, got)
		}
	}
	if inModule(modWazero, "github.com/tetratelabs/wazero-evil/x") || !inModule(modWazero, modWazero+"/api") {
		t.Error("inModule does not stop at a slash")
	}
}
