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

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/demo"
	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/page"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// A mistake of the program is told in the terminal, and not to the browser.
func TestAPanicIsTold(t *testing.T) {
	t.Parallel()
	s := newSite(t, broken{memory.New()}, nil)
	a := s.enter(t).get(t, "/record?key=charge%23uncertain")
	assert.Equal(t, http.StatusInternalServerError, a.status)
	assert.NotContains(t, a.body, "secret")
	require.Len(t, s.wrong, 1)
	assert.ErrorContains(t, s.wrong[0], "secret")
}

// broken is a store that nothing can be read of.
type broken struct{ *memory.Store }

func (broken) Get(context.Context, string) (store.Record, bool, error) { panic("secret") }

// An entry that cannot be printed does not undo the change, and is told.
func TestAnAuditEntryThatCannotBePrinted(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil, func(c *page.Config) {
		c.Done = func(operate.Entry) error { return errors.New("no terminal") }
	})
	b := s.enter(t)
	a := b.confirm(t, b.preview(t, "charge#uncertain", map[string]string{"verdict": "released"}))
	assert.Contains(t, a.body, "It is done")
	require.Len(t, s.wrong, 1)
	assert.ErrorContains(t, s.wrong[0], "charge#uncertain")
}

func recordOf(t *testing.T, key string) store.Record {
	t.Helper()
	for _, r := range demo.Records(t.Context(), demo.Now()) {
		if r.Key == key {
			return r
		}
	}
	require.Fail(t, key)
	return store.Record{}
}

// slow is a store whose writes take a moment, and get lost if nobody waits for them.
type slow struct {
	*memory.Store

	begun chan struct{}
}

func (s *slow) Swap(ctx context.Context, old, next store.Record) (store.Record, bool, error) {
	close(s.begun)
	select {
	case <-ctx.Done():
		return store.Record{}, false, &store.Error{Op: "swap", Kind: store.FailureTimeout, Err: ctx.Err()}
	case <-time.After(500 * time.Millisecond):
		return s.Store.Swap(ctx, old, next)
	}
}

// A tab that is closed while the record is written leaves no change without an audit entry.
func TestAChangeGoesOnWhenNobodyWaitsForIt(t *testing.T) {
	t.Parallel()
	m, err := demo.Store(t.Context(), demo.Now())
	require.NoError(t, err)
	over := &slow{m, make(chan struct{})}
	s := newSite(t, over, nil)
	b := s.enter(t)
	previewed := b.preview(t, "charge#uncertain", map[string]string{"verdict": "not-executed"})
	form := previewed.form(t, []string{"form", "asked", "seal"}, nil)
	ctx, closeTab := context.WithCancel(t.Context())
	go func() {
		<-over.begun
		closeTab()
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.home+"/confirm", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := b.Do(r)
	if !assert.ErrorIs(t, err, context.Canceled) {
		require.NoError(t, res.Body.Close())
	}
	s.Wait()
	require.Len(t, s.done, 1)
	assert.Equal(t, "charge#uncertain", s.done[0].RecordKey)
	assert.Empty(t, s.wrong)
	assert.Equal(t, "dana", s.get(t, "charge#uncertain").SettledBy)
}

// lossy is a store whose writes get no answer.
type lossy struct{ *memory.Store }

func (lossy) Swap(context.Context, store.Record, store.Record) (store.Record, bool, error) {
	return store.Record{}, false, &store.Error{Op: "swap", Kind: store.FailureUnavailable, Err: errors.New("no answer")}
}

// Of a change that may have been done the terminal tells, too: there is no audit entry.
func TestAChangeOfWhichNobodyKnowsIsTold(t *testing.T) {
	t.Parallel()
	m, err := demo.Store(t.Context(), demo.Now())
	require.NoError(t, err)
	s := newSite(t, lossy{m}, nil)
	b := s.enter(t)
	a := b.confirm(t, b.preview(t, "charge#uncertain", map[string]string{"verdict": "not-executed"}))
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
