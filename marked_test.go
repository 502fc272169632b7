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
