package wasmplugin_test

import (
	"context"
	"fmt"
	"os"

	"github.com/reshost/reshost/host/wasmplugin"
)

// The program compiles plugins in processes of its own kind. Its main begins with
//
//	if len(os.Args) > 1 && os.Args[1] == "compile-child" {
//		os.Exit(wasmplugin.CompileChild(os.Args[2:], os.Stdin, os.Stdout))
//	}
func ExampleChildCompiler() {
	ctx := context.Background()
	self, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return
	}
	rt, err := wasmplugin.NewRuntime(ctx, &wasmplugin.Options{Compiler: wasmplugin.ChildCompiler(self, "compile-child")})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close(ctx)
	p, err := rt.Open(ctx, &wasmplugin.Config{Wasm: helloWasm})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The plugin can be added to a host at once. Whoever wants to know when it answers:
	if err := p.Ready(ctx); err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range rt.Status() {
		fmt.Println(s.Name, s.State, s.Available())
	}
	// Output: hello ready true
}
