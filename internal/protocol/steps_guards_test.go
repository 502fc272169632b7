package protocol_test

import (
	"context"
	"strconv"
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

// stepBy is a step of this kind as that owner has written it.
func stepBy(owner string, kind store.StepKind, result string) store.Step {
	if kind == store.StepStarted {
		return store.Step{Kind: kind, Seal: store.Seal(owner, nil)}
	}
	return store.Step{Kind: kind, Seal: store.Seal(owner, []byte(result)), Result: []byte(result)}
}

// crashedWith is a record whose lease has ended behind these steps, after so many writes of them;
// that of the first name has begun, unless it is empty.
func crashedWith(writes int, begun string, recorded ...string) func(r *store.Record) {
	return func(r *store.Record) {
		r.Lease, r.StepWrites = r.CreatedAt, writes
		steps := map[string]store.Step{}
		for _, name := range recorded {
			steps[name] = stepBy(r.Owner, store.StepValue, strconv.Quote(name))
		}
		if begun != "" {
			steps[begun] = stepBy(r.Owner, store.StepStarted, "")
		}
		if len(steps) > 0 {
			r.Steps = steps
		}
	}
}

// before does something once, right before the first write of a step of this kind.
func before(kind store.StepKind, do func()) func(calls.Call) calls.Fault {
	done := false
	return func(c calls.Call) calls.Fault {
		for _, step := range c.Next.Steps {
			if c.Op == calls.Swap && step.Kind == kind && !done {
				done = true
				do()
			}
		}
		return calls.Pass
	}
}

// TestAnEffectDoesNotBeginBehindAStartMarkThatSaysNothing: the mark is written too late, is
// somebody else's, or comes under UNKNOWN.
func TestAnEffectDoesNotBeginBehindAStartMarkThatSaysNothing(t *testing.T) {
	each(t, map[string]func(s *shop, skew *time.Duration){
		"the lease has ended": func(_ *shop, skew *time.Duration) { *skew = time.Hour },
		"somebody else has it, and began": func(s *shop, _ *time.Duration) {
			s.change(func(r *store.Record) {
				r.Owner, r.Steps = "other", map[string]store.Step{"first": stepBy("other", store.StepStarted, "")}
			})
		},
		"somebody made it UNKNOWN": func(s *shop, _ *time.Duration) {
			s.change(func(r *store.Record) { r.Status, r.Reason = store.StatusUnknown, store.ReasonCrashed })
		},
	}, func(t *testing.T, meanwhile func(s *shop, skew *time.Duration)) {
		var s *shop
		skew := time.Duration(0)
		s = newShopOn(t, memory.New(), before(store.StepStarted, func() { meanwhile(s, &skew) }),
			idempotent.WithClock(func() time.Time { return time.Now().Add(skew) }))
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			_, err := take(ctx, "first", once())
			stepError(t, err, idempotent.ErrLeaseLost, "")
			return receipt{}, err
		}
		s.mustFail(5, errAny)
		assert.Zero(t, s.count("first"))
	})
}

func TestTimeIsKeptToSayThatAStepIsLost(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShopOn(t, memory.New(), writes(store.StepValue, calls.HangBefore))
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			time.Sleep(9 * time.Second)
			_, err := idempotent.Step(ctx, "charge", func(context.Context) (string, error) { return "ch-1", nil })
			require.ErrorIs(t, err, idempotent.ErrStepLost)
			deadline, _ := ctx.Deadline()
			assert.Greater(t, time.Until(deadline), -300*time.Millisecond,
				"the invocation ends half a second after its handler has to")
			return receipt{}, err
		}
		s.mustFail(5, idempotent.ErrStepLost)
		assert.Equal(t, store.ReasonResultLost, s.mustRecord().Reason)
	})
}

func TestAReleaseKeepsTheStepsOfARecordThatBecameUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = inTwoSteps(func() error { s.change(unknown); return idempotent.NotExecuted(errCard) })
		s.mustFail(5, errCard)
		assert.Equal(t, report.Released, s.event().Settlement)
		assert.Contains(t, s.mustHold(store.StatusInProgress, store.ReasonReleased).Steps, "first")
	})
}

func TestAReleaseBringsNothingBackThatWasDeleted(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = inTwoSteps(func() error { s.delete(); return errCard })
		s.mustFail(5, errCard)
		s.assertGone()
	})
}

func TestACompletionDropsTheStepsOfARecordThatBecameUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.do = inTwoSteps(func() error { s.change(unknown); return nil })
		s.mustHandle(5)
		assert.Empty(t, s.mustHold(store.StatusCompleted, "").Steps)
	})
}

// TestAReleaseThatARepetitionFinds: what the store sends again by itself is refused by what came
// first.
func TestAReleaseThatARepetitionFinds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		inner := memory.New()
		s := newShopOn(t, inner, func(c calls.Call) calls.Fault {
			if c.Next.Reason == store.ReasonReleased {
				_, swapped, err := inner.Swap(context.Background(), c.Seen, c.Next)
				assert.NoError(t, err)
				assert.True(t, swapped)
			}
			return calls.Pass
		})
		s.do = inTwoSteps(func() error { return errCard })
		s.mustFail(5, errCard)
		assert.Equal(t, report.Released, s.event().Settlement)
	})
}

func TestAnExecutionWithStepsWhoseLeaseHasEndedReleasesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		skew := time.Duration(0)
		s := newShop(t, idempotent.WithClock(func() time.Time { return time.Now().Add(skew) }))
		s.do = inTwoSteps(func() error { skew = time.Hour; return errCard })
		s.mustFail(5, errCard)
		assert.Equal(t, report.Elsewhere, s.event().Settlement)
		assert.Empty(t, s.mustRecord().Reason)
	})
}

// TestAPanicBehindAnEffectThatNobodyRecorded: the record says why it is UNKNOWN.
func TestAPanicBehindAnEffectThatNobodyRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		rule rule
		err  error
	}{
		"lost":      {writes(store.StepValue, calls.Deny), nil},
		"uncertain": {nil, idempotent.Uncertain(errCard)},
	} {
		deliveryCase{
			opts: []idempotent.Option{unrepeatable()}, rule: c.rule,
			do: func(ctx context.Context, _ order) (receipt, error) {
				require.Error(shopIn(ctx).t, failIn(ctx, "charge", c.err))
				panic("behind")
			},
			panics: "behind", runs: 1, left: store.StatusUnknown, reason: store.ReasonPanic,
		}.deliver(t, name)
	}
}

func TestARenewalWritesNoSteps(t *testing.T) {
	deliveryCase{ // its lease is held
		put: crashedWith(0, "open"), within: forever, runs: 1, left: store.StatusCompleted,
		do: func(ctx context.Context, o order) (receipt, error) {
			time.Sleep(2 * protocol.DefaultLease)
			require.NoError(shopIn(ctx).t, ctx.Err())
			return inOneStep("first")(ctx, o)
		},
	}.deliver(t, "twice")
}

// TestACrashInTheMiddleOfAnEffectIsNotTakenOver: also if the effect began after somebody has
// looked.
func TestACrashInTheMiddleOfAnEffectIsNotTakenOver(t *testing.T) {
	each(t, map[string]bool{"before": false, "late": true}, func(t *testing.T, late bool) {
		s, began := newShop(t), !late
		s.wrap(func(c calls.Call) calls.Fault {
			if !began && c.Op == calls.Swap && c.Seen.Owner == "someone" {
				began = true
				s.change(func(r *store.Record) {
					r.Steps = map[string]store.Step{"second": stepBy("someone", store.StepStarted, "")}
				})
			}
			return calls.Pass
		}, unrepeatable())
		s.put(crashedWith(1, map[bool]string{false: "second"}[late], "first"))
		s.mustFail(5, idempotent.ErrUnknownOutcome)
		assertExecuted(t, s, 0)
		assert.Equal(t, store.ReasonCrashed, s.mustRecord().Reason)
		assert.Len(t, s.mustRecord().Steps, 2)
	})
}

func TestACrashWhoseStepsTellAllIsNoQuestionForTheResolver(t *testing.T) {
	deliveryCase{
		opts: []idempotent.Option{asking(func(context.Context) resolution { panic("asked") })},
		put:  crashedWith(2, "", "first"), // its mark, and its result
		do:   inTwoSteps(nil), runs: 1, done: map[string]int{"second": 1}, left: store.StatusCompleted,
	}.deliver(t, "behind the first one")
}

// What did not happen is nothing that a crash leaves open.
func TestACrashBehindAnEffectThatDidNotHappenIsResumed(t *testing.T) {
	each(t, map[string]bool{"behind a step that is recorded": true, "and nothing else": false}, func(t *testing.T,
		recorded bool,
	) {
		s := newShop(t, unrepeatable()).doing(func(ctx context.Context, o order) (receipt, error) {
			if recorded {
				_, err := take(ctx, "first")
				require.NoError(t, err)
			}
			if shopIn(ctx).executed.Load() == 1 {
				require.ErrorIs(t, failIn(ctx, "charge", idempotent.NotExecuted(errCard)), errCard)
				panic("boom")
			}
			return inOneStep("charge")(ctx, o)
		})
		assert.PanicsWithValue(t, "boom", func() { _, _ = s.handle(5) })
		assert.Equal(t, report.Released, s.event().Settlement)
		s.mustGet(5, receipt{1, 5})
	})
}

// A start mark is for something that has not happened yet, so its context bounds it. A result is
// recorded whatever has become of the context.
func TestTheContextOfAStepBoundsItsMarkAndNotItsResult(t *testing.T) {
	for name, kind := range map[string]store.StepKind{"mark": store.StepStarted, "result": store.StepValue} {
		deliveryCase{
			rule: inTurn(func(c calls.Call) bool { return stepWrite(c, "charge", kind) },
				calls.HangBefore, calls.Pass),
			do: func(ctx context.Context, o order) (receipt, error) {
				short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				started := time.Now()
				_, err := take(short, "charge", once())
				if kind == store.StepStarted {
					assert.LessOrEqual(shopIn(ctx).t, time.Since(started), 100*time.Millisecond)
					return receipt{1, o.Amount}, nil
				}
				assert.Greater(shopIn(ctx).t, time.Since(started), 100*time.Millisecond)
				return receipt{1, o.Amount}, err
			},
			got: receipt{1, 5}, runs: 1, left: store.StatusCompleted,
		}.deliver(t, name)
	}
}
