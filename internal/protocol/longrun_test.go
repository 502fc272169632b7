package protocol_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// slowClaim is a store whose first claim takes some time to be answered, whatever its context says.
func slowClaim(takes time.Duration) store.Store {
	return hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		defer time.Sleep(takes)
		takes = 0
		return c.Make(context.WithoutCancel(ctx), records)
	}, claim)
}

// aheadAt makes the clock of records go on by a minute at such a call, while that of contexts
// stands still.
func aheadAt(about func(c calls.Call) bool) (rule, func() time.Time) {
	var ahead atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	return func(c calls.Call) calls.Fault {
		if about(c) {
			ahead.Add(int64(time.Minute))
		}
		return calls.Pass
	}, now
}

func TestTheHandlerNeverStartsUnderALeaseThatIsPartlyUsedUp(t *testing.T) {
	underAFullOne := after(func(s *shop) {
		assert.GreaterOrEqual(s.t, time.Until(s.mustRecord().Lease), protocol.DefaultLease-time.Second)
	}, returns(receipt{}))
	takes := time.Duration(0)
	slow := hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		time.Sleep(takes)
		return c.Make(context.WithoutCancel(ctx), records)
	}, calls.Get)
	suspended, now := aheadAt(func(c calls.Call) bool { return c.N == 1 })
	for name, tc := range map[string]deliveryCase{
		"after a slow look": {
			on: slow, opts: []idempotent.Option{idempotent.WithWait(10 * time.Minute)}, within: forever,
			put: func(r *store.Record) { r.Lease = time.Now().Add(time.Second) },
			set: func(*shop) { takes = 31 * time.Second },
			do: after(func(s *shop) {
				takes = 0
				assert.NotEqual(s.t, "someone", s.mustRecord().Owner)
			}, underAFullOne),
		},
		"after a slow claim": {
			on: slowClaim(25 * time.Second), rule: noRenewal, do: underAFullOne, within: forever,
			settled: report.Completed,
		},
		// Between the claim and the start of the handler.
		"of a machine that was suspended": {
			rule: suspended, opts: []idempotent.Option{idempotent.WithClock(now)},
			do: after(func(s *shop) {
				calls := s.store.Calls()
				lease := calls[len(calls)-1].Next.Lease
				assert.True(s.t, lease.After(now()), "the lease until %v lives at %v", lease, now())
			}, returns(receipt{})),
		},
	} {
		tc.runs, tc.left = 1, store.StatusCompleted
		tc.deliver(t, name)
	}
}

func TestClaimsThatAllTakeTooLongAreGivenUp(t *testing.T) {
	late, now := aheadAt(isOp(claim))
	deliveryCase{
		rule: late, opts: []idempotent.Option{idempotent.WithClock(now)}, err: idempotent.ErrStoreUnavailable,
		ops: []calls.Op{claim, remove, claim, remove, claim, remove}, // each one is taken back
	}.deliver(t, "on a machine that is suspended each time")
}

func TestAClaimThatComesAfterItsDeadlineIsTakenBack(t *testing.T) {
	deliveryCase{
		on: slowClaim(10*time.Second + time.Millisecond), rule: calls.OnOp(remove, calls.Slow),
		err: idempotent.ErrStoreUnavailable, ops: []calls.Op{claim, remove},
	}.deliver(t, "slowly")
}

func TestAClaimThatIsTakenBackLeavesTimeToAnswer(t *testing.T) {
	late, now := aheadAt(func(c calls.Call) bool { return c.Op != remove })
	deliveryCase{
		rule: either(calls.OnOp(remove, calls.HangBefore), late), within: 300 * time.Millisecond,
		opts: []idempotent.Option{idempotent.WithClock(now)}, err: errAny, most: 300*time.Millisecond - 1,
		left: store.StatusInProgress,
	}.deliver(t, "the undo is not answered")
}

func TestALiveProcessKeepsItsClaimPastItsDeadline(t *testing.T) {
	for name, overrun := range map[string]time.Duration{"a little": 3 * time.Second, "for minutes": 10 * time.Minute} {
		deliveryCase{
			do: func(ctx context.Context, _ order) (receipt, error) {
				s := shopIn(ctx)
				<-ctx.Done()
				assert.ErrorIs(s.t, context.Cause(ctx), context.DeadlineExceeded)
				for end := time.Now().Add(overrun); time.Now().Before(end); {
					time.Sleep(500 * time.Millisecond)
					require.True(s.t, s.mustRecord().Lease.After(time.Now()), "a taker would run beside this execution")
				}
				return receipt{Charge: 7}, nil
			},
			within: 5 * time.Second, got: receipt{Charge: 7}, runs: 1,
			settled: report.Completed, left: store.StatusCompleted,
			then: func(s *shop, _ error) { assertOver(s.t, s) },
		}.deliver(t, name)
	}
}

func TestAnOverrunIsProtectedForAQuarterOfAnHour(t *testing.T) {
	each(t, map[string]time.Duration{
		"of a near deadline": 5 * time.Second,
		"of a far one":       5 * time.Hour,
	}, func(t *testing.T, timeout time.Duration) {
		s := newShop(t)
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			<-ctx.Done()
			time.Sleep(14 * time.Minute)
			assert.True(t, s.mustRecord().Lease.After(time.Now()))
			time.Sleep(2*time.Minute + protocol.DefaultLease)
			assert.False(t, s.mustRecord().Lease.After(time.Now()),
				"a handler that hangs does not block its key for ever")
			return receipt{}, nil
		}
		s.mustHandleFor(timeout, 1)
	})
}

func TestAnOverrunWithinHalfOfTheMarginRenewsNothing(t *testing.T) {
	deliveryCase{
		do: func(context.Context, order) (receipt, error) {
			time.Sleep(5*time.Second + protocol.DefaultMargin/2 - time.Nanosecond)
			return receipt{Charge: 1}, nil
		},
		within: 5 * time.Second, runs: 1, left: store.StatusCompleted, ops: []calls.Op{claim, swap},
	}.deliver(t, "Lambda kills a process within that time")
}

// The handler returns in the instant in which its overrun would be noticed: either comes first.
func TestARenewalDoesNotBeginAfterTheHandlerHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for range 100 {
			s := newShop(t).doing(func(context.Context, order) (receipt, error) {
				time.Sleep(5*time.Second + protocol.DefaultMargin/2)
				return receipt{Charge: 1}, nil
			})
			s.mustHandleFor(5*time.Second, 1)
			settled := len(s.store.Ops())
			time.Sleep(time.Hour)
			require.Len(t, s.store.Ops(), settled)
			require.Equal(t, report.Completed, s.event().Settlement)
		}
	})
}

func TestNotExecutedReleasesWhatSomeoneElseMadeUnknown(t *testing.T) {
	deliveryCase{
		opts: []idempotent.Option{unrepeatable()}, do: after(changed(unknown), fails(idempotent.NotExecuted(errCard))),
		err: errCard, runs: 1, settled: report.Released,
		then: func(s *shop, _ error) { assert.NoError(s.t, s.event().StoreErr) },
	}.deliver(t, "the key is free")
}

func TestWhatHasExpiredIsGone(t *testing.T) {
	crashedAndRefused := func(r *store.Record) { r.Status, r.Reason = store.StatusUnknown, "crashed" }
	for name, change := range map[string]func(r *store.Record){
		"crashed":                     func(*store.Record) {},
		"crashed, of another request": func(r *store.Record) { r.Fingerprint = "1:other" },
		"unknown":                     crashedAndRefused,
		"unknown, of another request": func(r *store.Record) { crashedAndRefused(r); r.Fingerprint = "1:other" },
		"unknown, of a long lease": func(r *store.Record) {
			crashedAndRefused(r)
			r.Lease = time.Now().Add(48 * time.Hour)
		},
		"completed, of another request": func(r *store.Record) {
			completed(r, `{"charge":7,"amount":5}`)
			r.Fingerprint = "1:other"
		},
		"of no status we know": func(r *store.Record) { r.Status = "SETTLING" },
	} {
		deliveryCase{ // a first execution: nothing of the old record survives
			opts: []idempotent.Option{unrepeatable(), amountFingerprint()}, put: change,
			set: pause(25 * time.Hour), got: receipt{1, 5}, runs: 1, attempt: 1, left: store.StatusCompleted,
			then: func(s *shop, _ error) { assert.Equal(s.t, 1, s.mustRecord().Attempt) },
		}.deliver(t, name)
	}
}

func TestAnExpiredRecordIsProtectedWhileItsLeaseLives(t *testing.T) {
	deliveryCase{
		put: func(r *store.Record) { r.Lease, r.Expiry = time.Now().Add(time.Minute), time.Now() },
		err: idempotent.ErrInProgress, left: store.StatusInProgress,
	}.deliver(t, "it came to its expiry")
}
