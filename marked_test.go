package idempotent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/storetest"
)

// What a version ran that marked no steps is open for the next version, which marks them: its effect may have happened.
func TestADeploymentThatAddsMarksMeetsWhatRanWithoutThemAsOpen(t *testing.T) {
	dead := false
	refuse := []idempotent.Option{idempotent.WithEffects(idempotent.Unrepeatable)}
	for name, next := range map[string]struct {
		charge  idempotent.StepOption[int]
		opts    []idempotent.Option
		charged int // with the first time
		fails   error
	}{
		"Unrepeatable":                 {nil, refuse, 1, idempotent.ErrUnknownOutcome},
		"Unrepeatable and AtMostOnce":  {idempotent.AtMostOnce[int](nil), refuse, 1, idempotent.ErrUnknownOutcome},
		"AtMostOnce":                   {idempotent.AtMostOnce[int](nil), nil, 1, idempotent.ErrUnknownOutcome},
		"neither: it runs once more":   {nil, nil, 2, nil},
		"Repeatable: it runs the same": {nil, []idempotent.Option{idempotent.WithEffects(idempotent.Repeatable)}, 2, nil},
	} {
		for first, reserve := range map[string]idempotent.StepOption[int]{"plain": nil, "marked": idempotent.AtMostOnce[int](nil), "none": nil} {
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
					play := func(old bool) func(context.Context, order) (receipt, error) {
						return func(ctx context.Context, o order) (receipt, error) {
							if first != "none" {
								if _, err := idempotent.Step(ctx, "reserve", func(context.Context) (int, error) { return 1, nil }, reserve); err != nil {
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
						old.wrap(func(storetest.Call) storetest.Fault {
							if dead {
								return storetest.DieBefore
							}
							return storetest.Pass
						})
						old.do = play(true)
						_, err := old.handle(5)
						require.Error(t, err)
						time.Sleep(time.Minute)
						s := old.sandbox(nil, next.opts...)
						s.do = play(false)
						_, err = s.handle(5)
						if next.fails != nil {
							require.ErrorIs(t, err, next.fails)
							_, err = s.handle(5)
							require.ErrorIs(t, err, next.fails, "and stays so")
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

// A process that has seen which steps are marked says so when it claims: then a crash before the mark of one is no open step. The first
// execution of a process cannot say it.
func TestACrashBeforeAStartMark(t *testing.T) {
	for name, c := range map[string]struct {
		executedBefore, plainBefore bool
		fails                       error
	}{
		"in a process that has executed":    {executedBefore: true},
		"in a process that has just begun":  {fails: idempotent.ErrUnknownOutcome},
		"of a step that was plain one time": {executedBefore: true, plainBefore: true, fails: idempotent.ErrUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				dead, plain, charged := false, false, 0
				play := func(dies bool) func(context.Context, order) (receipt, error) {
					return func(ctx context.Context, o order) (receipt, error) {
						if _, err := idempotent.Step(ctx, "reserve", func(context.Context) (int, error) { return 1, nil }); err != nil {
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
						n, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { charged++; return 7, nil }, option)
						return receipt{int64(n), o.Amount}, err
					}
				}
				first := newShop(t)
				first.wrap(func(storetest.Call) storetest.Fault {
					if dead {
						return storetest.DieBefore
					}
					return storetest.Pass
				})
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
				_, err := first.handle(5)
				require.Error(t, err)
				time.Sleep(time.Minute)
				plain = false
				next := first.sandbox(nil)
				next.do = play(false)
				_, err = next.handle(5)
				require.ErrorIs(t, err, c.fails)
				if c.fails == nil {
					assert.Equal(t, before+1, charged)
				} else {
					assert.Equal(t, before, charged)
				}
			})
		})
	}
}

// What a claim says of its steps holds also where the handler decides otherwise then.
func TestAStepThatTheClaimSaysIsMarkedIsMarked(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, option := newShop(t), idempotent.AtMostOnce[int](nil)
		s.do = func(ctx context.Context, o order) (receipt, error) {
			n, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { return 7, nil }, option)
			return receipt{int64(n), o.Amount}, err
		}
		for _, want := range []int{4, 4, 3} { // the claim, a mark, the result, the completion
			before := len(s.store.Calls())
			_, err := s.handler.Handle(t.Context(), order{ID: string(rune('a' + before)), Amount: 5})
			require.NoError(t, err)
			assert.Len(t, s.store.Calls()[before:], want)
			option = nil
		}
	})
}

// An execution that has returned leaves nothing open but what it began, also in a process that has just begun.
func TestAnErrorBeforeAStartMarkLeavesNothingOpen(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, fails, charged := newShop(t), true, 0
		s.do = func(ctx context.Context, o order) (receipt, error) {
			if _, err := idempotent.Step(ctx, "reserve", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return receipt{}, err
			}
			if _, err := idempotent.Step(ctx, "book", func(context.Context) (int, error) {
				if fails {
					return 0, errCard
				}
				return 1, nil
			}); err != nil {
				return receipt{}, err
			}
			n, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { charged++; return 7, nil }, idempotent.AtMostOnce[int](nil))
			return receipt{int64(n), o.Amount}, err
		}
		_, err := s.handle(5)
		require.ErrorIs(t, err, errCard)
		fails = false
		again := s.sandbox(nil)
		again.do = s.do
		_, err = again.handle(5)
		require.NoError(t, err)
		assert.Equal(t, 1, charged)
	})
}
