//go:build !unix

package wasmplugin

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }

// boundChild does nothing: the child's own looks bound it.
func boundChild(int64) {}
