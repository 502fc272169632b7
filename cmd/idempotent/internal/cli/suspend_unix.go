//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// suspensions returns a channel that tells when Ctrl-Z is pressed, and a function that ends that. Nothing is told where Ctrl-Z does nothing: if
// whoever started the program ignores it, or nobody could let the program go on, because no shell with jobs has started it.
func suspensions() (pressed <-chan os.Signal, end func()) {
	group, err := unix.Getpgid(0)
	session, err2 := unix.Getsid(0)
	if err != nil || err2 != nil || group == session || signal.Ignored(syscall.SIGTSTP) {
		return nil, func() {}
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTSTP)
	return told, func() { signal.Stop(told) }
}

// suspend stops the program, and returns when it goes on.
func suspend() error {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	if err := unix.Kill(unix.Getpid(), unix.SIGSTOP); err != nil {
		return err
	}
	<-goesOn // the process may stop a moment later
	return nil
}
