package wasmplugin

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// wasiModuleName is the import module of WASI preview 1.
const wasiModuleName = "wasi_snapshot_preview1"

// Error numbers of WASI preview 1.
const (
	errnoSuccess    = 0
	errnoBadf       = 8
	errnoInval      = 28
	errnoNotcapable = 76
)

// chunk is how many bytes a host function handles between two looks at the clock.
const chunk = 64 << 10

// maxSubscriptions bounds one poll_oneoff.
const maxSubscriptions = 4096

// wasiModule is the part of WASI preview 1 that language runtimes need to start and to live: clocks, randomness, standard
// output into the log, sleeping. Everything else is there, since a missing import fails the whole module, and answers
// that there is no such descriptor. There are no preopened folders: files come through reshost_fs_v1.
func wasiModule() hostModule {
	badf := errnoOf(errnoBadf)
	m := hostModule{
		"args_get":              {funcType{i32 + i32, i32}, errnoOf(errnoSuccess)},
		"args_sizes_get":        {funcType{i32 + i32, i32}, wasiNone},
		"environ_get":           {funcType{i32 + i32, i32}, errnoOf(errnoSuccess)},
		"environ_sizes_get":     {funcType{i32 + i32, i32}, wasiNone},
		"clock_res_get":         {funcType{i32 + i32, i32}, wasiClockRes},
		"clock_time_get":        {funcType{i32 + i64 + i32, i32}, wasiClockTime},
		"fd_write":              {funcType{i32 + i32 + i32 + i32, i32}, wasiWrite},
		"poll_oneoff":           {funcType{i32 + i32 + i32 + i32, i32}, blocking(wasiPoll)},
		"proc_exit":             {funcType{i32, ""}, wasiExit},
		"proc_raise":            {funcType{i32, i32}, errnoOf(errnoNotcapable)},
		"sched_yield":           {funcType{"", i32}, errnoOf(errnoSuccess)},
		"random_get":            {funcType{i32 + i32, i32}, wasiRandom},
		"fd_advise":             {funcType{i32 + i64 + i64 + i32, i32}, badf},
		"fd_allocate":           {funcType{i32 + i64 + i64, i32}, badf},
		"fd_fdstat_set_rights":  {funcType{i32 + i64 + i64, i32}, badf},
		"fd_filestat_set_size":  {funcType{i32 + i64, i32}, badf},
		"fd_filestat_set_times": {funcType{i32 + i64 + i64 + i32, i32}, badf},
		"fd_pread":              {funcType{i32 + i32 + i32 + i64 + i32, i32}, badf},
		"fd_pwrite":             {funcType{i32 + i32 + i32 + i64 + i32, i32}, badf},
		"fd_readdir":            {funcType{i32 + i32 + i32 + i64 + i32, i32}, badf},
		"fd_seek":               {funcType{i32 + i64 + i32 + i32, i32}, badf},
		"path_open":             {funcType{i32 + i32 + i32 + i32 + i32 + i64 + i64 + i32 + i32, i32}, badf},
		"path_filestat_set_times": {
			funcType{i32 + i32 + i32 + i32 + i64 + i64 + i32, i32}, badf,
		},
	}
	// The rest takes a descriptor and further numbers of type i32.
	for name, params := range map[string]int{
		"fd_close": 1, "fd_datasync": 1, "fd_sync": 1,
		"fd_fdstat_get": 2, "fd_fdstat_set_flags": 2, "fd_filestat_get": 2, "fd_prestat_get": 2, "fd_renumber": 2, "fd_tell": 2,
		"fd_prestat_dir_name": 3, "path_create_directory": 3, "path_remove_directory": 3, "path_unlink_file": 3,
		"fd_read": 4, "path_filestat_get": 5, "path_symlink": 5, "path_readlink": 6, "path_rename": 6, "path_link": 7,
		"sock_accept": 3, "sock_recv": 6, "sock_send": 5, "sock_shutdown": 2,
	} {
		typ := funcType{results: i32}
		for range params {
			typ.params += i32
		}
		m[name] = hostImport{typ, badf}
	}
	return m
}

// errnoOf answers an error number and does nothing.
func errnoOf(n uint64) hostFunc {
	return func(_ context.Context, _ *call, _ guestMemory, stack []uint64) { stack[0] = n }
}

// wasiNone answers args_sizes_get and environ_sizes_get: none, in zero bytes.
func wasiNone(_ context.Context, _ *call, m guestMemory, stack []uint64) {
	m.putUint32(uint32(stack[0]), 0)
	m.putUint32(uint32(stack[1]), 0)
	stack[0] = errnoSuccess
}

// Clocks of WASI preview 1. The clocks of CPU time are the monotonic one.
const (
	clockRealtime  = 0
	clockMonotonic = 1
	clockLast      = 3
)

func wasiClockRes(_ context.Context, _ *call, m guestMemory, stack []uint64) {
	if uint32(stack[0]) > clockLast {
		stack[0] = errnoInval
		return
	}
	m.putUint64(uint32(stack[1]), 1)
	stack[0] = errnoSuccess
}

func wasiClockTime(_ context.Context, c *call, m guestMemory, stack []uint64) {
	now, ok := c.clock(uint32(stack[0]))
	if !ok {
		stack[0] = errnoInval
		return
	}
	m.putUint64(uint32(stack[2]), now)
	stack[0] = errnoSuccess
}

// clock returns a clock's time in nanoseconds.
func (c *call) clock(id uint32) (uint64, bool) {
	switch {
	case id == clockRealtime:
		return uint64(time.Now().UnixNano()), true
	case id <= clockLast:
		// Guests subtract: zero would look unset to some.
		return uint64(time.Since(c.plugin.started)) + uint64(time.Second), true
	}
	return 0, false
}

// wasiWrite is fd_write: standard output and standard error become log lines.
func wasiWrite(ctx context.Context, c *call, m guestMemory, stack []uint64) {
	fd, iovs, n, written := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if fd != 1 && fd != 2 {
		stack[0] = errnoBadf
		return
	}
	var total uint64
	for i := uint64(0); i < uint64(n); i++ {
		at := uint64(iovs) + 8*i
		if at > math.MaxUint32-8 {
			panic(&trap{fmt.Sprintf("pointer out of range: fd_write of %d buffers at %#x", n, iovs)})
		}
		ptr, size := m.uint32(uint32(at)), m.uint32(uint32(at)+4)
		b := m.view(ptr, size)
		for len(b) > 0 {
			k := min(len(b), chunk)
			c.check(ctx)
			c.out.write(fd, b[:k])
			b = b[k:]
		}
		if i%1024 == 1023 {
			c.check(ctx)
		}
		if total += uint64(size); total > math.MaxUint32 {
			stack[0] = errnoInval
			return
		}
	}
	m.putUint32(written, uint32(total))
	stack[0] = errnoSuccess
}

// wasiRandom is random_get.
func wasiRandom(ctx context.Context, c *call, m guestMemory, stack []uint64) {
	b := m.view(uint32(stack[0]), uint32(stack[1]))
	for len(b) > 0 {
		k := min(len(b), chunk)
		rand.Read(b[:k])
		b = b[k:]
		if len(b) > 0 {
			c.check(ctx)
		}
	}
	stack[0] = errnoSuccess
}

// wasiExit is proc_exit: it ends the call, and the instance with it.
func wasiExit(_ context.Context, _ *call, _ guestMemory, stack []uint64) {
	panic(&exited{code: uint32(stack[0])})
}

// exited ends a call whose guest called proc_exit.
type exited struct{ code uint32 }

func (e *exited) Error() string { return fmt.Sprintf("the guest exited with code %d", e.code) }

// Layout of poll_oneoff: subscriptions of 48 bytes, events of 32.
//
//	subscription: 0 userdata u64, 8 tag u8, 16 clock id u32 | fd u32, 24 timeout u64, 32 precision u64, 40 flags u16
//	event:        0 userdata u64, 8 errno u16, 10 type u8
const (
	subscriptionSize = 48
	eventSize        = 32
	tagClock         = 0
	flagAbsolute     = 1
)

// wasiPoll is poll_oneoff: it sleeps until the first clock fires or the call's deadline passes. A descriptor is answered
// at once with EBADF.
func wasiPoll(ctx context.Context, c *call, m guestMemory, stack []uint64) {
	in, out, n, events := uint32(stack[0]), uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	if n == 0 || n > maxSubscriptions {
		stack[0] = errnoInval
		return
	}
	subs := m.view(in, n*subscriptionSize)
	first, errno := c.firstTimeout(subs)
	if errno != errnoSuccess {
		stack[0] = errno
		return
	}
	c.sleep(ctx, first)
	var fired uint32
	var ev [eventSize]byte
	for s := subs; len(s) > 0; s = s[subscriptionSize:] {
		wait, no := c.subscription(s)
		if no == errnoSuccess && wait > first {
			continue
		}
		clear(ev[:])
		copy(ev[:8], s[:8])
		binary.LittleEndian.PutUint16(ev[8:], uint16(no))
		ev[10] = s[8]
		copy(m.view(out+fired*eventSize, eventSize), ev[:])
		fired++
	}
	m.putUint32(events, fired)
	stack[0] = errnoSuccess
}

// firstTimeout returns the shortest time to wait: 0 where an event is there already.
func (c *call) firstTimeout(subs []byte) (time.Duration, uint64) {
	first := time.Duration(math.MaxInt64)
	for s := subs; len(s) > 0; s = s[subscriptionSize:] {
		if s[8] > 2 {
			return 0, errnoInval
		}
		wait, no := c.subscription(s)
		if no == errnoInval {
			return 0, no
		}
		first = min(first, wait)
	}
	return first, errnoSuccess
}

// subscription returns how long a subscription has to wait, or the error that it is answered with.
func (c *call) subscription(s []byte) (time.Duration, uint64) {
	if s[8] != tagClock {
		return 0, errnoBadf
	}
	wait := binary.LittleEndian.Uint64(s[24:])
	if binary.LittleEndian.Uint16(s[40:])&flagAbsolute != 0 {
		now, ok := c.clock(binary.LittleEndian.Uint32(s[16:]))
		if !ok {
			return 0, errnoInval
		}
		wait -= min(wait, now)
	}
	return time.Duration(min(wait, math.MaxInt64)), errnoSuccess
}

// sleep waits, or ends the call when its deadline passes first.
func (c *call) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		c.check(ctx)
	case <-c.plugin.killed:
		c.check(ctx)
	}
}
