package storetest

import (
	"context"
	"time"
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
			{"Get", inProgress, turn{op: OpGet}},
			{"ReadResult", like(inProgress, completion(large)), turn{op: OpReadResult}.asRead()},
		} {
			checks = append(checks, check{"that " + ended.name + " fails a " + made.name, func(p *probe) {
				k := p.begin(made.first)
				c := k.call(made.turn)
				if c.op == OpReadResult && c.seen.Parts == "" {
					p.t.Skipf("the store keeps a result of %d bytes inside its record", len(c.seen.Result))
				}
				k.fails(c, ended.end)
				if c.op == OpCommit {
					k.fails(k.commits.with(call{op: OpApply}, []rowKind{added}), ended.end)
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
		k.t.Fatalf("%s with a context that has ended reports that it was done", c.op)
	}
}
