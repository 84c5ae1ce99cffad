// Command reshost serves resources of sandboxed WebAssembly plugins over the Model Context Protocol.
//
// It is an ordinary client of package host: everything it does, an application that embeds the host can do.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(realMain()) }

// realMain ends in order on the first SIGINT or SIGTERM; the second one ends the process at once.
func realMain() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
