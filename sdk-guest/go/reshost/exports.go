//go:build wasip1

package reshost

import "github.com/reshost/reshost/abi"

// guest is the instance behind the exports. Its memory is the guest's memory: one call at a time.
var guest Instance

// serving returns the guest with whatever was registered.
func serving() *Instance {
	guest.p = registered.plugin
	return &guest
}

// run refuses every call while no plugin is registered.
func run(serve func(*Instance) abi.Status) int32 {
	in := serving()
	if in.p == nil {
		in.h.log(LevelError, "no plugin is registered: call reshost.Register from a package variable or init")
		return int32(abi.StatusInternal)
	}
	return int32(serve(in))
}

//go:wasmexport rh_init
func exportInit() int32 { return run((*Instance).initialize) }

//go:wasmexport rh_describe
func exportDescribe() int32 { return run((*Instance).describe) }

//go:wasmexport rh_read
func exportRead() int32 { return run((*Instance).read) }

//go:wasmexport rh_list
func exportList() int32 { return run((*Instance).list) }

//go:wasmexport rh_complete
func exportComplete() int32 { return run((*Instance).complete) }

//go:wasmexport rh_poll
func exportPoll() int32 { return run((*Instance).poll) }
