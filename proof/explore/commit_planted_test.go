package explore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/internal/dev/rows"
	"github.com/go-idempotent/idempotent/store"
)

// unfenced is a fault of fences: a Swap that does nothing but move the lease of its owner a little
// moves nothing.
var unfenced = alters(opSwap, func(h store.Record, c *call) {
	next := c.Next
	if c.Seen.Owner == next.Owner && next.Status == store.StatusInProgress && len(next.Steps) == 0 &&
		next.Lease.Sub(next.Lease.Truncate(time.Second)) > 0 {
		c.Next.Lease = h.Lease
	}
})

// TestEveryGuardOfACommitInAStoreIsMissed takes out one guard after the other and expects the
// search to find a schedule that breaks an invariant.
func TestEveryGuardOfACommitInAStoreIsMissed(t *testing.T) {
	ctx := context.Background()
	const stale, twice, gate = "commit: three deliveries, stale owners", "commit: two deliveries, each sent twice",
		"commit: a gate for two"
	// answered is a fault of what a commit returns.
	answered := func(as func(s store.Store, c call, got *reply)) fault {
		return instead(opCommit, func(s store.Store, _ store.Record, c call) reply {
			got := c.Make(ctx, s)
			as(s, c, &got)
			return got
		})
	}
	requireMissed(t, map[string]missing{
		"a commit does not compare the owner": {
			stale, "I5 a stale owner changes nothing",
			alters(opCommit, func(h store.Record, c *call) {
				if h.Status == store.StatusInProgress {
					c.Seen = h
				}
			}),
		},
		"a commit does not compare the status": {
			"commit: refuse", "who does not own the record",
			alters(opCommit, func(h store.Record, c *call) {
				if h.Owner == c.Seen.Owner && h.Status == store.StatusUnknown {
					c.Seen = h
				}
			}),
		},
		"a commit does not compare the lease": {
			gate, "I9 what a commit says",
			alters(opCommit, func(_ store.Record, c *call) { c.Seen.Lease = time.Time{} }),
		},
		"a fence moves nothing": {gate, "I9 what a commit says", unfenced},
		"the writes come before the record": {
			stale, "I5 a stale owner changes nothing",
			instead(opCommit, func(s store.Store, _ store.Record, c call) reply {
				if err := s.(*rows.Table).Apply(ctx, c.Writes, ""); err != nil {
					return reply{Err: err}
				}
				c.Op = opSwap
				return c.Make(ctx, s)
			}),
		},
		"the record comes without the writes": {
			twice, "without its rows",
			alters(opCommit, func(_ store.Record, c *call) { c.Op = opSwap }),
		},
		"the record comes although the writes are refused": {
			gate, "without its rows",
			answered(func(s store.Store, c call, got *reply) {
				if errors.Is(got.Err, store.ErrWritesRefused) {
					c.Op = opSwap
					*got = c.Make(ctx, s)
				}
			}),
		},
		"the writes are forgotten in the seal": {
			twice, "without its answer",
			alters(opCommit, func(_ store.Record, c *call) {
				c.Next.Seal = store.Seal(c.Next.Owner, c.Next.Result)
			}),
		},
		"another answer is stored": {
			twice, `with the answer "5 by nobody"`,
			alters(opCommit, func(_ store.Record, c *call) {
				c.Next.Result = []byte(`{"by":"nobody","amount":5}`)
			}),
		},
		"a token is known that was not applied": {
			"commit: one fault", "I9 what a commit says",
			answered(func(_ store.Store, c call, got *reply) {
				if got.Err == nil && !got.Done && got.Held.Owner != c.Seen.Owner {
					*got = reply{Done: true}
				}
			}),
		},
		"a refusal is told of a commit that was applied": {
			gate, "I9 what a commit says",
			answered(func(_ store.Store, _ call, got *reply) {
				if got.Done {
					*got = reply{Err: &store.Error{
						Op: "commit", Kind: store.FailureRejected, NotApplied: true,
						Err: store.ErrWritesRefused,
					}}
				}
			}),
		},
		"the fence of a commit that failed moves nothing": {
			"commit: a fault, and one of the settlement", "I9 what a commit says", unfenced,
		},
		"a release deletes what was committed": {
			"commit: a gate that opens", "I2",
			alters(opDelete, func(h store.Record, c *call) {
				if h.Owner == c.Seen.Owner {
					c.Seen = h
				}
			}),
		},
		"steps stay": {
			"commit: after steps", "I9 a commit is not given up",
			instead(opCommit, func(s store.Store, h store.Record, c call) reply {
				if h.Status == store.StatusInProgress && len(h.Steps) == 0 {
					return c.Make(ctx, s)
				}
				return reply{Err: &store.Error{Op: "commit", Kind: store.FailureThrottled, NotApplied: true}}
			}),
		},
	})
}
