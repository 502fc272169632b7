package show_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

func TestTimesAreRoughAndExact(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 7, 1, 3, 0, 0, 0, time.UTC)
	for want, d := range map[string]time.Duration{
		"now": 0, "1s ago": -time.Second, "59s ago": -time.Minute + time.Millisecond, "1m ago": -time.Minute,
		"in 59m":  time.Hour - 1,
		"47h ago": -48*time.Hour + 1, "2d ago": -48 * time.Hour, "in 29d": 30*24*time.Hour - 1,
	} {
		assert.Equal(t, want, show.Relative(now.Add(d), now), d)
	}
	assert.Equal(t, "2026-07-01T00:00:00Z", show.Instant(now.Add(-3*time.Hour).In(time.FixedZone("", 3600))))
	assert.Empty(t, show.Relative(time.Time{}, now))
}

func TestColumnsAreAlignedWithAndWithoutColours(t *testing.T) {
	t.Parallel()
	rows := [][]show.Cell{
		show.Cells("STATE", "KEY", ""),
		{{Text: "unknown", Colour: show.Red}, {Text: "é#1"}, {Text: "x"}},
		{{Text: "ok", Colour: show.Green}, {Text: "charge#2"}, {Text: "y"}},
	}
	var plain, coloured strings.Builder
	require.NoError(t, show.Printer{Out: &plain}.Table(rows))
	require.NoError(t, show.Printer{Out: &coloured, Colours: true}.Table(rows))
	want := "STATE    KEY\nunknown  é#1       x\nok       charge#2  y\n"
	assert.Equal(t, want, plain.String())
	assert.Contains(t, coloured.String(), "\x1b[31munknown\x1b[0m  é#1 ")
	assert.Equal(t, want, strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[0m", "").Replace(coloured.String()))
}

// What somebody wrote into the table must not clear the screen of whoever looks at it, or fake a
// line.
func TestNothingThatIsStoredSteersTheTerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.NoError(t, show.Printer{Out: &out}.Table(
		[][]show.Cell{show.Cells("a\x1b[2Jb\nc\u202e", "\xff", `"quoted" \ é`)}))
	assert.Equal(t, `a\x1b[2Jb\nc\u202e  \xff  "quoted" \ é`+"\n", out.String())
	assert.Equal(t, "{\n\t\"a\": \"\\x1b[2J\"\n}", show.Document("{\n\t\"a\": \"\x1b[2J\"\n}"))
}

// JSON stays the same value, and nothing in it steers a terminal or turns the direction of what
// stands beside it.
func TestJSONSteersNoTerminal(t *testing.T) {
	t.Parallel()
	hostile := "\u009b31m \x7f \u202e \u2066 \x1b é \U000e0041 <b>& \u2028"
	var out strings.Builder
	require.NoError(t, show.JSON(&out, map[string]string{"reason": hostile}))
	assert.Equal(t, `{"reason":"\u009b31m \u007f \u202e \u2066 \u001b é \udb40\udc41 <b>& \u2028"}`+"\n", out.String())
	var back map[string]string
	require.NoError(t, json.Unmarshal([]byte(out.String()), &back))
	assert.Equal(t, hostile, back["reason"])
}

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

// What the demo has no step of.
func TestAStepThatIsKeptElsewhereOrThatNobodyKnows(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "its result is recorded, kept beside the record",
		show.StepMeaning(operate.Step{State: operate.StepRecorded, InParts: true}))
	assert.Equal(t, "it failed for good, and the error is recorded, 3 bytes",
		show.StepMeaning(operate.Step{State: operate.StepHasFailed, Bytes: 3}))
	for _, state := range []operate.StepState{operate.StepOther, "of a version to come"} {
		assert.Equal(t, "this version does not know what it is", show.StepMeaning(operate.Step{State: state}))
	}
}

// What the demo has no record of: one without a story, and one that is asked about again.
func TestTheTimelineOfARecordThatTellsLittle(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 1, 3, 0, 0, 0, time.UTC)
	died := fmt.Sprint(at.UnixMilli(), " taken-over")
	for want, c := range map[string]struct {
		record store.Record
		state  operate.State
	}{
		"became unknown": {store.Record{Status: store.StatusUnknown, AttentionAt: at}, operate.StateUnknown},
		"became unknown; a reconciliation asks about it again": {
			store.Record{Status: store.StatusUnknown, Tries: 3, AttentionAt: at}, operate.StateUnknown,
		},
		"released: the next request executes; somebody has to look, if no request has come": {
			store.Record{Status: store.StatusInProgress, Lease: at, AttentionAt: at}, operate.StateReleased,
		},
		"its process had died, and another execution began; its lease ends, unless its execution renews it": {
			store.Record{Status: store.StatusInProgress, Lease: at, Story: died}, operate.StateInProgress,
		},
	} {
		i := show.Inspect(operate.Shown{Record: c.record, State: c.state, Since: at})
		var told []string
		for _, m := range i.Timeline() {
			assert.True(t, m.At.Equal(at), m.What)
			told = append(told, m.What)
		}
		assert.Equal(t, want, strings.Join(told, "; "))
	}
}
