package protocol_test

import (
	"context"
	"fmt"
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

// stepBy is a step of this kind as that owner has written it.
func stepBy(owner string, kind store.StepKind, result string) store.Step {
	if kind == store.StepStarted {
		return store.Step{Kind: kind, Seal: store.Seal(owner, nil)}
	}
	return store.Step{Kind: kind, Seal: store.Seal(owner, []byte(result)), Result: []byte(result)}
}

// before does something once, right before the first write of a step of this kind.
func before(kind store.StepKind, do func()) func(storetest.Call) storetest.Fault {
	done := false
	return func(c storetest.Call) storetest.Fault {
		for _, step := range c.Next.Steps {
			if c.Op == storetest.OpSwap && step.Kind == kind && !done {
				done = true
				do()
			}
		}
		return storetest.Pass
	}
}

func TestAnAlteredResultOfAStepIsNotResumedWith(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.put(func(r *store.Record) {
			altered := stepBy(r.Owner, store.StepValue, `"first"`)
			altered.Result = []byte(`"other"`)
			r.Lease, r.Steps = r.CreatedAt, map[string]store.Step{"first": altered}
		})
		s.do = inTwoSteps(nil)
		_, err := s.handle(5)
		stepError(t, err, idempotent.ErrUnreadable, "")
		assert.Zero(t, s.count("first"))
	})
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
		s := newShopOn(t, memory.New(), writes(store.StepValue, storetest.HangBefore))
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
		s.do = inTwoSteps(func() error {
			s.change(func(r *store.Record) { r.Status, r.Reason = store.StatusUnknown, store.ReasonCrashed })
			return idempotent.NotExecuted(errCard)
		})
		s.mustFail(5, errCard)
		assert.Equal(t, report.Released, s.event().Settlement)
		r := s.mustRecord()
		assert.Equal(t, store.ReasonReleased, r.Reason)
		assert.Contains(t, r.Steps, "first")
	})
}

// TestAReleaseThatARepetitionFinds: what the store sends again by itself is refused by what came
// first.
func TestAReleaseThatARepetitionFinds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		inner := memory.New()
		s := newShopOn(t, inner, func(c storetest.Call) storetest.Fault {
			if c.Next.Reason == store.ReasonReleased {
				_, swapped, err := inner.Swap(context.Background(), c.Seen, c.Next)
				assert.NoError(t, err)
				assert.True(t, swapped)
			}
			return storetest.Pass
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
	type row struct {
		rule func(storetest.Call) storetest.Fault
		err  error
	}
	each(t, map[string]row{
		"lost":      {writes(store.StepValue, storetest.Deny), nil},
		"uncertain": {func(storetest.Call) storetest.Fault { return storetest.Pass }, idempotent.Uncertain(errCard)},
	}, func(t *testing.T, c row) {
		s := newShopOn(t, memory.New(), c.rule, unrepeatable())
		s.do = func(ctx context.Context, _ order) (receipt, error) {
			_, err := idempotent.Step(ctx, "charge",
				func(context.Context) (string, error) { return "ch-1", c.err })
			require.Error(t, err)
			panic("behind")
		}
		assert.PanicsWithValue(t, "behind", func() { _, _ = s.handle(5) })
		s.mustHold(store.StatusUnknown, store.ReasonPanic)
	})
}

// TestATakeoverDoesNotWaitForAStaleOwner: it records a step whenever somebody is about to take
// over.
func TestATakeoverDoesNotWaitForAStaleOwner(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var s *shop
		n := 0
		s = newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpSwap && c.Seen.Owner == "someone" && c.Next.Owner != "someone" {
				n++
				s.change(func(r *store.Record) {
					r.Steps = map[string]store.Step{fmt.Sprint(n): stepBy("someone", store.StepValue, "1")}
				})
			}
			return storetest.Pass
		})
		s.put(func(r *store.Record) { r.Lease = r.CreatedAt })
		s.mustHandle(5)
		assert.Equal(t, 1, n)
	})
}

func TestARenewalWritesNoSteps(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.put(func(r *store.Record) {
			r.Lease, r.Steps = r.CreatedAt, map[string]store.Step{"open": stepBy(r.Owner, store.StepStarted, "")}
		})
		s.do = func(ctx context.Context, o order) (receipt, error) {
			time.Sleep(2 * idempotent.DefaultLease)
			require.NoError(t, ctx.Err(), "its lease is held")
			_, err := take(ctx, "first")
			return receipt{1, o.Amount}, err
		}
		s.mustHandleFor(forever, 5) // without a deadline
	})
}

func TestTheUndoOfATakeoverLeavesAnOpenStartMark(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		takeovers := 0
		s := newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
			if c.Op == storetest.OpSwap && c.Seen.Owner == "someone" {
				takeovers++
				if takeovers > 1 {
					return storetest.Deny
				}
				return storetest.LoseReply
			}
			return storetest.Pass
		})
		s.put(func(r *store.Record) {
			r.Lease, r.Reason = r.CreatedAt, store.ReasonReleased
			r.Steps = map[string]store.Step{"open": stepBy(r.Owner, store.StepStarted, "")}
		})
		s.mustFail(5, idempotent.ErrStoreUnavailable)
		r := s.mustRecord()
		assert.Equal(t, store.ReasonReleased, r.Reason, "it was taken back")
		assert.Equal(t, store.StepStarted, r.Steps["open"].Kind)
	})
}

// TestACrashInTheMiddleOfAnEffectIsNotTakenOver: also if the effect began after somebody has
// looked.
func TestACrashInTheMiddleOfAnEffectIsNotTakenOver(t *testing.T) {
	for _, late := range []bool{false, true} {
		bubble(t, fmt.Sprint(late), func(t *testing.T) {
			var s *shop
			began := false
			begin := func(r *store.Record) {
				r.Steps = map[string]store.Step{"second": stepBy("someone", store.StepStarted, "")}
			}
			s = newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
				if late && !began && c.Op == storetest.OpSwap && c.Seen.Owner == "someone" {
					began = true
					s.change(begin)
				}
				return storetest.Pass
			}, unrepeatable())
			s.put(func(r *store.Record) {
				r.Lease, r.Steps = r.CreatedAt,
					map[string]store.Step{"first": stepBy(r.Owner, store.StepValue, `"first"`)}
				if !late {
					r.Steps["second"] = stepBy(r.Owner, store.StepStarted, "")
				}
			})
			s.mustFail(5, idempotent.ErrUnknownOutcome)
			assertExecuted(t, s, 0)
			assert.Equal(t, store.ReasonCrashed, s.mustRecord().Reason)
		})
	}
}

func TestACrashWhoseStepsTellAllIsNoQuestionForTheResolver(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		asked := 0
		s := newShop(t, idempotent.WithResolver(func(context.Context, idempotent.Execution,
			order,
		) (resolution, error) {
			asked++
			return idempotent.StillUnknown[receipt](), nil
		}))
		s.put(func(r *store.Record) {
			r.Lease, r.Steps = r.CreatedAt, map[string]store.Step{"first": stepBy(r.Owner, store.StepValue, `"first"`)}
			r.StepWrites = 2 // its mark, and its result
		})
		s.do = inTwoSteps(nil)
		s.mustHandle(5)
		assert.Zero(t, asked)
		assert.Zero(t, s.count("first"))
		assert.Equal(t, 1, s.count("second"))
	})
}

// What did not happen is nothing that a crash leaves open.
func TestACrashBehindAnEffectThatDidNotHappenIsResumed(t *testing.T) {
	for name, recorded := range map[string]bool{"behind a step that is recorded": true, "and nothing else": false} {
		bubble(t, name, func(t *testing.T) {
			s, crashes := newShop(t, unrepeatable()), true
			s.do = func(ctx context.Context, o order) (receipt, error) {
				if recorded {
					_, err := take(ctx, "first")
					require.NoError(t, err)
				}
				if crashes {
					crashes = false
					require.ErrorIs(t, failIn(ctx, "charge", idempotent.NotExecuted(errCard)), errCard)
					panic("boom")
				}
				_, err := take(ctx, "charge")
				return receipt{1, o.Amount}, err
			}
			s.mustPanic(5, "boom")
			assert.Equal(t, report.Released, s.event().Settlement)
			s.mustGet(5, receipt{1, 5})
		})
	}
}

// A start mark is for something that has not happened yet, so its context bounds it. A result is
// recorded whatever has become of the context.
func TestTheContextOfAStepBoundsItsMarkAndNotItsResult(t *testing.T) {
	for name, kind := range map[string]store.StepKind{"mark": store.StepStarted, "result": store.StepValue} {
		bubble(t, name, func(t *testing.T) {
			lost := 0
			s := newShopOn(t, memory.New(), func(c storetest.Call) storetest.Fault {
				if c.Op == storetest.OpSwap && c.Next.Steps["charge"].Kind == kind && lost < 1 {
					lost++
					return storetest.HangBefore
				}
				return storetest.Pass
			})
			s.do = func(ctx context.Context, o order) (receipt, error) {
				short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				started := time.Now()
				_, err := take(short, "charge", once())
				if kind == store.StepStarted {
					assert.LessOrEqual(t, time.Since(started), 100*time.Millisecond)
					return receipt{1, o.Amount}, nil
				}
				assert.Greater(t, time.Since(started), 100*time.Millisecond)
				return receipt{1, o.Amount}, err
			}
			s.mustGet(5, receipt{1, 5})
		})
	}
}
