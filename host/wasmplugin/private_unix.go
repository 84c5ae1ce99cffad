//go:build unix

package wasmplugin

import (
	"fmt"
	"os"
	"syscall"
)

// checkPrivate refuses a cache folder that somebody else could write to, or put another one in the place of.
func checkPrivate(dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cache folder: %w", err)
	}
	if !st.IsDir() {
		return fmt.Errorf("cache folder %s is not a folder", dir)
	}
	if m := st.Mode().Perm(); m&0o022 != 0 {
		return fmt.Errorf("cache folder %s can be written by others (mode %04o): compiled code is kept there; run chmod 700 on it or choose another", dir, m)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		if uid := os.Geteuid(); int(sys.Uid) != uid && sys.Uid != 0 {
			return fmt.Errorf("cache folder %s belongs to user %d, not to %d: choose another", dir, sys.Uid, uid)
		}
	}
	return nil
}
