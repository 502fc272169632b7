package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
)

var errDownstream = errors.New("downstream failed")

func TestResolvedResponseIsStoredWithoutCookiesAndMarked(t *testing.T) {
	t.Parallel()
	records := memory.New()
	resolver := idempotent.WithResolver(
		func(context.Context, idempotent.Execution, requestV2) (idempotent.Resolution[responseV2], error) {
			return idempotent.Executed(responseV2{StatusCode: 200, Body: "found", Cookies: []string{"a=1"}}), nil
		})
	h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) {
		return responseV2{}, idempotent.Uncertain(errDownstream)
	}, records, resolver)
	_, err := h.Handle(t.Context(), ask{key: "k"}.v2())
	require.ErrorIs(t, err, errDownstream)
	for range 2 {
		r, err := h.Handle(t.Context(), ask{key: "k"}.v2())
		require.NoError(t, err)
		assert.Equal(t, "found", r.Body)
		assert.Empty(t, r.Cookies)
		assert.True(t, read(r).replayed())
	}
}

// What a handler would not store, a resolver cannot store either: the client would get a failure of
// the moment for as long as the retention.
func TestAResolverStoresNoResponseThatIsNotStored(t *testing.T) {
	t.Parallel()
	status := 0
	var seen report.Delivery
	h := idempotent.Wrap(func(context.Context, requestV2) (responseV2, error) {
		return responseV2{}, idempotent.Uncertain(errDownstream)
	}, memory.New(), idempotent.WithResolver(
		func(context.Context, idempotent.Execution, requestV2) (idempotent.Resolution[responseV2], error) {
			return idempotent.Executed(responseV2{StatusCode: status}), nil
		}), idempotent.WithObserver(func(_ context.Context, e report.Delivery) { seen = e }))
	_, err := h.Handle(t.Context(), ask{key: "k"}.v2())
	require.ErrorIs(t, err, errDownstream)
	for _, status = range []int{0, 429, 500, 503} {
		r, err := h.Handle(t.Context(), ask{key: "k"}.v2())
		require.NoError(t, err)
		require.Equal(t, http.StatusConflict, r.StatusCode, status)
		require.Equal(t, report.StillUnknown, seen.Settlement)
		require.ErrorContains(t, seen.Err, "resolver: its result is not one that is stored")
	}
	status = http.StatusPaymentRequired
	r, err := h.Handle(t.Context(), ask{key: "k"}.v2())
	require.NoError(t, err)
	require.Equal(t, http.StatusPaymentRequired, r.StatusCode)
}

// What a handler makes of the end of its context says nothing of the effect.
func TestAnInterruptedExecutionIsNoRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := doors()[0]
		a := d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
		a.do = func(ctx context.Context) (reply, error) {
			<-ctx.Done()
			return reply{Status: 429}, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := a.through(ctx, ask{key: "k"})
		require.NoError(t, err)
		assert.Equal(t, report.Unknown, a.event().Settlement)
		assert.Equal(t, "interrupted", a.event().Reason)
	})
}
