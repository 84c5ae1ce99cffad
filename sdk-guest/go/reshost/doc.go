// Package reshost is the SDK for plugins in Go: a plugin serves resources to a reshost host, from inside a WebAssembly
// sandbox. README.md beside this file leads from nothing to a loaded plugin.
//
//	package main
//
//	import "github.com/reshost/reshost/sdk-guest/go/reshost"
//
//	var _ = reshost.Register(&reshost.Plugin{
//		Name:    "greeter",
//		Version: "1.0.0",
//		Schemes: []string{"greet"},
//		Templates: []reshost.Template{{
//			URITemplate: "greet://{name}",
//			Name:        "greeting",
//			Vars:        []reshost.Var{{Name: "name"}},
//			Read: func(req *reshost.ReadRequest, out *reshost.Response) error {
//				return out.Text("Hello, " + req.Var("name") + "!")
//			},
//		}},
//	})
//
//	func main() {}
//
// A plugin is a reactor: main never runs. What exists is what a package variable or an init function registered. Build it
// with
//
//	GOOS=wasip1 GOARCH=wasm go build -trimpath -buildmode=c-shared -ldflags=-w -o greeter.wasm .
//	reshost plugin pack greeter.wasm -o greeter.wasm
//
// The package compiles natively too; the package reshosttest runs a plugin under plain go test.
//
// # State
//
// By default the host puts the guest's memory back after each call to what it was after [Plugin.Init]. Variables set in a
// call are gone in the next, and what was random at start repeats in every call: take randomness from crypto/rand, during
// the call. Even under shared isolation any call may meet any instance, so a variable is a cache at best. State that must
// survive goes into [PollRequest.State], or into the client's hands with [Response.InputRequired].
//
// # Errors
//
// A handler fails with an [*Error], made by [NotFound], [Invalid] and so on; any other error counts as [CodeInternal] and its
// text reaches the log, never the client. After an error nothing that the handler wrote is sent. A handler that panics
// traps: the call fails, the log has the stack.
//
// A mistake in the registration itself, such as a template variable that no handler takes, fails [Plugin.Check], the pack
// step and the load.
package reshost
