package lambdaruntime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Sandbox is one execution environment of a function: at most one process, which handles one
// invocation at a time. It is safe for concurrent use. Make one with [NewSandbox] and end it with
// [Sandbox.Close].
type Sandbox struct {
	function Function
	turn     sync.Mutex // of who invokes

	mu      sync.Mutex
	process *process
	// output is the file that the processes write to, which has no name any more. It is no pipe:
	// what a process has written before it answers is there when its answer is.
	output *os.File
	starts int
	closed bool
}

// NewSandbox returns a sandbox. Its process is started by the first invocation.
func NewSandbox(f Function) *Sandbox { return &Sandbox{function: f} }

// Invoke hands the payload to the function and returns its response. Invocations of one sandbox
// wait for their turn; if ctx has ended then, Invoke returns its cause. What has begun goes on to
// its end. The timeout counts from the moment the process takes the event; when it has passed, the
// process is killed.
//
// An invocation that failed returns a [*FunctionError]; every other error says that there was none:
// ctx, [ErrClosed], or a bootstrap that cannot be executed.
func (s *Sandbox) Invoke(ctx context.Context, payload []byte, timeout time.Duration) ([]byte, error) {
	s.turn.Lock()
	defer s.turn.Unlock()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return s.invoke(payload, timeout)
}

// invoke invokes for who has the turn.
func (s *Sandbox) invoke(payload []byte, timeout time.Duration) ([]byte, error) {
	i := invocation{payload, timeout}
	for {
		p, fresh, err := s.current()
		if err != nil {
			return nil, err
		}
		select {
		case p.next <- i:
			return p.invoke(i)
		case <-p.exited:
			if fresh {
				return nil, p.ended()
			}
			// It ended after the previous invocation had been answered: this one gets a new
			// process.
		case <-time.After(initLimit):
			return nil, errors.Join(p.kill(), timedOut(initLimit))
		}
	}
}

// current returns the process of the sandbox, and starts one if there is none.
func (s *Sandbox) current() (p *process, fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.process.alive():
		return s.process, false, nil
	case s.closed:
		return nil, false, ErrClosed
	case s.output == nil:
		if s.output, err = os.CreateTemp("", "function-*.log"); err == nil {
			err = os.Remove(s.output.Name())
		}
		if err != nil {
			return nil, false, fmt.Errorf("a file for what the function writes: %w", err)
		}
	}
	if p, err = startProcess(s.function, s.output); err == nil {
		s.process, s.starts = p, s.starts+1
	}
	return p, true, err
}

// latest is the process that was started last, nil if there was none.
func (s *Sandbox) latest() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// Kill sends SIGKILL to the process, whatever it is doing, and waits until it is gone. A running
// invocation fails with [TypeExited]. The next invocation starts a new process. Without a process
// nothing happens.
func (s *Sandbox) Kill() error { return s.latest().kill() }

// Close kills the process and waits for the invocation that has begun. Calling it again has no
// effect.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	s.closed = true // no process is started any more
	s.mu.Unlock()
	err := s.Kill()
	s.turn.Lock()
	defer s.turn.Unlock()
	return err
}

// Starts is the number of processes that were started, the current one included.
func (s *Sandbox) Starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

// PID is the id of the process, 0 if none is running.
func (s *Sandbox) PID() int {
	if p := s.latest(); p.alive() {
		return p.cmd.Process.Pid
	}
	return 0
}

// Ended tells how the latest process ended and what it used until then: processor time, memory. It
// is nil while that process runs, and before there was one.
func (s *Sandbox) Ended() *os.ProcessState {
	if p := s.latest(); p != nil && !p.alive() {
		return p.cmd.ProcessState
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

// Pool invokes a function in as many sandboxes as it has invocations at once. Set Function and
// Timeout before the first one.
type Pool struct {
	Function Function
	Timeout  time.Duration

	mu  sync.Mutex
	all []*Sandbox
}

// Invoke is [Sandbox.Invoke], and waits for nobody.
func (p *Pool) Invoke(_ context.Context, payload []byte) ([]byte, error) {
	s := p.free()
	defer s.turn.Unlock()
	return s.invoke(payload, p.Timeout)
}

// free returns a sandbox that has the turn.
func (p *Pool) free() *Sandbox {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.all {
		if s.turn.TryLock() {
			return s
		}
	}
	s := NewSandbox(p.Function)
	s.turn.Lock()
	p.all = append(p.all, s)
	return s
}

// Kill is [Sandbox.Kill] of each.
func (p *Pool) Kill() error { return p.each((*Sandbox).Kill) }

// Close is [Sandbox.Close] of each. Nothing may be invoked any more.
func (p *Pool) Close() error { return p.each((*Sandbox).Close) }

func (p *Pool) each(f func(*Sandbox) error) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.all {
		err = errors.Join(err, f(s))
	}
	return err
}

// Ended tells how a process ended that has no successor yet, such as "signal: killed"; empty if
// there is none.
func (p *Pool) Ended() (how string) {
	_ = p.each(func(s *Sandbox) error { // none fails
		if state := s.Ended(); state != nil {
			how = state.String()
		}
		return nil
	})
	return how
}

// Logs is what all processes have written so far.
func (p *Pool) Logs() (all string) {
	_ = p.each(func(s *Sandbox) error { // none fails
		all += s.Logs()
		return nil
	})
	return all
}
