package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// A copy of a declined commit that is still on its way is never applied: not before the handler
// goes on, and not after.
func TestADeclinedCommitIsNeverAppliedLater(t *testing.T) {
	for name, then := range map[string]func(ctx context.Context) (receipt, error){
		"answers":       func(context.Context) (receipt, error) { return receipt{409, 0}, nil },
		"fails":         func(context.Context) (receipt, error) { return receipt{}, errCard },
		"commits again": func(ctx context.Context) (receipt, error) { return commit(ctx, receipt{8, 0}, "other") },
	} {
		for how, turns := range map[string][]turn{
			"":                         {delays, declines},
			", repeated by the client": {declinesSecond},
		} {
			bubble(t, name+how, func(t *testing.T) {
				s, l := newTill(t, turns)
				s.do = func(ctx context.Context, o order) (receipt, error) {
					_, err := commit(ctx, receipt{7, o.Amount}, "row")
					assert.ErrorIs(t, err, store.ErrWritesRefused)
					assert.Zero(t, l.arrive(t), "the claim stands, and its condition would hold now")
					return then(ctx)
				}
				_, _ = s.handle(5)
				assert.NotContains(t, l.written, "row")
				for n := range turns {
					assert.Equal(t, l.attempts[0].token, l.attempts[n].token)
				}
			})
		}
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
		slow := storetest.OnOp(storetest.OpSwap, storetest.Slow)
		s.wrap(func(c storetest.Call) storetest.Fault {
			if c.Next.Status == store.StatusInProgress {
				return slow(c)
			}
			return storetest.Pass
		})
		s.do = commitsRow
		s.mustCommit(l)
	})
}

// The same is sent again, with the same token, and the record tells whether the first one has
// landed.
func TestACommitIsRepeatedUntilItIsKnown(t *testing.T) {
	each(t, map[string][]turn{
		"request lost":      {losesRequest},
		"reply lost":        {losesReply},
		"reply lost twice":  {losesReply, losesReply},
		"conflicts":         {conflicts, conflicts, conflicts, conflicts, conflicts, conflicts},
		"conflict and loss": {conflicts, losesReply, conflicts},
	}, func(t *testing.T, turns []turn) {
		s, l := newTill(t, turns)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			out, err := commit(ctx, receipt{7, o.Amount}, "row")
			assert.NoError(t, err)
			return out, err
		}
		s.mustCommit(l)
		assert.Equal(t, len(l.attempts), s.event().Commits[0].Tries)
		assert.NoError(t, s.event().StoreErr, "what passed is told by the tries")
		for _, a := range l.attempts {
			assert.Equal(t, l.attempts[0], a)
		}
	})
}

// Conflicts are repeated as long as there is time: until the handler's context ends.
func TestACommitInConflictUsesAllTheTimeThatThereIs(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, manyTurns(conflicts))
		began := time.Now()
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := commit(ctx, receipt{7, o.Amount}, "row")
			assert.ErrorIs(t, err, idempotent.ErrCommitFailed)
			assert.Greater(t, time.Since(began), 8*time.Second)
			assert.Less(t, time.Since(began), 9500*time.Millisecond)
			return receipt{}, err
		}
		s.mustFail(5, idempotent.ErrCommitFailed)
		assert.Equal(t, report.Released, s.event().Settlement)
		assert.Greater(t, len(l.attempts), 20)
		s.assertGone("the next delivery executes")
	})
}

// A commit that has failed: no answer is stored any more, and no other commit begins.
func TestAfterAFailedCommitNoAnswerIsStored(t *testing.T) {
	type row struct {
		then       func() (receipt, error)
		opts       []idempotent.Option
		err        error
		outcome    report.Outcome
		settlement report.Settlement
	}
	each(t, map[string]row{
		"answers all the same": {
			func() (receipt, error) { return receipt{7, 5}, nil }, nil,
			idempotent.ErrCommitFailed, report.CommitFailed, report.Released,
		},
		"answers, and must not be repeated": {
			func() (receipt, error) { return receipt{7, 5}, nil },
			[]idempotent.Option{unrepeatable()},
			idempotent.ErrCommitFailed, report.CommitFailed, report.Unknown,
		},
		"fails": {
			func() (receipt, error) { return receipt{}, errCard }, nil, errCard, report.Executed,
			report.Released,
		},
		"fails for ever": {
			func() (receipt, error) { return receipt{}, idempotent.Terminal(errCard) }, nil,
			errCard, report.Executed, report.Completed,
		},
	}, func(t *testing.T, tc row) {
		s, l := newTill(t, []turn{rejects}, tc.opts...)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := commit(ctx, receipt{7, o.Amount}, "row")
			assert.ErrorIs(t, err, idempotent.ErrCommitFailed)
			assert.ErrorIs(t, err, errTill)
			_, err = commit(ctx, receipt{7, o.Amount}, "row")
			assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
			assert.ErrorContains(t, err, "an earlier commit of the execution has failed")
			return tc.then()
		}
		got, err := s.handle(5)
		require.ErrorIs(t, err, tc.err)
		assert.Zero(t, got)
		assert.Equal(t, tc.outcome, s.event().Outcome)
		assert.Equal(t, tc.settlement, s.event().Settlement)
		assert.Empty(t, l.written)
		assert.Len(t, l.attempts, 1)
	})
}

// A commit that was not answered has failed, and never lands: the record was moved out of its way.
func TestACommitThatHasFailedNeverLands(t *testing.T) {
	each(t, map[string]func(err error) (receipt, error){
		"returns the error": func(err error) (receipt, error) { return receipt{}, err },
		"answers":           func(error) (receipt, error) { return receipt{9, 9}, nil },
		"panics":            func(error) (receipt, error) { panic("boom") },
		"fails for ever":    func(error) (receipt, error) { return receipt{}, idempotent.Terminal(errCard) },
		"is uncertain":      func(error) (receipt, error) { return receipt{}, idempotent.Uncertain(errCard) },
	}, func(t *testing.T, end func(err error) (receipt, error)) {
		s, l := newTill(t, manyTurns(delays))
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := commit(ctx, receipt{7, o.Amount}, "row")
			assert.ErrorIs(t, err, idempotent.ErrCommitFailed)
			late := l.late
			assert.Zero(t, l.arrive(t), "before the settlement")
			l.late = late
			return end(err)
		}
		func() {
			defer func() { _ = recover() }()
			_, err := s.handle(5)
			assert.Error(t, err)
		}()
		assert.Zero(t, l.arrive(t), "after the settlement")
		assert.Empty(t, l.written)
	})
}

// The record stays after a commit that was not answered. If it were deleted, a late copy of the
// claim could put it back, for a late copy of the commit.
func TestTheRecordOfACommitInDoubtIsNotDeleted(t *testing.T) {
	for name, turns := range map[string][]turn{"failed": manyTurns(delays), "declined": {delays, declines}} {
		bubble(t, name, func(t *testing.T) {
			s, l := newTill(t, turns)
			s.do = func(ctx context.Context, o order) (receipt, error) {
				return commit(ctx, receipt{7, o.Amount}, "row")
			}
			s.mustFail(5, errAny)
			assert.Equal(t, report.Released, s.event().Settlement)
			assert.Equal(t, store.ReasonReleased, s.mustRecord().Reason)
			_, claimed, err := s.inner.Claim(t.Context(), s.store.Calls()[0].Next, time.Now())
			require.NoError(t, err)
			assert.False(t, claimed)
			assert.Zero(t, l.arrive(t))

			l.turns = nil
			s.mustGet(6, receipt{7, 6}, "the next delivery executes")
			assert.Equal(t, lines{"row"}, l.written)
		})
	}
}

// Something between the function and the store has sent a commit twice. The second copy is applied
// although the first one was declined: then the caller gets the answer that was committed, whatever
// the handler did.
func TestACommitThatWasSentTwiceAndLandsLateIsTheAnswer(t *testing.T) {
	for name, end := range map[string]func() (receipt, error){
		"answers":        func() (receipt, error) { return receipt{409, 0}, nil },
		"fails":          func() (receipt, error) { return receipt{}, errCard },
		"panics":         func() (receipt, error) { panic("boom") },
		"fails for ever": func() (receipt, error) { return receipt{}, idempotent.Terminal(errCard) },
		"is uncertain":   func() (receipt, error) { return receipt{}, idempotent.Uncertain(errCard) },
		"commits again":  nil,
	} {
		for steps, withStep := range map[string]bool{"": false, ", after a step": true} {
			bubble(t, name+steps, func(t *testing.T) {
				s, l := newTill(t, []turn{declines})
				s.do = func(ctx context.Context, o order) (receipt, error) {
					if withStep {
						_, err := take(ctx, "first")
						require.NoError(t, err)
					}
					_, err := commit(ctx, receipt{7, o.Amount}, "row")
					assert.ErrorIs(t, err, store.ErrWritesRefused)
					l.late = l.attempts
					assert.Equal(t, 1, l.arrive(t))
					if end == nil {
						return commit(ctx, receipt{8, o.Amount}, "other")
					}
					return end()
				}
				got := s.mustGet(5, receipt{7, 5}, "the committed answer")
				var told *idempotent.Error
				require.ErrorAs(t, s.event().Err, &told)
				require.ErrorIs(t, s.event().Err, idempotent.ErrOtherAnswer)
				assert.Equal(t, report.Completed, s.event().Settlement)
				assert.NoError(t, s.event().StoreErr)
				s.mustGet(5, got)
				assert.Equal(t, lines{"row"}, l.written)
				assertExecuted(t, s, 1)
			})
		}
	}
}

// So it is for a batch, also where the answer is kept in parts: nobody looks at a result that is
// replayed, but this one is the answer of the execution.
func TestACommitThatLandsLateInABatchIsTheAnswer(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		inParts := &partsAt{Store: memory.New()}
		s, l := newTillOn(t, inParts, nil, []turn{declines})
		s.over = func(on store.Store) store.Store {
			l.Store = on
			return struct {
				*till
				store.ResultReader
			}{l, inParts}
		}
		s.wrap(nil)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := commit(ctx, receipt{7, o.Amount}, "row")
			assert.ErrorIs(t, err, store.ErrWritesRefused)
			l.late = l.attempts
			assert.Equal(t, 1, l.arrive(t))
			return receipt{}, errCard
		}
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
			return commit(ctx, receipt{7, o.Amount}, "row")
		}
		s.mustGet(5, receipt{7, 5})
		assert.NoError(t, s.event().Err)
		assert.Equal(t, lines{"row"}, l.written)
	})
}

// Where not even the record can be read, nothing is written: it stays in progress, and tells the
// next delivery.
func TestACommitThatNobodyCanLookAtLeavesTheRecordInProgress(t *testing.T) {
	for name, landed := range map[string]bool{"it has landed": true, "it has not": false} {
		for _, effects := range []idempotent.Effects{idempotent.Repeatable, idempotent.Unrepeatable} {
			bubble(t, name, func(t *testing.T) {
				down := false
				s, l := newTillOn(t, memory.New(), while(&down, storetest.LoseRequest), manyTurns(delays),
					idempotent.WithEffects(effects))
				s.do = func(ctx context.Context, o order) (receipt, error) {
					l.before = func(n int) {
						if n == 3 && landed {
							assert.Equal(t, 1, l.arrive(t))
						}
						down = n >= 3
					}
					out, err := commit(ctx, receipt{7, o.Amount}, "row")
					assert.ErrorIs(t, err, idempotent.ErrCommitFailed)
					assert.ErrorContains(t, err, "could not be reached")
					down = false // the store is back, and nothing is written all the same
					return out, err
				}
				s.mustFail(5, idempotent.ErrCommitFailed)
				assert.Equal(t, report.NotSettled, s.event().Settlement)
				want := store.StatusInProgress
				if landed {
					want = store.StatusCompleted
				}
				assert.Equal(t, want, s.mustRecord().Status)
			})
		}
	}
}

// The client may have sent the attempt twice that met the other lease, so the record stays if
// nothing is committed in the end.
func TestTheRecordOfACommitThatMetALateRenewalIsNotDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := newTill(t, []turn{takes, declines})
		s.do = func(ctx context.Context, o order) (receipt, error) {
			s.change(func(r *store.Record) { r.Lease = r.Lease.Add(time.Second) })
			return commit(ctx, receipt{7, o.Amount}, "row")
		}
		s.mustFail(5, store.ErrWritesRefused)
		assert.Equal(t, store.ReasonReleased, s.mustRecord().Reason)
	})
}

// Without protection the items are written by themselves.
func TestAnUnprotectedExecutionAppliesTheWrites(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, []turn{conflicts, takes, declines}, idempotent.WithDisabled(true))
		s.do = commitsRow
		s.mustCommit(l)
		require.Len(t, l.attempts, 2)
		assert.Equal(t, l.attempts[0].token, l.attempts[1].token)
		assert.Len(t, l.attempts[0].token, 36)
		s.mustFail(5, store.ErrWritesRefused)
		assert.NotEqual(t, l.attempts[1].token, l.attempts[2].token)
		s.assertGone()
	})
}

// A process that was frozen until its lease had ended sends no commit, although nobody has taken
// its claim over yet.
func TestNoCommitIsSentOnceTheLeaseHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		skew := time.Duration(0)
		s, l := newTill(t, nil, idempotent.WithClock(func() time.Time { return time.Now().Add(skew) }))
		s.do = func(ctx context.Context, o order) (receipt, error) {
			skew = time.Hour // while it is frozen
			_, err := commit(ctx, receipt{7, o.Amount}, "row")
			require.ErrorIs(t, err, idempotent.ErrLeaseLost)
			return receipt{}, err
		}
		s.mustFail(5, idempotent.ErrLeaseLost)
		assert.Empty(t, l.attempts)
	})
}
