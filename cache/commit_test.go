package cache_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cache"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// TestACommitIsAChange: the refusal of a claim that comes while one is under way is not remembered.
func TestACommitIsAChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	old := completed(running("order#1", "A"), `{"id":"o-1"}`)
	f.elsewhere().claims(old, start)
	again := running(old.Key, "B")
	f.spy.meanwhile(func() {
		f.elsewhere().swaps(old, again)
		_, committed, err := f.cache.Commit(t.Context(), again, completed(again, `{"id":"o-2"}`), rows{}, "token")
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
