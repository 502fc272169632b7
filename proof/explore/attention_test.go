package explore

import (
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// attentionScenarios are those in which a process may die in its first execution, and only who
// reads the index learns of it.
func attentionScenarios() map[string]Scenario {
	crash := []Fault{DieAfter, DieBefore, DieLate}
	late := []Fault{LoseLate, FailLate, DieLate, Repeat}
	byIndex := asking(1, Asks{Due: true, Index: true})
	twice := asking(2, Asks{Due: true, Index: true, Tries: 2})
	told := []Verdict{Executed, Untouched}
	one := []Client{{Amount: 5, Deliveries: 1}}
	return map[string]Scenario{
		"attention: killed in the first execution, refuse": {
			Clients: append(one, byIndex), LeaseSteps: 1, Unrepeatable: true, Faults: crash,
		},
		"attention: asked twice": {
			Clients: append(one, twice), LeaseSteps: 1, DueSteps: 1, Unrepeatable: true, Faults: crash,
		},
		"attention: killed in the first execution, a resolver": {
			Clients: append(one, byIndex), LeaseSteps: 1, Resolver: true, Faults: crash,
		},
		"attention: killed, and a retry": {
			Clients: append(clients(2, 1), byIndex), Endings: mayFail, LeaseSteps: 1, Unrepeatable: true, Faults: crash,
			Verdicts: told,
		},
		"attention: a completion is late": {
			Clients: append(one, byIndex), Endings: mayFail, LeaseSteps: 1, Unrepeatable: true, Faults: late,
			Verdicts: told,
		},
		"attention: an owner comes back": {
			Clients: append(clients(2, 1), byIndex), Endings: anyEnd, LeaseSteps: 2, Unrepeatable: true, Verdicts: told,
		},
		"attention: steps": {
			Clients: append(one, byIndex), Endings: mayFail, LeaseSteps: 1, Unrepeatable: true,
			Steps: []Step{{Name: "a"}}, Faults: crash, Verdicts: told, Effects: []Effect{Happens, MayHappen},
		},
		"attention: an operator": {
			Clients: append(one, byIndex), LeaseSteps: 1, Unrepeatable: true, Deeds: AllDeeds(), Verdicts: told,
			Faults: crash,
		},
		"attention: the expiry": {
			Clients: append(clients(1, 2), byIndex), Endings: mayFail, LeaseSteps: 1, ExpirySteps: 1,
			Unrepeatable: true, Faults: crash, Verdicts: told,
		},
		"attention: timed, beside renewals": {
			Clients: []Client{renewing, byIndex}, Timed: true, TimeSteps: 6, Unrepeatable: true, Verdicts: told,
			Faults: []Fault{LoseLate, SlowRequest, DieLate}, Strikes: only(Renewal),
		},
	}
}

// TestACrashThatNobodyListsIsMissed takes the attention out of claims, and leaves it in what is
// settled.
func TestACrashThatNobodyListsIsMissed(t *testing.T) {
	unlisted := alters(opClaim, func(_ store.Record, c *call) {
		c.Next.Attention, c.Next.AttentionAt = "", time.Time{}
	})
	requireMissed(t, map[string]missing{
		"a claim that refuses crashes carries no attention": {
			"attention: killed in the first execution, refuse", "I13 no open record is lost", unlisted,
		},
		"a claim that has a resolver carries none": {
			"attention: killed in the first execution, a resolver", "I13 no open record is lost", unlisted,
		},
		"a completion keeps it": {
			"attention: an owner comes back", "I13 nothing is on the list",
			alters(opSwap, func(_ store.Record, c *call) {
				if c.Next.Status == store.StatusCompleted {
					c.Next.Attention, c.Next.AttentionAt = c.Seen.Attention, c.Seen.AttentionAt
				}
			}),
		},
		"a claim of a handler that executes again carries it": {
			"two deliveries, ends of leases and expiry", "I13 nothing is on the list",
			alters(opClaim, func(_ store.Record, c *call) {
				c.Next.Attention, c.Next.AttentionAt = store.AttentionOf(c.Key), c.Next.Lease
			}),
		},
	})
}
