package cache_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func TestACommittedRecordIsRemembered(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]string{"inside": `{"id":"o-1"}`, "in parts": large} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, newParted(), 1<<20)
			first := running("order#1", "A")
			f.claims(first, start)
			f.spy.calls()
			done := f.commits(first, completed(first, result), storetest.Row{Name: "order"})
			require.Equal(t, []string{"commit"}, f.spy.calls())
			f.remembers(done)
		})
	}
}

// TestACommitThatSaysNoLeaseIsRememberedWithTheHeldOne: it has seen which one that is.
func TestACommitThatSaysNoLeaseIsRememberedWithTheHeldOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	first := running("order#1", "A")
	f.claims(first, start)
	done := f.commits(first, unleased(completed(first, `{}`)))
	done.Lease = first.Lease
	f.remembers(done)
}

func TestACommitDropsTheStepsOfWhatIsRemembered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	first := running("order#1", "A")
	f.claims(first, start)
	stepped := first
	stepped.Steps = map[string]store.Step{"charge": {Kind: store.StepValue, Seal: store.Seal("A", []byte("1")), Result: []byte("1")}}
	f.swaps(first, stepped)
	seen := stepped
	seen.StepWrites = store.AnyStepWrites
	next := completed(stepped, `{}`)
	done := f.commits(seen, next, storetest.Row{Name: "order"})
	done.Steps = nil
	f.remembers(done)
}

func TestARecordThatRefusesACommitIsRemembered(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	first := running("order#1", "A")
	f.claims(first, start)
	done := completed(first, `{"id":"o-1"}`)
	f.elsewhere().swaps(first, done)

	held, committed, err := f.cache.Commit(t.Context(), first, completed(first, `{"id":"o-2"}`), rows{{Name: "order"}}, "token")
	require.NoError(t, err)
	require.False(t, committed)
	require.Equal(t, done, held)
	f.remembers(done)
}

func TestNothingOfACommitIsRememberedThatDidNotHappen(t *testing.T) {
	t.Parallel()
	taken := storetest.Row{Name: "order", New: true}
	f := newFixture(t, newParted(), 1<<20)
	require.NoError(t, f.cache.Apply(t.Context(), rows{taken}, "earlier"))
	require.Equal(t, []string{"apply"}, f.spy.calls())
	first := running("order#1", "A")
	f.claims(first, start)

	_, committed, err := f.cache.Commit(t.Context(), first, completed(first, `{}`), rows{taken}, "token")
	require.ErrorIs(t, err, store.ErrWritesRefused)
	require.False(t, committed)
	f.forgets(first.Key)
	f.spy.fail(true)
	_, _, err = f.cache.Commit(t.Context(), first, completed(first, `{}`), rows{}, "token")
	require.ErrorIs(t, err, errDown)
	require.ErrorIs(t, f.cache.Apply(t.Context(), rows{}, "token"), errDown)
	f.spy.fail(false)
	f.forgets(first.Key)

	// The handler answers that the order is there, and completes without a lease, as it does.
	f = newFixture(t, f.spy.inner, 1<<20)
	second := running("order#2", "A")
	f.claims(second, start)
	_, _, err = f.cache.Commit(t.Context(), second, completed(second, `{}`), rows{taken}, "token")
	require.ErrorIs(t, err, store.ErrWritesRefused)
	done := completed(second, `{"error":"taken"}`)
	f.swaps(unleased(second), unleased(done))
	f.remembers(done)
}

// TestARefusalThatAChangeOvertakesSaysNothingOfTheClaim: the lease may be another one by then.
func TestARefusalThatAChangeOvertakesSaysNothingOfTheClaim(t *testing.T) {
	t.Parallel()
	taken := storetest.Row{Name: "order", New: true}
	f := newFixture(t, newParted(), 1<<20)
	require.NoError(t, f.cache.Apply(t.Context(), rows{taken}, "earlier"))
	first := running("order#1", "A")
	f.claims(first, start)
	renewed := first
	renewed.Lease = first.Lease.Add(time.Minute)
	f.spy.meanwhile(func() { f.swaps(first, renewed) })
	_, _, err := f.cache.Commit(t.Context(), first, completed(first, `{}`), rows{taken}, "token")
	require.ErrorIs(t, err, store.ErrWritesRefused)

	done := completed(renewed, `{}`)
	f.swaps(unleased(renewed), unleased(done))
	held, calls := f.duplicate(first.Key, start)
	require.Equal(t, []string{"claim"}, calls)
	require.Equal(t, done, held)
}

// TestACommitIsAChange: an answer that comes while one is under way is not remembered.
func TestACommitIsAChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	old := completed(running("order#1", "A"), `{"id":"o-1"}`)
	f.elsewhere().claims(old, start)
	again := running(old.Key, "B")
	f.spy.meanwhile(func() { // the answer of a look is on its way
		f.elsewhere().swaps(old, again)
		f.commits(again, completed(again, `{"id":"o-2"}`))
	})
	_, _, err := f.cache.Get(t.Context(), old.Key)
	require.NoError(t, err)
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

	_, committed, err := s.Commit(t.Context(), first, completed(first, `{}`), rows{}, "token")
	require.Equal(t, want, err)
	assert.False(t, committed)
	require.Equal(t, want, s.Apply(t.Context(), rows{}, "token"))
	var failed *store.Error
	require.True(t, errors.As(err, &failed) && failed.NotApplied)
	held, _, err := s.Get(t.Context(), first.Key)
	require.NoError(t, err)
	require.Equal(t, first, held)
}
