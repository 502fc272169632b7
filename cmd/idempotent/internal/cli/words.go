package cli

import (
	"fmt"
	"strings"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// stateColour says whether a state needs somebody.
func stateColour(s operate.State) show.Colour {
	switch s {
	case operate.StateUnknown, operate.StateOther:
		return show.Red
	case operate.StateLapsed, operate.StateReleased:
		return show.Yellow
	case operate.StateCompleted:
		return show.Green
	default:
		return show.Faint
	}
}

// meaning says what a record in this state is.
func meaning(r store.Record, s operate.State) string {
	switch s {
	case operate.StateInProgress:
		return "an execution holds the key"
	case operate.StateLapsed:
		return "an execution ended without saying how, and no request has come since"
	case operate.StateReleased:
		return "nobody holds the key"
	case operate.StateCompleted:
		if r.Reason == store.ReasonTerminal {
			return "it failed for good, and the error is stored"
		}
		return "its result is stored"
	case operate.StateUnknown:
		return "it may have had its effect; somebody has to settle it"
	case operate.StateExpired:
		return "as good as gone"
	default:
		return "this version does not know its status"
	}
}

// reasonMeaning says how a record came to be as it is.
func reasonMeaning(reason string) string {
	switch reason {
	case store.ReasonUncertain:
		return "the handler said that the effect may have happened"
	case store.ReasonPanic:
		return "the handler panicked, and crashed executions are not repeated"
	case store.ReasonInterrupted:
		return "the handler ran out of time, and crashed executions are not repeated"
	case store.ReasonError:
		return "the handler failed, and failed executions are not repeated"
	case store.ReasonNotStored:
		return "the result is not to be stored, and failed executions are not repeated"
	case store.ReasonCrashed:
		return "the process ended without saying how, and crashed executions are not repeated"
	case store.ReasonResultLost:
		return "the handler succeeded, but its result could not be stored"
	case store.ReasonTerminal:
		return "the handler failed for good"
	case store.ReasonReleased:
		return "it was given up for another try"
	case store.ReasonAsked:
		return "it was given up for another try, and a reconciliation asks about it"
	default:
		return ""
	}
}

// retryGets says what the next retry of the client gets while the record is as it is.
func retryGets(r store.Record, s operate.State) string {
	switch s {
	case operate.StateInProgress:
		return "\"in progress\" (HTTP 409 with Retry-After) until the lease ends; the handler does not run"
	case operate.StateLapsed:
		if r.Reason != "" {
			return "\"unknown outcome\" (HTTP 409), unless the handler has a resolver that can tell: it was unknown before somebody asked"
		}
		if r.Resumable() {
			return resumes(r)
		}
		if len(r.Steps) > 0 {
			return resumes(r) + "; the same under a policy that refuses crashed executions"
		}
		return "a new execution with the same derived keys; under a policy that refuses crashed executions \"unknown outcome\" (HTTP 409)"
	case operate.StateReleased:
		if len(r.Steps) > 0 {
			return resumes(r)
		}
		return "a new execution with the same derived keys"
	case operate.StateCompleted:
		if r.Reason == store.ReasonTerminal {
			return "the stored error; the handler does not run"
		}
		return "the stored result; the handler does not run"
	case operate.StateUnknown:
		return "\"unknown outcome\" (HTTP 409) until somebody settles it; the handler does not run"
	case operate.StateExpired:
		return "a new execution, as if the key were new"
	default:
		return "\"unreadable record\" (HTTP 500); the handler does not run"
	}
}

// resumes says what an execution does with the steps of a record.
func resumes(r store.Record) string {
	if r.Resumable() {
		return "a new execution with the same derived keys, which gets the results of the recorded steps and goes on from there"
	}
	return "a new execution, which asks the resolver of the step that may have begun; without one \"unknown outcome\" (HTTP 409)"
}

// stepMeaning says what is known of a step.
func stepMeaning(s operate.Step) string {
	kept := fmt.Sprintf(", %d bytes", s.Bytes)
	if s.InParts {
		kept = ", kept beside the record"
	}
	switch s.State {
	case operate.StepRecorded:
		return "its result is recorded" + kept + "; --step " + s.Name + " shows it"
	case operate.StepHasFailed:
		return "it failed for good, and the error is recorded" + kept + "; --step " + s.Name + " shows it"
	case operate.StepOpen:
		return "it may have begun, and nobody has recorded its end"
	default:
		return "this version does not know what it is"
	}
}

// stepCounts says how many steps are in which state.
func stepCounts(steps []operate.Step) string {
	var texts []string
	for _, state := range []operate.StepState{operate.StepRecorded, operate.StepHasFailed, operate.StepOpen, operate.StepOther} {
		var names []string
		for _, s := range steps {
			if s.State == state {
				names = append(names, s.Name)
			}
		}
		if len(names) > 0 {
			texts = append(texts, fmt.Sprintf("%s %s (%s)", count(int64(len(names)), "step"), state, strings.Join(names, ", ")))
		}
	}
	return strings.Join(texts, "; ")
}
