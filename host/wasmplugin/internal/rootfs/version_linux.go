package rootfs

import (
	"io/fs"
	"strconv"
	"syscall"
)

// version is made of what the system changes with the content: also the time of the last change of the inode, which
// tools that set the time of the content back cannot set.
func version(info fs.FileInfo) string {
	b := strconv.AppendInt(nil, info.ModTime().UnixNano(), 36)
	b = append(b, '-')
	b = strconv.AppendInt(b, info.Size(), 36)
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		b = append(b, '-')
		b = strconv.AppendInt(b, st.Ctim.Nano(), 36)
		b = append(b, '-')
		b = strconv.AppendUint(b, st.Ino, 36)
	}
	return string(b)
}
