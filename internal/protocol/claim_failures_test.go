package protocol_test

import (
	"context"
	"errors"
	"strings"
	"sync"
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

// failingClaims is a store whose first claims fail, or if err is nil find a record that is gone by
// the time it is looked at.
func failingClaims(times int, err error) store.Store {
	return hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		if times--; times >= 0 {
			return calls.Reply{Err: err}
		}
		return c.Make(ctx, records)
	}, claim)
}

func TestOutageIsReportedByItsCauseAndNotByTheTimeThatRanOut(t *testing.T) {
	every := func(calls.Call) bool { return true }
	hang, refuse := calls.HangBefore, calls.Refuse
	for name, tc := range map[string]struct {
		faults []calls.Fault
		kind   store.Failure
	}{
		"never answered":                  {[]calls.Fault{hang}, store.FailureTimeout},
		"throttled, then never answered":  {[]calls.Fault{refuse, hang}, store.FailureThrottled},
		"behind a call without an answer": {[]calls.Fault{hang, refuse, hang}, store.FailureThrottled},
	} {
		deliveryCase{rule: inTurn(every, tc.faults...), kind: tc.kind, err: errAny}.deliver(t, name)
	}
}

// repeating is a store that answers the first claim late, and that the network hands the undo of
// that claim once more, after the next claim.
func repeating(takes time.Duration) (_ store.Store, claims *atomic.Int32) {
	claims = new(atomic.Int32)
	var undo calls.Call
	return hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		if c.Op == remove {
			undo = c
			return c.Make(ctx, records)
		}
		got := c.Make(ctx, records)
		switch claims.Add(1) {
		case 1:
			time.Sleep(takes)
		case 2:
			time.AfterFunc(time.Second, func() { undo.Make(context.WithoutCancel(ctx), records) })
		}
		return got
	}, claim, remove), claims
}

func TestAClaimThatIsBegunAnewIsNotEndedByTheUndoOfTheFirst(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		records, claims := repeating(12 * time.Second) // a machine that was suspended
		s := newShopOn(t, records, nil).doing(after(pause(3*time.Second), returns(receipt{Charge: 1})))
		var wg sync.WaitGroup
		wg.Go(func() { s.mustHandleFor(forever, 0) })
		time.Sleep(14 * time.Second) // the handler runs, and the copy has come
		assert.EqualValues(t, 2, claims.Load(), "the first claim took too long")
		s.sandbox(nil).mustFail(1, idempotent.ErrInProgress)
		wg.Wait()
		assertExecuted(t, s, 1)
	})
}

// A lease that is renewed may have lost a third when the handler starts: then its first renewal is
// due at once.
func TestAClaimThatTookLongIsBegunAnewOnlyIfARenewalIsOverdue(t *testing.T) {
	for takes, want := range map[time.Duration]int{
		protocol.DefaultLease/3 - time.Millisecond: 1,
		protocol.DefaultLease/3 + time.Millisecond: 2,
	} {
		bubble(t, takes.String(), func(t *testing.T) {
			records, claims := repeating(takes)
			s := newShopOn(t, records, nil)
			s.mustHandleFor(forever, 0)
			assert.EqualValues(t, want, claims.Load())
			time.Sleep(2 * time.Second) // the copy of the undo comes
			assertExecuted(t, s, 1)
		})
	}
}

// newShopInParts is a shop on a store that keeps results beside their records, and reads them as it
// is told. It holds a completed record.
func newShopInParts(t *testing.T, read func(ctx context.Context) ([]byte, error)) *shop {
	t.Helper()
	s := newShopOn(t, hook(func(ctx context.Context, _ calls.Call, _ store.Store) (got calls.Reply) {
		got.Held.Result, got.Err = read(ctx)
		return got
	}, calls.ReadResult), nil)
	s.put(func(r *store.Record) {
		completed(r, `{"charge":7}`)
		r.Result, r.Parts = nil, "1"
	})
	return s
}

// What could be stored can be replayed: reading it has the time that is left, and not only that of
// a claim.
func TestReadOfAResultHasTheTimeThatIsLeft(t *testing.T) {
	type row struct {
		takes, timeout, most time.Duration
		err                  error
	}
	away, endless := idempotent.ErrStoreUnavailable, time.Hour
	each(t, map[string]row{
		"with a deadline":             {5 * time.Second, 10 * time.Second, 5 * time.Second, nil},
		"without a deadline":          {20 * time.Second, forever, 20 * time.Second, nil},
		"that is over":                {endless, 10 * time.Second, 9900 * time.Millisecond, away},
		"that is over, no deadline":   {endless, forever, 30 * time.Second, away},
		"that is over, far deadline":  {endless, 10 * time.Minute, 30 * time.Second, away},
		"that is over, near deadline": {endless, time.Second, 900 * time.Millisecond, away},
	}, func(t *testing.T, tc row) {
		s := newShopInParts(t, func(ctx context.Context) ([]byte, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(tc.takes):
				return []byte(`{"charge":7}`), nil
			}
		})
		started := time.Now()
		got, err := s.handleFor(tc.timeout, 0)
		require.ErrorIs(t, err, tc.err)
		assert.LessOrEqual(t, time.Since(started), tc.most)
		if tc.err == nil {
			assert.Equal(t, receipt{Charge: 7}, got)
		}
	})
}

// deaf is a store that answers claims late, whatever their context says, or fails them, and deletes
// nothing until the context of that ends.
func deaf(takes time.Duration, err error) store.Store {
	return hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		if c.Op == remove {
			<-ctx.Done()
			return calls.Reply{Err: ctx.Err()}
		}
		time.Sleep(takes)
		if err != nil {
			return calls.Reply{Err: err}
		}
		return c.Make(context.WithoutCancel(ctx), records)
	}, claim, remove)
}

func TestAnUndoHasItsBudgetHoweverFarTheDeadlineIs(t *testing.T) {
	for _, timeout := range []time.Duration{20 * time.Minute, 5 * time.Hour} {
		deliveryCase{
			on: deaf(protocol.DefaultLease/3+time.Second, nil), within: timeout, err: errAny, most: time.Minute - 1,
			left: store.StatusInProgress,
		}.deliver(t, timeout.String())
	}
	deliveryCase{
		on:  deaf(2*protocol.DefaultClaimBudget, errors.New("no answer")),
		err: idempotent.ErrStoreUnavailable, most: 2 * protocol.DefaultClaimBudget,
	}.deliver(t, "no time is left")
}

func TestASettlementEndsWhileItsLeaseLives(t *testing.T) {
	type row struct {
		timing idempotent.Timing
		size   int
		takes  time.Duration
	}
	each(t, map[string]row{
		"the budget is longer than the lease": {
			idempotent.Timing{Lease: 3 * time.Second, Margin: time.Second},
			10,
			2100 * time.Millisecond,
		},
		"6 MB in 10 s":  {idempotent.Timing{Lease: 10 * time.Second}, 6 << 20, 10 * time.Second},
		"12 MB in 22 s": {idempotent.Timing{}, 12 << 20, 22 * time.Second},
	}, func(t *testing.T, tc row) {
		executed, lease := 0, protocol.DefaultLease
		if tc.timing.Lease > 0 {
			lease = tc.timing.Lease
		}
		handler := idempotent.Wrap(func(context.Context, string) (string, error) {
			if executed++; executed == 1 {
				time.Sleep(lease/3 - time.Millisecond) // just before the first renewal
			}
			return strings.Repeat("x", tc.size), nil
		}, steady(tc.takes), append(keyed[string]("k"), idempotent.WithTiming(tc.timing))...)
		first := make(chan error)
		go func() {
			_, err := handler.Handle(t.Context(), "")
			first <- err
		}()
		time.Sleep(lease + 10*time.Millisecond)
		_, err := handler.Handle(t.Context(), "")
		require.Error(t, err)
		require.NoError(t, <-first)
		assert.Equal(t, 1, executed, "the first one lived all the time")
	})
}

func TestAnOutageOfReadsIsAnsweredWithinTheBudget(t *testing.T) {
	each(t, map[string]time.Duration{
		"no deadline": forever, "29 s": 29 * time.Second, "15 min": 15 * time.Minute,
	}, func(t *testing.T, timeout time.Duration) {
		s := newShopInParts(t, func(context.Context) ([]byte, error) {
			return nil, noAnswer(store.FailureThrottled)
		})
		began := time.Now()
		s.mustFailFor(timeout, 5, idempotent.ErrStoreUnavailable)
		assert.Less(t, time.Since(began), protocol.DefaultClaimBudget+time.Second)
	})
}

// The first claim is never answered, and then a transaction is under way.
func TestAClaimThatThenMeetsATransactionIsUndone(t *testing.T) {
	claims := 0
	silent := hook(func(ctx context.Context, _ calls.Call, _ store.Store) calls.Reply {
		if claims++; claims > 1 {
			return calls.Reply{Err: noAnswer(store.FailureConflict)}
		}
		<-ctx.Done()
		return calls.Reply{Err: noAnswer(store.FailureTimeout)}
	}, claim)
	deliveryCase{
		on: silent, err: idempotent.ErrStoreUnavailable,
		then: func(s *shop, _ error) { assert.Contains(s.t, s.store.Ops(), remove, "the first claim may still land") },
	}.deliver(t, "never answered")
}

// Or it would be executed again for ever.
func TestAResultThatIsRefusedAsInvalidIsUnknownAlsoIfItMayBeRepeated(t *testing.T) {
	invalid := hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		if c.Next.Result != nil {
			return calls.Reply{Err: noAnswer(store.FailureRejected)}
		}
		return c.Make(ctx, records)
	}, swap)
	deliveryCase{
		on: invalid, opts: []idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)},
		runs: 1, left: store.StatusUnknown, reason: "result-lost",
	}.deliver(t, "rejected")
}

func TestAReleaseWhoseReplyWasLostIsARelease(t *testing.T) {
	deliveryCase{
		rule: inTurn(isOp(remove), calls.LoseReply, calls.Pass, calls.Deny), do: fails(errCard),
		err: errCard, runs: 1, settled: report.Released,
	}.deliver(t, "and then denied")
	var in *shop
	releases := 0
	deliveryCase{
		set: func(s *shop) { in = s }, do: inTwoSteps(func() error { return errCard }),
		rule: func(c calls.Call) calls.Fault {
			if c.Next.Reason != store.ReasonReleased {
				return calls.Pass
			}
			if releases++; releases == 1 {
				return calls.LoseReply
			}
			in.takeOver(func(*store.Record) {})
			return calls.Pass
		},
		err: errCard, runs: 1, settled: report.Released, left: store.StatusInProgress, reason: store.ReasonReleased,
	}.deliver(t, "and then somebody else has it")
}
