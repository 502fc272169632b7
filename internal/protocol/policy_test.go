package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// How an execution ends, for every way to end and all effects. "free" is a record that is gone.
func TestEndingsByMarkAndEffects(t *testing.T) {
	const free = store.Status("free")
	overrun := func(ctx context.Context, _ order) (receipt, error) {
		<-ctx.Done()
		return receipt{}, fmt.Errorf("calling downstream: %w", ctx.Err())
	}
	lost := func(ctx context.Context, _ order) (receipt, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(idempotent.ErrLeaseLost)
		return receipt{}, context.Cause(ctx)
	}
	foreign := fails(fmt.Errorf("calling downstream: %w", context.DeadlineExceeded))
	late := func(ctx context.Context, _ order) (receipt, error) {
		<-ctx.Done()
		return receipt{}, errors.New("rpc error: code = DeadlineExceeded")
	}
	lateResult := func(ctx context.Context, _ order) (receipt, error) {
		<-ctx.Done()
		return receipt{}, nil
	}
	panics := func(context.Context, order) (receipt, error) { panic("boom") }
	skip := idempotent.WithStoreIf(func(receipt) bool { return false })
	succeeds := fails(nil)
	unrepeatable := []idempotent.Option{unrepeatable()}
	unrepeatableSkip := append([]idempotent.Option{skip}, unrepeatable...)
	resolves := []idempotent.Option{resolves(idempotent.StillUnknown[receipt](), nil)}

	type row struct {
		do     func(context.Context, order) (receipt, error)
		opts   []idempotent.Option
		status store.Status
		reason string
	}
	each(t, map[string]row{
		"error":               {fails(errCard), nil, free, ""},
		"error, unrepeatable": {fails(errCard), unrepeatable, store.StatusUnknown, "error"},
		"error, resolver":     {fails(errCard), resolves, free, ""},

		"NotExecuted, unrepeatable": {fails(idempotent.NotExecuted(errCard)), unrepeatable, free, ""},
		"Terminal":                  {fails(idempotent.Terminal(errCard)), nil, store.StatusCompleted, "terminal"},
		"Uncertain":                 {fails(idempotent.Uncertain(errCard)), nil, store.StatusUnknown, "uncertain"},
		"Uncertain, wrapped": {
			fails(fmt.Errorf("charge: %w", idempotent.Uncertain(errCard))), nil, store.StatusUnknown, "uncertain",
		},
		"the most cautious mark decides": {
			fails(idempotent.NotExecuted(idempotent.Uncertain(errCard))), nil, store.StatusUnknown, "uncertain",
		},

		"own deadline":                     {overrun, nil, free, ""},
		"own deadline, unrepeatable":       {overrun, unrepeatable, store.StatusUnknown, "interrupted"},
		"own deadline, resolver":           {overrun, resolves, store.StatusUnknown, "interrupted"},
		"lost, of another context":         {lost, nil, store.StatusInProgress, ""},
		"lost, unrepeatable":               {lost, unrepeatable, store.StatusInProgress, ""},
		"another's deadline, resolver":     {foreign, resolves, free, ""},
		"another's deadline, unrepeatable": {foreign, unrepeatable, store.StatusUnknown, "error"},

		"own deadline, in other words":               {late, nil, free, ""},
		"own deadline, in other words, resolver":     {late, resolves, store.StatusUnknown, "interrupted"},
		"own deadline, in other words, unrepeatable": {late, unrepeatable, store.StatusUnknown, "interrupted"},
		"own deadline, not stored, unrepeatable": {
			lateResult, unrepeatableSkip, store.StatusUnknown,
			"interrupted",
		},
		"own deadline, stored, unrepeatable": {lateResult, unrepeatable, store.StatusCompleted, ""},

		"panic":                    {panics, nil, free, ""},
		"panic, unrepeatable":      {panics, unrepeatable, store.StatusUnknown, "panic"},
		"panic, resolver":          {panics, resolves, store.StatusUnknown, "panic"},
		"not stored":               {succeeds, []idempotent.Option{skip}, free, ""},
		"not stored, unrepeatable": {succeeds, unrepeatableSkip, store.StatusUnknown, "not-stored"},
		"stored":                   {succeeds, unrepeatable, store.StatusCompleted, ""},
	}, func(t *testing.T, tc row) {
		s := newShop(t, tc.opts...).doing(tc.do)
		s.survive(5)
		r, found := s.record()
		if tc.status == free {
			assert.False(t, found, "released")
			return
		}
		require.True(t, found)
		assert.Equal(t, tc.status, r.Status)
		assert.Equal(t, tc.reason, r.Reason)
		if r.Status == store.StatusUnknown {
			assert.GreaterOrEqual(t, time.Until(r.Expiry), idempotent.DefaultUnknownRetention-time.Second)
			assert.Equal(t, tc.reason, s.event().Reason)
			time.Sleep(48 * time.Hour)
			s.sandbox(nil, tc.opts...).mustFail(5, idempotent.ErrUnknownOutcome, "it outlives the usual retention")
			assertExecuted(t, s, 1)
		}
	})
}

// codedError is an error type that retry rules know by name.
type codedError struct{ code string }

func (e codedError) Error() string { return "failed with " + e.code }

func TestMarksNeverReachTheCaller(t *testing.T) {
	type row struct{ returned, want error }
	each(t, map[string]row{
		"NotExecuted": {idempotent.NotExecuted(errCard), errCard},
		"Terminal":    {idempotent.Terminal(errCard), errCard},
		"Uncertain":   {idempotent.Uncertain(errCard), errCard},
		"two marks":   {idempotent.Terminal(idempotent.NotExecuted(errCard)), errCard},
	}, func(t *testing.T, tc row) {
		s := newShop(t).doing(fails(tc.returned))
		_, err := s.handle(5)
		assert.Same(t, tc.want, err)
		assert.Equal(t, tc.returned, s.event().Err, "the observer sees the mark")
	})
	wrapped := fmt.Errorf("charge: %w", idempotent.Terminal(errCard))
	inBubble(t, func(t *testing.T) {
		s := newShop(t).doing(fails(wrapped))
		_, err := s.handle(5)
		assert.Same(t, wrapped, err, "the handler's own wrapping is its own")
	})
}

func TestMarkOfNilIsNil(t *testing.T) {
	t.Parallel()
	require.NoError(t, idempotent.NotExecuted(nil))
	require.NoError(t, idempotent.Terminal(nil))
	require.NoError(t, idempotent.Uncertain(nil))
}

func TestTerminalErrorIsReplayedWithTypeAndMessage(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t).doing(fails(idempotent.Terminal(codedError{"E42"})))
		_, err := s.handle(5)
		assert.Equal(t, codedError{"E42"}, err)
		_, err = s.handle(5)
		var replayed *idempotent.ReplayedError
		require.ErrorAs(t, err, &replayed)
		assert.Equal(t, &idempotent.ReplayedError{Type: "codedError", Message: "failed with E42"}, replayed)
		assert.Equal(t, report.Replayed, s.event().Outcome)
		assertExecuted(t, s, 1)
	})
}

func TestCrashOfAnUnrepeatableEffectBecomesUnknownWhenItIsMet(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, unrepeatable())
		before := s.put(crashed)
		unknown := s.mustRefuse(5, idempotent.ErrUnknownOutcome)
		assert.Equal(t, "crashed", unknown.Reason)
		r := s.mustRecord()
		assert.Equal(t, store.StatusUnknown, r.Status)
		assert.Equal(t, before.Owner, r.Owner, "its owner may still bring the result")
		assertExecuted(t, s, 0)
	})
}

func TestResolverSettlesWhatCrashedAndWhatIsUnknown(t *testing.T) {
	type answer = resolution
	for name, tc := range map[string]struct {
		answer   answer
		err      error
		panics   bool
		want     receipt
		wantErr  error
		executed int64
		status   store.Status
		outcome  report.Outcome
	}{
		"executed": {
			answer: idempotent.Executed(receipt{77, 5}), want: receipt{77, 5},
			status: store.StatusCompleted, outcome: report.Resolved,
		},
		"untouched": {
			answer: idempotent.Untouched[receipt](), want: receipt{1, 5}, executed: 1,
			status: store.StatusCompleted, outcome: report.Executed,
		},
		"still unknown": {
			answer: idempotent.StillUnknown[receipt](), wantErr: idempotent.ErrUnknownOutcome,
			status: store.StatusUnknown, outcome: report.UnknownOutcome,
		},
		"zero": {wantErr: idempotent.ErrUnknownOutcome, status: store.StatusUnknown, outcome: report.UnknownOutcome},
		"failed": {
			err: errors.New("provider down"), wantErr: idempotent.ErrUnknownOutcome, status: store.StatusUnknown,
			outcome: report.UnknownOutcome,
		},
		"panics": {panics: true, status: store.StatusUnknown, outcome: report.Panicked},
	} {
		for state, change := range map[string]func(r *store.Record){
			"crashed": crashed,
			"unknown": unknown,
		} {
			bubble(t, name+" "+state, func(t *testing.T) {
				asked := 0
				var s *shop
				s = newShop(t, idempotent.WithResolver(
					func(ctx context.Context, x idempotent.Execution, o order) (answer, error) {
						asked++
						r := s.mustRecord()
						assert.Equal(t, store.StatusInProgress, r.Status, "it runs under the lease of a takeover")
						assert.True(t, r.Lease.After(time.Now()))
						assert.Equal(t, 2, x.Attempt)
						assert.True(t, x.Recovered)
						assert.Equal(t, x.DerivedKey("charge"), idempotent.DerivedKey(ctx, "charge"))
						assert.Equal(t, int64(5), o.Amount)
						if tc.panics {
							panic("boom")
						}
						return tc.answer, tc.err
					}))
				s.put(change)
				if tc.panics {
					s.mustPanic(5, "boom")
				} else {
					got, err := s.handle(5)
					require.ErrorIs(t, err, tc.wantErr)
					assert.Equal(t, tc.want, got)
				}
				assert.Equal(t, 1, asked)
				assertExecuted(t, s, tc.executed)
				assert.Equal(t, tc.status, s.mustRecord().Status)
				assert.Equal(t, tc.outcome, s.event().Outcome)
				if tc.err != nil {
					require.ErrorIs(t, s.event().Err, tc.err, "the observer learns why")
				}
				if tc.status == store.StatusUnknown && !tc.panics {
					want := map[string]string{"crashed": "crashed", "unknown": "uncertain"}[state]
					assert.Equal(t, want, s.mustRecord().Reason, "the reason that was seen stays")
				}
				if tc.status == store.StatusCompleted {
					again := s.mustHandle(5)
					assert.Equal(t, tc.want, again)
					assert.Equal(t, 1, asked, "a settled record is not asked about")
				}
			})
		}
	}
}

func TestResolverIsNotAskedAboutAFirstExecution(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithResolver(
			func(context.Context, idempotent.Execution, order) (resolution, error) {
				t.Error("asked")
				return resolution{}, nil
			}))
		s.mustHandle(5)
	})
}

func TestCrashUnderAResolverIsKeptForIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, resolves(idempotent.Executed(receipt{77, 5}), nil))
		s.do = func(context.Context, order) (receipt, error) { panic("boom") }
		assert.Panics(t, func() { _, _ = s.handle(5) })
		assert.Equal(t, store.StatusUnknown, s.mustRecord().Status)
		s.mustGet(5, receipt{77, 5})
		assertExecuted(t, s, 1)
	})
}

func TestCompletedResultAtTheVeryEndOfItsUnknownStateStillCounts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		// The lease ends while the handler runs on, someone refuses in its place, and then the
		// result comes.
		s := newShopOn(t, memory.New(), noRenewal, unrepeatable())
		s.do = func(_ context.Context, o order) (receipt, error) {
			time.Sleep(15 * time.Second)
			s.sandbox(nil, unrepeatable()).mustFail(5, idempotent.ErrUnknownOutcome)
			return receipt{1, o.Amount}, nil
		}
		s.mustHandle(5)
		s.mustGet(5, receipt{1, 5})
		assertExecuted(t, s, 1)
	})
}

func TestCauseOfTheHandlersContextIsAnInterruption(t *testing.T) {
	each(t, map[string]func(context.Context) error{
		"cause": context.Cause,
		"error": context.Context.Err,
	}, func(t *testing.T, returned func(context.Context) error) {
		s := newShop(t, unrepeatable())
		ctx, cancel := context.WithCancelCause(t.Context())
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			cancel(errCard)
			<-ctx.Done()
			return receipt{}, returned(ctx)
		}
		_, err := s.handler.Handle(ctx, order{ID: "o-1"})
		require.Error(t, err)
		assert.Equal(t, "interrupted", s.mustRecord().Reason)
	})
}

func TestResolverThatComesBackAfterItsLeaseWasLostExecutesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var s *shop
		s = newShop(t, idempotent.WithResolver(
			func(ctx context.Context, _ idempotent.Execution, _ order) (resolution, error) {
				s.change(func(r *store.Record) { r.Owner, r.Lease = "someone else", time.Now().Add(time.Hour) })
				<-ctx.Done()
				assert.ErrorIs(t, context.Cause(ctx), idempotent.ErrLeaseLost)
				return idempotent.Untouched[receipt](), nil
			}))
		s.put(func(r *store.Record) { r.Lease = time.Now().Add(-time.Second).Truncate(time.Second) })
		s.mustFailFor(forever, 1, idempotent.ErrUnknownOutcome) // without a deadline: the lease is renewed
		assertExecuted(t, s, 0)
		assert.Equal(t, "someone else", s.mustRecord().Owner)
	})
}

func TestResolverThatComesBackAtTheDeadlineExecutesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, idempotent.WithResolver(
			func(ctx context.Context, _ idempotent.Execution, _ order) (resolution, error) {
				<-ctx.Done()
				return idempotent.Untouched[receipt](), nil
			}))
		s.put(func(r *store.Record) { r.Lease = time.Now().Add(-time.Second).Truncate(time.Second) })
		s.mustFail(1, idempotent.ErrUnknownOutcome)
		assertExecuted(t, s, 0)
		assert.Equal(t, store.StatusUnknown, s.mustRecord().Status, "the next delivery asks again")
	})
}
