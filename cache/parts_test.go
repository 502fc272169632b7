package cache_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// large is a result that a parted store keeps in parts.
var large = `"` + strings.Repeat("x", 2*inline) + `"`

func TestAResultInPartsIsReadOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	done := completed(running("charge#1", "A"), large)
	f.elsewhere().claims(done, start)

	inParts, calls := f.duplicate(done.Key, start)
	require.Equal(t, []string{"claim"}, calls)
	require.NotEmpty(t, inParts.Parts)
	f.remembers(inParts) // what says that another request is a mismatch

	f.spy.fail(true)
	_, err := f.cache.ReadResult(t.Context(), inParts)
	require.ErrorIs(t, err, errDown)
	f.spy.fail(false)
	f.remembers(inParts)
	f.spy.calls()

	result, err := f.cache.ReadResult(t.Context(), inParts)
	require.NoError(t, err)
	require.Equal(t, large, string(result))
	require.Equal(t, []string{"read result"}, f.spy.calls())
	clear(result)
	f.remembers(done)

	for range 2 {
		result, err = f.cache.ReadResult(t.Context(), inParts)
		require.NoError(t, err)
		require.Equal(t, large, string(result))
		clear(result)
	}
	require.Empty(t, f.spy.calls())
}

func TestTheResultOfAnotherRecordIsNotTakenForTheOneInParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	old := completed(running("charge#1", "A"), large)
	f.elsewhere().claims(old, start)
	inParts, _ := f.duplicate(old.Key, start)

	again := completed(running(old.Key, "B"), strings.ToUpper(large))
	f.deletes(old)
	f.claims(again, start)
	held, _ := f.duplicate(again.Key, start)
	f.remembers(held)
	f.spy.calls()
	result, err := f.cache.ReadResult(t.Context(), inParts) // parts outlive their record
	require.NoError(t, err)
	require.Equal(t, large, string(result))
	require.Equal(t, []string{"read result"}, f.spy.calls())
	f.remembers(held)

	f.deletes(again)
	_, err = f.cache.ReadResult(t.Context(), inParts)
	require.NoError(t, err)
	f.claims(running(old.Key, "C"), start) // a record that is gone does not come back with its result
}

// TestAResultThatIsReadWhileItsRecordIsReplacedIsNotKept changes the record while its parts are on
// their way.
func TestAResultThatIsReadWhileItsRecordIsReplacedIsNotKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	old := completed(running("charge#1", "A"), large)
	f.elsewhere().claims(old, start)
	inParts, _ := f.duplicate(old.Key, start)
	f.spy.meanwhile(func() { f.deletes(old) })
	_, err := f.cache.ReadResult(t.Context(), inParts)
	require.NoError(t, err)
	f.claims(running(old.Key, "B"), start)
}

func TestAResultThatDoesNotFitIsReadEachTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 2*inline)
	done := completed(running("charge#1", "A"), large)
	f.claims(done, start)
	inParts, calls := f.duplicate(done.Key, start)
	require.Equal(t, []string{"claim"}, calls)
	f.spy.calls()
	for range 2 {
		result, err := f.cache.ReadResult(t.Context(), inParts)
		require.NoError(t, err)
		require.Equal(t, large, string(result))
	}
	require.Equal(t, []string{"read result", "read result"}, f.spy.calls())
	f.remembers(inParts)
}

func TestPartsThatTheStoreCannotReadAreUnreadable(t *testing.T) {
	t.Parallel()
	s := cache.New(memory.New(), 1<<20)
	r := completed(running("charge#1", "A"), "")
	r.Result, r.Parts = nil, "1:2"
	_, claimed, err := s.Claim(t.Context(), r, start)
	require.NoError(t, err)
	require.True(t, claimed)
	_, err = s.ReadResult(t.Context(), r)
	require.ErrorAs(t, err, new(*store.UnreadableError))
}

// withStep is the record with a step, whose result a parted store keeps beside it.
func withStep(r store.Record, owner, result string) store.Record {
	r.Steps = map[string]store.Step{
		"charge": {Kind: store.StepValue, Seal: store.Seal(owner, []byte(result)), Result: []byte(result)},
	}
	return r
}

func TestStepsPassThrough(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	seen := running("charge#1", "A")
	f.claims(seen, start)
	f.swaps(seen, withStep(seen, "A", `"a"`))
	f.spy.calls()
	held, found, err := f.cache.Get(t.Context(), seen.Key)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, withStep(seen, "A", `"a"`).Steps, held.Steps)
	require.Equal(t, 1, held.StepWrites)
	f.forgets(seen.Key) // a record in progress is never remembered, also not with steps

	taken := held
	taken.Owner, taken.Attempt, taken.Steps = "B", 2, nil
	after, swapped, err := f.cache.Swap(t.Context(), held, taken)
	require.NoError(t, err)
	require.True(t, swapped)
	require.Equal(t, held.Steps, after.Steps, "a takeover tells of the steps that there are")
	require.Equal(t, "B", after.Owner)
	f.forgets(seen.Key)
}

// TestTheResultOfAStepIsNotThatOfItsRecord: both are read under one key.
func TestTheResultOfAStepIsNotThatOfItsRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	seen := running("charge#1", "A")
	f.claims(seen, start)
	stepResult := strings.ToUpper(large)
	f.swaps(seen, withStep(seen, "A", stepResult))
	held, _, err := f.cache.Get(t.Context(), seen.Key)
	require.NoError(t, err)
	step := held.Steps["charge"]
	require.NotEmpty(t, step.Parts)
	reads := func(calls ...string) {
		t.Helper()
		f.spy.calls()
		result, err := f.cache.ReadResult(t.Context(), held.OfStep(step))
		require.NoError(t, err)
		require.Equal(t, stepResult, string(result))
		require.Equal(t, calls, f.spy.calls())
		clear(result)
	}
	reads("read result")
	reads("read result")
	f.forgets(seen.Key)

	f.elsewhere().swaps(held, completed(held, large))
	inParts, _ := f.duplicate(seen.Key, start)
	require.NotEmpty(t, inParts.Parts)
	reads("read result") // of a record that is remembered with parts
	f.remembers(inParts)
	result, err := f.cache.ReadResult(t.Context(), inParts)
	require.NoError(t, err)
	require.Equal(t, large, string(result))
	reads("read result") // of one that is remembered with its result
	f.remembers(completed(seen, large))
}
