package protocol_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// noCompletion refuses every completion for a reason that does not pass.
var noCompletion = when(calls.Deny, completes)

func TestRepeatableEffectsHealByThemselves(t *testing.T) {
	repeatable := idempotent.WithEffects(idempotent.Repeatable)
	for name, rule := range map[string]rule{
		"completion denied": noCompletion,
		"store gone":        calls.OnOp(swap, calls.LoseRequest),
	} {
		deliveryCase{ // the handler's result is not hidden
			opts: []idempotent.Option{repeatable}, rule: rule, got: receipt{1, 5}, runs: 1,
			settled: report.NotSettled, left: store.StatusInProgress,
			then: func(s *shop, _ error) {
				assert.Error(s.t, s.event().StoreErr)
				s.sandbox(nil, repeatable).mustFail(5, idempotent.ErrInProgress, "not while the lease lives")
				time.Sleep(13 * time.Second)
				s.sandbox(nil, repeatable).mustGet(5, receipt{2, 5}, "executed again")
			},
		}.deliver(t, name)
	}
}

// smallStore refuses results of more than so many bytes.
func smallStore(most int) store.Store {
	return hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		large := len(c.Next.Result) > most
		for _, step := range c.Next.Steps {
			large = large || len(step.Result) > most
		}
		if large {
			return calls.Reply{Err: noAnswer(store.FailureTooLarge)}
		}
		return c.Make(ctx, records)
	}, swap)
}

func TestAResultThatCanNeverBeStoredIsUnknownWhateverTheEffectsAre(t *testing.T) {
	for _, effects := range []idempotent.Effects{idempotent.Cautious, idempotent.Repeatable, idempotent.Unrepeatable} {
		deliveryCase{ // it is sent all the same
			on: smallStore(0), opts: []idempotent.Option{idempotent.WithEffects(effects)},
			got: receipt{1, 5}, runs: 1, left: store.StatusUnknown, reason: "result-lost",
			then: func(s *shop, _ error) {
				assert.Empty(s.t, s.mustRecord().Result)
				s.mustFail(5, idempotent.ErrUnknownOutcome)
				assertExecuted(s.t, s, 1)
			},
		}.deliver(t, fmt.Sprint(effects))
	}
}

func TestALaterWordAboutEffectsReplacesAnEarlierOne(t *testing.T) {
	deliveryCase{
		opts: []idempotent.Option{unrepeatable(), idempotent.WithEffects(idempotent.Repeatable)},
		do:   fails(errCard), err: errCard, runs: 1,
	}.deliver(t, "it may be repeated")
}

// busy is a store that answers claims by a conflict with a transaction, as often as it is told, and
// counts what is asked of it then.
func busy(conflicts int) (_ store.Store, claims, gets *int) {
	claims, gets = new(int), new(int)
	return hook(func(ctx context.Context, c calls.Call, records store.Store) calls.Reply {
		switch {
		case c.Op == calls.Get:
			*gets++
		case c.Next.Owner != "someone": // who was there before
			if *claims++; *claims <= conflicts {
				return calls.Reply{Err: noAnswer(store.FailureConflict)}
			}
		}
		return c.Make(ctx, records)
	}, claim, calls.Get), claims, gets
}

func TestAClaimThatMeetsATransactionReads(t *testing.T) {
	for name, tc := range map[string]deliveryCase{
		"of a running execution": {
			put: func(*store.Record) {}, err: idempotent.ErrInProgress, left: store.StatusInProgress,
		},
		"of a completed one": {
			put:  func(r *store.Record) { completed(r, `{"charge":7,"amount":5}`) },
			left: store.StatusCompleted, outcome: report.Replayed,
		},
	} {
		on, claims, gets := busy(1000)
		tc.on, tc.ops = on, []calls.Op{claim, calls.Get}
		tc.then = func(s *shop, _ error) {
			assert.Equal(s.t, 1, *claims, "the put is not repeated: it would keep the owner from its commit")
			assert.Equal(s.t, 2, *gets, "one, and one of the test")
		}
		tc.deliver(t, name)
	}
	gone, _, _ := busy(3)
	deliveryCase{on: gone, runs: 1, left: store.StatusCompleted}.
		deliver(t, "of a record that is gone afterwards")
	longer, _, _ := busy(12)
	deliveryCase{
		on: longer, within: time.Minute, runs: 1, left: store.StatusCompleted,
		opts: []idempotent.Option{idempotent.WithTiming(idempotent.Timing{ClaimBudget: 10 * time.Second})},
	}.deliver(t, "for longer than a record may change at every look")
	forEver, claims, _ := busy(1 << 30)
	deliveryCase{
		on: forEver, err: idempotent.ErrStoreUnavailable, most: protocol.DefaultClaimBudget,
		then: func(s *shop, _ error) {
			assert.Less(s.t, *claims, 40, "with pauses")
		},
	}.deliver(t, "that does not end")
}
