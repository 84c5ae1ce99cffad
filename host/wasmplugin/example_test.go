package wasmplugin_test

import (
	"context"
	"fmt"

	"github.com/reshost/reshost/host/provider"
	"github.com/reshost/reshost/host/wasmplugin"
)

// helloWasm is a whole plugin, by hand: an export rh_read that emits a part and writes "hello" into it, and the manifest.
var helloWasm = []byte("\x00asm\x01\x00\x00\x00" +
	"\x01\x12\x03\x60\x03\x7f\x7f\x7f\x01\x7f\x60\x02\x7f\x7f\x01\x7f\x60\x00\x01\x7f" + // types
	"\x02\x26\x02\x0areshost_v1\x04emit\x00\x00\x0areshost_v1\x05write\x00\x01" + // imports
	"\x03\x02\x01\x02" + // one function
	"\x05\x03\x01\x00\x01" + // one page of memory
	"\x07\x14\x02\x07rh_read\x00\x02\x06memory\x02\x00" + // exports
	"\x0a\x16\x01\x14\x00\x41\x04\x41\x00\x41\x02\x10\x00\x1a\x41\x10\x41\x05\x10\x01\x1a\x41\x00\x0b" + // code
	"\x0b\x12\x02\x00\x41\x00\x0b\x02\x18\x01\x00\x41\x10\x0b\x05hello" + // data: CONTENT {text: 1}, and the body
	"\x00\x7d\x10reshost.manifest" +
	`{"abi":"reshost_v1","name":"hello","schemes":["hello"],"resources":[{"uri":"hello://world","name":"world"}]}`)

func Example() {
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
	res, err := p.Read(ctx, &provider.ReadRequest{URI: "hello://world", TemplateIndex: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s says %s\n", p.Info().Name, res.Contents[0].Body)
	// Output: hello says hello
}
