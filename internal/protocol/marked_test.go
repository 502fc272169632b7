package protocol_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
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

// dying is a shop whose process dies when dead is set.
func dying(t *testing.T) (s *shop, dead *bool) {
	t.Helper()
	s, dead = newShop(t), new(bool)
	s.wrap(while(dead, calls.DieBefore))
	return s, dead
}

// later delivers the order to another process, after the lease.
func (s *shop) later(do handler, want error, opts ...idempotent.Option) *shop {
	s.t.Helper()
	time.Sleep(time.Minute)
	next := s.sandbox(nil, opts...).doing(do)
	next.mustFail(5, want)
	return next
}

// What a version ran that marked no steps is open for the next version, which marks them: its
// effect may have happened.
func TestADeploymentThatAddsMarksMeetsWhatRanWithoutThemAsOpen(t *testing.T) {
	refuse, marks := []idempotent.Option{unrepeatable()}, idempotent.AtMostOnce[int](nil)
	repeatable := []idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)}
	for name, next := range map[string]struct {
		charge  idempotent.StepOption[int]
		opts    []idempotent.Option
		charged int // with the first time
		fails   error
	}{
		"Unrepeatable":                 {nil, refuse, 1, idempotent.ErrUnknownOutcome},
		"Unrepeatable and AtMostOnce":  {marks, refuse, 1, idempotent.ErrUnknownOutcome},
		"AtMostOnce":                   {marks, nil, 1, idempotent.ErrUnknownOutcome},
		"neither: it runs once more":   {nil, nil, 2, nil},
		"Repeatable: it runs the same": {nil, repeatable, 2, nil},
	} {
		for first, reserve := range map[string]idempotent.StepOption[int]{"plain": nil, "marked": marks, "none": nil} {
			for end, dies := range map[string]bool{"dies": true, "fails": false} {
				if first == "none" && end == "fails" {
					continue // the record is deleted, as that version asked for
				}
				bubble(t, name+", the first step "+first+", "+end, func(t *testing.T) {
					s, dead := dying(t)
					charged := 0
					play := func(option idempotent.StepOption[int], err error) handler {
						return func(ctx context.Context, o order) (receipt, error) {
							if first != "none" {
								if err := reserves(ctx, reserve); err != nil {
									return receipt{}, err
								}
							}
							n, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) {
								charged++
								*dead = dies && err != nil
								return 7, err
							}, option)
							return receipt{int64(n), o.Amount}, err
						}
					}
					s.doing(play(nil, errCard)).mustFail(5, errAny)
					later := s.later(play(next.charge, nil), next.fails, next.opts...)
					if next.fails != nil {
						later.mustFail(5, next.fails, "and stays so")
						assert.Equal(t, store.StatusUnknown, s.mustRecord().Status)
					}
					assert.Equal(t, next.charged, charged, "charges")
				})
			}
		}
	}
}

// A process that has seen which steps are marked says so when it claims: then a crash before the
// mark of one is no open step. The first execution of a process cannot say it.
func TestACrashBeforeAStartMark(t *testing.T) {
	marks := idempotent.AtMostOnce[int](nil)
	type row struct {
		before []idempotent.StepOption[int] // of the executions of the process before
		fails  error
	}
	each(t, map[string]row{
		"in a process that has executed":    {before: []idempotent.StepOption[int]{marks}},
		"in a process that has just begun":  {fails: idempotent.ErrUnknownOutcome},
		"of a step that was plain one time": {[]idempotent.StepOption[int]{marks, nil}, idempotent.ErrUnknownOutcome},
	}, func(t *testing.T, c row) {
		s, dead := dying(t)
		charged := 0
		play := func(option idempotent.StepOption[int]) handler {
			return func(ctx context.Context, o order) (receipt, error) {
				if err := reserves(ctx); err != nil {
					return receipt{}, err
				}
				return charges(ctx, o, &charged, option)
			}
		}
		for i, option := range c.before {
			_, err := s.doing(play(option)).handler.Handle(t.Context(), order{ID: fmt.Sprint("o-0", i), Amount: 5})
			require.NoError(t, err)
		}
		s.doing(func(ctx context.Context, _ order) (receipt, error) {
			err := reserves(ctx)
			*dead = true
			return receipt{}, errors.Join(err, errCard)
		}).mustFail(5, errAny)
		s.later(play(marks), c.fails)
		want := len(c.before)
		if c.fails == nil {
			want++
		}
		assert.Equal(t, want, charged)
	})
}

// Of an effect that may have begun unseen the mark is written before anybody is asked: a resolver
// that says Untouched lets it run.
func TestNobodyIsAskedAboutAnEffectWhoseMarkCannotBeWritten(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		asked, charged := 0, 0
		asks := idempotent.AtMostOnce(func(context.Context, idempotent.Execution) (idempotent.Resolution[int], error) {
			asked++
			return idempotent.Untouched[int](), nil
		})
		first := newShop(t)
		first.wrap(calls.OnCall(3, calls.DieBefore)) // behind the claim and the first step
		first.doing(func(ctx context.Context, _ order) (receipt, error) {
			return receipt{}, errors.Join(reserves(ctx), errCard)
		}).mustFail(5, errAny)
		time.Sleep(time.Minute)

		marks := true
		next := first.sandbox(when(calls.Deny, func(c calls.Call) bool {
			return marks && stepWrite(c, "charge", store.StepStarted)
		})).doing(func(ctx context.Context, o order) (receipt, error) {
			return charges(ctx, o, &charged, asks)
		})
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
		charged := 0
		s, dead := dying(t)
		play := func(dies bool, opts ...idempotent.StepOption[int]) handler {
			return func(ctx context.Context, o order) (receipt, error) {
				*dead = dies
				return charges(ctx, o, &charged, opts...)
			}
		}
		marks := idempotent.AtMostOnce[int](nil)
		s.doing(play(true)).mustFail(5, errAny) // plain
		*dead = false
		time.Sleep(time.Minute)
		second := s.sandbox(while(dead, calls.DieBefore)).doing(play(false, marks))
		_, err := second.handler.Handle(t.Context(), order{ID: "o-0", Amount: 5})
		require.NoError(t, err)
		second.doing(func(context.Context, order) (receipt, error) { *dead = true; return receipt{}, errCard })
		second.mustFail(5, errAny)
		s.later(play(false, marks), idempotent.ErrUnknownOutcome)
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
			takesOver := func(c calls.Call) bool { return c.Op == swap && c.Next.Attempt == 2 }
			s.sandbox(when(calls.LoseReply, takesOver)).mustFail(5, idempotent.ErrStoreUnavailable)
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
