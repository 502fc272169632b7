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
	gate  execution.Gate // which a commit closes
}

// Step implements [execution.Steps].
func (s *steps) Step(ctx context.Context, name string, e execution.Effect) *execution.Fault {
	under, _ := execution.From(ctx)
	if reason := s.refusal(under, name, e); reason != "" {
		return &execution.Fault{Kind: execution.StepRefused, Reason: reason}
	}
	defer s.gate.Leave()
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
	case s.asked[name]:
		return "its name was used before in this context"
	}
	if unfit := e.Unfit(); unfit != "" {
		return unfit
	}
	if !s.gate.Enter() {
		return "the execution commits its answer, or has tried to: steps come before"
	}
	if s.asked == nil {
		s.asked = make(map[string]bool)
	}
	s.asked[name] = true
	return ""
}
