package consumers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryMistakeIsFound plays scenarios with a loop that somebody has written by hand, with one
// mistake after the other, and expects the search to find a schedule that breaks a rule.
func TestEveryMistakeIsFound(t *testing.T) {
	const acknowledged, order = "only what is done is acknowledged", "a group keeps its order"
	const done, lease = "what is done in a batch is not named", "that of the lease"
	for name, c := range map[string]struct {
		scenario string
		mistakes mistakes
		breaks   string
	}{
		"what is in progress is acknowledged": {
			"a message that is handed over twice", mistakes{acknowledgesInProgress: true}, acknowledged,
		},
		"what is in progress is acknowledged in FIFO": {
			"a FIFO queue that is not patient", mistakes{acknowledgesInProgress: true}, acknowledged,
		},
		"what failed is acknowledged":                 {"a queue", mistakes{acknowledgesFailures: true}, acknowledged},
		"a group goes on after a failure":             {"a FIFO queue", mistakes{goesOnInGroup: true}, order},
		"a group of a stream goes on after a failure": {"a stream", mistakes{goesOnInGroup: true}, order},
		"an item of a table goes on after a failure":  {"changes of a table", mistakes{goesOnInGroup: true}, order},
		"what was not begun is acknowledged": {
			"a FIFO queue", mistakes{acknowledgesUnbegun: true}, acknowledged,
		},
		"a queue is told of the first failure only": {"a queue", mistakes{namesOnlyTheFirst: true}, acknowledged},
		"a stream is told the highest number":       {"a stream", mistakes{namesHighest: true}, acknowledged},
		"numbers are compared as texts":             {"a stream", mistakes{comparesAsText: true}, acknowledged},
		"poison is dropped": {
			"poison that nobody takes", mistakes{dropsPoison: true}, acknowledged,
		},
		"poison without a key is dropped": {
			"a dead-letter queue", mistakes{dropsPoison: true}, acknowledged,
		},
		"an unknown outcome is dropped": {"endings", mistakes{acknowledgesUnknown: true}, acknowledged},
		"a function for final failures is not waited for": {
			"endings", mistakes{acknowledgesBeforeFunction: true}, acknowledged,
		},
		"the error of a function is ignored": {"endings", mistakes{ignoresFunction: true}, acknowledged},
		"a panic is a success":               {"endings", mistakes{panicIsSuccess: true}, acknowledged},
		"records begin near the deadline": {
			"a slow handler", mistakes{beginsLate: true}, "nothing is begun without the time for it",
		},
		"copies run at once": {"copies", mistakes{copiesAtOnce: true}, "copies run one after the other"},
		"a message runs twice in a batch": {
			"a queue that hands over twice", mistakes{runsTwice: true}, "a message runs once",
		},
		"an answer has an empty identifier": {"a queue", mistakes{namesNothing: true}, "an answer names records"},
		"an answer names what is not there": {"a queue", mistakes{namesStranger: true}, "an answer names records"},
		"everything comes again":            {"a queue", mistakes{namesAll: true}, done},
		"what a function has taken comes again": {
			"poison in a FIFO queue", mistakes{namesTaken: true}, "comes again and again",
		},
		"a final failure comes again": {"final failures", mistakes{repeatsTerminal: true}, done},
		"a function gets what it is not for": {
			"endings", mistakes{swapsFunctions: true}, "a function gets what it is for",
		},
		"a message comes back under the lease": {
			"a visibility that is too short", mistakes{shortVisibility: true}, lease,
		},
		"the rest of a group comes back earlier": {
			"a FIFO queue that is not patient", mistakes{forgetsThoseBehind: true}, lease,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, known := scenarios()[c.scenario]
			require.True(t, known)
			s.Consumer = byHand(c.mistakes)
			r := worlds().One(t, s)
			require.NotNil(t, r.Violation, "nobody missed the guard: %v; seen: %q", r, r.Names())
			assert.ErrorContains(t, r.Violation.Err, c.breaks, r.Violation)
		})
	}
}

// TestALoopWithoutMistakesKeepsTheRules shows that the rules ask for nothing that only package
// batch does.
func TestALoopWithoutMistakesKeepsTheRules(t *testing.T) {
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			s.Consumer, s.TimeSteps = byHand(mistakes{}), 0
			r := worlds().One(t, s)
			require.Nil(t, r.Violation, "%v", r.Violation)
		})
	}
}
