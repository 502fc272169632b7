package protocol_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

func TestLeaseIsTheDeadlineAndAMarginAndTheHandlerEndsBefore(t *testing.T) {
	type row struct{ timeout, reserve time.Duration }
	each(t, map[string]row{
		"reserve":               {10 * time.Second, 500 * time.Millisecond},
		"tenth of what is left": {2 * time.Second, 200 * time.Millisecond},
	}, func(t *testing.T, tc row) {
		s := newShop(t)
		deadline := time.Now().Add(tc.timeout)
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			own, ok := ctx.Deadline()
			assert.True(t, ok)
			assert.Equal(t, deadline.Add(-tc.reserve), own)
			r := s.mustRecord()
			assert.True(t, r.Lease.Equal(deadline.Add(protocol.DefaultMargin)), "lease %v", r.Lease)
			assert.False(t, r.Expiry.Before(r.Lease))
			return receipt{}, nil
		}
		s.mustHandleFor(tc.timeout, 1)
		assertExecuted(t, s, 1)
	})
}

func TestExpiryNeverComesBeforeTheEndOfTheLease(t *testing.T) {
	deliveryCase{
		opts: []idempotent.Option{idempotent.WithRetention(time.Second)}, within: time.Minute, runs: 1,
		do: after(func(s *shop) {
			r := s.mustRecord()
			assert.False(s.t, r.Expiry.Before(r.Lease), "TTL must not delete what protects an execution")
		}, returns(receipt{})),
		left: store.StatusCompleted,
	}.deliver(t, "a retention of a second")
}

func TestWithoutADeadlineTheLeaseIsRenewedWhileTheHandlerRuns(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			for range 295 { // almost ten leases
				time.Sleep(time.Second)
				require.NoError(t, ctx.Err())
				require.True(t, s.mustRecord().Lease.After(time.Now()), "never unprotected")
			}
			s.sandbox(nil).mustFail(1, idempotent.ErrInProgress)
			return receipt{1, o.Amount}, nil
		}
		s.mustHandleFor(forever, 1)
		assertExecuted(t, s, 1)
		assert.Equal(t, store.StatusCompleted, s.mustRecord().Status)
		assert.Len(t, s.store.Ops(), 1+29+1, "a claim, a renewal each third of a lease, a completion")
	})
}

func TestARenewalThatMeetsAFaultLosesNothing(t *testing.T) {
	writes := 0
	elsewhere := hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		if writes++; writes == 2 {
			return calls.Reply{Err: noAnswer(store.FailureConflict)}
		}
		return c.Make(ctx, records)
	}, swap)
	for name, tc := range map[string]deliveryCase{
		"the reply to every second one is lost": {
			rule: when(calls.LoseReply, func(c calls.Call) bool { return renews(c) && c.N%2 == 0 }),
			then: func(s *shop, _ error) { assert.Positive(s.t, s.store.Fired()) },
		},
		"one is never answered": {rule: calls.OnCall(2, calls.HangBefore), fired: 1},
		"it finds a later one of ours, whose reply never came": {
			do: after(changed(func(r *store.Record) { r.Lease = r.Lease.Add(time.Minute) }),
				succeedsAfter(time.Minute)),
		},
		"another Region is faster at one": {on: elsewhere},
		"the credentials have expired, and the SDK renews them meanwhile": {
			rule: inTurn(renews, calls.Deny, calls.Deny, calls.Pass),
			do:   succeedsAfter(2 * time.Minute), fired: 2,
		},
	} {
		if tc.do == nil {
			tc.do = succeedsAfter(time.Minute)
		}
		tc.within, tc.runs, tc.settled, tc.left = forever, 1, report.Completed, store.StatusCompleted
		tc.deliver(t, name)
	}
}

func TestHandlerIsCancelledAMarginBeforeALeaseThatCannotBeRenewedEnds(t *testing.T) {
	for name, fault := range outages {
		deliveryCase{
			rule: calls.OnOp(swap, fault), do: untilItIsLost, within: forever, err: context.Canceled, runs: 1,
			then: func(s *shop, _ error) { require.Error(s.t, s.event().StoreErr) },
		}.deliver(t, name+": it said that it was interrupted, and was released")
	}
}

func TestHandlerIsCancelledAtOnceWhenSomeoneElseHasTheRecord(t *testing.T) {
	each(t, map[string]func(r *store.Record){
		"taken over":   func(r *store.Record) { r.Owner = "thief" },
		"made UNKNOWN": unknown,
	}, func(t *testing.T, steal func(r *store.Record)) {
		s := newShop(t)
		var stolen store.Record
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			stolen = s.change(steal)
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			require.ErrorIs(t, context.Cause(ctx), idempotent.ErrLeaseLost)
			return receipt{}, idempotent.Uncertain(ctx.Err())
		}
		started := time.Now()
		s.mustFailFor(forever, 0, context.Canceled)
		assert.LessOrEqual(t, time.Since(started), protocol.DefaultLease/2)
		assert.Equal(t, stolen.Owner, s.mustRecord().Owner)
	})
}

// TestNoStepBeginsInALongerContextOnceTheLeaseIsLost: a handler that goes on with a context which
// does not end with its own learns that the lease is lost from the step.
func TestNoStepBeginsInALongerContextOnceTheLeaseIsLost(t *testing.T) {
	deliveryCase{
		do: func(ctx context.Context, _ order) (receipt, error) {
			shopIn(ctx).change(func(r *store.Record) { r.Owner, r.Lease = "thief", time.Now().Add(time.Hour) })
			<-ctx.Done()
			_, err := take(context.WithoutCancel(ctx), "charge")
			return receipt{}, err
		},
		within: forever, err: idempotent.ErrLeaseLost, runs: 1, done: nothing, left: store.StatusInProgress,
		then: func(s *shop, _ error) { assert.Equal(s.t, "thief", s.mustRecord().Owner) },
	}.deliver(t, "somebody else has the record")
}

// A renewal is on its way when the handler returns.
func TestHeartbeatIsJoinedBeforeTheRecordIsSettled(t *testing.T) {
	for name, tc := range map[string]deliveryCase{
		"a result": {do: returns(receipt{1, 5}), left: store.StatusCompleted, ops: []calls.Op{claim, swap, swap}},
		"a panic":  {do: panics("boom"), panics: "boom", ops: []calls.Op{claim, swap, remove}},
	} {
		var began time.Time
		tc.set = func(*shop) { began = time.Now() }
		tc.do = after(pause(protocol.DefaultLease/3+time.Millisecond), tc.do)
		tc.rule, tc.within, tc.runs = calls.OnCall(2, calls.Slow), forever, 1
		tc.then = func(s *shop, _ error) {
			assert.GreaterOrEqual(s.t, time.Since(began), protocol.DefaultLease/3+calls.SlowFor)
		}
		tc.deliver(t, name)
	}
}

// Such a claim leaves a half of the lease before its margin.
func TestClaimWithoutADeadlineEndsWhileItsLeaseStillHolds(t *testing.T) {
	for name, tc := range map[string]struct {
		timing      idempotent.Timing
		rule        rule
		least, most time.Duration
	}{
		"refused": {
			idempotent.Timing{Lease: time.Second, Margin: 100 * time.Millisecond},
			calls.OnOp(claim, calls.Refuse), 0, 450 * time.Millisecond,
		},
		"never answered": {
			idempotent.Timing{Lease: 4 * time.Second, Margin: time.Second},
			func(calls.Call) calls.Fault { return calls.HangBefore },
			1400*time.Millisecond + 1, 1500 * time.Millisecond,
		},
	} {
		deliveryCase{
			opts: []idempotent.Option{idempotent.WithTiming(tc.timing)}, rule: tc.rule, within: forever,
			err: idempotent.ErrStoreUnavailable, least: tc.least, most: tc.most,
		}.deliver(t, name)
	}
}

func TestShortestLeaseCanBeRenewedAfterASlowClaim(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		timing := idempotent.WithTiming(idempotent.Timing{Lease: 3 * time.Second, Margin: time.Second})
		s := newShopOn(t, memory.New(), when(calls.Slow, func(c calls.Call) bool { return c.N <= 2 }), timing)
		started := time.Now()
		s.do = func(ctx context.Context, o order) (receipt, error) {
			time.Sleep(time.Until(started.Add(time.Second + time.Millisecond)))
			assert.Len(t, s.store.Ops(), 2, "a third of the lease counts from the claim's beginning")
			select {
			case <-ctx.Done():
				return receipt{}, context.Cause(ctx)
			case <-time.After(time.Minute):
				return receipt{1, o.Amount}, nil
			}
		}
		s.mustHandleFor(forever, 0)
	})
}

func TestFarDeadlineCountsAsNone(t *testing.T) {
	each(t, map[string]func() time.Time{
		"in hours":     func() time.Time { return time.Now().Add(5 * time.Hour) },
		"in centuries": func() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
	}, func(t *testing.T, deadline func() time.Time) {
		s := newShop(t)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			assert.LessOrEqual(t, time.Until(s.mustRecord().Lease), protocol.DefaultLease,
				"a crash does not block for ever")
			time.Sleep(2 * protocol.DefaultLease)
			assert.True(t, s.mustRecord().Lease.After(time.Now()), "it is renewed")
			return receipt{1, o.Amount}, ctx.Err()
		}
		ctx, cancel := context.WithDeadline(t.Context(), deadline())
		defer cancel()
		_, err := s.handler.Handle(ctx, order{ID: "o-1"})
		require.NoError(t, err)
		assertExecuted(t, s, 1)
		assertOver(t, s)
	})
}

// deadlines are those of functions and of Managed Instances, which run up to 90 minutes.
var deadlines = []time.Duration{
	time.Minute, 14 * time.Minute, 15 * time.Minute, 16 * time.Minute, 59 * time.Minute, 61 * time.Minute,
	89 * time.Minute,
}

// renewedLease says whether the lease of such an invocation is the short one.
func renewedLease(deadline time.Duration) bool { return concurrent() || deadline > 15*time.Minute }

func concurrent() bool { return os.Getenv("AWS_LAMBDA_MAX_CONCURRENCY") != "" }

// TestAProcessThatDiesFreesItsKeyALeaseLater kills a process at every minute of its invocation, and
// never in the instant of a renewal, which would be on its way or not. The key is free as soon as
// its lease has ended, and not before.
func TestAProcessThatDiesFreesItsKeyALeaseLater(t *testing.T) {
	for _, deadline := range deadlines {
		for killed := 33 * time.Second; killed < deadline; killed += time.Minute {
			t.Run(fmt.Sprintf("%v of %v", killed, deadline), func(t *testing.T) {
				inBubble(t, func(t *testing.T) { freedALeaseAfter(t, killed, deadline) })
			})
		}
	}
}

func freedALeaseAfter(t *testing.T, killed, deadline time.Duration) {
	t.Helper()
	start := time.Now()
	var dead atomic.Bool
	gone := make(chan struct{})
	s := newShopOn(t, memory.New(), func(calls.Call) calls.Fault {
		if dead.Load() {
			return calls.LoseRequest
		}
		return calls.Pass
	})
	s.do = func(context.Context, order) (receipt, error) {
		<-gone
		return receipt{}, nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.handleFor(deadline, 1)
	}()
	time.Sleep(killed)
	dead.Store(true)

	lease := s.mustRecord().Lease
	if renewedLease(deadline) {
		assert.LessOrEqual(t, time.Until(lease), protocol.DefaultLease)
		assert.Greater(t, time.Until(lease), protocol.DefaultLease/2)
	} else {
		assert.Equal(t, start.Add(deadline+protocol.DefaultMargin).UnixMilli(), lease.UnixMilli())
	}
	other := s.sandbox(nil)
	time.Sleep(time.Until(lease) - time.Second)
	other.mustFailFor(deadline, 1, idempotent.ErrInProgress)
	time.Sleep(time.Until(lease))
	other.mustHandleFor(deadline, 1)
	assertExecuted(t, s, 2)
	close(gone)
	<-done
}

// TestTheHandlerEndsBeforeItsDeadline: there is time to store the answer, however far the deadline
// is.
func TestTheHandlerEndsBeforeItsDeadline(t *testing.T) {
	for _, deadline := range deadlines {
		bubble(t, deadline.String(), func(t *testing.T) {
			s := newShop(t)
			end := time.Now().Add(deadline)
			s.do = func(ctx context.Context, _ order) (receipt, error) {
				<-ctx.Done()
				assert.Equal(t, protocol.DefaultReserve, time.Until(end))
				assert.ErrorIs(t, context.Cause(ctx), context.DeadlineExceeded)
				return receipt{Charge: 7}, nil
			}
			s.mustHandleFor(deadline, 1)
			assert.Equal(t, store.StatusCompleted, s.mustRecord().Status)
		})
	}
}

// TestLeasesWhereSeveralInvocationsRunInAProcess runs the two tests before it in a process that
// Lambda tells to run ten invocations at once.
func TestLeasesWhereSeveralInvocationsRunInAProcess(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	run := exec.CommandContext(t.Context(), self, "-test.v",
		"-test.run=^(TestAProcessThatDiesFreesItsKeyALeaseLater|TestTheHandlerEndsBeforeItsDeadline)$")
	run.Env = append(os.Environ(), "AWS_LAMBDA_MAX_CONCURRENCY=10")
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "--- PASS: TestAProcessThatDiesFreesItsKeyALeaseLater/33s_of_14m0s")
	assert.Equal(t, len(deadlines), strings.Count(string(out), "--- PASS: TestTheHandlerEndsBeforeItsDeadline/"))
}
