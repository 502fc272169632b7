package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/internal/dev/configtest"
	"github.com/go-idempotent/idempotent/internal/dev/partstore"
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
	f.looks(done.Key)
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
		f.looks(r.Key)
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

	f.shows(done, until.Add(-1))
	f.shows(done, until, claim)
	f.shows(done, expiry.Add(-1), claim)

	next := running(done.Key, "B")
	next.Expiry = expiry.Add(time.Hour)
	f.claims(next, expiry)
	f.shows(next, start, claim) // by a clock that has gone back
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
	f.shows(again, expiry.Add(-idempotent.DefaultMargin), claim)
	f.remembers(again)
}

// TestAChangeWhoseReplyWasLostIsSeenAtOnce, as is one that was answered.
func TestAChangeWhoseReplyWasLostIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	next := running("charge#1", "B")
	for name, change := range map[string]func(f, other *fixture, done store.Record) error{
		"swap": func(f, other *fixture, done store.Record) error {
			other.swaps(done, next) // it was applied
			_, _, err := f.cache.Swap(t.Context(), done, next)
			return err
		},
		"release": func(f, other *fixture, done store.Record) error {
			other.deletes(done)
			other.claims(next, start)
			_, err := f.cache.Delete(t.Context(), done)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, memory.New(), 1<<20)
			done := f.executes(next.Key, `{"id":"ch_1"}`)
			f.remembers(done)
			f.outage(func() error { return change(f, f.elsewhere(), done) })
			f.shows(next, start, claim)
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
			f.outage(func() error { _, _, err := f.cache.Claim(t.Context(), running(key, "B"), expiry); return err })
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
		f.shows(again, expiry, claim)
	})
	held, _ := f.duplicate(old.Key, start)
	require.Equal(t, old, held)
	f.shows(again, expiry) // the newer one stays
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
	f.looks(done.Key)
	f.forgets(done.Key)
	f.remembers(next)
}

func TestNobodyAltersWhatIsRemembered(t *testing.T) {
	t.Parallel()
	const result = `{"id":"ch_1"}`
	f := newFixture(t, memory.New(), 1<<20)
	done := f.executes("charge#1", result)
	clear(done.Result)
	for _, f := range []*fixture{f, f.elsewhere()} { // which returns it from memory, and from the store
		held, _ := f.duplicate(done.Key, start)
		require.JSONEq(t, result, string(held.Result))
		clear(held.Result)
		held, calls := f.duplicate(done.Key, start)
		require.Equal(t, result, string(held.Result))
		require.Empty(t, calls)
	}
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

func TestACallWhoseContextHasEndedIsTheStoresBusiness(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	done := f.executes("charge#1", large)
	held, _ := f.duplicate(done.Key, start)
	f.reads(held, large, readResult)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := f.cache.Claim(ctx, running(done.Key, "B"), start)
	require.ErrorIs(t, err, context.Canceled)
	f.remembers(done)

	inParts := f.elsewhere().looks(done.Key)
	require.NotEmpty(t, inParts.Parts)
	_, err = f.cache.ReadResult(ctx, inParts)
	require.ErrorIs(t, err, context.Canceled)
	f.reads(inParts, large)
}

// TestWhatTheStoreFailsAtFails: what comes with an error is not believed.
func TestWhatTheStoreFailsAtFails(t *testing.T) {
	t.Parallel()
	r := running("charge#1", "A")
	s := cache.New(babble{record: completed(r, `{}`)}, 1<<20)
	for range 2 {
		_, claimed, err := s.Claim(t.Context(), r, start)
		require.ErrorIs(t, err, errDown)
		require.False(t, claimed)
	}
}

var errDown = errors.New("down")

// babble is a store that fails, and returns a record all the same.
type babble struct {
	store.Store

	record store.Record
}

func (b babble) Claim(context.Context, store.Record, time.Time) (store.Record, bool, error) {
	return b.record, false, errDown
}

func TestConfiguration(t *testing.T) {
	t.Parallel()
	const (
		noStore = "cache.New: the store is nil"
		tooFew  = "cache.New: %d bytes are less than 1024, in which one small record fits"
	)
	var nilStore *memory.Store
	for name, c := range map[string]struct {
		inner    store.Store
		maxBytes int
		want     []string
	}{
		"nil store":       {nil, 1024, []string{noStore}},
		"typed nil store": {nilStore, 1024, []string{noStore}},
		"nearly enough":   {memory.New(), 1023, []string{fmt.Sprintf(tooFew, 1023)}},
		"both":            {nil, -1, []string{noStore, fmt.Sprintf(tooFew, -1)}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, configtest.ProblemsOf(t, func() { cache.New(c.inner, c.maxBytes) }))
		})
	}
}

func TestTheSmallestCacheHoldsARecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t, memory.New(), 1024)
	f.remembers(f.executes("charge#1", `{"id":"ch_1","amount":1999}`))
}

// TestACommitIsAChange: the refusal of a claim that comes while one is under way is not remembered.
func TestACommitIsAChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	old := completed(running("order#1", "A"), `{"id":"o-1"}`)
	f.elsewhere().claims(old, start)
	again := running(old.Key, "B")
	f.spy.meanwhile(func() {
		f.elsewhere().swaps(old, again)
		next := completed(again, `{"id":"o-2"}`)
		_, committed, err := f.cache.Commit(t.Context(), again, next, partstore.Writes{}, "token")
		require.NoError(t, err)
		require.True(t, committed)
	})
	f.duplicate(old.Key, start)
	held, _ := f.duplicate(old.Key, start)
	require.JSONEq(t, `{"id":"o-2"}`, string(held.Result))
}

func TestACacheCommitsOnlyWhatItsStoreCan(t *testing.T) {
	t.Parallel()
	inner := memory.New()
	s := cache.New(inner, 1<<20)
	first := running("order#1", "A")
	_, _, err := s.Claim(t.Context(), first, start)
	require.NoError(t, err)
	_, want := store.CommitterOf(inner)

	_, committed, err := s.Commit(t.Context(), first, completed(first, `{}`), partstore.Writes{}, "token")
	require.Equal(t, want, err)
	assert.False(t, committed)
	require.Equal(t, want, s.Apply(t.Context(), partstore.Writes{}, "token"))
	var failed *store.Error
	require.True(t, errors.As(err, &failed) && failed.NotApplied)
	held, _, err := s.Get(t.Context(), first.Key)
	require.NoError(t, err)
	require.Equal(t, first, held)
}

// before is a cache that knows the store behind it.
type before struct {
	*cache.Store

	inner store.Store
}

func TestStoreKeepsTheContract(t *testing.T) {
	inParts := partstore.Features(func(s store.Store) *partstore.Store { return s.(before).inner.(*partstore.Store) })
	for name, c := range map[string]struct {
		maxBytes int
		inner    func() store.Store
		features storetest.Features
	}{
		"everything fits":      {1 << 30, func() store.Store { return memory.New() }, storetest.Features{}},
		"results in parts":     {1 << 30, func() store.Store { return newParted() }, inParts},
		"hardly anything fits": {2000, func() store.Store { return newParted() }, inParts},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, c.features, func(testing.TB) store.Store {
				inner := c.inner()
				return before{cache.New(inner, c.maxBytes), inner}
			})
		})
	}
}
