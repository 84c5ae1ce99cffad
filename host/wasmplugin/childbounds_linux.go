package wasmplugin

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// boundMemory lets the kernel refuse what gets past the child's looks: RLIMIT_DATA counts what a process can write to, which
// is all that the Go runtime and the engine map. It counts what was given back as well, and the Go runtime does not always
// report a refusal but may crash: hence the room above.
func boundMemory(memory int64) {
	const room = 128 << 20
	limit := uint64(memory) + uint64(memory)/4 + room
	_ = unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: limit, Max: limit})
}

// closeInherited closes what files this process was started with beside its streams: whoever left them open in the parent
// did not mean them for a compiler. Those of the Go runtime stay.
func closeInherited() {
	const self = "/proc/self/fd"
	names, err := os.ReadDir(self)
	if err != nil {
		return
	}
	for _, name := range names {
		fd, err := strconv.Atoi(name.Name())
		if err != nil || fd <= 2 {
			continue
		}
		if to, err := os.Readlink(self + "/" + name.Name()); err == nil && !strings.HasPrefix(to, "anon_inode:") {
			_ = unix.Close(fd)
		}
	}
}
