package idempotent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestATryUnderABudgetEnds: at the latest when the budget does, whose own end nothing waits for.
func TestATryUnderABudgetEnds(t *testing.T) {
	t.Parallel()
	for name, within := range map[string]func(context.Context, time.Time) context.Context{
		"within": within, "detached": withinDetached,
	} {
		for _, left := range []time.Duration{-time.Hour, -1, 0, 1, time.Second} {
			synctest.Test(t, func(t *testing.T) {
				budget := within(t.Context(), time.Now().Add(left))
				for part, of := range map[string]func(context.Context) (context.Context, context.CancelFunc){
					"half": halfOf, "whole": wholeOf,
				} {
					began := time.Now()
					try, cancel := of(budget)
					<-try.Done()
					cancel()
					require.ErrorIs(t, try.Err(), context.DeadlineExceeded, "%s %s %v", name, part, left)
					assert.LessOrEqual(t, time.Since(began), max(left, 0), "%s %s", name, part)
				}
			})
		}
	}
}

func TestOnlyABudgetThatIsNotDetachedEndsWithItsParent(t *testing.T) {
	t.Parallel()
	parent, cancel := context.WithCancel(context.WithValue(t.Context(), executionKey{}, "value"))
	end := time.Now().Add(time.Hour)
	attached, released := within(parent, end), withinDetached(parent, end)
	cancel()
	require.ErrorIs(t, attached.Err(), context.Canceled)
	require.NoError(t, released.Err())
	assert.Equal(t, "value", released.Value(executionKey{}))
	try, stop := halfOf(released)
	defer stop()
	require.NoError(t, try.Err())
}
