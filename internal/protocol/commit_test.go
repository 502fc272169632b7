package protocol_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func TestACommitStoresTheAnswerAndWhatIsWrittenWithIt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, nil)
		s.do = commitsRow
		got := s.mustCommit(l)
		e := s.event()
		assert.Equal(t, report.Executed, e.Outcome)
		assert.Equal(t, report.Completed, e.Settlement)
		assert.NoError(t, e.Err)
		assert.NoError(t, e.StoreErr)
		assert.Equal(t, len(`{"charge":7,"amount":5}`), e.ResultBytes)
		require.Len(t, e.Commits, 1)
		e.Commits[0].Start = time.Time{} // it is that of the bubble
		assert.Equal(t, []report.Commit{{End: report.CommitDone, Items: 1, Tries: 1}}, e.Commits)
		done := s.mustRecord()
		assert.Equal(t, store.StatusCompleted, done.Status)
		assert.True(t, done.Sealed([]byte(`{"charge":7,"amount":5}`)))
		assert.Equal(t, store.CommitSeal(done.Owner, done.Result, 1), done.Seal)
		sent := l.attempts[0]
		assert.Len(t, sent.Token, 36)
		assert.True(t, sent.Seen.Lease.Equal(time.Now().Add(10*time.Second+protocol.DefaultMargin)),
			"the condition names the lease")
		assert.Equal(t, []calls.Op{calls.Claim, calls.Get, calls.Swap}, s.store.Ops(),
			"the last two are the till's")

		s.mustGet(5, got)
		assert.Equal(t, report.Replayed, s.event().Outcome)
		assertExecuted(t, s, 1)
	})
}

// What the handler does after its commit changes nothing of the answer, and is reported.
func TestAfterACommitTheCommittedAnswerCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		end  handler
		told string
	}{
		"another answer":   {returns(receipt{8, 8}), "returned another one"},
		"an error":         {fails(errCard), "returned an error"},
		"a final failure":  {fails(idempotent.Terminal(errCard)), "returned an error"},
		"an uncertain one": {fails(idempotent.Uncertain(errCard)), "returned an error"},
		"nothing happened": {fails(idempotent.NotExecuted(errCard)), "returned an error"},
		"a lost lease":     {fails(idempotent.ErrLeaseLost), "returned an error"},
		"a noted one":      {marking(idempotent.Uncertain(errCard), returns(receipt{7, 5})), "card declined"},
		"a panic":          {panics("boom"), "panicked: boom"},
	} {
		deliveryCase{
			turns: []turn{}, rows: oneRow, got: receipt{7, 5}, runs: 1, outcome: report.Executed,
			settled: report.Completed, left: store.StatusCompleted,
			do: func(ctx context.Context, o order) (receipt, error) {
				_, err := commitsRow(ctx, o)
				assert.NoError(shopIn(ctx).t, err)
				return tc.end(ctx, o)
			},
			then: func(s *shop, _ error) {
				told, is := errors.AsType[*idempotent.Error](s.event().Err)
				require.True(s.t, is)
				require.ErrorIs(s.t, told, idempotent.ErrOtherAnswer)
				assert.ErrorContains(s.t, told, tc.told)
				assert.Equal(s.t, name == "an error", told.Err == errCard)
				if panicked, is := errors.AsType[*idempotent.PanicError](told.Err); name == "a panic" {
					require.True(s.t, is)
					assert.Equal(s.t, "boom", panicked.Value)
					assert.Contains(s.t, string(panicked.Stack), "TestAfterACommitTheCommittedAnswerCounts")
				}
			},
		}.deliver(t, name)
	}
}

func TestAGoroutineThatEndsAfterItsCommitHasCommitted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, nil)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := commitsRow(ctx, o)
			assert.NoError(t, err)
			runtime.Goexit()
			return receipt{}, nil
		}
		var gone sync.WaitGroup
		gone.Go(func() { _, _ = s.handle(5) })
		gone.Wait()
		s.mustCommit(l)
		assertExecuted(t, s, 1)
	})
}

// What is wrong about a call is found before anything is sent, and the handler may go on.
func TestACommitThatIsWrongSendsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		try  func(ctx context.Context) error
		told string
	}{
		"another type": {
			func(ctx context.Context) error { _, err := commit(ctx, "text", "row"); return err },
			"the answer is a string, and the handler returns a protocol_test.receipt",
		},
		"not stored": {func(ctx context.Context) error {
			_, err := commit(ctx, receipt{Charge: 13}, "row")
			return err
		}, "not one that is stored"},
		"in a step": {func(ctx context.Context) error {
			_, err := idempotent.Step(ctx, "step",
				func(ctx context.Context) (receipt, error) { return commit(ctx, receipt{}, "row") })
			return err
		}, "inside of a step"},
		"its context has ended": {func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_, err := commit(ctx, receipt{}, "row")
			return err
		}, "its context has ended"},
	} {
		deliveryCase{
			opts:  []idempotent.Option{idempotent.WithStoreIf(func(r receipt) bool { return r.Charge != 13 })},
			turns: []turn{}, rows: oneRow, got: receipt{7, 5}, runs: 1, left: store.StatusCompleted,
			do: func(ctx context.Context, o order) (receipt, error) {
				s, err := shopIn(ctx), tc.try(ctx)
				assert.ErrorIs(s.t, err, idempotent.ErrCommitRefused)
				assert.ErrorContains(s.t, err, tc.told)
				assert.Empty(s.t, s.till.attempts)
				_, err = take(ctx, "after")
				assert.NoError(s.t, err)
				return commitsRow(ctx, o)
			},
		}.deliver(t, name)
	}
}

func TestAnExecutionCommitsOnce(t *testing.T) {
	deliveryCase{
		turns: []turn{}, rows: oneRow, runs: 1, done: nothing, left: store.StatusCompleted,
		do: func(ctx context.Context, o order) (receipt, error) {
			t := shopIn(ctx).t
			out, err := commitsRow(ctx, o)
			require.NoError(t, err)
			_, err = commitsRow(ctx, o)
			assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
			assert.ErrorContains(t, err, "has committed its answer before")
			_, err = take(ctx, "late")
			assert.ErrorIs(t, err, idempotent.ErrStepRefused)
			return out, nil
		},
		then: func(s *shop, _ error) { assert.NoError(s.t, s.event().Err) },
	}.deliver(t, "twice")
}

func TestACommitNeedsADeliveryThatLasts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, nil)
		var kept context.Context
		s.do = func(ctx context.Context, o order) (receipt, error) {
			kept = context.WithoutCancel(ctx) //nolint:fatcontext // what a handler must not do
			return receipt{1, o.Amount}, nil
		}
		s.mustHandle(5)
		_, err := commit(kept, receipt{2, 2}, "row")
		assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
		assert.ErrorContains(t, err, "the handler has returned")
		assert.Empty(t, l.attempts)
		assert.Nil(t, execution.CommitsOf(t.Context()))
		assert.Nil(t, execution.CommitsOf(idempotent.Unprotected(kept)), "nobody's execution")
	})
}

func TestAStoreWithoutTransactionsRefusesACommit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.over = func(on store.Store) store.Store { return noTransactions{on} }
		s.wrap(nil)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := commitsRow(ctx, o)
			assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
			assert.ErrorIs(t, err, store.ErrNoCommit)
			return receipt{1, o.Amount}, nil
		}
		s.mustHandle(5)
		assertExecuted(t, s, 1)
	})
}

type noTransactions struct{ store.Store }

func TestAResolverCommitsNothing(t *testing.T) {
	asked := false
	deliveryCase{
		opts: []idempotent.Option{asking(func(ctx context.Context) resolution {
			asked = true
			_, err := commit(ctx, receipt{}, "row")
			assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
			return untouched
		})},
		put: crashed, do: commitsRow, turns: []turn{}, rows: oneRow, runs: 1, left: store.StatusCompleted,
		then: func(s *shop, _ error) {
			assert.True(s.t, asked)
			assert.Len(s.t, s.till.attempts, 1)
		},
	}.deliver(t, "crashed")
}

// A condition of the user's own is an ordinary branch: the claim stands, and steps go on.
func TestAfterADeclinedCommitTheHandlerTakesStepsAndCommitsAgain(t *testing.T) {
	deliveryCase{
		turns: []turn{declines}, rows: oneRow, got: receipt{7, 5}, runs: 1, left: store.StatusCompleted,
		do: func(ctx context.Context, o order) (receipt, error) {
			s := shopIn(ctx)
			_, err := take(ctx, "first")
			require.NoError(s.t, err)
			_, err = commitsRow(ctx, o)
			assert.ErrorIs(s.t, err, store.ErrWritesRefused)
			_, err = take(ctx, "second")
			require.NoError(s.t, err)
			return commitsRow(ctx, o)
		},
		then: func(s *shop, _ error) {
			assert.Empty(s.t, s.mustRecord().Steps)
			assert.NotEqual(s.t, s.till.attempts[0].Token, s.till.attempts[1].Token)
		},
	}.deliver(t, "declined")
}

// An execution whose record somebody has deleted or settled writes no rows.
func TestACommitWithoutARecordOfItsOwnWritesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		other func(s *shop)
		left  store.Status
	}{
		"the record is gone": {(*shop).delete, ""},
		"it became UNKNOWN":  {changed(func(r *store.Record) { r.Status = store.StatusUnknown }), store.StatusUnknown},
	} {
		deliveryCase{
			turns: []turn{}, do: after(tc.other, commitsRow), err: idempotent.ErrLeaseLost, runs: 1, left: tc.left,
		}.deliver(t, name)
	}
}

// What a commit that has failed has written is not known, or somebody else's business.
func TestNoStepBeginsBehindACommitThatHasFailed(t *testing.T) {
	each(t, map[string][]turn{
		"not taken by the store": {rejects}, "no answer": down(),
	}, func(t *testing.T, turns []turn) {
		s, _ := newTill(t, turns)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, failed := commitsRow(ctx, o)
			require.Error(t, failed)
			_, err := take(ctx, "after")
			assert.ErrorIs(t, err, idempotent.ErrStepRefused)
			return receipt{}, failed
		}
		s.mustFail(5, errAny)
		assert.Empty(t, s.effects.done)
	})
}

// takeOver makes the record one of somebody else.
func (s *shop) takeOver(change func(r *store.Record)) {
	s.t.Helper()
	s.change(func(r *store.Record) {
		r.Owner, r.Attempt = "other", r.Attempt+1
		change(r)
	})
}

// A commit waits for steps that run, and no other one begins beside it.
func TestACommitWaitsForTheStepsThatRun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, nil)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			defer beside(ctx, "one", time.Second)()
			defer beside(ctx, "two", time.Second)()
			time.AfterFunc(time.Second/4, func() {
				assert.Empty(t, l.attempts)
				_, err := take(ctx, "late")
				assert.ErrorIs(t, err, idempotent.ErrStepRefused)
			})
			return commitsRow(ctx, o)
		}
		s.mustHandle(5)
		assert.Zero(t, s.count("late"))
		assert.Equal(t, lines{"row"}, l.written)
		assert.Len(t, l.attempts[0].Seen.Steps, 2, "what the completion drops")
		assert.Empty(t, s.mustRecord().Steps)
		assert.Zero(t, s.mustRecord().StepWrites)
	})
}

// A step that hangs is waited for until a deadline that is near, and not for hours.
func TestACommitDoesNotWaitForAStepForHours(t *testing.T) {
	type row struct {
		timeout time.Duration
		err     error
	}
	each(t, map[string]row{
		"near deadline": {2 * time.Minute, nil},
		"far deadline":  {5 * time.Hour, idempotent.ErrCommitRefused},
	}, func(t *testing.T, tc row) {
		s, _ := newTill(t, nil)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			defer beside(ctx, "slow", time.Minute)()
			return commitsRow(ctx, o)
		}
		s.mustFailFor(tc.timeout, 5, tc.err)
	})
}

// A handler that returns while a commit is under way elsewhere ends as that commit does.
func TestAHandlerThatDoesNotWaitForItsCommit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, []turn{conflicts, conflicts, conflicts})
		s.do = func(ctx context.Context, o order) (receipt, error) {
			go func() { _, _ = commitsRow(ctx, o) }()
			time.Sleep(10 * time.Millisecond)
			return receipt{8, 8}, nil
		}
		s.mustCommit(l)
	})
}

// Nothing renews the lease beside a commit. After a declined one the renewal goes on.
func TestTheHeartbeatRestsWhileACommitIsUnderWay(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, []turn{takes}, idempotent.WithTiming(idempotent.Timing{Lease: 9 * time.Second}))
		renewals := func() (n int) {
			for _, c := range s.store.Calls() {
				if c.Op == calls.Swap && c.Next.Status == store.StatusInProgress {
					n++
				}
			}
			return n
		}
		l.turns = []turn{conflicts, conflicts, declines}
		s.do = func(ctx context.Context, o order) (receipt, error) {
			time.Sleep(2900 * time.Millisecond) // the first renewal is near
			assert.Zero(t, renewals())
			l.before = func(int) {
				time.Sleep(300 * time.Millisecond)
				assert.Zero(t, renewals())
			}
			_, err := commitsRow(ctx, o)
			assert.ErrorIs(t, err, store.ErrWritesRefused)
			time.Sleep(20 * time.Second)
			assert.Greater(t, renewals(), 4)
			require.NoError(t, ctx.Err())
			l.before = nil
			return commit(ctx, receipt{8, o.Amount}, "row")
		}
		got := s.mustHandleFor(forever, 5)
		assert.Equal(t, receipt{8, 5}, got)
		assert.Equal(t, lines{"row"}, l.written)
	})
}

// A commit that gives up before it begins does not renew the lease twice.
func TestACommitThatDoesNotBeginLeavesOneHeartbeat(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, nil, idempotent.WithTiming(idempotent.Timing{Lease: 9 * time.Second}))
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			wait := beside(ctx, "long", 10*time.Second)
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := commit(short, receipt{}, "row")
			assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
			wait()
			return receipt{1, 1}, nil
		}
		s.mustHandleFor(forever, 5)
		assert.Empty(t, l.attempts)
		renewals := map[time.Time]int{}
		for _, c := range s.store.Calls() {
			if c.Op == calls.Swap && c.Next.Status == store.StatusInProgress && c.Next.Steps == nil {
				renewals[c.Next.Lease]++
			}
		}
		assert.Len(t, renewals, 3)
		for _, n := range renewals {
			assert.Equal(t, 1, n)
		}
	})
}

// A renewal that was not answered has landed all the same: the commit learns of the lease.
func TestACommitFollowsALeaseThatWasRenewedUnseen(t *testing.T) {
	deliveryCase{
		turns: []turn{}, rows: oneRow, runs: 1, left: store.StatusCompleted,
		do: after(changed(func(r *store.Record) { r.Lease = r.Lease.Add(time.Second) }), commitsRow),
		then: func(s *shop, _ error) {
			sent := s.till.attempts
			require.Len(s.t, sent, 2)
			assert.NotEqual(s.t, sent[0].Token, sent[1].Token, "another condition is another request")
		},
	}.deliver(t, "a second")
}
