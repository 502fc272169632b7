package execution

import (
	"context"
	"math/rand/v2"
	"time"
)

// Patience is how long deliveries with a context wait for other executions of their requests, in
// the place of what their handlers say.
type Patience struct {
	// Until is when the wait ends, the zero time if nobody asks for one.
	Until time.Time
	// Least is what has to be left of the invocation after the wait, to begin an execution.
	Least time.Duration
}

type patienceKey struct{}

// Patient returns a context whose deliveries wait, also those of handlers that a handler calls.
func Patient(ctx context.Context, p Patience) context.Context {
	return context.WithValue(ctx, patienceKey{}, p)
}

// PatienceOf returns how long deliveries with a context wait, zero if nobody asks for it.
func PatienceOf(ctx context.Context) Patience {
	p, _ := ctx.Value(patienceKey{}).(Patience)
	return p
}

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
