package wasmplugin_test

import (
	"context"
	"fmt"

	"github.com/reshost/reshost/host"
	"github.com/reshost/reshost/host/wasmplugin"
)

// A plugin behind a host: what it serves can then be read by clients, over http.Handler or stdio, or here by the program itself.
func Example_host() {
	ctx := context.Background()
	rt, err := wasmplugin.NewRuntime(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer rt.Close(ctx)
	p, err := rt.Load(ctx, &wasmplugin.Config{Wasm: helloWasm})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := host.New(&host.Options{Name: "hello"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close(ctx)
	if err := h.Add(p, nil); err != nil {
		fmt.Println(err)
		return
	}
	res, err := h.Read(ctx, nil, "hello://world")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", res.Contents[0].Body)
	// Output: hello
}
