package wasmplugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/sys"

	"github.com/reshost/reshost/abi"
)

// This file alone knows how a guest is interrupted: how the engine is set up for it, how an export is run under a context,
// and how the engine says that a run was cut short. The engine's own means are used: it looks at the context in loops
// and at function entries, and closes the module. A guest that calls without ever looping, or a bulk operation on much
// memory, can outlast its deadline; see README.md.

// engineConfig is the engine's set-up, the same for all modules: it is part of what compiled code depends on.
func engineConfig() wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithDebugInfoEnabled(false)
}

// invoke runs an export of type () -> i32 until it returns, traps, or ctx is done.
func (p *Plugin) invoke(ctx context.Context, inst *instance, c *call) (abi.Status, error) {
	fn := inst.function(c.export)
	if fn == nil {
		return 0, fmt.Errorf("plugin %s: no export %s", p.name, c.export)
	}
	var stack [1]uint64
	if err := fn.CallWithStack(withCall(ctx, c), stack[:]); err != nil {
		return 0, p.trapped(ctx, inst, c.export, err)
	}
	return abi.Status(int32(uint32(stack[0]))), nil
}

// interruption returns the context's error where err says that a run was cut short by it, and nil where the guest failed
// by itself.
func interruption(ctx context.Context, err error) error {
	var cut *interrupted
	if errors.As(err, &cut) {
		return cut.cause
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == sys.ExitCodeContextCanceled || exit.ExitCode() == sys.ExitCodeDeadlineExceeded) {
		if cause := ctx.Err(); cause != nil {
			return cause
		}
	}
	return nil
}
