package execution

import (
	"context"
	"math/rand/v2"
	"time"
)

type steadyKey struct{}

// Steady returns a context under which no wait is random, for searches that have to repeat
// themselves.
func Steady(ctx context.Context) context.Context { return context.WithValue(ctx, steadyKey{}, true) }

// Jitter returns a random part of a wait, and under a context of [Steady] half of it.
func Jitter(ctx context.Context, longest time.Duration) time.Duration {
	if ctx.Value(steadyKey{}) != nil {
		return longest / 2
	}
	return time.Duration(rand.Int64N(int64(longest))) //nolint:gosec // not a secret
}
