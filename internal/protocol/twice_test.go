package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// TestAHandlerThatIsWrappedTwiceIsToldSo: at the first delivery, at once, and whatever lies
// between.
func TestAHandlerThatIsWrappedTwiceIsToldSo(t *testing.T) {
	type between = func(ctx context.Context, o order) (context.Context, order)
	anotherContext := func(as func(context.Context) context.Context) between {
		return func(ctx context.Context, o order) (context.Context, order) { return as(ctx), o }
	}
	type row struct {
		opts    []idempotent.Option
		between between
	}
	each(t, map[string]row{
		"a middleware":  {},
		"it would wait": {opts: waits(5 * time.Second)},
		"another content": {between: func(ctx context.Context, o order) (context.Context, order) {
			o.Amount++
			return ctx, o
		}, opts: []idempotent.Option{amountFingerprint()}},
		"no protection":   {between: anotherContext(idempotent.Unprotected)},
		"another handler": {between: through(func(o order) string { return "other-" + o.ID })},
		"a lease that has ended": {between: anotherContext(func(ctx context.Context) context.Context {
			time.Sleep(13 * time.Second)
			return context.WithoutCancel(ctx)
		})},
		"another deadline": {between: anotherContext(context.WithoutCancel)},
	}, func(t *testing.T, tc row) {
		s := newShop(t, tc.opts...)
		inner := s.sandbox(nil, tc.opts...)
		var said error
		s.do = func(ctx context.Context, o order) (receipt, error) {
			if tc.between != nil {
				ctx, o = tc.between(ctx, o)
			}
			began := time.Now()
			_, said = inner.handler.Handle(ctx, o)
			assert.Zero(t, time.Since(began))
			return receipt{}, said
		}
		err := s.mustFail(1, idempotent.ErrWrappedTwice)
		require.NotErrorIs(t, err, idempotent.ErrInProgress)
		var twice *idempotent.Error
		require.ErrorAs(t, said, &twice)
		require.ErrorIs(t, said, idempotent.ErrWrappedTwice)
		assert.Equal(t, "shop", twice.Operation)
		assert.Equal(t, report.WrappedTwice, inner.event().Outcome)
		assertExecuted(t, s, 1)
		s.assertGone("the outer execution has failed and is released")
	})
}

// through makes a handler with a key of its own lie between.
func through(key func(order) string) func(ctx context.Context, o order) (context.Context, order) {
	return func(ctx context.Context, o order) (context.Context, order) {
		var within context.Context
		between := idempotent.Wrap(func(ctx context.Context, _ order) (receipt, error) {
			within = ctx //nolint:fatcontext // it is used after the handler
			return receipt{}, nil
		}, memory.New(), idempotent.WithOperation("between"),
			idempotent.WithKey(func(o order) (string, error) { return key(o), nil }))
		_, _ = between.Handle(ctx, o)
		return context.WithoutCancel(within), o
	}
}

// TestAHandlerMayCallItselfForAnotherRequest, and for one that has come to its end.
func TestAHandlerMayCallItselfForAnotherRequest(t *testing.T) {
	s := newShop(t)
	s.do = func(ctx context.Context, o order) (receipt, error) {
		if o.ID == "o-1" {
			return s.handler.Handle(ctx, order{ID: "o-2"})
		}
		return receipt{Charge: 7}, nil
	}
	got := s.mustHandle(1)
	assert.Equal(t, int64(7), got.Charge)
	assertExecuted(t, s, 2)
}

// TestARecordWithoutAFingerprintIsNoMistakeOfTheClient: another program wrote it, or the handler
// when it had none.
func TestARecordWithoutAFingerprintIsNoMistakeOfTheClient(t *testing.T) {
	for _, status := range []store.Status{store.StatusInProgress, store.StatusCompleted, store.StatusUnknown} {
		deliveryCase{
			put: func(r *store.Record) {
				if status == store.StatusCompleted {
					completed(r, `{"charge":1}`)
				}
				r.Status, r.Fingerprint = status, ""
			},
			err: idempotent.ErrUnreadable, outcome: report.Unreadable, left: status,
			then: func(s *shop, err error) {
				require.NotErrorIs(s.t, err, idempotent.ErrMismatch)
				assert.Contains(s.t, err.(*idempotent.Error).Reason, "no fingerprint")
			},
		}.deliver(t, string(status))
	}
}
