package wasmplugin

import (
	"context"

	"github.com/reshost/reshost/abi"
)

// coreModule is reshost_v1.
func coreModule() hostModule {
	return hostModule{
		abi.ImportReq:   {funcType{i32 + i32, i32}, hostReq},
		abi.ImportEmit:  {funcType{i32 + i32 + i32, i32}, hostEmit},
		abi.ImportWrite: {funcType{i32 + i32, i32}, hostWrite},
		abi.ImportLog:   {funcType{i32 + i32 + i32, ""}, hostLog},
	}
}

// hostReq is req(buf, cap) -> the request's length. The request is copied only if it fits.
//
//	guest memory:  buf |<------- cap ------->|
//	                   |request......|
func hostReq(_ context.Context, c *call, m guestMemory, stack []uint64) {
	stack[0] = result(m.fill(uint32(stack[0]), uint32(stack[1]), c.request))
}

// hostEmit is emit(kind, ptr, len) -> Reply.
func hostEmit(_ context.Context, c *call, m guestMemory, stack []uint64) {
	b := m.view(uint32(stack[1]), uint32(stack[2]))
	r := c.emit(abi.Kind(uint32(stack[0])), len(b), func() string { return string(b) })
	stack[0] = result(int32(r))
}

// writeChunk is how many bytes of a body are taken between two looks at the clock: most bodies come whole, so that the
// host allocates once.
const writeChunk = 1 << 20

// hostWrite is write(ptr, len) -> Reply.
func hostWrite(ctx context.Context, c *call, m guestMemory, stack []uint64) {
	b := m.view(uint32(stack[0]), uint32(stack[1]))
	var r abi.Reply
	switch {
	case c.sink == nil:
		r = c.reject("write: there are no bodies here")
	case c.stopped:
		r = abi.ReplyStop
	default:
		r = c.sink.write(c, b[:min(len(b), writeChunk)])
		for len(b) > writeChunk && r == abi.ReplyContinue {
			c.check(ctx)
			b = b[writeChunk:]
			r = c.sink.write(c, b[:min(len(b), writeChunk)])
		}
	}
	stack[0] = result(int32(r))
}

// hostLog is log(level, ptr, len).
func hostLog(_ context.Context, c *call, m guestMemory, stack []uint64) {
	level := abi.Level(uint32(stack[0]))
	b := m.view(uint32(stack[1]), uint32(stack[2]))
	text := safeText(string(b[:min(len(b), abi.MaxLogLine)]), abi.MaxLogLine)
	c.plugin.log.line(slogLevel(level), text)
	if c.clientLog != nil {
		c.clientLog(levelName(level), text)
	}
}
