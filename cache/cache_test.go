package cache_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/internal/dev/calls"
	"github.com/go-idempotent/idempotent/internal/dev/configtest"
	"github.com/go-idempotent/idempotent/internal/dev/partstore"
	"github.com/go-idempotent/idempotent/internal/dev/rows"
	"github.com/go-idempotent/idempotent/internal/protocol"
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

	inner *partstore.Store
}

func TestStoreKeepsTheContract(t *testing.T) {
	f := partstore.Features(func(s store.Store) *partstore.Store { return s.(before).inner })
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
