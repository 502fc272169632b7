package cache_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// large is a result that a parted store keeps in parts.
var large = `"` + strings.Repeat("x", 2*inline) + `"`

// inParts completes a record elsewhere whose result is kept in parts, and returns it as a duplicate
// is shown it.
func (f *fixture) inParts() (done, held store.Record) {
	f.t.Helper()
	done = completed(running("charge#1", "A"), large)
	f.elsewhere().claims(done, start)
	held, calls := f.duplicate(done.Key, start)
	require.Equal(f.t, []storetest.Op{claim}, calls)
	require.NotEmpty(f.t, held.Parts)
	return done, held
}

func TestAResultInPartsIsReadOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	done, inParts := f.inParts()
	f.remembers(inParts) // what says that another request is a mismatch
	f.outage(func() error { _, err := f.cache.ReadResult(t.Context(), inParts); return err })
	f.remembers(inParts)

	f.reads(inParts, large, readResult)
	f.remembers(done)
	f.reads(inParts, large)
	f.reads(inParts, large)
}

func TestTheResultOfAnotherRecordIsNotTakenForTheOneInParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	old, inParts := f.inParts()

	again := completed(running(old.Key, "B"), strings.ToUpper(large))
	f.deletes(old)
	f.claims(again, start)
	held, _ := f.duplicate(again.Key, start)
	f.remembers(held)
	f.reads(inParts, large, readResult) // parts outlive their record
	f.remembers(held)

	f.deletes(again)
	f.reads(inParts, large, readResult)
	f.claims(running(old.Key, "C"), start) // a record that is gone does not come back with its result
}

// TestAResultThatIsReadWhileItsRecordIsReplacedIsNotKept changes the record while its parts are on
// their way.
func TestAResultThatIsReadWhileItsRecordIsReplacedIsNotKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	old, inParts := f.inParts()
	f.spy.meanwhile(func() { f.deletes(old) })
	f.reads(inParts, large, readResult, remove)
	f.claims(running(old.Key, "B"), start)
}

func TestAResultThatDoesNotFitIsReadEachTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 2*inline)
	_, inParts := f.inParts()
	f.reads(inParts, large, readResult)
	f.reads(inParts, large, readResult)
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

// TestTheResultOfAStepIsNotThatOfItsRecord: both are read under one key.
func TestTheResultOfAStepIsNotThatOfItsRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	seen := running("charge#1", "A")
	f.claims(seen, start)
	stepResult := strings.ToUpper(large)
	f.swaps(seen, withStep(seen, "A", stepResult))
	held := f.looks(seen.Key)
	step := held.OfStep(held.Steps["charge"])
	require.NotEmpty(t, step.Parts)
	f.reads(step, stepResult, readResult)
	f.reads(step, stepResult, readResult)
	f.forgets(seen.Key)

	f.elsewhere().swaps(held, completed(held, large))
	inParts, _ := f.duplicate(seen.Key, start)
	require.NotEmpty(t, inParts.Parts)
	f.reads(step, stepResult, readResult) // of a record that is remembered with parts
	f.remembers(inParts)
	f.reads(inParts, large, readResult)
	f.reads(step, stepResult, readResult) // of one that is remembered with its result
	f.remembers(completed(seen, large))
}
