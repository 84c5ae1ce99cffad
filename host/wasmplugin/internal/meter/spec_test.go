package meter_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// specDir is where the WebAssembly specification's own tests are: wazero's
// module ships them compiled, with the commands of each script as JSON.
func specDir(tb testing.TB) string {
	tb.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest", "v2", "testdata")
}

type specCommand struct {
	Type     string
	Line     int
	Name     string
	Filename string
	As       string
	Action   struct {
		Type   string
		Field  string
		Module string
		Args   []specValue
	}
	ModuleType string `json:"module_type"`
	Text       string
}

type specValue struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    any
}

// TestSpecification runs the specification's tests twice, metered and plain,
// and wants the same results and the same traps; what is invalid or malformed
// there must be refused here.
func TestSpecification(t *testing.T) {
	if testing.Short() {
		t.Skip("the specification's tests take half a minute")
	}
	dir := specDir(t)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in %s: %v", dir, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".json"), func(t *testing.T) {
			t.Parallel()
			runSpec(t, f)
		})
	}
}

// specRun is one script with its two runtimes.
type specRun struct {
	t        *testing.T
	dir      string
	runtimes [2]wazero.Runtime // plain, metered
	current  *[2]api.Module
	named    map[string]*[2]api.Module
	calls    int
	refused  int
}

func runSpec(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var script struct{ Commands []specCommand }
	if err := json.Unmarshal(text, &script); err != nil {
		t.Fatal(err)
	}
	s := &specRun{t: t, dir: filepath.Dir(file), named: map[string]*[2]api.Module{}}
	for i := range s.runtimes {
		s.runtimes[i] = newRuntime(t)
		addSpectest(t, s.runtimes[i])
	}
	for _, c := range script.Commands {
		s.command(c)
	}
	t.Logf("%d calls compared, %d modules refused", s.calls, s.refused)
}

// addSpectest adds the functions of the scripts' host module; modules that
// import its memory, table and globals are refused before they are linked.
func addSpectest(t *testing.T, rt wazero.Runtime) {
	b := rt.NewHostModuleBuilder("spectest")
	for name, params := range map[string][]api.ValueType{
		"print": nil, "print_i32": {api.ValueTypeI32}, "print_i64": {api.ValueTypeI64}, "print_f32": {api.ValueTypeF32},
		"print_f64": {api.ValueTypeF64}, "print_i32_f32": {api.ValueTypeI32, api.ValueTypeF32}, "print_f64_f64": {api.ValueTypeF64, api.ValueTypeF64},
	} {
		b.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), params, nil).Export(name)
	}
	if _, err := b.Instantiate(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func (s *specRun) command(c specCommand) {
	switch c.Type {
	case "module":
		s.module(c)
	case "register":
		if m := s.find(c.Name); m != nil {
			s.named[c.As] = m
		}
	case "assert_return", "assert_trap", "assert_exhaustion", "action":
		if m := s.find(c.Action.Module); m != nil {
			s.action(c, m)
		}
	case "assert_invalid", "assert_malformed":
		if strings.HasSuffix(c.Filename, ".wasm") {
			s.invalid(c)
		}
	case "assert_unlinkable", "assert_uninstantiable":
		// Linking is the engine's; the modules must pass or be refused whole.
		wasm := s.read(c.Filename)
		if res, err := meter.Instrument(wasm, nil); err == nil {
			if _, err := s.runtimes[1].CompileModule(context.Background(), res.Wasm); err != nil {
				s.t.Errorf("line %d: the result does not compile: %v", c.Line, err)
			}
		}
	}
}

func (s *specRun) find(name string) *[2]api.Module {
	if name == "" {
		return s.current
	}
	return s.named[name]
}

func (s *specRun) read(name string) []byte {
	b, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return b
}

func (s *specRun) invalid(c specCommand) {
	wasm := s.read(c.Filename)
	_, err := meter.Instrument(wasm, nil)
	if err == nil {
		s.t.Errorf("line %d: accepted, but %s", c.Line, c.Text)
	}
}

// module instantiates a module in both runtimes under the name that the
// script gives it later or now; a module that imports more than functions is
// refused and its commands are left out.
func (s *specRun) module(c specCommand) {
	s.current = nil
	ctx := context.Background()
	wasm := s.read(c.Filename)
	res, err := meter.Instrument(wasm, nil)
	if err != nil {
		s.refused++
		if !strings.Contains(err.Error(), "only functions can be imported") && !strings.Contains(err.Error(), "over the limit") &&
			!strings.Contains(err.Error(), "without a name") {
			s.t.Errorf("line %d: %s refused: %v", c.Line, c.Filename, err)
		}
		return
	}
	var pair [2]api.Module
	name := fmt.Sprintf("%s line %d", c.Name, c.Line)
	for i, w := range [][]byte{wasm, res.Wasm} {
		compiled, err := s.runtimes[i].CompileModule(ctx, w)
		if err != nil {
			s.t.Errorf("line %d: metered %v: %v", c.Line, i == 1, err)
			return
		}
		for _, f := range compiled.ImportedFunctions() {
			if mod, _, _ := f.Import(); mod != "spectest" && mod != meter.YieldModule {
				return // links to another module of the script
			}
		}
		pair[i], err = s.runtimes[i].InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(name).WithStartFunctions())
		if err != nil {
			s.t.Errorf("line %d: metered %v: %v", c.Line, i == 1, err)
			return
		}
	}
	s.current = &pair
	if c.Name != "" {
		s.named[c.Name] = &pair
	}
}

func (s *specRun) action(c specCommand, m *[2]api.Module) {
	var got [2]struct {
		Results []uint64
		Err     string
	}
	for i, mod := range m {
		if c.Action.Type == "get" {
			got[i].Results = []uint64{mod.ExportedGlobal(c.Action.Field).Get()}
			continue
		}
		if i == 1 {
			mod.ExportedGlobal(meter.FuelExport).(api.MutableGlobal).Set(0)
			mod.ExportedGlobal(meter.StackExport).(api.MutableGlobal).Set(meter.StackBudget)
		}
		fn := mod.ExportedFunction(c.Action.Field)
		res, err := fn.Call(context.Background(), specArgs(s.t, c.Action.Args)...)
		if m := i == 1; m && err == nil {
			if left := mod.ExportedGlobal(meter.StackExport).Get(); uint32(left) != meter.StackBudget {
				s.t.Errorf("line %d: %d bytes of the stack budget left, not all of it", c.Line, int32(left))
			}
		}
		got[i].Results, got[i].Err = res, trap(err)
	}
	if c.Type == "assert_exhaustion" {
		if got[0].Err == "" || got[1].Err == "" {
			s.t.Errorf("line %d: did not exhaust the stack: %q and %q", c.Line, got[0].Err, got[1].Err)
		}
		return
	}
	s.calls++
	if d := cmp.Diff(got[1], got[0]); d != "" {
		s.t.Errorf("line %d: %s: metered and plain differ:\n%s", c.Line, c.Action.Field, d)
	}
}

// trap is the first line of a call's error.
func trap(err error) string {
	if err == nil {
		return ""
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		err = e
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func specArgs(t *testing.T, args []specValue) []uint64 {
	var out []uint64
	for _, a := range args {
		if a.Type == "v128" {
			out = append(out, specVector(t, a)...)
			continue
		}
		out = append(out, specNumber(t, a.Type, a.Value.(string)))
	}
	return out
}

func specNumber(t *testing.T, typ, text string) uint64 {
	switch {
	case text == "null":
		return 0
	case strings.HasPrefix(text, "nan"):
		if typ == "f32" {
			return uint64(math.Float32bits(float32(math.NaN())))
		}
		return math.Float64bits(math.NaN())
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if typ == "externref" {
		v++ // 0 is null
	}
	return v
}

func specVector(t *testing.T, a specValue) []uint64 {
	lanes := a.Value.([]any)
	bits := 128 / len(lanes)
	out := make([]uint64, 2)
	for i, l := range lanes {
		v := specNumber(t, a.LaneType, l.(string))
		if bits < 64 {
			v &= 1<<bits - 1
		}
		at := i * bits
		out[at/64] |= v << (at % 64)
	}
	return out
}
