//go:build !linux

package rootfs

import (
	"io/fs"
	"strconv"
)

// version is made of the time and the size of the content.
func version(info fs.FileInfo) string {
	b := strconv.AppendInt(nil, info.ModTime().UnixNano(), 36)
	b = append(b, '-')
	return string(strconv.AppendInt(b, info.Size(), 36))
}
