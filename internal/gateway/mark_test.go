package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// A handler that notes the error of its lost lease has crashed, as one that returns it.
func TestNotedLossOfTheLeaseReleasesNothing(t *testing.T) {
	everyDoor(t, func(t *testing.T, d door) {
		a := d.open(t, idempotent.WithEffects(idempotent.Unrepeatable))
		a.do = noting(reply{Status: 500}, errors.New("first"), fmt.Errorf("step: %w", idempotent.ErrLeaseLost))
		assert.Equal(t, 500, a.send(ask{key: "k"}).Status)
		record, found := a.record()
		require.True(t, found)
		assert.Equal(t, store.StatusInProgress, record.Status)
		assert.Empty(t, record.Reason)
	})
}

// A router that is protected itself, around a handler that tells of an error: the response is the
// answer, and the error counts for both.
func TestResponseAndErrorOfAnInnerHTTPHandler(t *testing.T) {
	t.Parallel()
	for _, says := range []func(context.Context) (reply, error){
		noting(reply{Status: 502}, errDownstream),
		noting(reply{Status: 502}, idempotent.Uncertain(errDownstream)),
		telling(reply{Status: 502}, idempotent.Uncertain(errDownstream))["returned"],
	} {
		inner := idempotent.Wrap(func(ctx context.Context, _ requestV2) (responseV2, error) {
			r, err := says(ctx)
			return respond[responseV2](r), err
		}, memory.New())
		out, got := inner.Handle(t.Context(), ask{key: "k-1"}.v2())
		require.NoError(t, got)
		assert.Equal(t, 502, out.StatusCode)

		for name, route := range map[string]func(context.Context, requestV2) (responseV2, error){
			"direct": inner.Handle,
			"wrapped": func(ctx context.Context, in requestV2) (responseV2, error) {
				out, err := inner.Handle(ctx, in)
				return out, fmt.Errorf("inner: %w", err)
			},
		} {
			var event report.Delivery
			router := idempotent.Wrap(route, memory.New(), idempotent.WithEffects(idempotent.Unrepeatable),
				idempotent.WithObserver(func(_ context.Context, e report.Delivery) { event = e }))
			out, got = router.Handle(t.Context(), ask{key: "k-2-" + name}.v2())
			require.NoError(t, got, name)
			assert.Equal(t, 502, out.StatusCode)
			assert.Equal(t, report.Unknown, event.Settlement)
			require.ErrorIs(t, event.Err, errDownstream)
		}
	}
}
