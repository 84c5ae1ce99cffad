//go:build !unix

package rootfs

import (
	"errors"
	"path/filepath"
	"syscall"
)

// nonblock: opening does not block here.
const nonblock = 0

// isNotHere reports whether the system's error means that the path leads nowhere.
func isNotHere(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// checkLocal refuses what this system reads as more than names: '\', a drive, a device, a stream.
func checkLocal(rel string) error {
	if _, err := filepath.Localize(rel); err != nil {
		return ErrPath
	}
	return nil
}
