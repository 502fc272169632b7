package idempotenttest

import (
	"context"
	"sync"

	"github.com/go-idempotent/idempotent/internal/execution"
)

// steps takes the steps of a first execution: each of them runs, and gives what its record would have kept.
type steps struct {
	mu    sync.Mutex
	asked map[string]bool
	// closed: no step begins, because of a commit. running counts those that have not ended; quiet, unless nil, is closed when none is
	// left.
	closed  bool
	running int
	quiet   chan struct{}
}

// Step implements [execution.Steps].
func (s *steps) Step(ctx context.Context, name string, e execution.Effect) *execution.Fault {
	under, _ := execution.From(ctx)
	if reason := s.refusal(under, name, e); reason != "" {
		return &execution.Fault{Kind: execution.StepRefused, Reason: reason}
	}
	defer s.end()
	under.Step = name
	err := e.Run(execution.With(ctx, under))
	failed := execution.MarkOf(err) == execution.Terminal
	if err != nil && !failed {
		return nil
	}
	text, err := e.Text()
	if err != nil {
		return &execution.Fault{Kind: execution.StepLost, Reason: "its result has no JSON form", Err: err}
	}
	if err := e.Accept(text, failed); err != nil {
		return &execution.Fault{Kind: execution.StepUnreadable, Reason: "its result does not decode into what the step returns"}
	}
	return nil
}

// refusal says why a step does not begin, empty if it does.
func (s *steps) refusal(under execution.Claim, name string, e execution.Effect) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !execution.ValidStep(name):
		return "its name is not 1 to 64 characters of [A-Za-z0-9._/-]"
	case under.Step != "":
		return "it begins inside of another step"
	case s.closed:
		return "the execution commits its answer, or has tried to: steps come before"
	case s.asked[name]:
		return "its name was used before in this context"
	}
	if s.asked == nil {
		s.asked = make(map[string]bool)
	}
	s.asked[name] = true
	unfit := e.Unfit()
	if unfit == "" {
		s.running++
	}
	return unfit
}

// end notes that a step has ended, whichever way.
func (s *steps) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	if s.running == 0 && s.quiet != nil {
		close(s.quiet)
		s.quiet = nil
	}
}

// join lets no other step begin, and waits for those that run. If ctx ends before them, it returns why.
func (s *steps) join(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	if s.running == 0 {
		s.mu.Unlock()
		return nil
	}
	if s.quiet == nil {
		s.quiet = make(chan struct{})
	}
	quiet := s.quiet
	s.mu.Unlock()
	select {
	case <-quiet:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// goOn lets steps begin again.
func (s *steps) goOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = false
}
