package explore_test

import (
	"testing"

	"github.com/go-idempotent/idempotent/proof/calls"
	"github.com/go-idempotent/idempotent/proof/explore"
	"github.com/go-idempotent/idempotent/store"
)

// operatorScenarios are those in which a person settles, releases or deletes what it was shown a
// while ago.
func operatorScenarios() map[string]explore.Scenario {
	deeds := explore.AllDeeds()
	some := []explore.Deed{explore.SettlesExecuted, explore.SettlesNotExecuted, explore.Deletes}
	lost := []explore.Fault{
		explore.LoseRequest, explore.LoseReply, explore.LoseLate, explore.FailBefore, explore.FailAfter,
		explore.FailLate, explore.Repeat,
	}
	mayBeUncertain := []explore.Ending{explore.Succeeds, explore.FailsUncertain}
	return map[string]explore.Scenario{
		"operator: two deliveries that overrun their lease": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Deeds: deeds,
		},
		"operator: every ending": {Clients: clients(1, 2), Endings: anyEnd, LeaseSteps: 1, Deeds: deeds},
		"operator: unrepeatable": {
			Clients: clients(2, 1), Endings: mayBeUncertain, LeaseSteps: 1, Deeds: deeds, Unrepeatable: true,
		},
		"operator: a crash": {
			Clients: clients(2, 1), LeaseSteps: 1, Deeds: deeds,
			Faults: []explore.Fault{explore.DieAfter, explore.DieLate}, Unrepeatable: true,
		},
		"operator: its message meets a fault": {
			Clients: clients(2, 1), Endings: mayBeUncertain, LeaseSteps: 1, Deeds: deeds, Faults: lost,
			Strikes: only(explore.OfOperator),
		},
		"operator: a message of an owner is late": {
			Clients: clients(2, 1), LeaseSteps: 1, Deeds: some,
			Faults:  []explore.Fault{explore.LoseLate, explore.Repeat},
			Strikes: only(explore.Claim, explore.Takeover, explore.Completion, explore.Undo),
		},
		"operator: two requests, and the expiry": {
			Clients: rivals, Endings: mayBeUncertain, LeaseSteps: 1, ExpirySteps: 1, Deeds: some,
		},
		"operator: a resolver": {
			Clients: clients(2, 1), Endings: mayBeUncertain, LeaseSteps: 1, Deeds: deeds, Resolver: true,
		},
		"operator: timed, renewals that fail": {
			Clients: []explore.Client{renewing, dated}, Timed: true, TimeSteps: 3, Deeds: deeds,
			Faults: []explore.Fault{explore.LoseLate, explore.SlowRequest}, Strikes: only(explore.Renewal),
		},
	}
}

// operatorMustBeSeen is what these scenarios have to lead to.
var operatorMustBeSeen = []string{
	"operator is shown: in-progress", "operator is shown: crashed", "operator is shown: unknown",
	"operator is shown: completed", "operator is shown: expired", "operator settles it as executed: done",
	"operator settles it as executed: not done", "operator settles it as not executed: done",
	"operator settles it as not executed: not done", "operator settles it as failed: done",
	"operator settles it as failed: not done", "operator releases it: done", "operator releases it: not done",
	"operator deletes it: done", "operator deletes it: not done", "operator applied: settles it as executed",
	"operator applied: settles it as not executed", "operator applied: releases it",
	"operator applied: settles it as failed", "operator applied: deletes it", "takeover of a released record",
	"superseded by a verdict", "replayed a verdict", "late change of an operator applied",
	"late change of an operator refused",
}

// TestEveryGuardOfAnOperatorIsMissed takes out what keeps an operator and an owner apart.
func TestEveryGuardOfAnOperatorIsMissed(t *testing.T) {
	const overruns = "operator: two deliveries that overrun their lease"
	requireMissed(t, map[string]missing{
		"a swap that does not compare the owner": {
			overruns, "I11",
			alters(calls.Swap, func(h store.Record, c *calls.Call) {
				if h.Status == c.Seen.Status && c.Next.SettledBy != "" {
					c.Seen = h
				}
			}),
		},
		"a delete that does not compare the owner": {
			overruns, "I11",
			alters(calls.Delete, func(h store.Record, c *calls.Call) {
				if h.Status == c.Seen.Status {
					c.Seen = h
				}
			}),
		},
		"a settlement that leaves the owner": {
			overruns, "I11",
			alters(calls.Swap, func(_ store.Record, c *calls.Call) {
				if c.Next.Reason == store.ReasonReleased {
					c.Next.Owner = c.Seen.Owner
				}
			}),
		},
		"a settlement that leaves no name": {
			"operator: unrepeatable", "I11",
			alters(calls.Swap, func(_ store.Record, c *calls.Call) { c.Next.SettledBy = "" }),
		},
	})
}
