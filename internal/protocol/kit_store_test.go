package protocol_test

// The kit for stores that fail. It offers
//
//   - when, while, inTurn and either, rules that say what happens to the calls of a store, and
//     outages, faults that no repetition mends
//   - isOp, renews and completes, what rules are about
//   - hook, a store with a function of a test in the place of its methods, and noAnswer, an error
//     of it

import (
	"context"
	"slices"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/memory"
	"github.com/go-idempotent/idempotent/store"
)

// outages are those that no repetition mends.
var outages = map[string]calls.Fault{
	"silent": calls.HangBefore, "refusing": calls.Refuse, "denying": calls.Deny,
}

// when does something to those calls of a store that it is about.
func when(fault calls.Fault, about func(c calls.Call) bool) rule {
	return func(c calls.Call) calls.Fault {
		if about(c) {
			return fault
		}
		return calls.Pass
	}
}

// while does something to all calls for as long as it is so.
func while(so *bool, fault calls.Fault) rule {
	return when(fault, func(calls.Call) bool { return *so })
}

// inTurn does one thing after the other to the calls that it is about, and the last one to all that
// follow.
func inTurn(about func(c calls.Call) bool, faults ...calls.Fault) rule {
	n := 0
	return func(c calls.Call) calls.Fault {
		if !about(c) {
			return calls.Pass
		}
		n++
		return faults[min(n, len(faults))-1]
	}
}

// either does what the first rule says that says anything.
func either(rules ...rule) rule {
	return func(c calls.Call) calls.Fault {
		for _, rule := range rules {
			if fault := rule(c); fault != calls.Pass {
				return fault
			}
		}
		return calls.Pass
	}
}

// isOp, renews and completes are what rules are about. The owner of a lease renews it, or writes a
// step.
func isOp(op calls.Op) func(calls.Call) bool {
	return func(c calls.Call) bool { return c.Op == op }
}

func renews(c calls.Call) bool {
	return c.Op == calls.Swap && c.Next.Status == store.StatusInProgress && c.Next.Owner == c.Seen.Owner
}

func completes(c calls.Call) bool {
	return c.Op == calls.Swap && c.Next.Status == store.StatusCompleted
}

// noRenewal loses every renewal of a lease: the process lives, but cannot keep its claim.
var noRenewal = when(calls.LoseRequest, renews)

// hook is a store in memory in the place of some of whose methods is a function of a test, which
// has the records behind it.
func hook(do func(ctx context.Context, c calls.Call, records store.Store) calls.Reply, of ...calls.Op) store.Store {
	records := memory.New()
	return calls.Store(func(ctx context.Context, c calls.Call) calls.Reply {
		if slices.Contains(of, c.Op) {
			return do(ctx, c, records)
		}
		return c.Make(ctx, records)
	})
}

// noAnswer is an error of a store. It was not applied unless that cannot be known.
func noAnswer(kind store.Failure) error {
	known := kind != store.FailureTimeout && kind != store.FailureUnavailable
	return &store.Error{Op: "call", Kind: kind, NotApplied: known, Err: errCard}
}
