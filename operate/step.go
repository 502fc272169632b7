package operate

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/go-idempotent/idempotent/store"
)

// Step is what is shown of a step of a record. It holds no result.
type Step struct {
	Name  string    `json:"name"`
	State StepState `json:"state"`
	// Bytes is the size of a result, or of a failure, in the record. InParts: it is kept beside it.
	Bytes   int  `json:"bytes,omitempty"`
	InParts bool `json:"in_parts,omitempty"`
}

// StepState is what a step is. The empty text stands for no step at all.
type StepState string

// The states of a step.
const (
	// StepRecorded: it has a result, and does not run again.
	StepRecorded StepState = "recorded"
	// StepHasFailed: it failed for good, and does not run again.
	StepHasFailed StepState = "failed"
	// StepOpen: it may have begun, and nobody has recorded its end.
	StepOpen StepState = "open"
	// StepOther: it has a kind that this version does not know.
	StepOther StepState = "other"
)

var stepStates = map[store.StepKind]StepState{
	store.StepValue: StepRecorded, store.StepFailure: StepHasFailed, store.StepStarted: StepOpen,
}

func stateOfStep(r store.Record, name string) StepState {
	step, found := r.Steps[name]
	if !found {
		return ""
	}
	return cmp.Or(stepStates[step.Kind], StepOther)
}

// Steps returns the steps of the record, by name. A completed record has none.
func (s Shown) Steps() []Step {
	if s.read == nil {
		return nil
	}
	return stepsOf(*s.read)
}

func stepsOf(r store.Record) []Step {
	var steps []Step //nolint:prealloc // nil without any
	for _, name := range slices.Sorted(maps.Keys(r.Steps)) {
		s := r.Steps[name]
		steps = append(steps,
			Step{Name: name, State: stateOfStep(r, name), Bytes: len(s.Result), InParts: s.Parts != ""})
	}
	return steps
}

// StepResult returns the recorded result of a step, or its recorded error, also one that is kept in
// parts, verified by the seal of the step. The bytes are the caller's. A record without such a
// step, and a step that has no result, is an [ErrStep].
func (o *Operator) StepResult(ctx context.Context, s Shown, name string) ([]byte, error) {
	r, err := s.record()
	if err != nil {
		return nil, err
	}
	step, state := r.Steps[name], stateOfStep(r, name)
	if state == "" || state == StepOpen {
		return nil, ofStep("show the result of a step", name, state)
	}
	return o.result(ctx, r.OfStep(step), step.Sealed(), "the result of a step is not the one that was recorded")
}

// StepExecuted says that a step which may have begun had its effect, and that this is its result:
// what the function of the step would have returned, as JSON. Nothing in a record tells the form.
// If it is a wrong one, requests get an error; settle the record with its result, or delete it.
func StepExecuted(name string, result []byte) Verdict {
	return Verdict{action: ActionStepExecuted, step: name, result: bytes.Clone(result)}
}

// StepFailed says that a step which may have begun failed for good, without an effect that counts.
// The handler gets an error of this type and with this message, as if the function of the step had
// returned it marked with idempotent.Terminal.
func StepFailed(name, errorType, message string) Verdict {
	v := Failed(errorType, message)
	v.action, v.step = ActionStepFailed, name
	return v
}

func (v Verdict) ofStep() bool { return v.action == ActionStepExecuted || v.action == ActionStepFailed }

func (v Verdict) completes() bool { return v.action == ActionExecuted || v.action == ActionFailed }

func named(r store.Record, states ...StepState) []string {
	var names []string
	for _, s := range stepsOf(r) {
		if slices.Contains(states, s.State) {
			names = append(names, s.Name)
		}
	}
	return names
}

// ofStep is what makes no sense for a step in this state, which is empty if there is no such step.
func ofStep(action Action, name string, state StepState) error {
	problem := "the record has no such step"
	switch {
	case state == StepOpen:
		problem = "it may have begun, and has none"
	case state != "":
		problem = "its end is known, it is " + string(state)
	}
	return refusal(ErrStep, "operate: cannot %s, %q: %s", action, name, problem)
}
