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
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
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
		assert.Len(t, sent.token, 36)
		assert.True(t, sent.seen.Lease.Equal(time.Now().Add(10*time.Second+idempotent.DefaultMargin)),
			"the condition names the lease")
		assert.Equal(t, []storetest.Op{storetest.OpClaim, storetest.OpGet, storetest.OpSwap}, s.store.Ops(),
			"the last two are the till's")

		s.mustGet(5, got)
		assert.Equal(t, report.Replayed, s.event().Outcome)
		assertExecuted(t, s, 1)
	})
}

// What the handler does after its commit changes nothing of the answer, and is reported.
func TestAfterACommitTheCommittedAnswerCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		end   func() (receipt, error)
		told  string
		check func(t *testing.T, e *idempotent.Error)
	}{
		"another answer": {func() (receipt, error) { return receipt{8, 8}, nil }, "returned another one", nil},
		"an error": {
			func() (receipt, error) { return receipt{}, errCard }, "returned an error",
			func(t *testing.T, e *idempotent.Error) {
				t.Helper()
				assert.ErrorIs(t, e, errCard)
			},
		},
		"a final failure": {
			func() (receipt, error) { return receipt{}, idempotent.Terminal(errCard) },
			"returned an error", nil,
		},
		"an uncertain one": {
			func() (receipt, error) { return receipt{}, idempotent.Uncertain(errCard) },
			"returned an error", nil,
		},
		"nothing happened": {
			func() (receipt, error) { return receipt{}, idempotent.NotExecuted(errCard) },
			"returned an error", nil,
		},
		"a lost lease": {
			func() (receipt, error) { return receipt{}, idempotent.ErrLeaseLost },
			"returned an error", nil,
		},
		"a panic": {
			func() (receipt, error) { panic("boom") }, "panicked: boom",
			func(t *testing.T, e *idempotent.Error) {
				t.Helper()
				panicked, is := errors.AsType[*idempotent.PanicError](e.Err)
				require.True(t, is)
				assert.Equal(t, "boom", panicked.Value)
				assert.Contains(t, string(panicked.Stack), "TestAfterACommitTheCommittedAnswerCounts")
			},
		},
	} {
		for _, crash := range []idempotent.Effects{idempotent.Cautious, idempotent.Unrepeatable} {
			bubble(t, name, func(t *testing.T) {
				s, l := newTill(t, nil, idempotent.WithEffects(crash))
				s.do = func(ctx context.Context, o order) (receipt, error) {
					_, err := commit(ctx, receipt{7, o.Amount}, "row")
					assert.NoError(t, err)
					return tc.end()
				}
				for range 2 {
					s.mustGet(5, receipt{7, 5})
				}
				e := s.events.seen[0]
				assert.Equal(t, report.Executed, e.Outcome)
				assert.Equal(t, report.Completed, e.Settlement)
				assert.Equal(t, len(`{"charge":7,"amount":5}`), e.ResultBytes)
				var told *idempotent.Error
				require.ErrorAs(t, e.Err, &told)
				require.ErrorIs(t, e.Err, idempotent.ErrOtherAnswer)
				assert.ErrorContains(t, told, tc.told)
				if tc.check != nil {
					tc.check(t, told)
				}
				assert.Equal(t, lines{"row"}, l.written)
				assertExecuted(t, s, 1)
			})
		}
	}
}

func TestAGoroutineThatEndsAfterItsCommitHasCommitted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, nil)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := commit(ctx, receipt{7, o.Amount}, "row")
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
	many := idempotent.WithStoreIf(func(r receipt) bool { return r.Charge != 13 })
	type row struct {
		try  func(ctx context.Context) error
		told string
	}
	each(t, map[string]row{
		"another type": {
			func(ctx context.Context) error { _, err := commit(ctx, "text", "row"); return err },
			"the answer is a string, and the handler returns a protocol_test.receipt",
		},
		"not stored": {func(ctx context.Context) error {
			_, err := commit(ctx, receipt{Charge: 13}, "row")
			return err
		}, "not one that is stored"},
		"in a step": {func(ctx context.Context) error {
			_, err := idempotent.Step(ctx, "step", func(ctx context.Context) (string, error) {
				_, err := commit(ctx, receipt{}, "row")
				return "", err
			})
			return err
		}, "inside of a step"},
		"its context has ended": {func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			_, err := commit(ctx, receipt{}, "row")
			return err
		}, "its context has ended"},
	}, func(t *testing.T, tc row) {
		s, l := newTill(t, nil, many)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			err := tc.try(ctx)
			assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
			assert.ErrorContains(t, err, tc.told)
			assert.Empty(t, l.attempts)
			_, err = take(ctx, "after")
			assert.NoError(t, err)
			return commit(ctx, receipt{7, o.Amount}, "row")
		}
		s.mustCommit(l)
	})
}

func TestAnExecutionCommitsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, nil)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			out, err := commit(ctx, receipt{7, o.Amount}, "row")
			require.NoError(t, err)
			_, err = commit(ctx, receipt{7, o.Amount}, "row")
			assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
			assert.ErrorContains(t, err, "has committed its answer before")
			_, err = idempotent.Step(ctx, "late", func(context.Context) (int, error) { panic("runs") })
			assert.ErrorIs(t, err, idempotent.ErrStepRefused)
			return out, nil
		}
		s.mustHandle(5)
		assert.Equal(t, lines{"row"}, l.written)
		assert.NoError(t, s.event().Err)
	})
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
		s := newShopOn(t, noTransactions{memory.New()}, nil)
		s.over = func(store.Store) store.Store { return noTransactions{memory.New()} }
		s.wrap(nil)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := commit(ctx, receipt{}, "row")
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
	inBubble(t, func(t *testing.T) {
		asked := false
		s, l := newTill(t, nil, asking(func(ctx context.Context) resolution {
			asked = true
			_, err := commit(ctx, receipt{}, "row")
			assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
			return idempotent.Untouched[receipt]()
		}))
		s.put(func(r *store.Record) { r.Lease = time.Now() })
		s.do = commitsRow
		s.mustHandle(5)
		assert.True(t, asked)
		assert.Len(t, l.attempts, 1)
		assert.Equal(t, lines{"row"}, l.written)
	})
}

// A condition of the user's own is an ordinary branch: the claim stands, and everything goes on.
func TestAfterADeclinedCommitTheHandlerGoesOn(t *testing.T) {
	type row struct {
		then    handler
		written lines
		want    receipt
	}
	each(t, map[string]row{
		"answers": {
			func(context.Context, order) (receipt, error) { return receipt{409, 0}, nil }, nil,
			receipt{409, 0},
		},
		"commits again": {func(ctx context.Context, _ order) (receipt, error) {
			return commit(ctx, receipt{8, 0}, "other")
		}, lines{"other"}, receipt{8, 0}},
		"takes a step, and commits again": {func(ctx context.Context, _ order) (receipt, error) {
			_, err := take(ctx, "second")
			require.NoError(t, err)
			return commit(ctx, receipt{8, 0}, "row")
		}, lines{"row"}, receipt{8, 0}},
	}, func(t *testing.T, tc row) {
		s, l := newTill(t, []turn{declines})
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := take(ctx, "first")
			require.NoError(t, err)
			_, err = commit(ctx, receipt{7, o.Amount}, "row")
			assert.ErrorIs(t, err, store.ErrWritesRefused)
			assert.Empty(t, l.written)
			return tc.then(ctx, o)
		}
		for range 2 {
			s.mustGet(5, tc.want)
		}
		assert.Equal(t, tc.written, l.written)
		assert.Equal(t, report.CommitDeclined, s.events.seen[0].Commits[0].End)
		assert.Empty(t, s.mustRecord().Steps)
		assertExecuted(t, s, 1)
		if len(l.attempts) == 2 {
			assert.NotEqual(t, l.attempts[0].token, l.attempts[1].token)
		}
	})
}

// An execution that has lost its claim writes no rows.
func TestAStaleOwnerCommitsNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		other func(s *shop)
		err   error
		want  receipt
	}{
		"another one executes": {func(s *shop) {
			s.takeOver(func(*store.Record) {})
		}, idempotent.ErrSuperseded, receipt{}},
		"another one has answered": {func(s *shop) {
			s.takeOver(func(r *store.Record) { completed(r, `{"charge":99,"amount":1}`) })
		}, nil, receipt{99, 1}},
		"the record is gone": {func(s *shop) {
			_, err := s.inner.Delete(s.t.Context(), s.mustRecord())
			require.NoError(s.t, err)
		}, idempotent.ErrLeaseLost, receipt{}},
		"it became UNKNOWN": {func(s *shop) {
			s.change(func(r *store.Record) { r.Status, r.Reason = store.StatusUnknown, store.ReasonCrashed })
		}, idempotent.ErrLeaseLost, receipt{}},
	} {
		for how, answer := range map[string]bool{"": false, ", and it answers all the same": true} {
			bubble(t, name+how, func(t *testing.T) {
				s, l := newTill(t, nil)
				s.do = func(ctx context.Context, o order) (receipt, error) {
					tc.other(s)
					_, err := commit(ctx, receipt{7, o.Amount}, "row")
					assert.ErrorIs(t, err, idempotent.ErrLeaseLost)
					if answer {
						return receipt{7, o.Amount}, nil
					}
					return receipt{}, err
				}
				got, err := s.handle(5)
				require.ErrorIs(t, err, tc.err)
				assert.Equal(t, tc.want, got)
				assert.Empty(t, l.written)
				r, found := s.record()
				assert.False(t, found && r.Status == store.StatusCompleted && r.Owner == l.attempts[0].seen.Owner,
					"no answer of its own")
			})
		}
	}
}

// What a commit that has failed has written is not known, or somebody else's business.
func TestNoStepBeginsBehindACommitThatHasFailed(t *testing.T) {
	for name, turns := range map[string][]turn{"not taken by the store": {rejects}, "no answer": down()} {
		bubble(t, name, func(t *testing.T) {
			s, _ := newTill(t, turns)
			s.do = func(ctx context.Context, o order) (receipt, error) {
				_, failed := commit(ctx, receipt{7, o.Amount}, "row")
				require.Error(t, failed)
				_, err := take(ctx, "after")
				assert.ErrorIs(t, err, idempotent.ErrStepRefused)
				return receipt{}, failed
			}
			s.mustFail(5, errAny)
			assert.Empty(t, s.effects.done)
		})
	}
}

func TestAReportTellsHowACommitHasEnded(t *testing.T) {
	commits := func(ctx context.Context, _ *shop) error { _, err := commit(ctx, receipt{}, "row"); return err }
	type row struct {
		turns []turn
		try   func(ctx context.Context, s *shop) error
		want  report.Commit
	}
	each(t, map[string]row{
		"declined": {
			[]turn{declines},
			commits,
			report.Commit{End: report.CommitDeclined, Items: 1, Tries: 1, ErrorType: "store.Error"},
		},
		"wrong": {
			nil, func(ctx context.Context, _ *shop) error { _, err := commit(ctx, "text", "row"); return err },
			report.Commit{End: report.CommitRefused, Items: 1},
		},
		"of a stale owner": {nil, func(ctx context.Context, s *shop) error {
			s.takeOver(func(*store.Record) {})
			return commits(ctx, s)
		}, report.Commit{End: report.CommitLeaseLost, Items: 1, Tries: 1}},
		"not taken by the store": {
			[]turn{rejects},
			commits,
			report.Commit{End: report.CommitNotDone, Items: 1, Tries: 1, ErrorType: "rejected"},
		},
	}, func(t *testing.T, tc row) {
		s, _ := newTill(t, tc.turns)
		var told error
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			told = tc.try(ctx, s)
			return receipt{}, told
		}
		s.mustFail(5, errAny)
		require.Len(t, s.event().Commits, 1)
		tc.want.Err, tc.want.Start = told, time.Now()
		assert.Equal(t, tc.want, s.event().Commits[0])
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
			var group sync.WaitGroup
			for _, name := range []string{"one", "two"} {
				group.Go(func() {
					_, err := idempotent.Step(ctx, name, func(context.Context) (string, error) {
						time.Sleep(time.Second)
						assert.Empty(t, l.attempts)
						return name, nil
					})
					assert.NoError(t, err)
				})
			}
			group.Go(func() {
				time.Sleep(time.Second / 2)
				_, err := idempotent.Step(ctx, "late", func(context.Context) (string, error) { panic("runs") })
				assert.ErrorIs(t, err, idempotent.ErrStepRefused)
			})
			time.Sleep(time.Second / 4)
			out, err := commit(ctx, receipt{7, o.Amount}, "row")
			group.Wait()
			return out, err
		}
		s.mustHandle(5)
		assert.Equal(t, lines{"row"}, l.written)
		assert.Len(t, l.attempts[0].seen.Steps, 2, "what the completion drops")
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
			var group sync.WaitGroup
			group.Go(func() {
				_, err := idempotent.Step(ctx, "slow", func(context.Context) (string, error) {
					time.Sleep(time.Minute)
					return "", nil
				})
				assert.NoError(t, err)
			})
			time.Sleep(time.Second)
			out, err := commit(ctx, receipt{7, o.Amount}, "row")
			group.Wait()
			return out, err
		}
		s.mustFailFor(tc.timeout, 5, tc.err)
	})
}

// A handler that returns while a commit is under way elsewhere ends as that commit does.
func TestAHandlerThatDoesNotWaitForItsCommit(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, []turn{conflicts, conflicts, conflicts})
		s.do = func(ctx context.Context, o order) (receipt, error) {
			go func() { _, _ = commit(ctx, receipt{7, o.Amount}, "row") }()
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
				if c.Op == storetest.OpSwap && c.Next.Status == store.StatusInProgress {
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
			_, err := commit(ctx, receipt{7, o.Amount}, "row")
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
			var group sync.WaitGroup
			group.Go(func() {
				_, err := idempotent.Step(ctx, "long", func(context.Context) (string, error) {
					time.Sleep(10 * time.Second)
					return "", nil
				})
				assert.NoError(t, err)
			})
			time.Sleep(time.Second)
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, err := commit(short, receipt{}, "row")
			assert.ErrorIs(t, err, idempotent.ErrCommitRefused)
			group.Wait()
			return receipt{1, 1}, nil
		}
		s.mustHandleFor(forever, 5)
		assert.Empty(t, l.attempts)
		renewals := map[time.Time]int{}
		for _, c := range s.store.Calls() {
			if c.Op == storetest.OpSwap && c.Next.Status == store.StatusInProgress && c.Next.Steps == nil {
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
	inBubble(t, func(t *testing.T) {
		s, l := newTill(t, nil)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			s.change(func(r *store.Record) { r.Lease = r.Lease.Add(time.Second) })
			return commit(ctx, receipt{7, o.Amount}, "row")
		}
		s.mustHandle(5)
		assert.Equal(t, lines{"row"}, l.written)
		require.Len(t, l.attempts, 2)
		assert.NotEqual(t, l.attempts[0].token, l.attempts[1].token, "another condition is another request")
	})
}
