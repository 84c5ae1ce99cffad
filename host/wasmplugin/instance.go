package wasmplugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// instance is one running copy of a plugin's module: its own memory, one call at a time.
type instance struct {
	mod api.Module
	mem *memory
	out *output
	// counters and globals of the metered module.
	counters counters
	globals  []api.MutableGlobal
	// broken says that a run neither returned nor was interrupted: the instance is not used again.
	broken bool
	// functions keeps what was looked up: a look-up costs microseconds.
	functions map[string]api.Function
}

// start says what an instance is started for.
type start struct {
	// urgent: a caller waits; idle instances elsewhere may be closed to make room.
	urgent bool
	// pack: the guest is to describe itself, without any capability.
	pack bool
}

// newInstance instantiates the module, and runs _initialize and rh_init or, where an instance has done so already and was
// kept as it was then, goes on from there. On failure nothing is left.
func (p *Plugin) newInstance(ctx context.Context, why start) (*instance, error) {
	mem := &memory{limit: uint64(p.memoryLimit), budget: p.budget}
	inst := &instance{mem: mem, out: &output{log: p.log}, functions: map[string]api.Function{}}
	if err := p.reserve(mem, why.urgent); err != nil {
		return nil, err
	}
	c := &call{plugin: p, out: inst.out, served: p.served.Load(), pack: why.pack}
	defer c.close()
	alloc := experimental.MemoryAllocatorFunc(func(_, _ uint64) experimental.LinearMemory { return mem })
	ictx := experimental.WithMemoryAllocator(withCall(ctx, c), alloc)
	// Milliseconds of the engine's work, and a start function: a rush of starts must leave others a processor.
	if err := c.takeTurn(ctx); err != nil {
		inst.close()
		return nil, p.trapped(inst, "start of the module", &interrupted{err})
	}
	mod, err := p.code.runtime.InstantiateModule(ictx, p.code.module,
		wazero.NewModuleConfig().WithName("").WithStartFunctions())
	c.giveTurn()
	if err != nil {
		inst.close()
		return nil, p.trapped(inst, "start of the module", err)
	}
	inst.mod = mod
	if err := p.bring(ctx, inst, c); err != nil {
		inst.close()
		return nil, err
	}
	return inst, nil
}

// bring brings an instance to where calls begin.
func (p *Plugin) bring(ctx context.Context, inst *instance, c *call) error {
	var err error
	if inst.counters, err = countersOf(inst.mod); err != nil {
		return err
	}
	var ok bool
	if inst.globals, ok = mutable(inst.mod, p.globals); !ok {
		return errors.New("the module is not metered")
	}
	if p.began != nil {
		return inst.begin(p.began)
	}
	if p.exports[abi.ExportInitialize] {
		if err := p.execute(ctx, inst, c, abi.ExportInitialize, nil); err != nil {
			return err
		}
	}
	return p.initialize(ctx, inst, c.pack)
}

// reserve takes the memory that the instance begins with. When all plugins together have used theirs up, instances that are idle
// elsewhere make room for a caller.
func (p *Plugin) reserve(mem *memory, urgent bool) error {
	minimum := uint64(p.minPages) * pageSize
	if p.began != nil {
		minimum = max(minimum, p.began.size)
	}
	if minimum == 0 || mem.Reallocate(minimum) != nil {
		return nil
	}
	if urgent && p.budget.room(int64(minimum)) && p.runtime.reclaim(p) > 0 && mem.Reallocate(minimum) != nil {
		mem.refused = false
		return nil
	}
	return errNoMemory
}

// initialize runs rh_init, where a guest parses its configuration.
func (p *Plugin) initialize(ctx context.Context, inst *instance, pack bool) error {
	if !p.exports[abi.ExportInit] {
		return nil
	}
	c := &call{plugin: p, export: abi.ExportInit, out: inst.out, sink: initSink{}, served: p.served.Load(), pack: pack}
	defer c.close()
	c.request = initRequest(pack)
	status, err := p.invoke(ctx, inst, c)
	if err != nil {
		return err
	}
	if status == abi.StatusOK && c.failure == nil && c.rejected == "" {
		return nil
	}
	text := "no reason given"
	switch {
	case c.failure != nil && c.failure.Message != "":
		text = safeText(c.failure.Message, abi.MaxErrorMessage)
	case c.rejected != "":
		text = c.rejected
	}
	return &startError{fmt.Errorf("%s failed (%s): %s", abi.ExportInit, status, text)}
}

// startError is a guest's own refusal to start.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// function returns an export, nil when there is none.
func (i *instance) function(name string) api.Function {
	f, ok := i.functions[name]
	if !ok {
		f = i.mod.ExportedFunction(name)
		i.functions[name] = f
	}
	return f
}

// fate says what becomes of the instance after a run.
func (i *instance) fate(isolation string, err error) fate {
	switch {
	case i.broken || i.mod.IsClosed():
		return discard
	case isolation == abi.IsolationReset:
		return restore
	case isolation == abi.IsolationShared && err == nil && !i.mem.refused:
		return keep
	}
	return discard
}

// close drops the instance and gives its memory back.
func (i *instance) close() {
	if i.mod != nil {
		// The engine's error is that of closing files, of which there are none.
		_ = i.mod.Close(context.Background())
	}
	i.mem.drop()
}

// trapped turns an engine's error into one that names plugin and export and carries the end of the guest's stderr.
func (p *Plugin) trapped(inst *instance, export string, err error) error {
	if stop := interruption(err); stop != nil {
		err = stop
	} else {
		inst.broken = true
		if inst.counters.exhausted() {
			err = fmt.Errorf("stack overflow: a call has %d MiB: %w", (meter.StackBudget+1<<20-1)>>20, err)
		}
	}
	return &guestFailure{plugin: p.name, export: export, err: err, stderr: safeText(inst.out.takeTail(), maxTail)}
}

// guestFailure is a run that did not return.
type guestFailure struct {
	plugin, export string
	err            error
	stderr         string
}

func (f *guestFailure) Error() string {
	s := fmt.Sprintf("plugin %s: %s: %s", f.plugin, f.export, oneLine(f.err.Error()))
	if f.stderr != "" {
		s += "; stderr ends with: " + f.stderr
	}
	return s
}

func (f *guestFailure) Unwrap() error { return f.err }

// maxTrace bounds the text of a trap: names of functions are the module's own and may be of any length.
const maxTrace = 4 << 10

// oneLine makes one line of the engine's text, a line a frame. A name in it may hold line ends of its own: they are no
// end of a log's line either.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return safeText(strings.ReplaceAll(strings.Join(lines, "; "), ":; ", ": "), maxTrace)
}
