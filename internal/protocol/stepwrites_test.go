package protocol_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

// TestAStepIsOneWrite counts the writes of executions with steps, and of one that resumes them.
func TestAStepIsOneWrite(t *testing.T) {
	names := make([]string, 30)
	for i := range names {
		names[i] = fmt.Sprint("step-", i)
	}
	inSteps := func(names []string) handler {
		return func(ctx context.Context, o order) (receipt, error) {
			for _, name := range names {
				if _, err := take(ctx, name); err != nil {
					return receipt{}, err
				}
			}
			return receipt{1, o.Amount}, nil
		}
	}
	for _, n := range []int{0, 1, 3, 10, len(names)} { // one write for each, beside the completion
		deliveryCase{
			do: inSteps(names[:n]), runs: 1, left: store.StatusCompleted,
			ops: append([]storetest.Op{claim}, slices.Repeat([]storetest.Op{swap}, n+1)...),
		}.deliver(t, fmt.Sprint(n))
	}
	for name, tc := range map[string]deliveryCase{ // nothing for a step that is resumed
		"a crash without steps": {put: crashed, do: inSteps(nil)},
		"a crash behind all":    {put: crashedWith(30, "", names...), do: inSteps(names)},
	} {
		tc.runs, tc.done, tc.ops, tc.left = 1, nothing, []storetest.Op{claim, swap, swap}, store.StatusCompleted
		tc.deliver(t, name)
	}
}

// A record may become UNKNOWN for as long as the configuration says, and be executed after that.
func TestAStepAsksItsPartsToLiveAsLongAsItsRecordCan(t *testing.T) {
	const kept = 90 * 24 * time.Hour
	deliveryCase{
		opts: []idempotent.Option{idempotent.WithTiming(idempotent.Timing{UnknownRetention: kept})},
		do:   inOneStep("charge"), runs: 1, left: store.StatusCompleted, ops: []storetest.Op{claim, swap, swap},
		then: func(s *shop, _ error) {
			next := s.store.Calls()[1].Next
			assert.Equal(s.t, next.Expiry.Add(2*kept), next.Steps["charge"].Until)
		},
	}.deliver(t, "90 days")
}
