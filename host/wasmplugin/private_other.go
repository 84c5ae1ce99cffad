//go:build !unix

package wasmplugin

import (
	"fmt"
	"os"
)

// checkPrivate checks that the cache folder is a folder. Who may write to it is left to the system's access lists, which
// for a folder below the user's profile admit the user alone.
func checkPrivate(dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("cache folder: %w", err)
	}
	if !st.IsDir() {
		return fmt.Errorf("cache folder %s is not a folder", dir)
	}
	return nil
}
