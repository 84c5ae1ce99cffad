// Package wasmplugin runs resource providers that are WebAssembly modules. It is imported by programs that serve plugins,
// such as cmd/reshost; package host does not import it, so that an application with native providers alone links no
// WebAssembly engine. The contract with the modules is package abi, "reshost_v1".
//
//	rt, err := wasmplugin.NewRuntime(ctx, &wasmplugin.Options{CacheDir: dir})
//	if err != nil { ... }
//	defer rt.Close(ctx)
//	p, err := rt.Load(ctx, &wasmplugin.Config{Wasm: wasm, Grants: wasmplugin.Grants{
//		FS: &wasmplugin.FSGrant{Roots: map[string]wasmplugin.FSRoot{"main": {Path: "./docs", As: "/docs"}}},
//	}})
//	if err != nil { ... }
//	err = h.Add(p, nil) // h is a *host.Host; Example_host is the whole of it
//
// Load waits until the plugin answers. [Runtime.Open] does not: the plugin can be served at once, states what its manifest
// says, and is compiled and started in the background. One that cannot be is unavailable, and tried again; see [Status].
//
// # Compiling
//
// The engine cannot be interrupted while it compiles. For modules of strangers give [Options] a [Compiler], such as a
// [ChildCompiler] of the same program, whose main begins with
//
//	if len(os.Args) > 1 && os.Args[1] == "compile" {
//		os.Exit(wasmplugin.CompileChild(os.Args[2:], os.Stdin, os.Stdout))
//	}
//
// # Isolation
//
// Under "reset", the default, an instance's memory and globals are put back after each call to what they were after
// rh_init; under "fresh" each call runs on an instance that no other call used. Either way nothing of one call can be read in the
// next. Under "shared" instances are reused as they are. README.md says what holds, what does not yet, and what it costs.
//
// # Interruption
//
// Modules are rewritten before they are compiled, so that a guest looks at its call's clock and context wherever it is, and
// bounds its own stack. A call ends at its deadline whatever the guest does, and the instance goes on after a reset.
//
// # Errors
//
// [Runtime.Load], [ReadManifest] and [Runtime.Pack] return one line that says what is wrong with the module or its
// configuration, and what to do. The methods of a [Plugin] fail with *provider.Error. What a guest says about its own
// failure reaches the client only with the codes Invalid, Unavailable, TooLarge and Unsupported, cut and escaped; the
// rest goes to the log, with the plugin's name, the export and the end of the guest's stderr.
package wasmplugin
