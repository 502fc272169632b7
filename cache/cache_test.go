package cache_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestACompletedRecordIsRememberedOnceItHasRefusedAClaim(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	first := running("charge#1", "A")
	done := completed(first, `{"id":"ch_1"}`)
	f.claims(first, start)
	f.swaps(first, done)
	_, found, err := f.cache.Get(t.Context(), first.Key)
	require.NoError(t, err)
	require.True(t, found)
	f.forgets(done.Key) // neither its completion nor a look has kept it
	f.remembers(done)
	f.remembers(done)
}

func TestOnlyCompletedRecordsAreRemembered(t *testing.T) {
	t.Parallel()
	for _, status := range []store.Status{store.StatusInProgress, store.StatusUnknown, "LATER"} {
		f := newFixture(t, memory.New(), 1<<20)
		r := running("charge#1", "A")
		r.Status = status
		f.claims(r, start)
		f.forgets(r.Key) // claimed here, and shown to a claim
		f.forgets(r.Key)
		_, _, err := f.cache.Get(t.Context(), r.Key)
		require.NoError(t, err)
		f.forgets(r.Key)
		next := r
		next.Attempt = 2
		f.swaps(r, next)
		f.forgets(r.Key)
	}
}

func TestARecordIsAskedForFromALittleBeforeItsExpiry(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	done := f.executes("charge#1", `{}`)
	until := expiry.Add(-idempotent.DefaultMargin)

	held, calls := f.duplicate(done.Key, until.Add(-1))
	require.Empty(t, calls)
	require.Equal(t, done, held)

	held, calls = f.duplicate(done.Key, until)
	require.Equal(t, []string{"claim"}, calls)
	require.Equal(t, done, held)
	_, calls = f.duplicate(done.Key, expiry.Add(-1))
	require.Equal(t, []string{"claim"}, calls)

	next := running(done.Key, "B")
	next.Expiry = expiry.Add(time.Hour)
	f.claims(next, expiry)
	held, _ = f.duplicate(done.Key, start) // by a clock that has gone back
	require.Equal(t, next, held)
}

// TestWhatHasExpiredGoesAlsoIfItsClaimIsNotAnswered: the clock of the next claim may be behind.
func TestWhatHasExpiredGoesAlsoIfItsClaimIsNotAnswered(t *testing.T) {
	t.Parallel()
	lose := false
	f := newFixture(t, storetest.NewFaulty(memory.New(), func(c storetest.Call) storetest.Fault {
		if lose && c.Op == storetest.OpClaim {
			lose = false
			return storetest.LoseReply
		}
		return storetest.Pass
	}), 1<<20)
	done := f.executes("charge#1", `{}`)
	f.remembers(done)
	next := running(done.Key, "B")
	next.Expiry = expiry.Add(time.Hour)
	lose = true
	_, _, err := f.cache.Claim(t.Context(), next, expiry)
	require.Error(t, err)
	held, _ := f.duplicate(done.Key, start)
	require.Equal(t, next, held)
}

// TestWhatAnotherSandboxCompletedIsNotHiddenByWhatExpired: its clock is ahead by the margin.
func TestWhatAnotherSandboxCompletedIsNotHiddenByWhatExpired(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	done := f.executes("charge#1", `{"id":"ch_1"}`)
	f.remembers(done)

	again := completed(running(done.Key, "B"), `{"id":"ch_2"}`)
	again.Expiry = expiry.Add(time.Hour)
	f.elsewhere().claims(again, expiry)
	held, _ := f.duplicate(done.Key, expiry.Add(-idempotent.DefaultMargin))
	require.Equal(t, again, held)
	f.remembers(again)
}

func TestAChangeIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	key := "charge#1"
	for name, change := range map[string]func(f *fixture, done store.Record) (held store.Record){
		"into another state": func(f *fixture, done store.Record) store.Record {
			next := done
			next.Status = store.StatusUnknown
			f.swaps(done, next)
			return next
		},
		"into another result": func(f *fixture, done store.Record) store.Record {
			next := completed(done, `{"id":"ch_2"}`)
			f.swaps(done, next)
			return next
		},
		"by a release and a claim": func(f *fixture, done store.Record) store.Record {
			f.deletes(done)
			next := running(key, "B")
			f.claims(next, start)
			return next
		},
		"by a swap whose reply was lost": func(f *fixture, done store.Record) store.Record {
			next := running(key, "B")
			f.elsewhere().swaps(done, next) // it was applied
			f.spy.fail(true)
			_, _, err := f.cache.Swap(t.Context(), done, next)
			require.ErrorIs(t, err, errDown)
			f.spy.fail(false)
			return next
		},
		"by a release whose reply was lost": func(f *fixture, done store.Record) store.Record {
			next := running(key, "B")
			other := f.elsewhere()
			other.deletes(done)
			other.claims(next, start)
			f.spy.fail(true)
			_, err := f.cache.Delete(t.Context(), done)
			require.ErrorIs(t, err, errDown)
			f.spy.fail(false)
			return next
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, memory.New(), 1<<20)
			done := f.executes(key, `{"id":"ch_1"}`)
			f.remembers(done)
			want := change(f, done)
			held, _, err := f.cache.Claim(t.Context(), running(key, "C"), start)
			require.NoError(t, err)
			require.Equal(t, want, held)
		})
	}
}

// TestAnOldAnswerDoesNotBringBackWhatWasReplaced lets things happen while the refusal of a claim is
// on its way.
func TestAnOldAnswerDoesNotBringBackWhatWasReplaced(t *testing.T) {
	t.Parallel()
	key := "charge#1"
	for what, happens := range map[string]func(f *fixture, done store.Record){
		"deleted": func(f *fixture, done store.Record) { f.deletes(done) },
		"swapped": func(f *fixture, done store.Record) { f.swaps(done, running(key, "B")) },
		"claimed": func(f *fixture, _ store.Record) { f.claims(running(key, "B"), expiry) },
		"claimed, and the reply lost": func(f *fixture, _ store.Record) {
			f.elsewhere().claims(running(key, "B"), expiry) // it was applied
			f.spy.fail(true)
			_, _, err := f.cache.Claim(t.Context(), running(key, "B"), expiry)
			require.ErrorIs(t, err, errDown)
			f.spy.fail(false)
		},
		"being swapped": func(f *fixture, done store.Record) {
			// The next swap is applied, and answered only when a whole other claim has come and
			// gone.
			f.spy.meanwhile(func() {
				f.elsewhere().swaps(running(key, "B"), done) // by hand, so that there is something to see
				f.duplicate(key, start)
				f.elsewhere().swaps(done, running(key, "B"))
			})
			f.swaps(done, running(key, "B"))
		},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t, memory.New(), 1<<20)
			done := completed(running(key, "A"), `{}`)
			f.elsewhere().claims(done, start)
			f.spy.meanwhile(func() { happens(f, done) })
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
	f.elsewhere().claims(old, start)
	again := completed(running(old.Key, "B"), `{"id":"ch_2"}`)
	again.Expiry = expiry.Add(time.Hour)
	f.spy.meanwhile(func() {
		f.elsewhere().claims(again, expiry)
		held, _ := f.duplicate(old.Key, expiry)
		require.Equal(t, again, held)
	})
	held, _ := f.duplicate(old.Key, start)
	require.Equal(t, old, held)

	held, calls := f.duplicate(old.Key, expiry)
	require.Empty(t, calls, "the newer one stays")
	require.Equal(t, again, held)
}

func TestDuplicatesAtTheSameTimeDoNotKeepEachOtherFromRemembering(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	done := completed(running("charge#1", "A"), `{}`)
	f.elsewhere().claims(done, start)
	f.spy.meanwhile(func() { f.forgets(done.Key) })
	f.duplicate(done.Key, start)
	f.remembers(done)
}

func TestWhatIsFoundAfterAChangeIsRememberedWhileAnOldCallIsUnderWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	first := running("charge#1", "A")
	f.claims(first, start)
	f.spy.meanwhile(func() {
		done := completed(first, `{}`)
		f.swaps(first, running(first.Key, "B"))
		f.swaps(running(first.Key, "B"), first)
		f.elsewhere().swaps(first, done)
		f.forgets(first.Key)
		f.remembers(done)
	})
	f.duplicate(first.Key, start)
	f.remembers(completed(first, `{}`))
}

// TestALookSeesWhatWasDoneByHand: a record of AWS Powertools has no commit, by which it could be
// told from another.
func TestALookSeesWhatWasDoneByHand(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	done := completed(running("charge#1", "A"), `{"id":"ch_1"}`)
	done.Seal = ""
	f.claims(done, start)
	f.forgets(done.Key)
	next := done
	next.Result = []byte(`{"id":"ch_2"}`)
	f.elsewhere().swaps(done, next)
	f.remembers(done)
	_, _, err := f.cache.Get(t.Context(), done.Key)
	require.NoError(t, err)
	f.forgets(done.Key)
	f.remembers(next)
}

func TestNobodyAltersWhatIsRemembered(t *testing.T) {
	t.Parallel()
	const result = `{"id":"ch_1"}`
	f := newFixture(t, memory.New(), 1<<20)
	done := f.executes("charge#1", result)
	clear(done.Result)
	held, calls := f.duplicate(done.Key, start)
	require.Empty(t, calls)
	require.Equal(t, result, string(held.Result))
	clear(held.Result)
	held, _ = f.duplicate(done.Key, start)
	require.Equal(t, result, string(held.Result), "what a refused claim returned from memory")

	other := newFixture(t, f.spy.inner, 1<<20)
	held, calls = other.duplicate(done.Key, start)
	require.NotEmpty(t, calls)
	clear(held.Result)
	held, _ = other.duplicate(done.Key, start)
	require.Equal(t, result, string(held.Result), "what a refused claim returned from the store")
}

func TestNilAndEmptyResultsStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	for key, result := range map[string][]byte{"charge#nil": nil, "charge#empty": {}} {
		r := completed(running(key, "A"), "")
		r.Result = result
		f.claims(r, start)
		f.forgets(key)
		f.remembers(r)
	}
}

func TestARecordIsNeverKeptUnderAnotherKeyThanItsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	mine, other := running("charge#1", "A"), running("charge#2", "A")
	f.claims(mine, start)
	f.claims(other, start)
	next := completed(mine, `{}`)
	next.Key = other.Key
	f.swaps(mine, next)
	held, _ := f.duplicate(other.Key, start)
	require.Equal(t, other, held)
	held, _ = f.duplicate(mine.Key, start)
	require.Equal(t, completed(mine, `{}`), held)
}

func TestACallWhoseContextHasEndedIsTheStoresBusiness(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	done := f.executes("charge#1", large)
	held, _ := f.duplicate(done.Key, start)
	_, err := f.cache.ReadResult(t.Context(), held)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err = f.cache.Claim(ctx, running(done.Key, "B"), start)
	require.ErrorIs(t, err, context.Canceled)
	f.remembers(done)

	inParts, _, err := f.elsewhere().cache.Get(t.Context(), done.Key)
	require.NoError(t, err)
	require.NotEmpty(t, inParts.Parts)
	_, err = f.cache.ReadResult(ctx, inParts)
	require.ErrorIs(t, err, context.Canceled)
	f.spy.calls()
	_, err = f.cache.ReadResult(t.Context(), inParts)
	require.NoError(t, err)
	require.Empty(t, f.spy.calls())
}

func TestWhatTheStoreFailsAtFails(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1<<20)
	f.spy.fail(true)
	r := running("charge#1", "A")
	_, claimed, claim := f.cache.Claim(t.Context(), completed(r, `{}`), start)
	_, swapped, swap := f.cache.Swap(t.Context(), r, completed(r, `{}`))
	deleted, remove := f.cache.Delete(t.Context(), r)
	_, found, get := f.cache.Get(t.Context(), r.Key)
	_, read := f.cache.ReadResult(t.Context(), r)
	assert.False(t, claimed || swapped || deleted || found)
	for op, err := range map[string]error{
		"claim": claim, "swap": swap, "delete": remove, "get": get,
		"read result": read,
	} {
		assert.ErrorIs(t, err, errDown, op)
	}
	f.spy.fail(false)
	f.claims(r, start)
}

// TestWhatComesWithAnErrorIsNotBelieved: a call that failed has said nothing about what is held.
func TestWhatComesWithAnErrorIsNotBelieved(t *testing.T) {
	t.Parallel()
	done := completed(running("charge#1", "A"), `{}`)
	s := cache.New(babble{done}, 1<<20)
	for name, call := range map[string]func() error{
		"claim":  func() error { _, _, err := s.Claim(t.Context(), running(done.Key, "B"), start); return err },
		"swap":   func() error { _, _, err := s.Swap(t.Context(), done, done); return err },
		"commit": func() error { _, _, err := s.Commit(t.Context(), done, done, rows{}, "token"); return err },
		"get":    func() error { _, _, err := s.Get(t.Context(), done.Key); return err },
	} {
		require.ErrorIs(t, call(), errDown)
		_, _, err := s.Claim(t.Context(), running(done.Key, "B"), start)
		require.ErrorIs(t, err, errDown, name)
	}
}

// babble is a store that fails, and returns a record all the same.
type babble struct{ record store.Record }

func (b babble) Claim(context.Context, store.Record, time.Time) (store.Record, bool, error) {
	return b.record, false, errDown
}

func (b babble) Swap(context.Context, store.Record, store.Record) (store.Record, bool, error) {
	return b.record, false, errDown
}

func (b babble) Commit(context.Context, store.Record, store.Record, store.Writes, string) (store.Record, bool, error) {
	return b.record, false, errDown
}

func (babble) Apply(context.Context, store.Writes, string) error { return errDown }

func (b babble) Delete(context.Context, store.Record) (bool, error) { return false, errDown }

func (b babble) Get(context.Context, string) (store.Record, bool, error) {
	return b.record, true, errDown
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	var nilStore *memory.Store
	for name, c := range map[string]struct {
		inner    store.Store
		maxBytes int
		want     []string
	}{
		"nil store":       {nil, 1024, []string{"cache.New: the store is nil"}},
		"typed nil store": {nilStore, 1024, []string{"cache.New: the store is nil"}},
		"no bytes": {
			memory.New(),
			0,
			[]string{"cache.New: 0 bytes are less than 1024, in which one small record fits"},
		},
		"negative bytes": {
			memory.New(), -16,
			[]string{"cache.New: -16 bytes are less than 1024, in which one small record fits"},
		},
		"megabytes": {
			memory.New(), 16,
			[]string{"cache.New: 16 bytes are less than 1024, in which one small record fits"},
		},
		"nearly enough": {
			memory.New(), 1023,
			[]string{"cache.New: 1023 bytes are less than 1024, in which one small record fits"},
		},
		"both": {nil, -1, []string{
			"cache.New: the store is nil", "cache.New: -1 bytes are less than 1024, in which one small record fits",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				problem, ok := recover().(*store.ConfigError)
				require.True(t, ok, "a panic with a ConfigError")
				require.Equal(t, c.want, problem.Problems)
			}()
			cache.New(c.inner, c.maxBytes)
		})
	}
}

func TestTheSmallestCacheHoldsARecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1024)
	f.remembers(f.executes("charge#1", `{"id":"ch_1","amount":1999}`))
}
