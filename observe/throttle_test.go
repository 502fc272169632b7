package observe_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// throttles is a store of which a key gets too many requests.
type throttles struct{ store.Store }

func (throttles) Claim(context.Context, store.Record, time.Time) (store.Record, bool, error) {
	return store.Record{}, false, &store.Error{
		Op: "claim", Kind: store.FailureThrottled, Throttle: store.ThrottledKey, NotApplied: true,
		Err: errors.New("slow down"),
	}
}

// TestAnObserverIsToldWhatLackedCapacity where a delivery failed of that.
func TestAnObserverIsToldWhatLackedCapacity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told report.Delivery
		h := idempotent.Wrap(func(context.Context, string) (string, error) { return "charged", nil },
			throttles{memory.New()},
			idempotent.WithOperation("charge"),
			idempotent.WithKey(func(key string) (string, error) { return key, nil }),
			idempotent.WithObserver(func(_ context.Context, r report.Delivery) { told = r }))
		_, err := h.Handle(t.Context(), "order-1")
		require.ErrorIs(t, err, idempotent.ErrStoreUnavailable)
		assert.Equal(t, "hot key", told.Throttle)
	})
}
