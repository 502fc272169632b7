package cache_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/internal/dev/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// large is a result that a parted store keeps in parts.
var large = `"` + strings.Repeat("x", 2*inline) + `"`

// inParts completes a record elsewhere whose result is kept in parts, and returns it as a duplicate
// is shown it.
func (f *fixture) inParts() (done, held store.Record) {
	f.t.Helper()
	done = completed(running("charge#1", "A"), large)
	f.elsewhere().does(claim(done, start))
	held, _ = f.duplicate(done.Key, start)
	require.NotEmpty(f.t, held.Parts)
	return done, held
}

func TestAResultInPartsIsReadOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	done, inParts := f.inParts()
	f.remembers(inParts) // what says that another request is a mismatch
	f.fails(read(inParts))
	f.remembers(inParts)

	f.reads(inParts, large, calls.ReadResult)
	f.remembers(done)
	f.reads(inParts, large)
	f.reads(inParts, large)
}

func TestTheResultOfAnotherRecordIsNotTakenForTheOneInParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	old, inParts := f.inParts()

	again := completed(running(old.Key, "B"), strings.ToUpper(large))
	f.does(remove(old))
	f.does(claim(again, start))
	held, _ := f.duplicate(again.Key, start)
	f.remembers(held)
	f.reads(inParts, large, calls.ReadResult) // parts outlive their record
	f.remembers(held)

	f.spy.meanwhile = func() { f.does(remove(again)) } // while its parts are on their way
	f.reads(held, strings.ToUpper(large), calls.ReadResult, calls.Delete)
	f.does(claim(running(old.Key, "C"), start)) // a record that is gone does not come back with its result
}

// TestRecordsWithoutASealAreNotTheSame: one of AWS Powertools has none.
func TestRecordsWithoutASealAreNotTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	r := completed(running("charge#1", "A"), `{}`)
	r.Seal = ""
	f.does(claim(r, start))
	f.forgets(r.Key)
	f.remembers(r)
	r.Parts, r.Result = "of another", nil
	require.ErrorAs(t, read(r).Make(t.Context(), f.cache).Err, new(*store.UnreadableError))
}

func TestAResultThatDoesNotFitIsReadEachTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 2*inline)
	_, inParts := f.inParts()
	f.reads(inParts, large, calls.ReadResult)
	f.reads(inParts, large, calls.ReadResult)
	f.remembers(inParts)
}

func TestPartsThatTheStoreCannotReadAreUnreadable(t *testing.T) {
	t.Parallel()
	s := cache.New(memory.New(), 1<<20)
	r := completed(running("charge#1", "A"), "")
	r.Parts = "1:2"
	require.ErrorAs(t, read(r).Make(t.Context(), s).Err, new(*store.UnreadableError))
}

// TestTheResultOfAStepIsNotThatOfItsRecord: both are read under one key.
func TestTheResultOfAStepIsNotThatOfItsRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	seen := running("charge#1", "A")
	f.does(claim(seen, start))
	result := strings.ToUpper(large)
	stepped := seen
	stepped.Steps = map[string]store.Step{
		"charge": {Kind: store.StepValue, Seal: store.Seal("A", []byte(result)), Result: []byte(result)},
	}
	f.does(swap(seen, stepped))
	held := f.does(calls.Call{Op: calls.Get, Key: seen.Key})
	step := held.OfStep(held.Steps["charge"])
	require.NotEmpty(t, step.Parts)
	f.reads(step, result, calls.ReadResult)
	f.reads(step, result, calls.ReadResult)
	f.forgets(seen.Key)

	f.elsewhere().does(swap(held, completed(held, large)))
	inParts, _ := f.duplicate(seen.Key, start)
	f.reads(step, result, calls.ReadResult) // of a record that is remembered with parts
	f.remembers(inParts)
	f.reads(inParts, large, calls.ReadResult)
	f.reads(step, result, calls.ReadResult) // of one that is remembered with its result
	f.remembers(completed(seen, large))
}
