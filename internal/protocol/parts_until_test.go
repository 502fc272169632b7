package protocol_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/storetest"
)

// A record may become UNKNOWN for as long as the configuration says, and be executed after that.
func TestAStepAsksItsPartsToLiveAsLongAsItsRecordCan(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const kept = 90 * 24 * time.Hour
		s := newShop(t, idempotent.WithTiming(idempotent.Timing{UnknownRetention: kept}))
		s.do = func(ctx context.Context, o order) (receipt, error) {
			_, err := idempotent.Step(ctx, "charge", func(context.Context) (int, error) { return 1, nil })
			return receipt{1, o.Amount}, err
		}
		s.mustHandle(5)
		asked := false
		for _, c := range s.store.Calls() {
			if step, is := c.Next.Steps["charge"]; is && c.Op == storetest.OpSwap {
				asked = true
				assert.Equal(t, c.Next.Expiry.Add(2*kept), step.Until)
			}
		}
		assert.True(t, asked)
	})
}
