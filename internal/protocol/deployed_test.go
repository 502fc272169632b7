package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// A version that marks no step dies while it charges. The next version must not charge twice:
// nothing in the record says whether the charge has begun.
func TestStepsOfAVersionThatMarkedNoneAreNoProof(t *testing.T) {
	for name, c := range map[string]struct {
		before, now []idempotent.Option
		unknown     bool
	}{
		"none before": {nil, []idempotent.Option{unrepeatable()}, true},
		"Unrepeatable before": {
			[]idempotent.Option{unrepeatable()},
			[]idempotent.Option{unrepeatable()},
			false,
		},
	} {
		bubble(t, name, func(t *testing.T) {
			dead := false
			s := newShop(t)
			first := s.sandbox(while(&dead, storetest.DieBefore), c.before...)
			charged := 0
			do := func(ctx context.Context, o order) (receipt, error) {
				_, err := idempotent.Step(ctx, "reserve", func(context.Context) (int, error) { return 1, nil })
				if err != nil {
					return receipt{}, err
				}
				if !c.unknown && charged == 0 {
					dead, charged = true, 1 // it dies between the two
					return receipt{}, errCard
				}
				_, err = idempotent.Step(ctx, "charge", func(context.Context) (int, error) {
					dead = true
					charged++
					return 7, nil
				})
				return receipt{7, o.Amount}, err
			}
			first.do = do
			_, _ = first.handle(5)
			dead = false
			time.Sleep(time.Minute)
			next := s.sandbox(nil, c.now...)
			next.do = do
			charged, c.unknown = 1, true
			_, err := next.handle(5)
			if name == "none before" {
				require.ErrorIs(t, err, idempotent.ErrUnknownOutcome)
				assert.Equal(t, store.StatusUnknown, s.mustRecord().Status)
				assert.Equal(t, 1, charged)
			} else {
				require.NoError(t, err, "the steps tell all")
				assert.Equal(t, 2, charged)
			}
		})
	}
}

// A function under AWS Powertools dies. Nothing says whether it had its effect, and it marked
// nothing.
func TestAnExecutionOfPowertoolsThatCrashedMarkedNoSteps(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newShop(t)
		s.put(func(r *store.Record) {
			crashed(r)
			r.Owner, r.Attempt = "", 0
		})
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := take(ctx, "plain")
			require.NoError(t, err)
			_, err = take(ctx, "charge", once())
			return receipt{1, o.Amount}, err
		}
		s.mustFail(5, idempotent.ErrUnknownOutcome)
		assert.Equal(t, 1, s.count("plain"))
		assert.Zero(t, s.count("charge"))
		assert.Equal(t, store.StatusUnknown, s.mustRecord().Status)
	})
}
