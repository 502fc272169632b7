package explore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-idempotent/idempotent/internal/dev/calls"
	"github.com/go-idempotent/idempotent/store"
)

// fault makes the calls of a store of which one guard was taken out.
type fault func(s store.Store, c call) reply

// instead is a fault of the calls of one method. It knows the record that is held.
func instead(op calls.Op, do func(s store.Store, h store.Record, c call) reply) fault {
	return func(s store.Store, c call) reply {
		if c.Op != op {
			return c.Make(context.Background(), s)
		}
		return do(s, held(s, c.Key), c)
	}
}

// alters makes another call of those of one method.
func alters(op calls.Op, as func(h store.Record, c *call)) fault {
	return instead(op, func(s store.Store, h store.Record, c call) reply {
		as(h, &c)
		return c.Make(context.Background(), s)
	})
}

// held is the record under a key, as seen by a write that does not look.
func held(s store.Store, key string) store.Record {
	r, _, err := s.Get(context.Background(), key)
	if err != nil {
		panic(err)
	}
	return r
}

// missing is a guard that was taken out, the scenario in which that shows, and what it breaks.
type missing struct {
	scenario, breaks string
	fault            fault
}

// requireMissed searches for a schedule that breaks an invariant, one guard after the other.
func requireMissed(t *testing.T, all map[string]missing) {
	t.Helper()
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			requireBroken(t, c.scenario, c.breaks, func(s *Scenario) { s.Plant = c.fault })
		})
	}
}

// requireBroken searches a scenario with a fault planted, and requires a schedule that breaks a
// rule.
func requireBroken(t *testing.T, scenario, rule string, plant func(*Scenario)) {
	t.Helper()
	s, found := scenarios()[scenario]
	require.True(t, found, scenario)
	plant(&s)
	r := searchOf(t, s)
	require.NotNil(t, r.Violation, "no schedule shows that the guard is gone")
	assert.Contains(t, r.Violation.Err.Error(), rule)
	assert.NotEmpty(t, r.Violation.Story)
}

// TestEveryGuardOfTheStoreIsMissed takes out one guard after the other and expects the search to
// find a schedule that breaks an invariant.
func TestEveryGuardOfTheStoreIsMissed(t *testing.T) {
	requireMissed(t, map[string]missing{
		"claims over a record in progress": {
			"three deliveries", "I5",
			alters(opClaim, func(h store.Record, c *call) {
				if h.Status == store.StatusInProgress {
					c.Op, c.Seen = opSwap, h
				}
			}),
		},
		"claims over a completed record that has not expired": {
			"three deliveries", "I2",
			alters(opClaim, func(_ store.Record, c *call) { c.Now = c.Now.Add(48 * time.Hour) }),
		},
		"swaps without looking": {
			"three deliveries", "I2",
			alters(opSwap, func(h store.Record, c *call) { c.Seen = h }),
		},
		"deletes without looking": {
			"three deliveries", "I2",
			alters(opDelete, func(h store.Record, c *call) { c.Seen = h }),
		},
		"does not show what refuses": {
			"three deliveries", "I4",
			instead(opClaim, func(s store.Store, _ store.Record, c call) reply {
				return reply{Done: c.Make(context.Background(), s).Done}
			}),
		},
		"loses a result": {
			"three deliveries", "I2",
			alters(opSwap, func(_ store.Record, c *call) { c.Next.Result = nil }),
		},
		"releases what is to be completed": {
			"three deliveries", "I7 a record whose handler has a result is not released",
			alters(opSwap, func(h store.Record, c *call) {
				if c.Next.Status == store.StatusCompleted {
					c.Op, c.Seen = opDelete, h
				}
			}),
		},
		"loses the owner": {
			"three deliveries", "I6",
			alters(opClaim, func(_ store.Record, c *call) { c.Next.Owner = "somebody" }),
		},
		"lets a delayed renewal shorten a lease": {
			"timed: a fault of a renewal", "I1 a lease only grows",
			instead(opSwap, func(s store.Store, h store.Record, c call) reply {
				if next := c.Next; h.Status == next.Status && h.Owner == next.Owner && next.Lease.Before(h.Lease) {
					nobody := h
					nobody.Owner = "nobody"
					if _, swapped, err := s.Swap(context.Background(), c.Seen, nobody); err != nil || !swapped {
						return reply{Held: h, Err: err}
					}
					c.Seen = nobody
				}
				return c.Make(context.Background(), s)
			}),
		},
		"does not give an expired UNKNOWN away": {
			"unknown and expired", "I4",
			instead(opClaim, func(s store.Store, h store.Record, c call) reply {
				if h.Status == store.StatusUnknown {
					return reply{Held: h}
				}
				return c.Make(context.Background(), s)
			}),
		},
		"loses the fingerprint": {
			"two requests under one key", "I3",
			alters(opClaim, func(_ store.Record, c *call) { c.Next.Fingerprint = "1:x" }),
		},
	})
}
