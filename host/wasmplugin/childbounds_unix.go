//go:build unix

package wasmplugin

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes puts the child into a process group of its own: an interrupt from the terminal is the parent's to
// handle, and the child's priority is lowered as a group's, since on Linux each thread has its own.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// childNice is how much less a child's work matters than serving.
const childNice = 5

// boundChild sets what the system itself bounds. The child is bounded by its own looks too, so that what fails here is no
// more than the second line.
func boundChild(memory int64) {
	closeInherited()
	if unix.Getpgrp() == unix.Getpid() { // else the group is not ours to slow down
		_ = unix.Setpriority(unix.PRIO_PGRP, 0, childNice)
	}
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	_ = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: maxCode, Max: maxCode})
	if memory >= 0 {
		boundMemory(memory)
	}
}
