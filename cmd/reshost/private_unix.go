//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkPrivate refuses a state folder that somebody else can write to or owns: who puts another key or other compiled code there decides
// what this process trusts. A folder that is not there yet passes.
func checkPrivate(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	const remedy = "name another with --state-dir DIR or state_dir in the configuration"
	if !info.IsDir() {
		return fmt.Errorf("the state folder %s is not a folder: %s", dir, remedy)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("the state folder %s can be written by others (mode %04o), and what is kept there is trusted: run chmod go-w on it, or %s", dir, mode, remedy)
	}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		if uid := os.Geteuid(); int(sys.Uid) != uid && sys.Uid != 0 {
			return fmt.Errorf("the state folder %s belongs to user %d, not to %d who runs this: %s", dir, sys.Uid, uid, remedy)
		}
	}
	return nil
}
