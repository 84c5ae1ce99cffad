package wasmplugin

import (
	"context"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/reshost/reshost/abi"
)

// hostFunc is a function that guests import. stack holds the parameters and takes the result. A parameter of type i32 is
// read as uint32(stack[i]): the upper half holds garbage.
type hostFunc func(ctx context.Context, c *call, m guestMemory, stack []uint64)

// hostImport is a hostFunc with its signature.
type hostImport struct {
	typ funcType
	fn  hostFunc
}

// hostModule is the functions of one import module by name.
type hostModule map[string]hostImport

// capabilityTypes are the signatures of all capabilities that the ABI has, served here or not.
func capabilityTypes() map[string]map[string]funcType {
	get := funcType{i32 + i32 + i32 + i32, i32}
	two := funcType{i32 + i32, i32}
	three := funcType{i32 + i32 + i32, i32}
	one := funcType{i32, i32}
	return map[string]map[string]funcType{
		abi.CapabilityConfig: {abi.ImportConfigGet: get},
		abi.CapabilityFS: {
			abi.ImportFSStat: get, abi.ImportFSOpen: two, abi.ImportFSRead: {i32 + i64 + i32 + i32, i32},
			abi.ImportFSList: {i32 + i32 + i32 + i32 + i32 + i32, i32}, abi.ImportFSClose: one,
		},
		abi.CapabilityHTTP: {
			abi.ImportHTTPSend: two, abi.ImportHTTPHead: three, abi.ImportHTTPRead: three, abi.ImportHTTPClose: one,
		},
		abi.CapabilityKV: {
			abi.ImportKVGet: get, abi.ImportKVPut: {i32 + i32 + i32 + i32 + i64, i32}, abi.ImportKVDel: two,
		},
		abi.CapabilitySQL: {abi.ImportSQLQuery: two, abi.ImportSQLRow: three, abi.ImportSQLClose: one},
	}
}

// capabilityName returns NAME of an import module reshost_NAME_v1.
func capabilityName(module string) (string, bool) {
	name, ok := strings.CutPrefix(module, "reshost_")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(name, "_v1")
}

// denied answers in the place of a capability that is optional and not granted.
func denied(_ context.Context, _ *call, _ guestMemory, stack []uint64) {
	stack[0] = result(-int32(abi.StatusDenied))
}

// result encodes an i32 result.
func result(v int32) uint64 { return uint64(uint32(v)) }

// linkage is what a module imports, resolved: the host's functions that it gets.
type linkage struct {
	modules map[string]hostModule
}

// link resolves a module's imports against the manifest and the grants. Each problem is one line.
func link(info *moduleInfo, man *Manifest, granted map[string]hostModule) (*linkage, []error) {
	l := &linkage{modules: map[string]hostModule{}}
	types := capabilityTypes()
	core, wasi := coreModule(), wasiModule()
	var problems []error
	fail := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	for _, i := range info.imports {
		if i.kind != kindFunc {
			fail("the module imports %q %q, which is not a function: only functions can be imported", i.module, i.name)
			continue
		}
		var have hostImport
		var ok bool
		switch capability, isCapability := capabilityName(i.module); {
		case i.module == abi.Module:
			have, ok = core[i.name]
		case i.module == wasiModuleName:
			have, ok = wasi[i.name]
		case isCapability:
			c, declared := man.capability(capability)
			if !declared {
				fail("the module imports %q %q, but the manifest does not declare the capability %q: add it, or drop the import", i.module, i.name, capability)
				continue
			}
			have.typ, ok = types[capability][i.name]
			if have.fn = granted[capability][i.name].fn; have.fn == nil {
				have.fn = denied
				if types[capability] == nil && c.Optional {
					have.typ, ok = i.typ, i.typ.results == i32
				}
			}
		}
		if !ok {
			fail("the module imports %q %q, which this host does not have", i.module, i.name)
			continue
		}
		if have.typ != i.typ {
			fail("the module imports %q %q as %s, but it is %s", i.module, i.name, i.typ, have.typ)
			continue
		}
		if l.modules[i.module] == nil {
			l.modules[i.module] = hostModule{}
		}
		l.modules[i.module][i.name] = have
	}
	return l, problems
}

// capability returns the declaration of a capability. config needs none.
func (m *Manifest) capability(name string) (Capability, bool) {
	for _, c := range m.Capabilities {
		if c.Name == name {
			return c, true
		}
	}
	return Capability{Name: name, Optional: true}, name == abi.CapabilityConfig
}

// instantiate makes the imports known to an engine.
func (l *linkage) instantiate(ctx context.Context, rt wazero.Runtime) error {
	if err := instantiateYield(ctx, rt); err != nil {
		return err
	}
	for _, module := range sortedKeys(l.modules) {
		b := rt.NewHostModuleBuilder(module)
		functions := l.modules[module]
		for _, name := range sortedKeys(functions) {
			f := functions[name]
			b = b.NewFunctionBuilder().
				WithGoModuleFunction(enter(f.fn), []api.ValueType(f.typ.params), []api.ValueType(f.typ.results)).
				Export(name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("import module %q: %w", module, err)
		}
	}
	return nil
}

// enter is the way into every host function: the call's clock and context are looked at before anything else, and the
// guest pays for what was done.
func enter(fn hostFunc) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		c := callOf(ctx)
		c.check(ctx)
		fn(ctx, c, guestMemory{mod.Memory(), c}, stack)
		c.pay(mod)
	}
}

// checkExports holds the exports to the ABI and to what the manifest says is served.
func checkExports(info *moduleInfo, man *Manifest) []error {
	var problems []error
	fail := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if _, ok := info.export(abi.ExportStart); ok {
		fail("the module exports %s, so it is a WASI command: build it as a reactor (with Go: -buildmode=c-shared)", abi.ExportStart)
	}
	if e, ok := info.export(abi.ExportMemory); !ok || e.kind != kindMemory {
		fail("the module does not export a memory named %q", abi.ExportMemory)
	}
	if len(info.memories) > 1 {
		fail("the module has %d memories; one is allowed", len(info.memories))
	}
	for _, m := range info.memories {
		if m.shared {
			fail("the module's memory is shared; that is not supported")
		}
	}
	need := func(name, why string) {
		e, ok := info.export(name)
		switch {
		case !ok && why != "":
			fail("the module does not export %s, which is needed because %s", name, why)
		case ok && (e.kind != kindFunc || !e.typ.equal("", i32)):
			fail("the export %s is %s; it must be a function () -> (i32)", name, describeExport(e))
		}
	}
	need(abi.ExportRead, "every plugin reads")
	need(abi.ExportList, when(man.List, "the manifest says list"))
	need(abi.ExportComplete, when(man.completes(), "a variable of the manifest says complete"))
	need(abi.ExportPoll, when(man.Poll > 0, "the manifest says poll_ms"))
	need(abi.ExportDescribe, when(man.Dynamic, "the manifest says dynamic"))
	need(abi.ExportInit, "")
	if e, ok := info.export(abi.ExportInitialize); ok && (e.kind != kindFunc || !e.typ.equal("", "")) {
		fail("the export %s is %s; it must be a function () -> ()", abi.ExportInitialize, describeExport(e))
	}
	return problems
}

func describeExport(e moduleExport) string {
	if e.kind != kindFunc {
		return "not a function"
	}
	return "a function " + e.typ.String()
}

func when(cond bool, why string) string {
	if cond {
		return why
	}
	return ""
}

func (m *Manifest) completes() bool {
	for _, t := range m.Templates {
		for _, v := range t.Vars {
			if v.Complete {
				return true
			}
		}
	}
	return false
}
