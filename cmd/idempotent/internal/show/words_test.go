package show_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// What a retry gets depends on whether the steps tell all that was done.
func TestWhatARetryGetsOfARecordWithSteps(t *testing.T) {
	t.Parallel()
	recorded := store.Record{Steps: map[string]store.Step{"reserve": {Kind: store.StepValue}}}
	begun := store.Record{Steps: map[string]store.Step{
		"reserve": {Kind: store.StepValue},
		"charge":  {Kind: store.StepStarted},
	}}
	for _, state := range []operate.State{operate.StateCrashed, operate.StateReleased} {
		assert.Contains(t, show.RetryGets(recorded, state), "gets the results of the recorded steps and goes on")
		assert.NotContains(t, show.RetryGets(recorded, state), "409", state)
		assert.Contains(t, show.RetryGets(begun, state), "asks the resolver of the step that may have begun", state)
		assert.Contains(t, show.RetryGets(begun, state), "409", state)
		assert.NotContains(t, show.RetryGets(store.Record{}, state), "step", state)
	}
	assert.Contains(t, show.RetryGets(store.Record{}, operate.StateCrashed), "refuses crashed executions")
	assert.NotContains(t, show.RetryGets(begun, operate.StateReleased), "refuses crashed executions",
		"a release is no crash")
	assert.Contains(t, show.RetryGets(begun, operate.StateUnknown), "until somebody settles it")
	watched := store.Record{Attention: "charge#1"}
	assert.Contains(t, show.RetryGets(watched, operate.StateCrashed), "unless the handler has a resolver")
	i := show.Inspect(operate.Shown{Record: watched, State: operate.StateCrashed})
	assert.Contains(t, i.Meaning(), "somebody has to settle it")
}

func TestEveryStateOfAStepIsTold(t *testing.T) {
	t.Parallel()
	says := map[operate.Step]string{
		{Name: "a", State: operate.StepRecorded, Bytes: 3}:      "its result is recorded, 3 bytes",
		{Name: "a", State: operate.StepRecorded, InParts: true}: "its result is recorded, kept beside the record",
		{
			Name: "a", State: operate.StepHasFailed,
			Bytes: 3,
		}: "it failed for good, and the error is recorded, 3 bytes",
		{Name: "a", State: operate.StepOpen}:                          "it may have begun, and nobody has recorded its end",
		{Name: "a", State: operate.StepOther}:                         "this version does not know what it is",
		{Name: "a", State: operate.StepState("of a version to come")}: "this version does not know what it is",
	}
	for step, want := range says {
		assert.Equal(t, want, show.StepMeaning(step))
	}
}
