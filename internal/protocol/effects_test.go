package protocol_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/dev/calls"
	"github.com/go-idempotent/idempotent/internal/protocol"
	"github.com/go-idempotent/idempotent/memory"
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
type smallStore struct {
	store.Store

	most int
}

func (s smallStore) Swap(ctx context.Context, seen, next store.Record) (store.Record, bool, error) {
	large := len(next.Result) > s.most
	for _, step := range next.Steps {
		large = large || len(step.Result) > s.most
	}
	if large {
		return store.Record{}, false,
			&store.Error{Op: "swap", Kind: store.FailureTooLarge, NotApplied: true, Err: errCard}
	}
	return s.Store.Swap(ctx, seen, next)
}

func TestAResultThatCanNeverBeStoredIsUnknownWhateverTheEffectsAre(t *testing.T) {
	for _, effects := range []idempotent.Effects{idempotent.Cautious, idempotent.Repeatable, idempotent.Unrepeatable} {
		deliveryCase{ // it is sent all the same
			on: smallStore{Store: memory.New()}, opts: []idempotent.Option{idempotent.WithEffects(effects)},
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

func TestEffectsThatContradictOtherOptionsAreRefused(t *testing.T) {
	t.Parallel()
	resolver := resolves(idempotent.StillUnknown[receipt](), nil)
	for name, opts := range map[string][]idempotent.Option{
		"a resolver":   {idempotent.WithEffects(idempotent.Repeatable), resolver},
		"below all":    {idempotent.WithEffects(-1)},
		"no such ones": {idempotent.WithEffects(3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				problem, ok := recover().(*idempotent.ConfigError)
				require.True(t, ok)
				assert.Contains(t, problem.Error(), "WithEffects")
			}()
			newShop(t, opts...)
		})
	}
	newShop(t, unrepeatable(), resolver)
	newShop(t, idempotent.WithEffects(idempotent.Cautious), resolver)
}

// busy is a store that answers claims by a conflict with a transaction, as often as it is told, and
// counts what is asked of it then.
func busy(conflicts int) (h *hooked, claims, gets *int) {
	h, claims, gets = hook(), new(int), new(int)
	h.claim = func(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
		if r.Owner == "someone" { // who was there before
			return h.Store.Claim(ctx, r, now)
		}
		if *claims++; *claims <= conflicts {
			return store.Record{}, false, noAnswer(store.FailureConflict)
		}
		return h.Store.Claim(ctx, r, now)
	}
	h.get = func(ctx context.Context, key string) (store.Record, bool, error) {
		*gets++
		return h.Store.Get(ctx, key)
	}
	return h, claims, gets
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
