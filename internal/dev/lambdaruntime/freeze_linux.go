package lambdaruntime

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// Freeze stops the process where it stands, as Lambda does between invocations; it may also happen during one, whose
// deadline goes on. A process that starts, or has just answered, is stopped when it asks for its next event. Without a
// process nothing happens.
func (s *Sandbox) Freeze() error {
	p := s.alive()
	if p == nil || !p.until(p.api.busyOrAsking) {
		return nil
	}
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	p.until(p.stopped)
	return nil
}

// Thaw lets a frozen process go on.
func (s *Sandbox) Thaw() error {
	p := s.alive()
	if p == nil {
		return nil
	}
	return p.signal(syscall.SIGCONT)
}

// alive is the process of the sandbox, nil if there is none.
func (s *Sandbox) alive() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || !s.process.alive() {
		return nil
	}
	return s.process
}

func (p *process) signal(signal syscall.Signal) error {
	err := p.cmd.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// until waits for a condition, and reports false if the process ends before.
func (p *process) until(condition func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-p.exited:
			return false
		}
	}
	return true
}

// stopped reports whether all threads of the process have stopped: a signal takes a moment to reach them.
func (p *process) stopped() bool {
	threads, err := filepath.Glob("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/task/*/stat")
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // a thread that has ended
		}
		// The state follows the name, which stands in parentheses.
		_, state, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
		if err != nil || !bytes.HasPrefix(state, []byte("T")) {
			return false
		}
	}
	return true
}
