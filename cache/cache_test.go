package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/internal/testkit/configtest"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestOnlyCompletedRecordsAreRemembered(t *testing.T) {
	t.Parallel()
	for _, status := range []store.Status{store.StatusInProgress, store.StatusUnknown, "LATER"} {
		f := newFixture(t, memory.New(), 1<<20)
		r := running("charge#1", "A")
		r.Status = status
		f.does(claim(r, start))
		f.forgets(r.Key) // claimed here, and shown to a claim
		f.forgets(r.Key)
		next := completed(r, `{"id":"ch_1"}`)
		f.does(swap(r, next))
		f.does(calls.Call{Op: calls.Get, Key: r.Key})
		f.forgets(r.Key) // neither its completion nor a look has kept it
		f.remembers(next)
		f.remembers(next)
	}
}

func TestARecordIsAskedForFromALittleBeforeItsExpiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	done := f.executes("charge#1", `{"id":"ch_1"}`)
	until := expiry.Add(-protocol.DefaultMargin)
	f.shows(done, until.Add(-1))
	f.shows(done, until, calls.Claim)
	f.shows(done, expiry.Add(-1), calls.Claim)

	f.remembers(done)
	again := completed(running(done.Key, "B"), `{"id":"ch_2"}`)
	again.Expiry = expiry.Add(time.Hour)
	f.elsewhere().does(claim(again, expiry)) // its clock is ahead by the margin
	f.shows(again, until, calls.Claim)
	f.remembers(again)

	next := running(done.Key, "C")
	next.Expiry = again.Expiry.Add(time.Hour)
	f.does(claim(next, again.Expiry))
	f.shows(next, start, calls.Claim) // by a clock that has gone back
}

// TestAChangeWhoseReplyWasLostIsSeenAtOnce, as is one that was answered.
func TestAChangeWhoseReplyWasLostIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	next := running("charge#1", "B")
	for name, change := range map[string]func(seen store.Record) calls.Call{
		"swap":    func(seen store.Record) calls.Call { return swap(seen, next) },
		"release": remove,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, memory.New(), 1<<20)
			done := f.executes(next.Key, `{"id":"ch_1"}`)
			f.remembers(done)
			f.elsewhere().does(swap(done, next)) // it was applied
			f.fails(change(done))
			f.shows(next, start, calls.Claim)
		})
	}
}

// TestAnOldAnswerDoesNotBringBackWhatWasReplaced lets things happen while the refusal of a claim is
// on its way.
func TestAnOldAnswerDoesNotBringBackWhatWasReplaced(t *testing.T) {
	t.Parallel()
	key := "charge#1"
	next := running(key, "B")
	done := completed(running(key, "A"), `{}`)
	for what, happens := range map[string]func(f *fixture){
		"deleted": func(f *fixture) { f.does(remove(done)) },
		"swapped": func(f *fixture) { f.does(swap(done, next)) },
		"claimed": func(f *fixture) { f.does(claim(next, expiry)) },
		"claimed, and the reply lost": func(f *fixture) {
			f.elsewhere().does(claim(next, expiry)) // it was applied
			f.fails(claim(next, expiry))
		},
		"being swapped": func(f *fixture) {
			// The next swap is applied, and answered only when a whole other claim has come and
			// gone.
			f.spy.meanwhile = func() {
				f.elsewhere().does(swap(next, done)) // by hand, so that there is something to see
				f.duplicate(key, start)
				f.elsewhere().does(swap(done, next))
			}
			f.does(swap(done, next))
		},
		"being committed": func(f *fixture) {
			f.elsewhere().does(swap(done, next))
			f.spy.meanwhile = func() {
				f.elsewhere().does(swap(completed(next, `{}`), done))
				f.duplicate(key, start)
				f.elsewhere().does(swap(done, next))
			}
			f.does(calls.Call{
				Op: calls.Commit, Key: key, Seen: next, Next: completed(next, `{}`), Writes: rows.Writes{},
			})
		},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t, newParted(), 1<<20)
			f.elsewhere().does(claim(done, start))
			f.spy.meanwhile = func() { happens(f) }
			f.duplicate(key, start)
			r, claimed, err := f.cache.Claim(t.Context(), running(key, "C"), start)
			require.NoError(t, err)
			require.True(t, claimed || r.Status == store.StatusInProgress, "an old record was kept: %+v", r)
		})
	}
}

// TestASlowAnswerDoesNotReplaceANewerRecord: the slow one is asked again, because it has expired.
func TestASlowAnswerDoesNotReplaceANewerRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	old := completed(running("charge#1", "A"), `{"id":"ch_1"}`)
	f.elsewhere().does(claim(old, start))
	again := completed(running(old.Key, "B"), `{"id":"ch_2"}`)
	again.Expiry = expiry.Add(time.Hour)
	f.spy.meanwhile = func() {
		f.elsewhere().does(claim(again, expiry))
		f.shows(again, expiry, calls.Claim)
	}
	held, _ := f.duplicate(old.Key, start)
	require.Equal(t, old, held)
	f.shows(again, expiry) // the newer one stays
}

func TestWhatIsFoundAfterAChangeIsRememberedWhileAnOldCallIsUnderWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	first := running("charge#1", "A")
	done := completed(first, `{}`)
	f.does(claim(first, start))
	f.spy.meanwhile = func() {
		f.does(swap(first, running(first.Key, "B")))
		f.does(swap(running(first.Key, "B"), first))
		f.elsewhere().does(swap(first, done))
		f.forgets(first.Key) // nor do duplicates at the same time keep each other from remembering
		f.remembers(done)
	}
	f.duplicate(first.Key, start)
	f.remembers(done)
}

func TestNobodyAltersWhatIsRemembered(t *testing.T) {
	t.Parallel()
	const result = `{"id":"ch_1"}`
	f := newFixture(t, memory.New(), 1<<20)
	done := f.executes("charge#1", result)
	clear(done.Result)
	for _, f := range []*fixture{f, f.elsewhere()} { // which returns it from memory, and from the store
		for range 2 {
			held, _ := f.duplicate(done.Key, start)
			require.JSONEq(t, result, string(held.Result))
			clear(held.Result)
		}
		f.remembers(completed(running(done.Key, "A"), result))
	}
}

func TestACallWhoseContextHasEndedIsTheStoresBusiness(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	done := f.executes("charge#1", large)
	inParts, _ := f.duplicate(done.Key, start)
	f.reads(inParts, large, calls.ReadResult)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, claim(running(done.Key, "B"), start).Make(ctx, f.cache).Err, context.Canceled)
	f.remembers(done)
	require.ErrorIs(t, read(inParts).Make(ctx, f.cache).Err, context.Canceled)
	f.reads(inParts, large)
}

// TestWhatTheStoreFailsAtFails: what comes with an error is not believed.
func TestWhatTheStoreFailsAtFails(t *testing.T) {
	t.Parallel()
	err := errDown
	done := completed(running("charge#1", "A"), `{}`)
	done.Parts = "in parts"
	s := cache.New(calls.Store(func(context.Context, calls.Call) calls.Reply {
		return calls.Reply{Held: done, Err: err}
	}), 1<<20)
	fails := func(c calls.Call) {
		for range 2 {
			require.ErrorIs(t, c.Make(t.Context(), s).Err, errDown)
		}
	}
	fails(claim(done, start))
	err = nil
	require.Equal(t, calls.Reply{Held: done}, claim(done, start).Make(t.Context(), s))
	err = errDown
	fails(read(done))
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	const (
		noStore = "cache.New: the store is nil"
		tooFew  = "cache.New: 1023 bytes are less than 1024, in which one small record fits"
	)
	require.Equal(t, []string{noStore}, configtest.ProblemsOf(t, func() { cache.New(nil, 1024) }))
	require.Equal(t, []string{noStore, tooFew}, configtest.ProblemsOf(t,
		func() { cache.New((*memory.Store)(nil), 1023) }))
}

func TestACacheCommitsOnlyWhatItsStoreCan(t *testing.T) {
	t.Parallel()
	inner := memory.New()
	_, want := store.CommitterOf(inner)
	for _, op := range []calls.Op{calls.Commit, calls.Apply} {
		got := calls.Call{Op: op, Writes: rows.Writes{}}.Make(t.Context(), cache.New(inner, 1<<20))
		require.Equal(t, calls.Reply{Err: want}, got)
	}
}

// before is a cache that knows the store behind it.
type before struct {
	*cache.Store

	inner *rows.Table
}

func TestStoreKeepsTheContract(t *testing.T) {
	f := rows.Features(func(s store.Store) *rows.Table { return s.(before).inner })
	for name, maxBytes := range map[string]int{"everything fits": 1 << 30, "hardly anything fits": 2000} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, f, func(testing.TB) store.Store {
				inner := newParted()
				return before{cache.New(inner, maxBytes), inner}
			})
		})
	}
}

func TestManyDeliveriesAtTheSameTimeGetTheSameResult(t *testing.T) {
	t.Parallel()
	type order struct{ ID string }
	f := newFixture(t, newParted(), 1<<20)
	var executed atomic.Int64
	handler := idempotent.Wrap(func(context.Context, order) (string, error) {
		executed.Add(1)
		return large, nil
	}, f.cache,
		idempotent.WithOperation("charge"), idempotent.WithKey(func(o order) (string, error) { return o.ID, nil }))
	var group sync.WaitGroup
	for n := range 20 {
		group.Go(func() {
			for range 50 {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				receipt, err := handler.Handle(ctx, order{ID: string(rune('a' + n%4))})
				cancel()
				if errors.Is(err, idempotent.ErrInProgress) {
					continue
				}
				assert.NoError(t, err)
				assert.Equal(t, large, receipt)
			}
		})
	}
	group.Wait()
	assert.EqualValues(t, 4, executed.Load())
	f.spy.told()
	f.spy.down.Store(true)
	for _, key := range "abcd" {
		receipt, err := handler.Handle(t.Context(), order{ID: string(key)})
		require.NoError(t, err)
		assert.Equal(t, large, receipt)
	}
	assert.Empty(t, f.spy.told(), "all of them are in memory now")
}

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

// TestTheRecordThatWasNotUsedForLongestMakesRoom has room for three records.
func TestTheRecordThatWasNotUsedForLongestMakesRoom(t *testing.T) {
	t.Parallel()
	const size = 10_000
	result := `"` + strings.Repeat("x", size-2) + `"`
	f := newFixture(t, memory.New(), 3*(size+size/4+1500))
	var done []store.Record
	for n := range 3 {
		done = append(done, f.executes(fmt.Sprint("charge#", n), result))
	}
	for _, r := range done {
		f.remembers(r)
	}
	f.remembers(done[0])
	f.executes("charge#3", result)
	f.forgets(done[1].Key) // which takes the place of done[2]
	f.remembers(done[0])
	f.forgets(done[2].Key)
}

func TestTheSmallestCacheHoldsARecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1024)
	f.remembers(f.executes("charge#1", `{"id":"ch_1","amount":1999}`))
}

func TestARecordThatIsLargerThanAllOfItIsNotKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	small := f.executes("small", `{}`)
	f.executes("large", `"`+strings.Repeat("x", 1<<20)+`"`)
	f.forgets("large")
	f.forgets("large")
	f.remembers(small)

	for n, field := range []func(r *store.Record) *string{
		func(r *store.Record) *string { return &r.Owner },
		func(r *store.Record) *string { return &r.Fingerprint },
		func(r *store.Record) *string { return &r.Seal },
		func(r *store.Record) *string { return &r.Reason },
		func(r *store.Record) *string { return &r.Parts },
	} {
		r := completed(running(fmt.Sprint("charge#", n), "A"), `{}`)
		*field(&r) = strings.Repeat("x", 1<<20)
		f.does(claim(r, start))
		f.forgets(r.Key)
		f.remembers(small)
	}
}

// TestNoMoreIsKeptThanWasAllowed fills caches with records of several sizes and weighs them. It is
// not parallel because it measures the heap.
func TestNoMoreIsKeptThanWasAllowed(t *testing.T) {
	const maxBytes = 16 << 20
	const others = 64 << 10 // what the rest of the process may allocate meanwhile
	for _, size := range []int{0, 10, 700, 5_000, 33_000, 1_100_000} {
		before := heap()
		// It keeps nothing, and every claim meets itself.
		nothing := calls.Store(func(_ context.Context, c calls.Call) calls.Reply { return calls.Reply{Held: c.Next} })
		s := cache.New(nothing, maxBytes)
		for n := range 3 * maxBytes / (size + 500) {
			// Texts of their own, as a store makes them.
			first := running(fmt.Sprintf("charge#%043d", n), fmt.Sprintf("%026d", n))
			first.Fingerprint = fmt.Sprintf("1:%043d", n)
			_, claimed, err := s.Claim(t.Context(), completed(first, strings.Repeat("1", size)), start)
			require.NoError(t, err)
			require.False(t, claimed)
		}
		kept := heap() - before
		assert.LessOrEqual(t, kept, maxBytes+others, "results of %d bytes", size)
		assert.Greater(t, kept, maxBytes/2, "results of %d bytes", size)
		t.Logf("results of %d bytes: %.1f %% of the bytes allowed are in use", size, 100*float64(kept)/maxBytes)
		runtime.KeepAlive(s)
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
