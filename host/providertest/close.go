package providertest

import (
	"context"
	"runtime"
	"strings"
	"time"
)

// checkClose: Close ends what the provider started.
func checkClose(k *kit) {
	before := goroutines()
	k.open()
	k.eachCall(func(_ string, call func(context.Context) error) { _ = call(k.ctx) })
	if k.info.Watch {
		for _, t := range k.targets() {
			_ = k.p.Watch(k.ctx, t.uri.String())
		}
	}
	k.close()
	// A goroutine that has done its work may still be on its way out.
	deadline := time.Now().Add(k.opts.Patience)
	for {
		var left []string
		for id, stack := range goroutines() {
			if before[id] == "" {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			k.report("Close leaves %d goroutines behind:\n%s", len(left), strings.Join(left, "\n\n"))
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// goroutines returns the stacks of all goroutines but those of package testing, by number. They are told apart, not counted:
// others may end meanwhile.
func goroutines() map[string]string {
	const limit = 16 << 20
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < limit {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	found := map[string]string{}
	for stack := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		id, _, ok := strings.Cut(stack, " [") // goroutine 7 [running]:
		if ok && !strings.Contains(stack, "created by testing.") {
			found[id] = stack
		}
	}
	return found
}
