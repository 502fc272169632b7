package lambdaruntime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"
)

// Sandbox runs a function, in as many processes as it has invocations at once. It is safe for
// concurrent use, but its fields must not change during an invocation. End it with [Sandbox.Close].
type Sandbox struct {
	// Bootstrap is the path of the executable. Its last part is the name of the function.
	Bootstrap string
	// Environment are the variables of the function, as "NAME=value". Besides, the process sees
	// what Lambda itself sets, which counts where both set one, and nothing of this process.
	Environment []string
	// Timeout is how long an invocation may take from the moment a process has the event. Then the
	// process is killed.
	Timeout time.Duration

	invoking sync.RWMutex // held, as by a reader, by each invocation

	mu sync.Mutex
	// started are all processes, idle those that wait for an event, or have ended since.
	started, idle []*process
	// output is the file that the processes write to, which has no name any more. It is no pipe:
	// what a process has written before it answers is there when its answer is.
	output *os.File
	closed bool
}

// ErrClosed is returned by an invocation of a closed sandbox.
var ErrClosed = errors.New("lambdaruntime: the sandbox is closed")

// Invoke hands the payload to the function and returns its response. What has begun goes on to its
// end, whatever the context says.
//
// An invocation that failed returns a [*FunctionError]; every other error says that there was none:
// [ErrClosed], or a bootstrap that cannot be executed.
func (s *Sandbox) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	s.invoking.RLock()
	defer s.invoking.RUnlock()
	for {
		p, fresh, err := s.take()
		if err != nil {
			return nil, err
		}
		select {
		case p.next <- payload:
			defer s.give(p)
			return p.invoke()
		case <-p.exited:
			if fresh {
				return nil, p.ended()
			} // else it ended after its last answer, and this invocation gets another process
		case <-time.After(initLimit):
			p.kill()
			return nil, timedOut(initLimit)
		}
	}
}

// take returns a process that waits for an event, and starts one if there is none.
func (s *Sandbox) take() (p *process, fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.idle) > 0 {
		if p, s.idle = s.idle[0], s.idle[1:]; p.alive() {
			return p, false, nil
		}
	}
	if s.closed {
		return nil, false, ErrClosed
	}
	if s.output == nil {
		if s.output, err = os.CreateTemp("", "function-*.log"); err == nil {
			err = os.Remove(s.output.Name())
		}
		if err != nil {
			return nil, false, fmt.Errorf("a file for what the function writes: %w", err)
		}
	}
	if p, err = s.start(); err == nil {
		s.started = append(s.started, p)
	}
	return p, true, err
}

func (s *Sandbox) give(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, p)
}

func (s *Sandbox) processes() []*process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clip(s.started)
}

// Kill sends SIGKILL to all processes, whatever they are doing, and waits until they are gone. A
// running invocation fails with [TypeExited]. The next one starts a new process.
func (s *Sandbox) Kill() {
	for _, p := range s.processes() {
		p.kill()
	}
}

// Close kills the processes and waits for what has begun. Calling it again has no effect.
func (s *Sandbox) Close() {
	s.mu.Lock()
	s.closed = true // no process is started any more
	s.mu.Unlock()
	s.Kill()
	s.invoking.Lock()
	defer s.invoking.Unlock()
}

// Starts is the number of processes that were started.
func (s *Sandbox) Starts() int { return len(s.processes()) }

// PID is the id of the process that was started last, 0 if it is not running.
func (s *Sandbox) PID() int {
	if all := s.processes(); len(all) > 0 && all[len(all)-1].alive() {
		return all[len(all)-1].cmd.Process.Pid
	}
	return 0
}

// Ended tells how the process ended that was started last, and what it used until then: processor
// time, memory. It is nil while that process runs, and before there was one.
func (s *Sandbox) Ended() *os.ProcessState {
	if all := s.processes(); len(all) > 0 && !all[len(all)-1].alive() {
		return all[len(all)-1].cmd.ProcessState
	}
	return nil
}

// Logs is what all processes of the sandbox have written to standard output and standard error so
// far: of an invocation that was answered, everything that its process wrote before.
func (s *Sandbox) Logs() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.output == nil {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(s.output, 0, 1<<40))
	if err != nil {
		return fmt.Sprintf("what the function wrote cannot be read: %v", err)
	}
	return string(text)
}
