package execution

import (
	"context"

	"github.com/go-idempotent/idempotent/store"
)

// Commits is the hook of a commit: what the execution that a context belongs to does with it.
type Commits interface {
	// Commit completes the record of the execution with the answer and applies the writes with it,
	// both or neither. Unfit, unless nil, is why there are no writes: nothing is sent then. Commit
	// returns nil if it has happened, an error of the store that is [store.ErrWritesRefused], or a
	// [Fault] in its documented form.
	Commit(ctx context.Context, answer any, writes store.Writes, unfit error) error
}

// CommitsOf returns what takes the commits of the delivery that a context belongs to, protected or
// not. It is nil if there is none.
func CommitsOf(ctx context.Context) Commits {
	switch of := ctx.Value(claimKey{}).(type) {
	case *Claim:
		return of.Commits
	case unprotected:
		return of.commits
	default:
		return nil
	}
}
