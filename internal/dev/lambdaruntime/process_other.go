//go:build !linux

package lambdaruntime

import "syscall"

// dieWithParent is not to be had here: a child may outlive a parent that is killed.
func dieWithParent() *syscall.SysProcAttr { return nil }
