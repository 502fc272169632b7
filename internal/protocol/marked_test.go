package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// charges is a step that counts how often it charges, and the answer of its handler.
func charges(ctx context.Context, o order, charged *int, opts ...idempotent.StepOption[int]) (receipt, error) {
	n, err := idempotent.Step(ctx, "charge",
		func(context.Context) (int, error) { *charged++; return 7, nil }, opts...)
	return receipt{int64(n), o.Amount}, err
}

// reserves is a step before it.
func reserves(ctx context.Context, opts ...idempotent.StepOption[int]) error {
	_, err := idempotent.Step(ctx, "reserve", func(context.Context) (int, error) { return 1, nil }, opts...)
	return err
}

// What a version ran that marked no steps is open for the next version, which marks them: its
// effect may have happened.
func TestADeploymentThatAddsMarksMeetsWhatRanWithoutThemAsOpen(t *testing.T) {
	dead := false
	refuse := []idempotent.Option{unrepeatable()}
	for name, next := range map[string]struct {
		charge  idempotent.StepOption[int]
		opts    []idempotent.Option
		charged int // with the first time
		fails   error
	}{
		"Unrepeatable":                {nil, refuse, 1, idempotent.ErrUnknownOutcome},
		"Unrepeatable and AtMostOnce": {idempotent.AtMostOnce[int](nil), refuse, 1, idempotent.ErrUnknownOutcome},
		"AtMostOnce":                  {idempotent.AtMostOnce[int](nil), nil, 1, idempotent.ErrUnknownOutcome},
		"neither: it runs once more":  {nil, nil, 2, nil},
		"Repeatable: it runs the same": {
			nil,
			[]idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)},
			2, nil,
		},
	} {
		for first, reserve := range map[string]idempotent.StepOption[int]{
			"plain":  nil,
			"marked": idempotent.AtMostOnce[int](nil), "none": nil,
		} {
			for end, dies := range map[string]func(){
				"dies":  func() { dead = true },
				"fails": func() {},
			} {
				if first == "none" && end == "fails" {
					continue // the record is deleted, as that version asked for
				}
				t.Run(name+", the first step "+first+", "+end, func(t *testing.T) {
					charged := 0
					dead = false
					play := func(old bool) handler {
						return func(ctx context.Context, o order) (receipt, error) {
							if first != "none" {
								if err := reserves(ctx, reserve); err != nil {
									return receipt{}, err
								}
							}
							option := next.charge
							if old {
								option = nil
							}
							n, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) {
								charged++
								if old {
									dies()
									return 0, errCard
								}
								return 7, nil
							}, option)
							return receipt{int64(n), o.Amount}, err
						}
					}
					synctest.Test(t, func(t *testing.T) {
						old := newShop(t)
						old.wrap(while(&dead, storetest.DieBefore))
						old.do = play(true)
						old.mustFail(5, errAny)
						time.Sleep(time.Minute)
						s := old.sandbox(nil, next.opts...)
						s.do = play(false)
						_, err := s.handle(5)
						if next.fails != nil {
							require.ErrorIs(t, err, next.fails)
							_, err := s.handle(5)
							require.ErrorIs(t, err, next.fails, "and stays so")
							s.mustHold(store.StatusUnknown, s.mustRecord().Reason)
						} else {
							require.NoError(t, err)
						}
						assert.Equal(t, next.charged, charged, "charges")
					})
				})
			}
		}
	}
}

// A process that has seen which steps are marked says so when it claims: then a crash before the
// mark of one is no open step. The first execution of a process cannot say it.
func TestACrashBeforeAStartMark(t *testing.T) {
	type row struct {
		executedBefore, plainBefore bool
		fails                       error
	}
	each(t, map[string]row{
		"in a process that has executed":   {executedBefore: true},
		"in a process that has just begun": {fails: idempotent.ErrUnknownOutcome},
		"of a step that was plain one time": {
			executedBefore: true, plainBefore: true,
			fails: idempotent.ErrUnknownOutcome,
		},
	}, func(t *testing.T, c row) {
		dead, plain, charged := false, false, 0
		play := func(dies bool) handler {
			return func(ctx context.Context, o order) (receipt, error) {
				if err := reserves(ctx); err != nil {
					return receipt{}, err
				}
				if dies {
					dead = true
					return receipt{}, errCard
				}
				var option idempotent.StepOption[int]
				if !plain {
					option = idempotent.AtMostOnce[int](nil)
				}
				return charges(ctx, o, &charged, option)
			}
		}
		first := newShop(t)
		first.wrap(while(&dead, storetest.DieBefore))
		if c.executedBefore {
			first.do = play(false)
			_, err := first.handler.Handle(t.Context(), order{ID: "o-0", Amount: 5})
			require.NoError(t, err)
		}
		if plain = c.plainBefore; plain {
			_, err := first.handler.Handle(t.Context(), order{ID: "o-00", Amount: 5})
			require.NoError(t, err)
		}
		before := charged
		first.do = play(true)
		first.mustFail(5, errAny)
		time.Sleep(time.Minute)
		plain = false
		next := first.sandbox(nil)
		next.do = play(false)
		next.mustFail(5, c.fails)
		if c.fails == nil {
			assert.Equal(t, before+1, charged)
		} else {
			assert.Equal(t, before, charged)
		}
	})
}

// Of an effect that may have begun unseen the mark is written before anybody is asked: a resolver
// that says Untouched lets it run.
func TestNobodyIsAskedAboutAnEffectWhoseMarkCannotBeWritten(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		dead, asked, charged := false, 0, 0
		asks := idempotent.AtMostOnce(func(context.Context, idempotent.Execution) (idempotent.Resolution[int], error) {
			asked++
			return idempotent.Untouched[int](), nil
		})
		play := func(ctx context.Context, o order) (receipt, error) {
			if err := reserves(ctx); err != nil || dead {
				return receipt{}, errors.Join(err, errCard)
			}
			return charges(ctx, o, &charged, asks)
		}
		first := newShop(t)
		first.wrap(storetest.OnCall(3, storetest.DieBefore)) // behind the claim and the first step
		first.do = play
		dead = true
		first.mustFail(5, errAny)
		dead = false
		time.Sleep(time.Minute)

		marks := true
		next := first.sandbox(when(storetest.Deny, func(c storetest.Call) bool {
			return marks && stepWrite(c, "charge", store.StepStarted)
		}))

		next.do = play
		next.mustFail(5, idempotent.ErrStepRefused)
		assert.Zero(t, asked)
		assert.Zero(t, charged)
		marks = false
		next.mustGet(5, receipt{7, 5})
		assert.Equal(t, []int{1, 1}, []int{asked, charged})
	})
}

// A process that marks a step cannot say that it did not begin in an execution before, which did
// not mark it.
func TestAClaimDoesNotVouchForWhatAnExecutionBeforeMayHaveBegun(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		dead, charged := false, 0
		dies := while(&dead, storetest.DieBefore)
		play := func(ctx context.Context, o order, option idempotent.StepOption[int]) (receipt, error) {
			return charges(ctx, o, &charged, option)
		}
		marked := func(ctx context.Context, o order) (receipt, error) {
			return play(ctx, o, idempotent.AtMostOnce[int](nil))
		}
		s := newShop(t)
		plain := s.sandbox(dies)
		plain.do = func(ctx context.Context, o order) (receipt, error) { dead = true; return play(ctx, o, nil) }
		plain.mustFail(5, errAny)
		assert.Equal(t, 1, charged)
		dead = false
		time.Sleep(time.Minute)
		second := s.sandbox(dies)
		second.do = marked
		_, err := second.handler.Handle(t.Context(), order{ID: "o-0", Amount: 5})
		require.NoError(t, err)
		assert.Equal(t, 2, charged)
		second.do = func(context.Context, order) (receipt, error) { dead = true; return receipt{}, errCard }
		second.mustFail(5, errAny)
		dead = false
		time.Sleep(time.Minute)
		third := s.sandbox(nil)
		third.do = marked
		third.mustFail(5, idempotent.ErrUnknownOutcome)
		assert.Equal(t, 2, charged)
	})
}

func TestAClaimNamesTwentyMarkedSteps(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t).doing(func(ctx context.Context, o order) (receipt, error) {
			for i := range 21 {
				_, err := take(ctx, fmt.Sprint("step-", i), once())
				require.NoError(t, err)
			}
			return receipt{1, o.Amount}, nil
		})
		for i, want := range []int{0, 20} {
			before := len(s.store.Calls())
			_, err := s.handler.Handle(t.Context(), order{ID: fmt.Sprint("o-", i), Amount: 5})
			require.NoError(t, err)
			assert.Len(t, s.store.Calls()[before].Next.StepNames, want)
		}
	})
}

// What a claim says of its steps holds also where the handler decides otherwise then. It says
// nothing of a step that is marked only some of the time.
func TestAStepThatTheClaimSaysIsMarkedIsMarked(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		for i, next := range []idempotent.StepOption[string]{once(), nil, nil, once(), nil} {
			want := []int{4, 4, 3, 4, 3}[i] // the claim, a mark, the result, the completion
			s.do = inOneStep("charge", next)
			before := len(s.store.Calls())
			_, err := s.handler.Handle(t.Context(), order{ID: string(rune('a' + before)), Amount: 5})
			require.NoError(t, err)
			assert.Len(t, s.store.Calls()[before:], want)
		}
	})
}

// An execution that has returned leaves nothing open but what it began, also in a process that has
// just begun.
func TestAnErrorBeforeAStartMarkLeavesNothingOpen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, charged := newShop(t), 0
		s.do = func(ctx context.Context, o order) (receipt, error) {
			if err := reserves(ctx); err != nil {
				return receipt{}, err
			}
			if s.executed.Load() == 1 {
				return receipt{}, failIn(ctx, "book", errCard)
			}
			if _, err := take(ctx, "book"); err != nil {
				return receipt{}, err
			}
			return charges(ctx, o, &charged, idempotent.AtMostOnce[int](nil))
		}
		s.mustFail(5, errCard)
		s.another(nil).mustHandle(5)
		assert.Equal(t, 1, charged)
	})
}

// AWS Powertools marks no step. What died there may have begun one, whoever had the record in
// between.
func TestWhatPowertoolsRanIsOpenForAStepAtMostOnce(t *testing.T) {
	type row struct {
		between func(s *shop)
		charged int
		fails   error
	}
	each(t, map[string]row{
		"taken over": {fails: idempotent.ErrUnknownOutcome},
		"taken over and given back before": {between: func(s *shop) {
			takesOver := func(c storetest.Call) bool { return c.Op == swap && c.Next.Attempt == 2 }
			s.sandbox(when(storetest.LoseReply, takesOver)).mustFail(5, idempotent.ErrStoreUnavailable)
		}, fails: idempotent.ErrUnknownOutcome},
		"made UNKNOWN, and settled as not executed": {between: func(s *shop) {
			s.sandbox(nil, unrepeatable()).mustFail(5, idempotent.ErrUnknownOutcome)
			operatorOf(s).settle(operate.NotExecuted())
		}, charged: 1},
	}, func(t *testing.T, c row) {
		s := newShop(t)
		s.put(func(r *store.Record) {
			crashed(r)
			r.Owner, r.Attempt, r.CreatedAt = "", 0, time.Time{}
		})
		if c.between != nil {
			c.between(s)
		}
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := take(ctx, "plain")
			require.NoError(t, err)
			return inOneStep("charge", once())(ctx, o)
		}
		s.mustFail(5, c.fails)
		assert.Equal(t, c.charged, s.count("charge"))
		assert.Equal(t, 1, s.count("plain"))
		assert.Equal(t, c.fails != nil, s.mustRecord().Status == store.StatusUnknown)
	})
}

// A version that marks its steps dies between two of them: they tell all.
func TestADeathBetweenMarkedStepsIsNoOpenQuestion(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		dead := false
		s := newShopOn(t, memory.New(), while(&dead, storetest.DieBefore), unrepeatable())
		s.do = inTwoSteps(func() error { dead = true; return errCard })
		s.mustFail(5, errCard)
		time.Sleep(time.Minute)
		s.sandbox(nil, unrepeatable()).doing(inTwoSteps(nil)).mustHandle(5)
		assert.Equal(t, map[string]int{"first": 1, "second": 1}, s.effects.done)
	})
}
