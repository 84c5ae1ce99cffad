package wasmplugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/reshost/reshost/abi"
	"github.com/reshost/reshost/host/wasmplugin/internal/meter"
)

// This file alone knows how a guest is interrupted. The engine's own means are not used: a guest can bypass them, and they
// cost a factor. Instead package meter has rewritten the module so that it calls yield before it has done more than a few
// hundred microseconds of work, wherever it is. Each yield, and each host function, looks at the call's clock and context;
// where the call is to end it panics, which the engine returns as the call's error, with the instance left open.

// engineConfig is the engine's set-up, the same for all modules: it is part of what compiled code depends on.
func engineConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithDebugInfoEnabled(false)
}

const (
	// turnLength is how long a guest runs before other goroutines get the processor. Machine code cannot be preempted: with
	// as many busy guests as processors nothing else would run otherwise.
	turnLength = 500 * time.Microsecond
	// hostUnits is what a host function costs its guest besides the bytes that it handles.
	hostUnits = 50
	// bytesPerUnit of what a host function handles.
	bytesPerUnit = 8
)

// interrupted ends a guest's call: its time is over, its caller left, or the plugin is being stopped.
type interrupted struct{ cause error }

func (i *interrupted) Error() string { return "interrupted: " + i.cause.Error() }
func (i *interrupted) Unwrap() error { return i.cause }

// check ends the guest's call when its deadline passed, its caller left or the plugin is being stopped; otherwise it lets
// others run when it is their turn. Every import begins with it, and looks again after each chunk of bytes.
func (c *call) check(ctx context.Context) {
	now := time.Now()
	// The clock counts whether or not the context's timer has had a processor to fire on.
	if !c.deadline.IsZero() && !now.Before(c.deadline) {
		panic(&interrupted{context.DeadlineExceeded})
	}
	if err := ctx.Err(); err != nil {
		panic(&interrupted{err})
	}
	select {
	case <-c.plugin.killed:
		panic(&interrupted{stopping()})
	default:
	}
	if now.Sub(c.turn) >= turnLength {
		c.passTurn(ctx)
		c.turn = time.Now()
	}
}

// yield is what a metered guest calls when its fuel is used up.
func yield(ctx context.Context, _ api.Module, stack []uint64) {
	callOf(ctx).check(ctx)
	stack[0] = uint64(uint32(meter.Refill(int32(uint32(stack[0])))))
}

// instantiateYield makes yield known to an engine.
func instantiateYield(ctx context.Context, rt wazero.Runtime) error {
	i32 := []api.ValueType{api.ValueTypeI32}
	_, err := rt.NewHostModuleBuilder(meter.YieldModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(yield), i32, i32).Export(meter.YieldName).Instantiate(ctx)
	return err
}

// counters are the two globals of a metered instance that its host sets.
type counters struct{ fuel, stack api.MutableGlobal }

func countersOf(mod api.Module) (counters, error) {
	fuel, ok := mod.ExportedGlobal(meter.FuelExport).(api.MutableGlobal)
	stack, also := mod.ExportedGlobal(meter.StackExport).(api.MutableGlobal)
	if !ok || !also {
		return counters{}, errors.New("the module is not metered")
	}
	return counters{fuel, stack}, nil
}

// refill gives the next call a full stack budget, and no fuel: it looks at the clock before it does anything.
func (c counters) refill() {
	c.fuel.Set(0)
	c.stack.Set(meter.StackBudget)
}

// exhausted reports whether the run that just trapped did so because its stack budget was used up.
func (c counters) exhausted() bool { return c.stack != nil && int32(uint32(c.stack.Get())) < 0 }

// charge notes bytes that a host function handles for the guest.
func (c *call) charge(n int) { c.units += int64(n) / bytesPerUnit }

// pay takes what a host function cost from its guest's fuel. A start function is paid for too, before the instance is
// known to anybody.
func (c *call) pay(mod api.Module) {
	if c.fuel == nil {
		c.fuel, _ = mod.ExportedGlobal(meter.FuelExport).(api.MutableGlobal)
		if c.fuel == nil {
			panic(&trap{"the module is not metered"})
		}
	}
	c.fuel.Set(uint64(uint32(meter.Charge(int32(uint32(c.fuel.Get())), c.units+hostUnits))))
	c.units = 0
}

// invoke runs the call's export, of type () -> i32, until it returns, traps, or is interrupted.
func (p *Plugin) invoke(ctx context.Context, inst *instance, c *call) (abi.Status, error) {
	var stack [1]uint64
	if err := p.execute(ctx, inst, c, c.export, stack[:]); err != nil {
		return 0, err
	}
	return abi.Status(int32(uint32(stack[0]))), nil
}

// execute runs an export without parameters. A run that did not return leaves the instance broken, unless it was merely
// interrupted: then memory and globals are all that is out of order.
func (p *Plugin) execute(ctx context.Context, inst *instance, c *call, export string, results []uint64) error {
	fn := inst.function(export)
	if fn == nil {
		return fmt.Errorf("plugin %s: no export %s", p.name, export)
	}
	if err := c.takeTurn(ctx); err != nil {
		return p.trapped(inst, export, &interrupted{err})
	}
	defer c.giveTurn()
	c.ran = true
	inst.counters.refill()
	c.fuel = inst.counters.fuel
	if err := fn.CallWithStack(withCall(ctx, c), results); err != nil {
		return p.trapped(inst, export, err)
	}
	return nil
}

// interruption returns why a run was cut short, and nil where the guest failed by itself.
func interruption(err error) error {
	var cut *interrupted
	if errors.As(err, &cut) {
		return cut.cause
	}
	return nil
}
