package protocol_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// vain are the ways in which nobody can tell.
func vain() map[string]resolver {
	return map[string]resolver{
		"an error":     answers(charged7, errAway),
		"a zero value": answers(finding{}, nil),
		"a panic":      func(context.Context, idempotent.Execution) (finding, error) { panic("secret") },
		"an exit": func(context.Context, idempotent.Execution) (finding, error) {
			runtime.Goexit()
			return charged7, nil
		},
		"too late": func(ctx context.Context, _ idempotent.Execution) (finding, error) {
			<-ctx.Done()
			return untouched, nil
		},
	}
}

func TestWhereNobodyCanTellThePausesGrowAndARecordIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, r := range vain() {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newUncertain(t)
				how := idempotent.Reconciling{
					FirstPause: time.Minute, LongestPause: 3 * time.Minute,
					MaxTries: 5, OnlyDue: true,
				}
				for n, pause := range []time.Duration{time.Minute, 2 * time.Minute, 3 * time.Minute, 3 * time.Minute} {
					done := s.reconcile(r, how)
					require.Equal(t, report.ReconcileScheduled, done.Outcome)
					require.Equal(t, n+1, done.Tries)
					require.WithinDuration(t, time.Now().Add(pause), done.Next, time.Second)
					held := s.mustRecord()
					require.Equal(t, store.StatusUnknown, held.Status)
					require.Equal(t, store.ReasonUncertain, held.Reason)
					require.Equal(t, done.Next, held.AttentionAt)
					require.Equal(t, store.AttentionOf(s.recordKey()), held.Attention)
					require.Equal(t, []string{"charge"}, held.Derived)
					require.Equal(t, report.ReconcileClosed, s.reconcile(r, how).Outcome, "it is not due")
					s.mustFail(5, idempotent.ErrUnknownOutcome)
					time.Sleep(time.Until(done.Next))
				}
				done := s.reconcile(r, how)
				require.Equal(t, report.ReconcileGivenUp, done.Outcome)
				require.True(t, s.mustRecord().GivenUp())
				time.Sleep(24 * time.Hour)
				require.Equal(t, report.ReconcileClosed, s.reconcile(r, how).Outcome)
				how.OnlyDue = false
				require.Equal(t, report.ReconcileGivenUp, s.reconcile(r, how).Outcome,
					"it is asked about, and stays given up")
				require.Equal(t, report.ReconcileCompleted,
					s.reconcile(answers(charged7, nil), how).Outcome)
				assertExecuted(t, s, 1)
			})
		})
	}
}

func TestWhatIsGivenUpIsHandedOverFirst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newUncertain(t)
		asked, handed, fails := 0, 0, true
		how := idempotent.Reconciling{
			MaxTries: 2, OnlyDue: true,
			GiveUp: func(_ context.Context, x idempotent.Execution, tries int) error {
				handed++
				require.Equal(t, 2, tries)
				require.Equal(t, s.recordKey(), x.RecordKey)
				require.Equal(t, store.StatusInProgress, s.mustRecord().Status)
				if fails {
					panic("no queue")
				}
				return nil
			},
		}
		ask := func() idempotent.Reconciled {
			return s.reconcile(func(context.Context, idempotent.Execution) (finding, error) {
				asked++
				return finding{}, nil
			}, how)
		}
		next := ask().Next
		time.Sleep(time.Until(next))
		done := ask()
		require.Equal(t, report.ReconcileScheduled, done.Outcome)
		require.False(t, done.Next.After(time.Now()), "it is handed over at the next run")
		done = ask()
		require.Equal(t, report.ReconcileScheduled, done.Outcome)
		require.ErrorContains(t, done.Err, "it panicked with a value of type string")
		require.True(t, done.Next.After(time.Now()))
		require.Equal(t, 2, done.Tries)
		require.False(t, s.mustRecord().GivenUp())
		time.Sleep(time.Until(done.Next))
		fails = false
		require.Equal(t, report.ReconcileGivenUp, ask().Outcome)
		require.True(t, s.mustRecord().GivenUp())
		require.Equal(t, 2, asked)
		require.Equal(t, 2, handed)
		time.Sleep(24 * time.Hour)
		require.Equal(t, report.ReconcileClosed, ask().Outcome)
		require.Equal(t, 2, handed)
	})
}

// A client whose handler has a resolver of its own asks about a record that is given up, too. That
// does not begin the count anew.
func TestAGivenUpRecordStaysGivenUpWhenAClientCannotSettleIt(t *testing.T) {
	t.Parallel()
	knows := false
	s := newUncertain(t, idempotent.WithResolver(func(context.Context, idempotent.Execution, order) (finding, error) {
		if knows {
			return charged7, nil
		}
		return finding{}, nil
	}))
	require.Equal(t, report.ReconcileGivenUp,
		s.reconcile(answers(finding{}, nil), idempotent.Reconciling{MaxTries: 1}).Outcome)
	s.mustFail(5, idempotent.ErrUnknownOutcome)
	held := s.mustRecord()
	require.True(t, held.GivenUp())
	require.Equal(t, 1, held.Tries)
	knows = true
	s.mustGet(5, receipt{7, 5})
	require.Zero(t, s.mustRecord().Tries)
}

// The lease of a question ends while the resolver hangs on a machine that is suspended, and a
// client makes the record UNKNOWN again. The question counts all the same, or such a record would
// never be given up.
func TestAQuestionWhoseLeaseWasLostCounts(t *testing.T) {
	t.Parallel()
	s := newUncertain(t)
	done := s.reconcile(func(context.Context, idempotent.Execution) (finding, error) {
		s.change(func(r *store.Record) { // as a client does that finds the lease over
			r.Status, r.AttentionAt = store.StatusUnknown, time.Now().Truncate(time.Millisecond)
		})
		return finding{}, nil
	}, idempotent.Reconciling{})
	require.Equal(t, report.ReconcileScheduled, done.Outcome)
	held := s.mustRecord()
	require.Equal(t, 1, held.Tries)
	require.Equal(t, done.Next, held.AttentionAt)
}

// Somebody asks by hand about a record that is given up, and dies. A client that comes then does
// not have it handed over again.
func TestAGivenUpRecordStaysGivenUpWhenAQuestionDies(t *testing.T) {
	t.Parallel()
	s := newUncertain(t)
	require.Equal(t, report.ReconcileGivenUp,
		s.reconcile(answers(finding{}, nil), idempotent.Reconciling{MaxTries: 1}).Outcome)
	s.change(func(r *store.Record) {
		r.Status, r.Owner = store.StatusInProgress, "the question"
		r.Lease = time.Now().Add(-time.Second).Truncate(time.Millisecond)
		r.AttentionAt = r.Lease
	})
	s.mustFail(5, idempotent.ErrUnknownOutcome)
	require.True(t, s.mustRecord().GivenUp())
	assertExecuted(t, s, 1)
}
