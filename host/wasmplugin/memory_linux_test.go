//go:build linux && (amd64 || arm64)

package wasmplugin

import "bytes"

// canMap reports whether large instances are put back page by page here.
func canMap() bool {
	s := newStartImage(bytes.Repeat([]byte{1}, imageFrom))
	defer s.close()
	return s != nil
}
