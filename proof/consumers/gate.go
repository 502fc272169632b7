package consumers

import (
	"context"

	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/store"
)

// errNoCall is what a process gets that has died. Nothing of it reaches anybody.
var errNoCall = &store.Error{Op: "none", Kind: store.FailureAccessDenied, NotApplied: true, Err: errDied}

// atGate makes a call of the store as invocations see it: it waits until the schedule grants it.
func atGate(ctx context.Context, c calls.Call) calls.Reply {
	g := invocationOf(ctx).ask(stop{at: atCall, key: c.Key, call: c})
	if g.dead {
		return calls.Reply{Err: errNoCall}
	}
	return g.reply
}
