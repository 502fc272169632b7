package operate_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// recorded is a step of the first owner with a result, and begun one that may have begun.
func recorded(result string) store.Step {
	return store.Step{Kind: store.StepValue, Seal: store.Seal("owner-1", []byte(result)), Result: []byte(result)}
}

func begun() store.Step { return store.Step{Kind: store.StepStarted, Seal: store.Seal("owner-1", nil)} }

const reservation = `{"id":"secret-r1"}`

// halfway gives a record the steps of an order that stopped: one is recorded, one has failed, one
// may have begun.
func halfway(r store.Record) store.Record {
	failure := recorded(`{"errorType":"Closed","errorMessage":"secret"}`)
	failure.Kind = store.StepFailure
	r.Steps = map[string]store.Step{"reserve": recorded(reservation), "coupon": failure, "charge": begun()}
	r.StepWrites = 3
	return r
}

// resumable is such a record in which no step may have begun without an end.
func resumable(r store.Record) store.Record {
	r = halfway(r)
	delete(r.Steps, "charge")
	r.StepWrites = 2
	return r
}

// stopped is a record that was released with steps.
func stopped(r store.Record) store.Record {
	r.Status, r.Reason = store.StatusInProgress, store.ReasonReleased
	r.Attention, r.AttentionAt, r.Derived = store.AttentionOf(r.Key), now.Add(-time.Minute).Truncate(time.Millisecond),
		[]string{"charge"}
	return r
}

// stepChanges are what can be done to the step "charge", beside the other changes.
var stepChanges = map[operate.Action]change{
	operate.ActionStepExecuted: settle(operate.StepExecuted("charge", []byte(result))),
	operate.ActionStepFailed:   settle(operate.StepFailed("charge", "CardDeclined", "no <money>")),
}

func allChanges() map[operate.Action]change {
	all := maps.Clone(changes)
	maps.Copy(all, stepChanges)
	return all
}

func TestInspectShowsSteps(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := halfway(unknown())
	r.Steps["photo"] = store.Step{Kind: store.StepValue, Seal: store.Seal("owner-1", []byte(`1`)), Parts: "1:3"}
	r.Steps["later"] = store.Step{Kind: "postponed", Seal: store.Seal("owner-1", nil)}
	assert.Equal(t, []operate.Step{
		{Name: "charge", State: operate.StepOpen},
		{Name: "coupon", State: operate.StepHasFailed, Bytes: 46},
		{Name: "later", State: operate.StepOther},
		{Name: "photo", State: operate.StepRecorded, InParts: true},
		{Name: "reserve", State: operate.StepRecorded, Bytes: 18},
	}, d.shown(r).Steps())
	assert.Empty(t, newDesk(t, nil).shown(crashed()).Steps())
	assert.Empty(t, operate.Shown{Record: r}.Steps(), "a record that nobody was shown")
}

func TestResultsOfSteps(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := halfway(unknown())
	unsealed := store.Step{Kind: store.StepValue, Result: []byte(`"secret"`)}
	r.Steps["unsealed"] = unsealed
	unsealed.Seal = store.Seal("owner-1", []byte(`1`))
	r.Steps["altered"] = unsealed
	r.Steps["photo"] = store.Step{Kind: store.StepValue, Seal: store.Seal("owner-1", []byte(`1`)), Parts: "1:1"}
	s := d.shown(r)
	for step, want := range map[string]string{
		"reserve": reservation,
		"coupon":  `{"errorType":"Closed","errorMessage":"secret"}`,
	} {
		got, err := d.StepResult(t.Context(), s, step)
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
		clear(got)
		again, err := d.StepResult(t.Context(), s, step)
		require.NoError(t, err)
		assert.Equal(t, want, string(again), "the bytes are the caller's")
	}
	for step, says := range map[string]string{
		"charge": "it may have begun, and has none", "mail": "the record has no such step",
	} {
		_, err := d.StepResult(t.Context(), s, step)
		require.ErrorIs(t, err, operate.ErrStep)
		assert.ErrorContains(t, err, `operate: cannot show the result of a step, "`+step+`": `+says)
	}
	for _, step := range []string{"altered", "unsealed", "photo"} {
		_, err := d.StepResult(t.Context(), s, step)
		require.ErrorAs(t, err, new(*store.UnreadableError), step)
		assert.NotContains(t, err.Error(), "secret")
	}
	_, err := d.StepResult(t.Context(), operate.Shown{Record: r}, "reserve")
	require.ErrorIs(t, err, operate.ErrInput)
}

// recording is a store that keeps what it was last told to write.
type recording struct {
	store.Store
	next store.Record
}

func (s *recording) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	s.next = next
	return s.Store.Swap(ctx, seen, next)
}

// TestAChangeWritesOnlyTheStepsThatItChanges: results that are recorded are not sent again.
func TestAChangeWritesOnlyTheStepsThatItChanges(t *testing.T) {
	t.Parallel()
	for action, do := range allChanges() {
		written := &recording{Store: memory.New()}
		d := deskOver(t, written)
		_, err := do(d, d.shown(halfway(unknown())), act)
		require.NoError(t, err)
		changed := slices.Collect(maps.Keys(written.next.Steps))
		if action == operate.ActionExecuted || action == operate.ActionFailed || action == operate.ActionDelete {
			assert.Empty(t, changed, action)
		} else {
			assert.Equal(t, []string{"charge"}, changed, action)
		}
	}
}

// TestTheVerdictOnOneStepIsNoVerdictOnAnother that may have begun beside it.
func TestTheVerdictOnOneStepIsNoVerdictOnAnother(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := halfway(unknown())
	r.Steps["mail"] = begun()
	s := d.shown(r)
	given := []byte(result)
	v := operate.StepExecuted("charge", given)
	clear(given) // it is the caller's
	entry, err := d.Settle(t.Context(), s, v, dry)
	require.NoError(t, err)
	assert.Contains(t, strings.Join(entry.Preview, " "), `"mail" stays as it is: it may have begun`)
	_, err = d.Settle(t.Context(), s, v, act)
	require.NoError(t, err)
	s = d.look(key)
	assert.Equal(t, result, string(s.Record.Steps["charge"].Result))
	assert.Contains(t, s.Steps(), operate.Step{Name: "mail", State: operate.StepOpen})
	assert.Contains(t, s.Steps(), operate.Step{Name: "charge", State: operate.StepRecorded, Bytes: len(result)})

	_, err = d.Settle(t.Context(), s, operate.NotExecuted(), act)
	require.NoError(t, err, "the record is released, and its open step can be settled as not executed")
	s = d.look(key)
	assert.NotContains(t, s.Steps(), operate.Step{Name: "mail", State: operate.StepOpen})
	assert.Len(t, s.Steps(), 3)
	_, err = d.Settle(t.Context(), s, operate.NotExecuted(), act)
	require.ErrorIs(t, err, operate.ErrState, "now nothing is left to say")
}

func TestAReleaseThatLeavesNoStepLeavesNoAttention(t *testing.T) {
	t.Parallel()
	d := newDesk(t, nil)
	r := unknown()
	r.Steps, r.StepWrites = map[string]store.Step{"charge": begun()}, 1
	_, err := d.Settle(t.Context(), d.shown(r), operate.NotExecuted(), act)
	require.NoError(t, err)
	held, _ := d.held()
	assert.Empty(t, held.Steps)
	assert.Empty(t, held.Attention)
	assert.Zero(t, held.AttentionAt)
	assert.Empty(t, held.Derived)
}

// A verdict on a step ends what may have begun of that step without a mark. One on the execution
// ends it of all steps.
func TestAVerdictEndsWhatMayHaveBegunUnseen(t *testing.T) {
	t.Parallel()
	type unseen struct {
		any   bool
		names []string
	}
	for before, after := range map[*unseen]map[operate.Action]unseen{
		{any: true}:                         {operate.ActionStepExecuted: {true, []string{"charge"}}},
		{names: []string{"charge"}}:         {operate.ActionStepFailed: {}},
		{names: []string{"charge", "mail"}}: {operate.ActionStepExecuted: {names: []string{"mail"}}},
		{any: true, names: []string{"a"}}: {
			operate.ActionNotExecuted: {}, operate.ActionExecuted: {},
			operate.ActionFailed: {},
		},
	} {
		for action, want := range after {
			d := newDesk(t, nil)
			r := halfway(unknown())
			r.Unmarked, r.StepNames = before.any, before.names
			_, err := allChanges()[action](d, d.shown(r), act)
			require.NoError(t, err)
			held, _ := d.held()
			assert.Equal(t, want, unseen{held.Unmarked, held.StepNames}, "%s of %v", action, before)
		}
	}
}

func TestAStepIsSettledOnlyIfItMayHaveBegun(t *testing.T) {
	t.Parallel()
	for _, record := range []store.Record{halfway(crashed()), halfway(unknown()), halfway(stopped(crashed()))} {
		for step, says := range map[string]string{
			"reserve": "its end is known, it is recorded", "coupon": "its end is known, it is failed",
			"mail": "the record has no such step", "Charge": "the record has no such step",
		} {
			for action, v := range map[operate.Action]operate.Verdict{
				operate.ActionStepExecuted: operate.StepExecuted(step, []byte(result)),
				operate.ActionStepFailed:   operate.StepFailed(step, "T", "m"),
			} {
				d := newDesk(t, nil)
				s := d.shown(record)
				seen, _ := d.held()
				for _, a := range acts {
					entry, err := d.Settle(t.Context(), s, v, a)
					require.ErrorIs(t, err, operate.ErrStep)
					assert.EqualError(t, err,
						fmt.Sprintf("operate: cannot %s, %q: %s; nothing was changed", action, step, says))
					assert.Equal(t, operate.Entry{}, entry)
				}
				held, _ := d.held()
				assert.Equal(t, seen, held)
			}
		}
	}
}

// TestAReleasedRecordIsReleasedAgainOnlyForAStep that may have begun: else it already is what it
// would become.
func TestAReleasedRecordIsReleasedAgainOnlyForAStep(t *testing.T) {
	t.Parallel()
	for _, action := range []operate.Action{operate.ActionNotExecuted, operate.ActionRelease} {
		d := newDesk(t, nil)
		_, err := changes[action](d, d.shown(resumable(stopped(crashed()))), act)
		assert.Equal(t, operate.StateReleased, refused(t, err, operate.ErrState).State, action)
		d = newDesk(t, nil)
		_, err = changes[action](d, d.shown(halfway(stopped(crashed()))), act)
		require.NoError(t, err)
	}
}

// TestAStepThatWasWrittenSinceTheRecordWasShown: an execution that has lost its lease records one
// without any other trace.
func TestAStepThatWasWrittenSinceTheRecordWasShown(t *testing.T) {
	t.Parallel()
	for _, do := range allChanges() {
		for _, a := range acts {
			for _, record := range []store.Record{halfway(crashed()), halfway(unknown())} {
				d := newDesk(t, nil)
				s := d.shown(record)
				seen, _ := d.held()
				owners, next := seen, seen
				owners.StepWrites = store.AnyStepWrites
				next.Steps = map[string]store.Step{"charge": recorded(`"late"`)}
				require.True(t, d.swap(owners, next))
				_, err := do(d, s, a)
				assert.Contains(t, refused(t, err, operate.ErrChanged).Now.Steps(),
					operate.Step{Name: "charge", State: operate.StepRecorded, Bytes: 6})
				held, _ := d.held()
				assert.Equal(t, "owner-1", held.Owner)
			}
		}
	}
}

func TestWhatThePreviewSaysOfSteps(t *testing.T) {
	t.Parallel()
	many := resumable(unknown())
	for name := range strings.FieldsSeq("a b c d e f g h i j k l") {
		many.Steps[name] = many.Steps["reserve"]
	}
	for name, c := range map[string]told{
		"executed": {halfway(unknown()), changes[operate.ActionExecuted], []string{
			`Its 2 recorded steps "coupon" and "reserve" are dropped.`,
			`The start mark of "charge", which may have begun, is dropped.`,
		}, nil},
		"not executed": {halfway(unknown()), changes[operate.ActionNotExecuted], []string{
			`Its 2 recorded steps "coupon" and "reserve" are kept. The next execution gets their results and does not run them again.`,
			`The start mark of "charge" is removed: the step runs again.`,
			"If no request comes until 2086-07-01T13:00:00Z, the record is listed",
			"If what is not recorded had its effect after all, that effect is repeated, with the same derived keys.",
		}, []string{"the effect is repeated"}},
		"released, resumable": {
			resumable(crashed()), release,
			[]string{`"coupon" and "reserve" are kept`},
			[]string{"start mark"},
		},
		"released, only marks": {
			func() store.Record {
				r := halfway(unknown())
				delete(r.Steps, "coupon")
				delete(r.Steps, "reserve")
				return r
			}(), release,
			[]string{`The start mark of "charge" is removed`},
			[]string{"recorded step", "is listed"},
		},
		"a step executed": {halfway(unknown()), stepChanges[operate.ActionStepExecuted], []string{
			`The step "charge" is recorded with the given result of 18 bytes. It does not run again.`,
			`"coupon" and "reserve" are kept`,
			"kept as released until 2086-07-31T12:00:00Z", "as attempt 3",
			"If the result is none that the step returns, requests get an error",
		}, []string{"start mark"}},
		"a step failed": {halfway(unknown()), stepChanges[operate.ActionStepFailed], []string{
			`The step "charge" is recorded with an error of type "CardDeclined". It does not run again.`,
		}, []string{"no <money>", "If the result is none"}},
		"deleted": {halfway(crashed()), remove, []string{
			`Its 2 recorded steps "coupon" and "reserve" are forgotten: they run again.`,
			`The start mark of "charge", which may have begun, is forgotten: it runs again.`,
		}, nil},
		"one step": {
			func() store.Record {
				r := resumable(unknown())
				delete(r.Steps, "coupon")
				return r
			}(), release,
			[]string{`Its recorded step "reserve" is kept. The next execution gets its result and does not run it again.`},
			nil,
		},
		"many steps": {
			many, release,
			[]string{`Its 14 recorded steps "a", "b", "c", "coupon", "d", "e", "f", "g", "h", "i" and 4 more are kept`},
			nil,
		},
	} {
		c.check(t, name)
	}
}
