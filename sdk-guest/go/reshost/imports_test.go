package reshost_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reshost/reshost/abi"
)

// TestDirectives compares the names in the SDK's directives with the ABI's constants, which a directive cannot use.
func TestDirectives(t *testing.T) {
	find := func(file, pattern string) []string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(b), -1) {
			list = append(list, strings.Join(m[1:], " "))
		}
		slices.Sort(list)
		return list
	}
	imports := []string{
		abi.Module + " " + abi.ImportReq, abi.Module + " " + abi.ImportEmit, abi.Module + " " + abi.ImportWrite, abi.Module + " " + abi.ImportLog,
		abi.ModuleConfig + " " + abi.ImportConfigGet,
		abi.ModuleFS + " " + abi.ImportFSStat, abi.ModuleFS + " " + abi.ImportFSOpen, abi.ModuleFS + " " + abi.ImportFSRead,
		abi.ModuleFS + " " + abi.ImportFSList, abi.ModuleFS + " " + abi.ImportFSClose,
		abi.ModuleHTTP + " " + abi.ImportHTTPSend, abi.ModuleHTTP + " " + abi.ImportHTTPHead, abi.ModuleHTTP + " " + abi.ImportHTTPRead,
		abi.ModuleHTTP + " " + abi.ImportHTTPClose,
		abi.ModuleKV + " " + abi.ImportKVGet, abi.ModuleKV + " " + abi.ImportKVPut, abi.ModuleKV + " " + abi.ImportKVDel,
	}
	slices.Sort(imports)
	if d := cmp.Diff(imports, find("imports.go", `//go:wasmimport (\w+) (\w+)`)); d != "" {
		t.Errorf("imports (-want +got):\n%s", d)
	}
	exports := []string{abi.ExportRead, abi.ExportList, abi.ExportComplete, abi.ExportPoll, abi.ExportDescribe, abi.ExportInit}
	slices.Sort(exports)
	if d := cmp.Diff(exports, find("exports.go", `//go:wasmexport (\w+)`)); d != "" {
		t.Errorf("exports (-want +got):\n%s", d)
	}
}

// TestLight holds the SDK to packages that do not weigh in a guest.
func TestLight(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", ".")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, heavy := range []string{"fmt", "reflect", "encoding/json", "time", "net/url", "os", "regexp", "strings"} {
		if slices.Contains(strings.Fields(string(out)), heavy) {
			t.Errorf("the SDK depends on %s", heavy)
		}
	}
}
