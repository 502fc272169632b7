package page_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/page"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// A mistake of the program is told in the terminal, and not to the browser.
func TestAPanicIsTold(t *testing.T) {
	t.Parallel()
	over := newOtherwise(t)
	s := newSiteOn(t, over)
	over.get = func(context.Context, string) (store.Record, bool, error) { panic("secret") }
	a := s.record(t, "charge#uncertain")
	assert.Equal(t, http.StatusInternalServerError, a.status)
	assert.NotContains(t, a.body, "secret")
	require.Len(t, s.wrong, 1)
	assert.ErrorContains(t, s.wrong[0], "secret")
}

// An entry that cannot be printed does not undo the change, and is told.
func TestAnAuditEntryThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *page.Config) {
		c.Done = func(operate.Entry) error { return errors.New("no terminal") }
	})
	a := s.confirm(t, s.preview(t, "charge#uncertain", verdictOf("released")))
	assert.Contains(t, a.body, "It is done")
	require.Len(t, s.wrong, 1)
	assert.ErrorContains(t, s.wrong[0], "charge#uncertain")
}

// A tab that is closed while the record is written leaves no change without an audit entry.
func TestAChangeGoesOnWhenNobodyWaitsForIt(t *testing.T) {
	t.Parallel()
	over, begun := newOtherwise(t), make(chan struct{})
	over.swap = func(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
		close(begun)
		select {
		case <-ctx.Done(): // it gets lost if nobody waits for it
			return store.Record{}, false, &store.Error{Op: "swap", Kind: store.FailureTimeout, Err: ctx.Err()}
		case <-time.After(500 * time.Millisecond):
			return over.Store.Swap(ctx, seen, next)
		}
	}
	s := newSiteOn(t, over)
	form := s.preview(t, "charge#uncertain", verdictOf("not-executed")).confirmation(t)
	ctx, closeTab := context.WithCancel(t.Context())
	go func() {
		<-begun
		closeTab()
	}()
	res, err := s.Do(request(ctx, t, http.MethodPost, s.home+"/confirm", strings.NewReader(form.Encode()), fromHere))
	if !assert.ErrorIs(t, err, context.Canceled) {
		require.NoError(t, res.Body.Close())
	}
	s.Wait()
	require.Len(t, s.done, 1)
	assert.Equal(t, "charge#uncertain", s.done[0].RecordKey)
	assert.Empty(t, s.wrong)
	assert.Equal(t, "dana", s.kept(t, "charge#uncertain").SettledBy)
}

// Of a change that may have been done the terminal tells, too: there is no audit entry.
func TestAChangeOfWhichNobodyKnowsIsTold(t *testing.T) {
	t.Parallel()
	over := newOtherwise(t)
	over.swap = func(context.Context, store.Record, store.Record) (store.Record, bool, error) {
		err := &store.Error{Op: "swap", Kind: store.FailureUnavailable, Err: errors.New("no answer")}
		return store.Record{}, false, err
	}
	s := newSiteOn(t, over)
	a := s.confirm(t, s.preview(t, "charge#uncertain", verdictOf("not-executed")))
	assert.Equal(t, http.StatusBadGateway, a.status)
	assert.Contains(t, a.body, "Nobody knows whether it was done")
	assert.Empty(t, s.done)
	require.Len(t, s.wrong, 1)
	for _, says := range []string{
		"Settle it as not executed", "charge#uncertain", "dana", "ticket 4711",
		"whether the change was applied is not known",
	} {
		assert.ErrorContains(t, s.wrong[0], says)
	}
}
