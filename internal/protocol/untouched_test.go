package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// A resolver that has found that nothing happened is believed on every path that can ask: the
// request executes, and the start mark that was there is gone.
func TestUntouchedMeansProgressOnEveryPath(t *testing.T) {
	asks := onceAsking(idempotent.Untouched[string](), nil)
	whole, refuse := resolves(untouched, nil), unrepeatable()
	for name, c := range map[string]struct {
		step      idempotent.StepOption[string]
		opts      []idempotent.Option
		reconcile bool
	}{
		"a delivery":                   {once(), []idempotent.Option{whole}, false},
		"a delivery, all steps marked": {nil, []idempotent.Option{whole}, false},
		"Reconcile":                    {once(), []idempotent.Option{whole}, true},
		"Reconcile without a resolver": {once(), []idempotent.Option{refuse}, true},
		"the resolver of the step":     {asks, nil, false},
		"both":                         {asks, []idempotent.Option{whole}, false},
	} {
		for end, first := range map[string]func(context.Context) error{
			"fails":        func(context.Context) error { return errCard },
			"is uncertain": func(context.Context) error { return idempotent.Uncertain(errCard) },
			"times out":    func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		} {
			if c.opts == nil && end == "is uncertain" {
				continue // UNKNOWN, and nobody asks a step
			}
			bubble(t, name+", "+end, func(t *testing.T) {
				s := newShop(t, c.opts...).doing(firstly(func(ctx context.Context, _ order) (receipt, error) {
					_, err := idempotent.Step(ctx, "charge",
						func(ctx context.Context) (string, error) { return "", first(ctx) }, c.step)
					return receipt{}, err
				}, inOneStep("charge", c.step)))
				s.mustFail(5, errAny)
				if c.reconcile {
					_, _ = s.handle(5) // which may make it UNKNOWN
					s.ask(untouched)
				}
				var err error
				for range 3 {
					if _, err = s.handle(5); err == nil {
						break
					}
				}
				require.NoError(t, err, "the request executes")
				assert.Equal(t, 1, s.count("charge"))
			})
		}
	}
}

// What was found untouched and then not begun is not asked about again: its start mark goes with
// the release.
func TestAStartMarkThatStandsForNothingGoesWithTheRelease(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, resolves(untouched, nil)).doing(firstly(func(ctx context.Context, _ order) (receipt, error) {
			return receipt{}, failIn(ctx, "charge", idempotent.Uncertain(errCard))
		}, fails(idempotent.NotExecuted(errCard)))) // before the step
		s.mustFail(5, errCard)
		s.mustFail(5, errCard)
		assert.Empty(t, s.mustRecord().Steps)
		s.do = inOneStep("charge")
		s.mustHandle(5)
	})
}

// A commit inside of a step, with the context of the handler, cannot be told from one beside the
// step. It does not wait for ever.
func TestACommitThatWaitsForItsOwnStepIsRefused(t *testing.T) {
	for name, limit := range map[string]time.Duration{"with a deadline": 10 * time.Second, "without one": forever} {
		for outer, of := range map[string]func(context.Context) context.Context{
			"the context of the handler": func(ctx context.Context) context.Context { return ctx },
			"one without its end":        context.WithoutCancel,
		} {
			bubble(t, name+", "+outer, func(t *testing.T) {
				s, l := newTill(t, nil)
				began := time.Now()
				// a lease that is renewed for ever would fill the memory
				forever := time.AfterFunc(time.Hour, func() { panic("the commit waits for ever") })
				defer forever.Stop()
				var refused error
				s.do = func(ctx context.Context, o order) (receipt, error) {
					_, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) {
						_, refused = commit(of(ctx), receipt{7, o.Amount}, "row")
						return 0, refused
					})
					return receipt{}, err
				}
				s.mustFailFor(limit, 5, errAny)
				require.ErrorIs(t, refused, idempotent.ErrCommitRefused)
				require.ErrorContains(t, refused, "the steps that run: charge")
				assert.Empty(t, l.attempts, "nothing is sent")
				if limit > 0 {
					assert.Less(t, time.Since(began), limit)
				} else {
					assert.Equal(t, 30*time.Second, time.Since(began))
				}
			})
		}
	}
}

// Once the handler has returned nothing renews the lease, so a commit that it has left behind does
// not wait for steps any more.
func TestACommitThatWaitsEndsWithItsHandler(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, nil)
		refused := make(chan error, 1)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			go func() {
				_, _ = idempotent.Step(ctx, "charge",
					func(context.Context) (int, error) { time.Sleep(time.Minute); return 7, nil })
			}()
			time.Sleep(time.Second)
			go func() {
				_, err := commit(context.WithoutCancel(ctx), receipt{7, o.Amount}, "row")
				refused <- err
			}()
			time.Sleep(time.Second)
			return receipt{7, o.Amount}, nil
		}
		began := time.Now()
		s.mustHandleFor(forever, 5)
		assert.Equal(t, 2*time.Second, time.Since(began))
		require.ErrorIs(t, <-refused, idempotent.ErrCommitRefused)
		assert.Empty(t, l.attempts)
		time.Sleep(time.Minute)
	})
}

// As long as steps end, a commit without a deadline waits for the others.
func TestACommitWaitsForStepsOfWhichSomeEnd(t *testing.T) {
	deliveryCase{
		turns: []turn{}, rows: oneRow, within: forever, runs: 1, left: store.StatusCompleted,
		do: func(ctx context.Context, o order) (receipt, error) {
			for i := range 3 {
				beside(ctx, string(rune('a'+i)), time.Duration(i+1)*25*time.Second)
			}
			return commitsRow(ctx, o)
		},
	}.deliver(t, "75 s")
}

// A commit that has happened needs no lease any more: nobody tells its handler that one is lost.
func TestAHandlerThatWorksOnAfterItsCommitIsNotTold(t *testing.T) {
	deliveryCase{
		turns: []turn{}, rows: oneRow, within: forever, runs: 1, left: store.StatusCompleted,
		do: func(ctx context.Context, o order) (receipt, error) {
			out, err := commitsRow(ctx, o)
			time.Sleep(time.Minute)
			assert.NoError(shopIn(ctx).t, ctx.Err())
			return out, err
		},
		then: func(s *shop, _ error) { assert.NoError(s.t, s.event().StoreErr) },
	}.deliver(t, "a minute")
}

// If not even the record can be read after a commit, the handler is told before its lease ends.
func TestAHandlerWhoseCommitNobodyKnowsIsToldBeforeItsLeaseEnds(t *testing.T) {
	down := false
	deliveryCase{
		turns: manyTurns(losesRequest), within: forever, err: idempotent.ErrCommitFailed, runs: 1,
		most: 30*time.Second - 1, left: store.StatusInProgress,
		rule: when(calls.LoseRequest, func(c calls.Call) bool { return down && c.Op == swap }),
		do: func(ctx context.Context, o order) (receipt, error) {
			t := shopIn(ctx).t
			down = true
			_, err := commitsRow(ctx, o)
			require.ErrorIs(t, err, idempotent.ErrCommitFailed)
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), idempotent.ErrLeaseLost)
			return receipt{}, err
		},
		then: func(s *shop, err error) { assert.NotErrorIs(s.t, err, context.Canceled) },
	}.deliver(t, "down")
}

// With little time left, an execution is settled before the deadline, and not after it.
func TestASettlementWithLittleTimeEndsBeforeTheDeadline(t *testing.T) {
	for _, limit := range []time.Duration{50 * time.Millisecond, 300 * time.Millisecond, 10 * time.Second} {
		deliveryCase{
			rule: calls.OnOp(swap, calls.HangBefore), do: untilTheDeadline, within: limit, runs: 1,
			most: limit, left: store.StatusInProgress,
		}.deliver(t, limit.String())
	}
}
