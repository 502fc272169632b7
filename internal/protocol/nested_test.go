package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/lambda/messages"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// nested makes two shops: the handler of the outer one returns what the inner one returns.
func nested(t *testing.T, outerOpts, innerOpts []idempotent.Option) (outer, inner *shop) {
	t.Helper()
	inner = newShop(t, innerOpts...)
	outer = newShop(t, outerOpts...)
	outer.do = inner.handler.Handle
	return outer, inner
}

func TestMarksReachAnOuterExecution(t *testing.T) {
	unrepeatable := []idempotent.Option{unrepeatable()}
	type row struct {
		err          error
		inner, outer []idempotent.Option
		want         store.Status // none if it is released
		reason       string
	}
	each(t, map[string]row{
		"nothing":             {err: errCard},
		"nothing, for a wary": {err: errCard, outer: unrepeatable, want: store.StatusUnknown, reason: "error"},
		"not executed":        {err: idempotent.NotExecuted(errCard), outer: unrepeatable},
		"terminal":            {err: idempotent.Terminal(errCard), want: store.StatusCompleted, reason: "terminal"},
		"uncertain":           {err: idempotent.Uncertain(errCard), want: store.StatusUnknown, reason: "uncertain"},
		"the most cautious": {
			err:  errors.Join(idempotent.NotExecuted(errCard), idempotent.Uncertain(errCard)),
			want: store.StatusUnknown, reason: "uncertain",
		},
		"deep in a tree": {
			err: fmt.Errorf("%w, %w", idempotent.NotExecuted(errCard),
				errors.Join(errCard, fmt.Errorf("card: %w", idempotent.Uncertain(errCard)))),
			want: store.StatusUnknown, reason: "uncertain",
		},
		"one inside another": {
			err: idempotent.NotExecuted(idempotent.Uncertain(errCard)), want: store.StatusUnknown, reason: "uncertain",
		},
		"unknown by a policy": {err: errCard, inner: unrepeatable, want: store.StatusUnknown, reason: "uncertain"},
		"untouched, but wary": {err: idempotent.NotExecuted(errCard), inner: unrepeatable},
		"terminal of the wary": {
			err: idempotent.Terminal(errCard), inner: unrepeatable, want: store.StatusCompleted, reason: "terminal",
		},
	}, func(t *testing.T, tc row) {
		outer, inner := nested(t, tc.outer, tc.inner)
		inner.do = fails(tc.err)
		err := outer.mustFail(5, errCard)
		assert.Equal(t, execution.Stripped(err), err, "outside of an execution nobody gets a mark")
		outer.mustLeave(tc.want, tc.reason)
	})
}

func TestMarksReachAnOuterExecutionThroughOneThatIsNotProtected(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		outer, inner := nested(t, nil, nil)
		inner.do = fails(idempotent.Uncertain(errCard))
		middle := newShop(t, idempotent.WithDisabled(true))
		middle.do = inner.handler.Handle
		outer.do = middle.handler.Handle
		outer.mustReturn(5, errCard)
		assert.Equal(t, store.StatusUnknown, outer.mustRecord().Status)
		middle.mustFail(5, idempotent.ErrUnknownOutcome, "of the inner one")
	})
}

// TestInvokeReturnsTheHandlersOwnErrorAlsoInsideOfAnExecution: Lambda reports the outermost type.
func TestInvokeReturnsTheHandlersOwnErrorAlsoInsideOfAnExecution(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		outer, inner := nested(t, nil, nil)
		inner.do = fails(idempotent.Terminal(codedError{"E42"}))
		outer.do = func(ctx context.Context, _ order) (receipt, error) {
			_, err := inner.handler.Invoke(ctx, []byte(`{"id":"o-1"}`))
			assert.Equal(t, codedError{"E42"}, err)
			_, err = inner.handler.Handle(ctx, order{ID: "o-2"})
			return receipt{}, err
		}
		_, err := outer.handler.Invoke(t.Context(), []byte(`{"id":"o-1"}`))
		assert.Equal(t, codedError{"E42"}, err)
	})
}

// TestTerminalErrorThatIsReplayedIsTerminalForAnOuterExecution, which crashed the first time.
func TestTerminalErrorThatIsReplayedIsTerminalForAnOuterExecution(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		outer, inner := nested(t, nil, nil)
		inner.do = fails(idempotent.Terminal(codedError{"E42"}))
		require.Equal(t, codedError{"E42"}, inner.mustFail(5, errAny))

		want := messages.InvokeResponse_Error{Type: "codedError", Message: "failed with E42"}
		for range 2 {
			_, err := outer.handler.Invoke(t.Context(), []byte(`{"id":"o-1","amount":5}`))
			assert.Equal(t, want, err, "as Lambda reported it the first time")
		}
		outer.mustHold(store.StatusCompleted, "terminal")
		assertExecuted(t, outer, 1)
		replayed := &idempotent.ReplayedError{Type: "codedError", Message: "failed with E42"}
		assert.Equal(t, replayed, outer.mustFail(5, errAny))
	})
}

// TestErrorsOfAnInnerDeliveryInAnOuterExecution: after those that say that an effect may have
// happened, the outer execution is not repeated either. After the others its own policy decides.
func TestErrorsOfAnInnerDeliveryInAnOuterExecution(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want execution.Mark
	}{
		"unknown outcome":   {&idempotent.Error{Kind: idempotent.ErrUnknownOutcome}, execution.Uncertain},
		"superseded":        {&idempotent.Error{Kind: idempotent.ErrSuperseded}, execution.Uncertain},
		"unreadable":        {&idempotent.Error{Kind: idempotent.ErrUnreadable}, execution.Uncertain},
		"replayed":          {&idempotent.ReplayedError{}, execution.Terminal},
		"in progress":       {&idempotent.Error{Kind: idempotent.ErrInProgress}, execution.Unmarked},
		"mismatch":          {&idempotent.Error{Kind: idempotent.ErrMismatch}, execution.Unmarked},
		"missing key":       {&idempotent.Error{Kind: idempotent.ErrMissingKey}, execution.Unmarked},
		"invalid key":       {&idempotent.Error{Kind: idempotent.ErrInvalidKey}, execution.Unmarked},
		"store unavailable": {&idempotent.Error{Kind: idempotent.ErrStoreUnavailable}, execution.Unmarked},
		"refused":           {&idempotent.Error{Kind: idempotent.ErrRefused}, execution.Unmarked},
		"no event":          {&idempotent.Error{Kind: idempotent.ErrDecode}, execution.Unmarked},
	} {
		assert.Equal(t, tc.want, execution.MarkOf(tc.err), name)
		assert.Equal(t, tc.want, execution.MarkOf(fmt.Errorf("inner: %w", tc.err)), name)
		assert.Equal(t, execution.Uncertain, execution.MarkOf(errors.Join(tc.err, idempotent.Uncertain(errCard))), name)
		assert.Equal(t, max(tc.want, execution.NotExecuted), execution.MarkOf(idempotent.NotExecuted(tc.err)), name)
	}

	type row struct {
		opts []idempotent.Option
		rule rule
		put  func(r *store.Record)
		err  error
		left store.Status // of the outer one; none if it is released
	}
	each(t, map[string]row{
		"unknown outcome": {nil, nil, unknown, idempotent.ErrUnknownOutcome, store.StatusUnknown},
		"in progress":     {nil, nil, func(*store.Record) {}, idempotent.ErrInProgress, ""},
		"store unavailable, and the outer one is wary": {
			[]idempotent.Option{unrepeatable()},
			calls.OnOp(claim, calls.Deny), nil,
			idempotent.ErrStoreUnavailable, store.StatusUnknown,
		},
	}, func(t *testing.T, tc row) {
		inner := deliveryCase{rule: tc.rule, put: tc.put}.shop(t)
		outer := newShop(t, tc.opts...).doing(inner.handler.Handle)
		outer.mustFail(5, tc.err)
		r, _ := outer.record()
		assert.Equal(t, tc.left, r.Status)
	})
}
