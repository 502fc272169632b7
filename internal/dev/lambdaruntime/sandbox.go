package lambdaruntime

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"
)

// Sandbox is one execution environment of a function: at most one process, which handles one invocation at a time. It is
// safe for concurrent use. Make one with [NewSandbox] and end it with [Sandbox.Close].
type Sandbox struct {
	function Function
	logs     logs
	// turn holds the token of the sandbox: who has it invokes.
	turn        chan struct{}
	invocations sync.WaitGroup

	mu      sync.Mutex
	process *process
	starts  int
	closed  bool
}

// NewSandbox returns a sandbox. Its process is started by the first invocation.
func NewSandbox(f Function) *Sandbox {
	s := &Sandbox{function: f, turn: make(chan struct{}, 1)}
	s.turn <- struct{}{}
	return s
}

// Invoke hands the payload to the function and returns its response. Invocations of one sandbox wait for their turn.
// The timeout counts from the moment the process takes the event; when it has passed, the process is killed.
//
// If ctx ends, Invoke returns its cause, as a client does that hangs up; the invocation itself goes on.
//
// An invocation that failed returns a [*FunctionError]; every other error says that there was none: ctx, [ErrClosed],
// [ErrPayloadTooLarge], or a bootstrap that cannot be executed.
func (s *Sandbox) Invoke(ctx context.Context, payload []byte, timeout time.Duration) ([]byte, error) {
	if len(payload) > MaxPayload {
		return nil, ErrPayloadTooLarge
	}
	select {
	case <-s.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := s.begin(); err != nil {
		s.turn <- struct{}{}
		return nil, err
	}
	i := newInvocation(payload, timeout)
	go func() { //nolint:contextcheck // the invocation goes on when its caller hangs up
		defer s.invocations.Done()
		i.result = s.run(i)
		s.turn <- struct{}{}
		close(i.finished)
	}()
	select {
	case <-i.finished:
		return i.result.response, i.result.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Sandbox) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	s.invocations.Add(1)
	return nil
}

// run takes an invocation from its delivery to its answer.
func (s *Sandbox) run(i *invocation) result {
	p, r := s.deliver(i)
	if p == nil {
		return r
	}
	deadline := time.NewTimer(time.Until(<-i.delivered))
	defer deadline.Stop()
	select {
	case r := <-i.answered:
		return r
	case <-p.exited:
		return i.answerOr(exited(i.id, p.status))
	case <-deadline.C:
		if err := p.kill(); err != nil {
			return result{err: err}
		}
		return i.answerOr(timedOut(i.id, i.timeout))
	}
}

// deliver hands the invocation to a process. If it cannot, it returns what the caller gets instead.
func (s *Sandbox) deliver(i *invocation) (*process, result) {
	for {
		p, fresh, err := s.current()
		if err != nil {
			return nil, result{err: err}
		}
		limit := time.NewTimer(initLimit)
		select {
		case p.api.next <- i:
			limit.Stop()
			return p, result{}
		case <-p.exited:
			limit.Stop()
			if fresh {
				return nil, initEnded(i, p)
			}
			// It ended after the previous invocation had been answered: this one gets a new process.
		case <-limit.C:
			if err := p.kill(); err != nil {
				return nil, result{err: err}
			}
			return nil, result{err: timedOut(i.id, initLimit)}
		}
	}
}

// initEnded is the answer of a process that ended before it asked for an event.
func initEnded(i *invocation, p *process) result {
	select {
	case reported := <-p.api.initFailed:
		return result{err: reported}
	default:
		return result{err: exited(i.id, p.status)}
	}
}

// current returns the process of the sandbox, and starts one if there is none.
func (s *Sandbox) current() (p *process, fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil && s.process.alive() {
		return s.process, false, nil
	}
	if s.closed {
		return nil, false, ErrClosed
	}
	p, err = startProcess(s.function, &s.logs)
	if err != nil {
		return nil, false, err
	}
	s.process = p
	s.starts++
	return p, true, nil
}

// Kill sends SIGKILL to the process, whatever it is doing, and waits until it is gone. A running invocation fails with
// [TypeExited]. The next invocation starts a new process. Without a process nothing happens.
func (s *Sandbox) Kill() error {
	s.mu.Lock()
	p := s.process
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	return p.kill()
}

// Close kills the process and waits for everything that the sandbox has started. Calling it again has no effect.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	err := s.Kill()
	s.invocations.Wait()
	// An invocation may have been about to start another process.
	return errors.Join(err, s.Kill(), s.logs.close())
}

// Starts is the number of processes that were started, the current one included.
func (s *Sandbox) Starts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

// PID is the id of the process, 0 if none is running.
func (s *Sandbox) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil || !s.process.alive() {
		return 0
	}
	return s.process.cmd.Process.Pid
}

// Ended tells how the latest process ended and what it used until then: processor time, memory. It is nil while that
// process runs, and before there was one.
func (s *Sandbox) Ended() *os.ProcessState {
	s.mu.Lock()
	p := s.process
	s.mu.Unlock()
	if p == nil || p.alive() {
		return nil
	}
	return p.cmd.ProcessState
}

// Logs is what all processes of the sandbox have written to standard output and standard error so far: of an invocation that was answered, everything
// that its process wrote before.
func (s *Sandbox) Logs() string { return s.logs.String() }
