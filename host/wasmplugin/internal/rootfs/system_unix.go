//go:build unix

package rootfs

import (
	"errors"
	"syscall"
)

// nonblock keeps the opening of a FIFO from waiting for a writer, and of a terminal from becoming this process's.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

// isNotHere reports whether the system's error means that the path leads nowhere.
func isNotHere(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENAMETOOLONG) ||
		errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EINVAL)
}

// checkLocal checks what only this system does not take in a path: nothing.
func checkLocal(string) error { return nil }
