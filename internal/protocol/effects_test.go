package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// noCompletion refuses every completion for a reason that does not pass.
func noCompletion(c storetest.Call) storetest.Fault {
	if c.Op == storetest.OpSwap && c.Next.Status == store.StatusCompleted {
		return storetest.Deny
	}
	return storetest.Pass
}

func TestRepeatableEffectsHealByThemselves(t *testing.T) {
	for name, rule := range map[string]func(storetest.Call) storetest.Fault{
		"completion denied": noCompletion,
		"store gone":        when(storetest.LoseRequest, func(c storetest.Call) bool { return c.Op == storetest.OpSwap }),
	} {
		bubble(t, name, func(t *testing.T) {
			repeatable := idempotent.WithEffects(idempotent.Repeatable)
			s := newShopOn(t, memory.New(), rule, repeatable)
			got := s.mustHandle(5, "the handler's result is not hidden")
			assert.Equal(t, receipt{1, 5}, got)
			assert.Equal(t, report.NotSettled, s.event().Settlement)
			assert.Error(t, s.event().StoreErr)
			assert.Equal(t, store.StatusInProgress, s.mustRecord().Status)

			s.sandbox(nil, repeatable).mustFail(5, idempotent.ErrInProgress, "not while the lease lives")
			time.Sleep(13 * time.Second)
			got = s.sandbox(nil, repeatable).mustHandle(5)
			assert.Equal(t, receipt{2, 5}, got, "executed again")
		})
	}
}

func TestWithoutAWordAboutEffectsAResultThatCannotBeStoredIsUnknown(t *testing.T) {
	for name, opts := range map[string][]idempotent.Option{
		"nothing said": nil, "cautious": {idempotent.WithEffects(idempotent.Cautious)},
		"unrepeatable": {unrepeatable()},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newShopOn(t, memory.New(), noCompletion, opts...)
			s.mustHandle(5)
			assert.Equal(t, "result-lost", s.mustRecord().Reason)
		})
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
	inBubble(t, func(t *testing.T) {
		for _, effects := range []idempotent.Effects{
			idempotent.Cautious, idempotent.Repeatable,
			idempotent.Unrepeatable,
		} {
			s := newShopOn(t, smallStore{Store: memory.New()}, nil, idempotent.WithEffects(effects))
			s.mustGet(5, receipt{1, 5}, "it is sent all the same")
			r := s.mustRecord()
			assert.Equal(t, store.StatusUnknown, r.Status, effects)
			assert.Equal(t, "result-lost", r.Reason)
			assert.Empty(t, r.Result)
			s.mustFail(5, idempotent.ErrUnknownOutcome)
			assertExecuted(t, s, 1)
		}
	})
}

func TestALaterWordAboutEffectsReplacesAnEarlierOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t, unrepeatable(), idempotent.WithEffects(idempotent.Repeatable))
		s.do = fails(errCard)
		s.mustFail(5, errCard)
		s.assertGone("released: it may be repeated")
	})
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

// busy answers claims by a conflict with a transaction, as often as it is told.
type busy struct {
	store.Store

	conflicts int
	claims    int
	gets      int
}

func (b *busy) Claim(ctx context.Context, r store.Record, now time.Time) (store.Record, bool, error) {
	b.claims++
	if b.conflicts > 0 {
		b.conflicts--
		return store.Record{}, false,
			&store.Error{Op: "claim", Kind: store.FailureConflict, NotApplied: true, Err: errCard}
	}
	return b.Store.Claim(ctx, r, now)
}

func (b *busy) Get(ctx context.Context, key string) (store.Record, bool, error) {
	b.gets++
	return b.Store.Get(ctx, key)
}

func TestAClaimThatMeetsATransactionReads(t *testing.T) {
	for name, tc := range map[string]struct {
		held func(r *store.Record)
		want error
	}{
		"of a running execution": {func(*store.Record) {}, idempotent.ErrInProgress},
		"of a completed one":     {func(r *store.Record) { completed(r, `{"charge":7,"amount":5}`) }, nil},
	} {
		bubble(t, name, func(t *testing.T) {
			inner := &busy{Store: memory.New()}
			s := newShopOn(t, inner, nil)
			s.put(tc.held)
			inner.claims, inner.gets, inner.conflicts = 0, 0, 1000
			got, err := s.handle(5)
			if tc.want != nil {
				require.ErrorIs(t, err, tc.want, "a conflict is no outage")
			} else {
				require.NoError(t, err)
				assert.Equal(t, receipt{7, 5}, got)
			}
			assert.Equal(t, 1, inner.claims, "the put is not repeated: it would keep the owner from its commit")
			assert.Equal(t, 1, inner.gets)
			assertExecuted(t, s, 0)
		})
	}
	bubble(t, "of a record that is gone afterwards", func(t *testing.T) {
		inner := &busy{Store: memory.New(), conflicts: 3}
		s := newShopOn(t, inner, nil)
		s.mustHandle(5)
		assertExecuted(t, s, 1)
	})
	bubble(t, "for longer than a record may change at every look", func(t *testing.T) {
		inner := &busy{Store: memory.New(), conflicts: 12}
		s := newShopOn(t, inner, nil, idempotent.WithTiming(idempotent.Timing{ClaimBudget: 10 * time.Second}))
		s.mustHandleFor(time.Minute, 5)
		assertExecuted(t, s, 1)
	})
	bubble(t, "that does not end", func(t *testing.T) {
		inner := &busy{Store: memory.New(), conflicts: 1 << 30}
		s := newShopOn(t, inner, nil)
		began := time.Now()
		s.mustFail(5, idempotent.ErrStoreUnavailable)
		assert.LessOrEqual(t, time.Since(began), idempotent.DefaultClaimBudget)
		assert.Less(t, inner.claims, 40, "with pauses")
	})
}
