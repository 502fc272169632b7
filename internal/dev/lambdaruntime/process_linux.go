package lambdaruntime

import "syscall"

// dieWithParent lets the kernel kill the child when this process dies, however it dies.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
