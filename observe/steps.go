package observe

import (
	"errors"
	"slices"

	"github.com/go-idempotent/idempotent"
)

// stepEnd is what came of a step, in words.
type stepEnd string

// Each step has exactly one.
const (
	// stepRecorded: this execution recorded what came of it, which may be a final failure. stepResolved: and a resolver found it.
	stepRecorded stepEnd = "recorded"
	stepResolved stepEnd = "resolved"
	// stepResumed: an earlier execution had recorded it.
	stepResumed stepEnd = "resumed"
	// stepFailed: its function returned an error that is not recorded, or panicked.
	stepFailed stepEnd = "failed"
	// The rest has no outcome of its own. stepLost: its function ran, and what it returned could not be recorded.
	stepLost       stepEnd = "lost"
	stepRefused    stepEnd = "refused"
	stepLeaseLost  stepEnd = "lease lost"
	stepUnreadable stepEnd = "unreadable"
	stepUnknown    stepEnd = "unknown outcome"
)

// endOf says what came of a step.
func endOf(s *idempotent.StepEvent) stepEnd {
	if fault := faultOf(s); fault != nil {
		switch {
		case errors.Is(fault, idempotent.ErrStepLost):
			return stepLost
		case errors.Is(fault, idempotent.ErrLeaseLost):
			return stepLeaseLost
		case errors.Is(fault, idempotent.ErrUnreadable):
			return stepUnreadable
		case errors.Is(fault, idempotent.ErrUnknownOutcome):
			return stepUnknown
		default:
			return stepRefused
		}
	}
	switch {
	case s.Resumed:
		return stepResumed
	case s.Recorded && s.Resolved:
		return stepResolved
	case s.Recorded:
		return stepRecorded
	default:
		return stepFailed
	}
}

// faultOf is why the step has no outcome of its own, nil if it has one. The function may have returned such an error of another step.
func faultOf(s *idempotent.StepEvent) *idempotent.StepError {
	fault, ok := s.Err.(*idempotent.StepError) //nolint:errorlint // what it wraps is not of this step
	if !ok || fault.Step != s.Name {
		return nil
	}
	return fault
}

// stepErrorType is the type of the error of a step, or of the cause where the end says all but that.
func stepErrorType(s *idempotent.StepEvent) string {
	if fault := faultOf(s); fault != nil {
		return errorType(fault.Err)
	}
	return errorType(s.Err)
}

// stepsThat counts the steps that ended in one of these ways.
func stepsThat(e *idempotent.Event, ends ...stepEnd) int {
	n := 0
	for i := range e.Steps {
		if slices.Contains(ends, endOf(&e.Steps[i])) {
			n++
		}
	}
	return n
}
