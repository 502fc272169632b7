package idempotenttest

import (
	"context"

	"github.com/go-idempotent/idempotent/internal/execution"
)

// Marked returns the errors that idempotent.Mark has noted in a context that [Context] has made, or in one made from it, in their
// order. There are 20 at most. It panics if ctx is another one.
func Marked(ctx context.Context) []error {
	of, ok := execution.CommitsOf(ctx).(*commits)
	if !ok {
		panic("idempotenttest: Marked: the context was not made by Context")
	}
	return of.notes.All()
}
