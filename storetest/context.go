package storetest

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/calls"
)

// contextChecks make each call with a context that is over before it.
func contextChecks() (checks []check) {
	for _, ended := range []struct {
		name string
		end  func(ctx context.Context) (context.Context, context.CancelFunc)
	}{
		{"was cancelled", context.WithCancel},
		{"is past its deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithDeadline(ctx, time.Now().Add(-time.Second))
		}},
	} {
		for _, made := range []struct {
			name  string
			first kind
			turn  turn
		}{
			{"Claim", nil, claim()},
			{"Swap", inProgress, swap(takeover)},
			{"completion", inProgress, complete(charged)},
			{"Delete", inProgress, remove()},
			{"Get", inProgress, turn{op: calls.Get}},
			{"ReadResult", like(inProgress, completion(large)), turn{op: calls.ReadResult}.asRead()},
		} {
			checks = append(checks, check{"that " + ended.name + " fails a " + made.name, func(p *probe) {
				k := p.begin(made.first)
				c := k.call(made.turn)
				if c.Op == calls.ReadResult && c.Seen.Parts == "" {
					p.t.Skipf("the store keeps a result of %d bytes inside its record", len(c.Seen.Result))
				}
				k.fails(c, ended.end)
				if c.Op == calls.Commit {
					k.fails(k.commits.with(call{Call: calls.Call{Op: calls.Apply}}, []rowKind{added}), ended.end)
				}
			}, made.turn.completes})
		}
	}
	return checks
}

// fails makes a call whose context has ended. If the store says that it was not applied, it was
// not; if it leaves that open, the record may be either way.
func (k *kept) fails(c call, end func(ctx context.Context) (context.Context, context.CancelFunc)) {
	k.t.Helper()
	ctx, cancel := end(k.t.Context())
	cancel()
	got, err := c.once(ctx, k.store)
	if k.failed(c, err) {
		k.holds()
		k.commits.settle(k.probe, c, false)
	}
	if got.done {
		k.t.Fatalf("%s with a context that has ended reports that it was done", c.Op)
	}
}
