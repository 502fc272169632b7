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

func TestTheOwnResultIsRememberedWithoutReadingItsParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, newParted(), 1<<20)
	done := f.executes("charge#1", large)
	f.remembers(done)

	inParts, found, err := f.cache.Get(t.Context(), done.Key)
	require.NoError(t, err)
	require.True(t, found)
	require.NotEmpty(t, inParts.Parts)
	f.remembers(done) // a look does not take the result away
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
	f.remembers(again)
	f.spy.calls()
	result, err := f.cache.ReadResult(t.Context(), inParts) // parts outlive their record
	require.NoError(t, err)
	require.Equal(t, large, string(result))
	require.Equal(t, []string{"read result"}, f.spy.calls())
	f.remembers(again)

	f.deletes(again)
	_, err = f.cache.ReadResult(t.Context(), inParts)
	require.NoError(t, err)
	f.claims(running(old.Key, "C"), start) // a record that is gone does not come back with its result
}

// TestAResultThatIsReadWhileItsRecordIsReplacedIsNotKept changes the record while its parts are on their way.
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
