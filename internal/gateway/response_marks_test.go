package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
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

// A wrong password must not block the key for a month.
func TestAResponseThatMeansThatNothingHappenedReleases(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		for name, opts := range map[string][]idempotent.Option{
			"unrepeatable": {idempotent.WithEffects(idempotent.Unrepeatable)}, "by default": nil,
		} {
			for _, status := range []int{401, 403, 429} {
				a := d.open(t, opts...)
				a.answers(reply{Status: status, Body: "no"})
				a.gets(ask{key: "k"}, strconv.Itoa(status))
				assert.Equal(t, report.Released, a.event().Settlement, "%s: %d", name, status)
				a.answers(reply{Status: 201, Body: "yes"})
				assert.Equal(t, "yes", a.send(ask{key: "k"}).Body)
			}
		}
		for _, status := range []int{408, 409, 423, 425, 500, 503} {
			a := d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
			a.answers(reply{Status: status})
			a.gets(ask{key: "k"}, strconv.Itoa(status))
			assert.Equal(t, report.Unknown, a.event().Settlement, "%d says nothing of the sort", status)
			a.gets(ask{key: "k"}, "409 unknown-outcome")
			a.assertExecuted(1)
		}
		// A mark outweighs the status, and so does what the user stores.
		a := d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
		a.returns(reply{Status: 429}, idempotent.Uncertain(errDownstream))
		a.send(ask{key: "k"})
		assert.Equal(t, report.Unknown, a.event().Settlement)
	})
	a := doors()[0].open(t, idempotent.WithStoreIf(func(responseV2) bool { return true }))
	a.answers(reply{Status: 403})
	a.send(ask{key: "k"})
	assert.Equal(t, report.Completed, a.event().Settlement)
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
