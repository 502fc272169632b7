package explore

import (
	"context"

	"github.com/go-idempotent/idempotent/internal/dev/calls"
)

// The methods of a store, apart from what deliveries ask with them: that is a [Call].
const (
	opClaim  = calls.Claim
	opSwap   = calls.Swap
	opDelete = calls.Delete
	opGet    = calls.Get
	opCommit = calls.Commit
)

// call is a call of a store, and the message that carries it.
type call struct {
	calls.Call

	// within says that a commit of the handler makes the call, try which of them.
	within bool
	try    int
}

// reply is what a call returned.
type reply = calls.Reply

// called is a store that is one function for all of its methods. Nobody may write rows in it
// without a record.
func called(do func(ctx context.Context, c call) reply) calls.Store {
	return func(ctx context.Context, c calls.Call) reply {
		if c.Op == calls.Apply {
			panic("explore: rows without a record")
		}
		return do(ctx, call{Call: c})
	}
}
