package lambdaruntime

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Pool invokes a function in as many sandboxes as it has invocations at once. Set Function and
// Timeout before the first one.
type Pool struct {
	Function Function
	Timeout  time.Duration

	mu        sync.Mutex
	all, free []*Sandbox
}

// Invoke is [Sandbox.Invoke].
func (p *Pool) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	p.mu.Lock()
	if len(p.free) == 0 {
		s := NewSandbox(p.Function)
		p.all, p.free = append(p.all, s), append(p.free, s)
	}
	s := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free = append(p.free, s)
	}()
	return s.Invoke(ctx, payload, p.Timeout)
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
func (p *Pool) Ended() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.all {
		if state := s.Ended(); state != nil {
			return state.String()
		}
	}
	return ""
}

// Logs is what all processes have written so far.
func (p *Pool) Logs() (all string) {
	_ = p.each(func(s *Sandbox) error { // none fails
		all += s.Logs()
		return nil
	})
	return all
}
