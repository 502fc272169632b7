package explore

import (
	"testing"

	"github.com/go-idempotent/idempotent/store"
)

// operatorScenarios are those in which a person settles, releases or deletes what it was shown a
// while ago.
func operatorScenarios() map[string]Scenario {
	deeds := AllDeeds()
	some := []Deed{SettlesExecuted, SettlesNotExecuted, Deletes}
	lost := []Fault{
		LoseRequest, LoseReply, LoseLate, FailBefore, FailAfter,
		FailLate, Repeat,
	}
	mayBeUncertain := []Ending{Succeeds, FailsUncertain}
	return map[string]Scenario{
		"operator: two deliveries that overrun their lease": {
			Clients: clients(2, 1), Endings: mayFail, LeaseSteps: 2, Deeds: deeds,
		},
		"operator: every ending": {Clients: clients(1, 2), Endings: anyEnd, LeaseSteps: 1, Deeds: deeds},
		"operator: unrepeatable": {
			Clients: clients(2, 1), Endings: mayBeUncertain, LeaseSteps: 1, Deeds: deeds, Unrepeatable: true,
		},
		"operator: a crash": {
			Clients: clients(2, 1), LeaseSteps: 1, Deeds: deeds, Faults: []Fault{DieAfter, DieLate}, Unrepeatable: true,
		},
		"operator: its message meets a fault": {
			Clients: clients(2, 1), Endings: mayBeUncertain, LeaseSteps: 1, Deeds: deeds, Faults: lost,
			Strikes: only(OfOperator),
		},
		"operator: a message of an owner is late": {
			Clients: clients(2, 1), LeaseSteps: 1, Deeds: some, Faults: []Fault{LoseLate, Repeat},
			Strikes: only(Claim, Takeover, Completion, Undo),
		},
		"operator: two requests, and the expiry": {
			Clients: rivals, Endings: mayBeUncertain, LeaseSteps: 1, ExpirySteps: 1, Deeds: some,
		},
		"operator: a resolver": {
			Clients: clients(2, 1), Endings: mayBeUncertain, LeaseSteps: 1, Deeds: deeds, Resolver: true,
		},
		"operator: timed, renewals that fail": {
			Clients: []Client{renewing, dated}, Timed: true, TimeSteps: 3, Deeds: deeds,
			Faults: []Fault{LoseLate, SlowRequest}, Strikes: only(Renewal),
		},
	}
}

// TestEveryGuardOfAnOperatorIsMissed takes out what keeps an operator and an owner apart.
func TestEveryGuardOfAnOperatorIsMissed(t *testing.T) {
	const overruns = "operator: two deliveries that overrun their lease"
	requireMissed(t, map[string]missing{
		"a swap that does not compare the owner": {
			overruns, "I11",
			alters(opSwap, func(h store.Record, c *call) {
				if h.Status == c.Seen.Status && c.Next.SettledBy != "" {
					c.Seen = h
				}
			}),
		},
		"a delete that does not compare the owner": {
			overruns, "I11",
			alters(opDelete, func(h store.Record, c *call) {
				if h.Status == c.Seen.Status {
					c.Seen = h
				}
			}),
		},
		"a settlement that leaves the owner": {
			overruns, "I11",
			alters(opSwap, func(_ store.Record, c *call) {
				if c.Next.Reason == store.ReasonReleased {
					c.Next.Owner = c.Seen.Owner
				}
			}),
		},
		"a settlement that leaves no name": {
			"operator: unrepeatable", "I11",
			alters(opSwap, func(_ store.Record, c *call) { c.Next.SettledBy = "" }),
		},
	})
}
