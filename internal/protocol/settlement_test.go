package protocol_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// operator acts on the record of order "o-1".
type operator struct {
	*operate.Operator
	shop *shop
}

// dies makes another process take over, and die before it completes.
func (s *shop) dies() {
	s.t.Helper()
	dying := s.sandbox(calls.OnCall(3, calls.DieBefore))
	dying.do = func(_ context.Context, o order) (receipt, error) { return receipt{2, o.Amount}, nil }
	dying.mustHandle(5)
	time.Sleep(time.Minute)
}

func operatorOf(s *shop) operator { return operator{operate.New(s.inner), s} }

var because = operate.Act{By: "dana", Why: "ticket 4711"}

func (o operator) settle(v operate.Verdict) {
	o.shop.t.Helper()
	shown, err := o.Inspect(o.shop.t.Context(), o.shop.recordKey())
	require.NoError(o.shop.t, err)
	_, err = o.Settle(o.shop.t.Context(), shown, v, because)
	require.NoError(o.shop.t, err)
}

func TestARecordThatWasReleasedIsTakenOverWhateverTheEffectsAreAndIsNoCrash(t *testing.T) {
	resolver := idempotent.WithResolver(
		func(context.Context, idempotent.Execution, order) (resolution, error) {
			panic("a release needs no resolver")
		})
	for name, opts := range map[string][]idempotent.Option{
		"execute again": nil, "refuse": {unrepeatable()}, "resolver": {resolver},
		"resolver and refuse": {resolver, unrepeatable()},
		"unrepeatable":        {unrepeatable()},
	} {
		for when, lease := range map[string]time.Duration{
			"its lease has ended":     -time.Second,
			"whatever its lease says": time.Hour,
		} {
			bubble(t, name+", "+when, func(t *testing.T) {
				s := newShop(t, append(opts, amountFingerprint())...)
				fingerprint := s.fingerprintOf(5)
				s.put(func(r *store.Record) {
					r.Reason, r.Lease, r.Fingerprint, r.Attempt = store.ReasonReleased,
						time.Now().Add(lease), fingerprint, 3
					r.SettledBy, r.SettledAt, r.SettledReason = "dana",
						time.Now().Truncate(time.Millisecond), "ticket 4711"
				})
				var x idempotent.Execution
				s.do = func(ctx context.Context, o order) (receipt, error) {
					x, _ = idempotent.FromContext(ctx)
					return receipt{1, o.Amount}, nil
				}
				s.mustFail(6, idempotent.ErrMismatch, "its fingerprint binds retries")
				s.mustGet(5, receipt{1, 5})
				assert.Equal(t, 4, x.Attempt)
				assert.False(t, x.Recovered)
				assert.False(t, s.event().Recovered)
				r := s.mustRecord()
				assert.Equal(t, "dana", r.SettledBy, "who released it before stays in its story")
				assert.Empty(t, r.Reason)
			})
		}
	}
}

// fingerprintOf is the fingerprint of an order of this amount.
func (s *shop) fingerprintOf(amount int64) string {
	s.t.Helper()
	other := newShop(s.t, amountFingerprint())
	_, err := other.handle(amount)
	require.NoError(s.t, err)
	return other.mustRecord().Fingerprint
}

func TestACrashAfterAReleaseIsACrash(t *testing.T) {
	deliveryCase{ // the process dies before it completes
		opts: []idempotent.Option{unrepeatable()}, rule: calls.OnCall(3, calls.DieBefore),
		put: func(r *store.Record) { r.Reason = store.ReasonReleased }, runs: 1, left: store.StatusInProgress,
		then: func(s *shop, _ error) {
			time.Sleep(time.Minute)
			s.sandbox(nil, unrepeatable()).mustFail(5, idempotent.ErrUnknownOutcome)
			assert.Equal(s.t, store.ReasonCrashed, s.mustRecord().Reason)
			assertExecuted(s.t, s, 1)
		},
	}.deliver(t, "it dies")
}

// TestAnOwnerThatComesBackAfterASettlement: the verdict of the operator is final.
func TestAnOwnerThatComesBackAfterASettlement(t *testing.T) {
	type answer struct {
		receipt receipt
		err     error
	}
	type row struct {
		verdict operate.Verdict
		then    func(s *shop)
		want    answer
		after   store.Status
		reason  string
		seals   string
	}
	each(t, map[string]row{
		"not executed": {
			verdict: operate.NotExecuted(), want: answer{err: idempotent.ErrSuperseded},
			after: store.StatusInProgress, reason: store.ReasonReleased,
		},
		"not executed, and taken over by somebody who crashed": {
			verdict: operate.NotExecuted(), want: answer{err: idempotent.ErrSuperseded}, after: store.StatusInProgress,
			then: (*shop).dies,
		},
		"not executed, and executed again": {
			verdict: operate.NotExecuted(), want: answer{receipt: receipt{2, 5}}, after: store.StatusCompleted,
			then: func(s *shop) {
				other := s.sandbox(nil)
				other.do = func(_ context.Context, o order) (receipt, error) { return receipt{2, o.Amount}, nil }
				other.mustHandle(5)
			},
		},
		"executed": {
			verdict: operate.Executed([]byte(`{"charge":9,"amount":5}`)), want: answer{receipt: receipt{9, 5}},
			after: store.StatusCompleted, seals: `{"charge":9,"amount":5}`,
		},
		"failed": {
			verdict: operate.Failed("CardDeclined", "no money"), after: store.StatusCompleted,
			reason: store.ReasonTerminal,
			want:   answer{err: &idempotent.ReplayedError{Type: "CardDeclined", Message: "no money"}},
		},
	}, func(t *testing.T, c row) {
		s := newShopOn(t, memory.New(), noRenewal)
		s.do = func(_ context.Context, o order) (receipt, error) {
			time.Sleep(30 * time.Second) // longer than its lease
			operatorOf(s).settle(c.verdict)
			if c.then != nil {
				c.then(s)
			}
			return receipt{1, o.Amount}, nil
		}
		got, err := s.handle(5)
		if replayed, ok := c.want.err.(*idempotent.ReplayedError); ok {
			require.Equal(t, replayed, err)
		} else {
			require.ErrorIs(t, err, c.want.err)
		}
		assert.Equal(t, c.want.receipt, got)
		assert.Equal(t, report.Elsewhere, s.event().Settlement)
		r := s.mustHold(c.after, c.reason)
		assert.Equal(t, "dana", r.SettledBy)
		if c.seals != "" {
			assert.True(t, r.Sealed([]byte(c.seals)))
		}
	})
}

// TestWhoClaimsAfterASettlementMayCompleteInPlaceOfSomebodyWhoCrashed: the verdict was about an
// execution before.
func TestWhoClaimsAfterASettlementMayCompleteInPlaceOfSomebodyWhoCrashed(t *testing.T) {
	deliveryCase{
		rule: noRenewal, put: unknown, set: func(s *shop) { operatorOf(s).settle(operate.NotExecuted()) },
		do:  after(pause(30*time.Second), after((*shop).dies, returns(receipt{1, 5}))),
		got: receipt{1, 5}, runs: 2, settled: report.Completed, left: store.StatusCompleted,
	}.deliver(t, "crashed")
}

// A result may be stored in the place of somebody who crashed. That nobody knows what an execution
// has done is no result: the crash tells as much, and has its own owner.
func TestNobodyBecomesUnknownInPlaceOfSomebodyWhoCrashed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), noRenewal)
		var crashed store.Record
		s.do = func(context.Context, order) (receipt, error) {
			time.Sleep(40 * time.Second)
			s.dies()
			crashed = s.mustRecord()
			return receipt{}, idempotent.Uncertain(errCard)
		}
		s.mustFailFor(forever, 5, errCard)
		assert.Equal(t, store.StatusInProgress, crashed.Status)
		assert.Equal(t, 2, crashed.Attempt)
		assert.Equal(t, crashed, s.mustRecord())
	})
}

func TestARecordTellsItsStory(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, unrepeatable())
		began := time.Now().Truncate(time.Millisecond)
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			idempotent.DerivedKey(ctx, "mail")
			idempotent.DerivedKey(ctx, "charge")
			x, _ := idempotent.FromContext(ctx)
			x.DerivedKey("refund")
			time.Sleep(3 * time.Second)
			return receipt{}, idempotent.Uncertain(errCard)
		}
		s.mustFail(5, errCard)
		r := s.mustRecord()
		assert.Equal(t, store.AttentionOf(r.Key), r.Attention)
		assert.True(t, strings.HasPrefix(r.Attention, "shop#"))
		assert.Equal(t, began.Add(3*time.Second), r.AttentionAt)
		assert.Equal(t, []string{"charge", "mail", "refund"}, r.Derived)
		assert.True(t, r.CompletedAt.IsZero())

		time.Sleep(time.Minute)
		operatorOf(s).settle(operate.NotExecuted())
		r = s.mustRecord()
		assert.Empty(t, r.Attention)
		assert.True(t, r.AttentionAt.IsZero())
		assert.Empty(t, r.Derived)

		s.do = nil
		s.mustHandle(5)
		r = s.mustRecord()
		assert.Equal(t, began.Add(63*time.Second), r.CompletedAt)
		assert.Equal(t, began.Add(63*time.Second), r.SettledAt)
		assert.Equal(t, began, r.CreatedAt)
		assert.Equal(t, 2, r.Attempt)
	})
}

// TestAResolverThatCannotTellLosesNoName: the names that the first execution handed out stay with
// the record.
func TestAResolverThatCannotTellLosesNoName(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var s *shop
		s = newShop(t, idempotent.WithResolver(
			func(_ context.Context, x idempotent.Execution, _ order) (resolution, error) {
				r := s.mustRecord()
				assert.Equal(t, store.AttentionOf(r.Key), r.Attention,
					"somebody has to settle it should this process die")
				assert.Equal(t, r.Lease, r.AttentionAt)
				assert.Equal(t, []string{"charge", "mail"}, r.Derived)
				x.DerivedKey("audit")
				return idempotent.StillUnknown[receipt](), nil
			}))
		s.put(func(r *store.Record) {
			r.Status, r.Reason, r.Attention = store.StatusUnknown, store.ReasonUncertain, store.AttentionOf(r.Key)
			r.AttentionAt, r.Derived = time.Now().Add(-time.Hour).Truncate(time.Millisecond), []string{"charge", "mail"}
		})
		s.mustFail(5, idempotent.ErrUnknownOutcome)
		r := s.mustRecord()
		assert.Equal(t, []string{"audit", "charge", "mail"}, r.Derived)
		assert.NotEmpty(t, r.Attention)
	})
}

// TestWhatARecordKeepsOfDerivedKeysIsBounded, and may be told by many goroutines.
func TestWhatARecordKeepsOfDerivedKeysIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t).doing(func(ctx context.Context, _ order) (receipt, error) {
			idempotent.DerivedKey(ctx, "")
			idempotent.DerivedKey(ctx, strings.Repeat("x", 65))
			idempotent.DerivedKey(ctx, "\xff")
			idempotent.DerivedKey(ctx, strings.Repeat("a", 64))
			var wg sync.WaitGroup
			for n := range 100 {
				wg.Go(func() { idempotent.DerivedKey(ctx, fmt.Sprint("item-", n%50)) })
			}
			wg.Wait()
			return receipt{}, idempotent.Uncertain(errCard)
		})
		s.mustFail(5, errCard)
		derived := s.mustRecord().Derived
		assert.Len(t, derived, 20)
		assert.Equal(t, strings.Repeat("a", 64), derived[0])
		for _, name := range derived[1:] {
			assert.True(t, strings.HasPrefix(name, "item-"), name)
		}
		assert.IsIncreasing(t, derived)
	})
}
