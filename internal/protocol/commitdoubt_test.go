package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// A copy of a declined commit that the client has sent is still on its way, and never applied: not
// before the handler goes on, and not after.
func TestADeclinedCommitIsNeverAppliedLater(t *testing.T) {
	for name, then := range map[string]handler{
		"answers": returns(receipt{409, 0}),
		"fails":   fails(errCard),
		"commits again": func(ctx context.Context, _ order) (receipt, error) {
			return commit(ctx, receipt{8, 0}, "other")
		},
	} {
		bubble(t, name, func(t *testing.T) {
			s, l := newTill(t, []turn{declinesSecond})
			s.do = func(ctx context.Context, o order) (receipt, error) {
				_, err := commitsRow(ctx, o)
				assert.ErrorIs(t, err, store.ErrWritesRefused)
				assert.Zero(t, l.arrive(t), "the claim stands, and its condition would hold now")
				return then(ctx, o)
			}
			_, _ = s.handle(5)
			assert.NotContains(t, l.written, "row")
		})
	}
}

func TestTheCopyOfADeclinedCommitThatIsFasterThanTheFenceHasLanded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, []turn{delays, declines})
		l.before = func(n int) {
			if n == 2 {
				time.AfterFunc(10*time.Millisecond, func() { l.arrive(t) })
			}
		}
		s.wrap(when(calls.Slow, func(c calls.Call) bool {
			return c.Op == swap && c.Next.Status == store.StatusInProgress
		}))
		s.do = commitsRow
		s.mustCommit(l)
	})
}

// Conflicts are repeated as long as there is time: until the handler's context ends.
func TestACommitInConflictUsesAllTheTimeThatThereIs(t *testing.T) {
	deliveryCase{ // the next delivery executes
		turns: manyTurns(conflicts), do: commitsRow, err: idempotent.ErrCommitFailed, runs: 1, settled: report.Released,
		least: 8 * time.Second, most: 9500*time.Millisecond - 1,
		then: func(s *shop, _ error) { assert.Greater(s.t, len(s.till.attempts), 20) },
	}.deliver(t, "until the end")
}

// A commit that has failed: no other one begins. What the handler says for ever is stored.
func TestAfterAFailedCommitNoOtherOneBegins(t *testing.T) {
	deliveryCase{
		turns: []turn{rejects}, err: errCard, runs: 1, outcome: report.Executed, settled: report.Completed,
		left: store.StatusCompleted, reason: "terminal",
		do: func(ctx context.Context, o order) (receipt, error) {
			t := shopIn(ctx).t
			_, err := commitsRow(ctx, o)
			assert.ErrorIs(t, err, idempotent.ErrCommitFailed)
			assert.ErrorIs(t, err, errTill)
			_, err = commitsRow(ctx, o)
			assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
			assert.ErrorContains(t, err, "an earlier commit of the execution has failed")
			return receipt{}, idempotent.Terminal(errCard)
		},
		then: func(s *shop, _ error) { assert.Len(s.t, s.till.attempts, 1) },
	}.deliver(t, "rejected")
}

// The record stays after a commit that was not answered. If it were deleted, a late copy of the
// claim could put it back, for a late copy of the commit.
func TestTheRecordOfACommitInDoubtIsNotDeleted(t *testing.T) {
	for name, turns := range map[string][]turn{"failed": manyTurns(delays), "declined": {delays, declines}} {
		deliveryCase{
			turns: turns, do: commitsRow, err: errAny, runs: 1, settled: report.Released,
			left: store.StatusInProgress, reason: store.ReasonReleased,
			then: func(s *shop, _ error) {
				_, claimed, err := s.inner.Claim(s.t.Context(), s.store.Calls()[0].Next, time.Now())
				require.NoError(s.t, err)
				assert.False(s.t, claimed)
				assert.Zero(s.t, s.till.arrive(s.t))

				s.till.turns = nil
				s.mustGet(6, receipt{7, 6}, "the next delivery executes")
				assert.Equal(s.t, oneRow, s.till.written)
			},
		}.deliver(t, name)
	}
}

// Something between the function and the store has sent a commit twice. The second copy is applied
// although the first one was declined: then the caller gets the answer that was committed, whatever
// the handler did.
func TestACommitThatWasSentTwiceAndLandsLateIsTheAnswer(t *testing.T) {
	for name, end := range map[string]handler{
		"answers":        returns(receipt{409, 0}),
		"fails":          fails(errCard),
		"panics":         panics("boom"),
		"fails for ever": fails(idempotent.Terminal(errCard)),
		"is uncertain":   fails(idempotent.Uncertain(errCard)),
		"commits again": func(ctx context.Context, o order) (receipt, error) {
			return commit(ctx, receipt{8, o.Amount}, "other")
		},
	} {
		for steps, withStep := range map[string]bool{"": false, ", after a step": true} {
			deliveryCase{
				turns: []turn{declines}, rows: oneRow, got: receipt{7, 5}, runs: 1, settled: report.Completed,
				left: store.StatusCompleted,
				do: func(ctx context.Context, o order) (receipt, error) {
					if withStep {
						_, err := take(ctx, "first")
						require.NoError(shopIn(ctx).t, err)
					}
					_, err := landsLate(ctx, o)
					require.ErrorIs(shopIn(ctx).t, err, store.ErrWritesRefused)
					return end(ctx, o)
				},
				then: func(s *shop, _ error) {
					var told *idempotent.Error
					require.ErrorAs(s.t, s.event().Err, &told)
					require.ErrorIs(s.t, s.event().Err, idempotent.ErrOtherAnswer)
					assert.NoError(s.t, s.event().StoreErr)
					s.mustCommit(s.till)
					assertExecuted(s.t, s, 1)
				},
			}.deliver(t, name+steps)
		}
	}
}

// landsLate is a commit that is declined, and then lands all the same.
func landsLate(ctx context.Context, o order) (receipt, error) {
	s := shopIn(ctx)
	out, err := commitsRow(ctx, o)
	s.till.late = s.till.attempts
	assert.Equal(s.t, 1, s.till.arrive(s.t))
	return out, err
}

// So it is for a batch, also where the answer is kept in parts: nobody looks at a result that is
// replayed, but this one is the answer of the execution.
func TestACommitThatLandsLateInABatchIsTheAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := newTillOn(t, &partsAt{Store: memory.New()}, nil, []turn{declines})
		s.do = landsLate
		got, err := s.handler.Handle(execution.Unwanting(t.Context()), order{ID: "o-1", Amount: 5})
		require.NoError(t, err)
		assert.Equal(t, receipt{7, 5}, got)
	})
}

// The record tells that the commit has landed.
func TestTheRecordTellsThatACommitHasLanded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, manyTurns(delays))
		s.do = func(ctx context.Context, o order) (receipt, error) {
			l.swaps = func(next store.Record) {
				if next.Status == store.StatusInProgress {
					l.swaps = nil
					assert.Equal(t, 1, l.arrive(t))
				}
			}
			return commitsRow(ctx, o)
		}
		s.mustGet(5, receipt{7, 5})
		assert.NoError(t, s.event().Err)
		assert.Equal(t, lines{"row"}, l.written)
	})
}

// The client may have sent the attempt twice that met the other lease, so the record stays if
// nothing is committed in the end.
func TestTheRecordOfACommitThatMetALateRenewalIsNotDeleted(t *testing.T) {
	deliveryCase{
		turns: []turn{takes, declines}, err: store.ErrWritesRefused, runs: 1,
		do:   after(changed(func(r *store.Record) { r.Lease = r.Lease.Add(time.Second) }), commitsRow),
		left: store.StatusInProgress, reason: store.ReasonReleased,
	}.deliver(t, "declined")
}

// Without protection the items are written by themselves.
func TestAnUnprotectedExecutionAppliesTheWrites(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, []turn{conflicts, takes, declines}, idempotent.WithDisabled(true))
		s.do = commitsRow
		s.mustCommit(l)
		require.Len(t, l.attempts, 2)
		assert.Equal(t, l.attempts[0].Token, l.attempts[1].Token)
		assert.Len(t, l.attempts[0].Token, 36)
		s.mustFail(5, store.ErrWritesRefused)
		assert.NotEqual(t, l.attempts[1].Token, l.attempts[2].Token)
		s.assertGone()
	})
}

// A process that was frozen until its lease had ended sends no commit, although nobody has taken
// its claim over yet.
func TestNoCommitIsSentOnceTheLeaseHasEnded(t *testing.T) {
	skew := time.Duration(0)
	deliveryCase{
		opts: []idempotent.Option{idempotent.WithClock(func() time.Time { return time.Now().Add(skew) })},
		do:   after(func(*shop) { skew = time.Hour }, commitsRow), turns: []turn{},
		err: idempotent.ErrLeaseLost, runs: 1, left: store.StatusInProgress,
		then: func(s *shop, _ error) { assert.Empty(s.t, s.till.attempts) },
	}.deliver(t, "frozen")
}
