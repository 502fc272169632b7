package consumers_test

import (
	_ "embed"
	"testing"
	"time"

	"github.com/go-idempotent/idempotent/proof/consumers"
	"github.com/go-idempotent/idempotent/proof/schedules"
)

// record is one of the records of the scenarios. Its amount belongs to its key, unless it is
// another one.
func record(id, group, key string, amount ...int) consumers.Record {
	return consumers.Record{ID: id, Group: group, Key: key, Amount: append(amount, 5)[0]}
}

var (
	one      = []consumers.Record{record("m1", "g", "k1")}
	two      = []consumers.Record{record("m1", "g", "k1"), record("m2", "g", "k2")}
	copies   = []consumers.Record{record("m1", "g", "k1"), record("m2", "h", "k1")}
	mismatch = []consumers.Record{record("m1", "g", "k1"), record("m2", "h", "k1", 6)}
	keyless  = []consumers.Record{record("m1", "g", ""), record("m2", "g", "k2")}
	// crossed are two groups with the same two keys, in opposite orders.
	crossed = []consumers.Record{
		record("m1", "g", "k1"), record("m2", "h", "k2"), record("m3", "g", "k2"),
		record("m4", "h", "k1"),
	}
	// groups are two groups, the first one with two records.
	groups = []consumers.Record{record("m1", "g", "k1"), record("m2", "g", "k2"), record("m3", "h", "k3")}
	// mixed has the record of another group between those of one.
	mixed = []consumers.Record{record("m1", "g", "k1"), record("m2", "h", "k2"), record("m3", "g", "k3")}

	answers   = []consumers.Ending{consumers.Succeeds, consumers.Fails}
	final     = []consumers.Ending{consumers.Succeeds, consumers.FailsTerminal}
	uncertain = []consumers.Ending{consumers.Succeeds, consumers.FailsUncertain}
	anyhow    = []consumers.Ending{
		consumers.Succeeds, consumers.Fails, consumers.FailsTerminal,
		consumers.FailsUncertain, consumers.Panics, consumers.Exits,
	}
	deaths = []consumers.Fault{consumers.DieBefore, consumers.DieAfter}
	few    = []consumers.Fault{consumers.LoseReply, consumers.DieAfter, consumers.Late, consumers.LoseAnswer}
	lost   = []consumers.Fault{consumers.LoseAnswer, consumers.DieAfter}
)

// scenarios are small enough to be played in every test run.
func scenarios() map[string]consumers.Scenario {
	all := consumers.AllFaults()
	return map[string]consumers.Scenario{
		"a queue": {
			Source: consumers.Standard, Records: two, Batch: 2, Polls: 2, Processes: 1, Endings: answers,
			Faults: lost, MaxFaults: 2,
		},
		"a message that is handed over twice": {
			Source: consumers.Standard, Records: one, Batch: 2, Polls: 2, Processes: 2, Doubles: 1, Endings: answers,
			Faults: all, TimeSteps: 1, Poison: true, Visible: true,
		},
		"a message that is handed over three times": {
			Source: consumers.Standard, Records: one, Batch: 2, Polls: 3, Processes: 3, Doubles: 2, Twice: true,
			Visible: true, Faults: deaths,
		},
		"a queue that hands over twice": {
			Source: consumers.Standard, Records: two, Batch: 2, Polls: 2, Processes: 2, Doubles: 1, Twice: true,
			Endings: answers,
		},
		"copies": {
			Source: consumers.Standard, Records: copies, Batch: 2, Polls: 2, Processes: 1, Endings: anyhow,
			Faults: deaths, Receives: 4, Terminal: true,
		},
		"endings": {
			Source: consumers.Standard, Records: two, Batch: 2, Polls: 2, Processes: 1, Endings: anyhow,
			Terminal: true, Poison: true,
			Faults: []consumers.Fault{
				consumers.FailBefore, consumers.FailAfter, consumers.DieAfter, consumers.PanicAfter,
				consumers.LoseAnswer,
			},
		},
		"poison": {
			Source: consumers.Standard, Records: mismatch, Batch: 1, Polls: 3, Processes: 2, Endings: uncertain,
			Faults: all, Poison: true,
		},
		"poison that nobody takes": {
			Source: consumers.Standard, Records: mismatch, Batch: 2, Polls: 2, Processes: 1, Endings: anyhow,
			Receives: 3, Faults: lost, MaxFaults: 2,
		},
		"a visibility that is too short": {
			Source: consumers.Standard, Records: one, Batch: 1, Polls: 3, Processes: 2, Visibility: 5 * time.Second,
			Endings: answers, Faults: all, TimeSteps: 2, Visible: true,
		},
		"a dead-letter queue": {
			Source: consumers.Standard, Records: keyless, Batch: 2, Polls: 3, Processes: 1, Endings: answers,
			Receives: 2, TimeSteps: 2,
		},
		"a FIFO queue": {
			Source: consumers.FIFO, Records: groups, Batch: 3, Polls: 2, Processes: 1, Endings: answers, TimeSteps: 1,
		},
		"a FIFO queue with faults": {
			Source: consumers.FIFO, Records: two, Batch: 2, Polls: 2, Processes: 1, Endings: final, Faults: all,
			MaxFaults: 2, TimeSteps: 1, Terminal: true, Visible: true,
		},
		"a FIFO queue that is not patient": {
			Source: consumers.FIFO, Records: two, Batch: 2, Polls: 2, Processes: 2, Visibility: 5 * time.Second,
			Endings: answers, Faults: few, TimeSteps: 2, Visible: true,
		},
		"one group at a time": {
			Source: consumers.FIFO, Records: mixed, Batch: 3, Polls: 2, Processes: 1, Concurrency: 1, Endings: anyhow,
			Faults: few, Receives: 3, Terminal: true, Visible: true,
		},
		"copies in two batches": {
			Source: consumers.Standard, Records: copies, Batch: 1, Polls: 3, Processes: 2, Endings: answers,
			Faults: deaths, TimeSteps: 1, Visible: true,
		},
		"poison in a FIFO queue": {
			Source: consumers.FIFO, Records: keyless, Batch: 2, Polls: 2, Processes: 1, Endings: answers, Faults: all,
			MaxFaults: 2, Poison: true,
		},
		"a stream": {Source: consumers.Kinesis, Records: mixed, Batch: 3, Polls: 2, Processes: 1, Endings: answers},
		"a stream with faults": {
			Source: consumers.Kinesis, Records: two, Batch: 2, Polls: 3, Processes: 1, Endings: final, Faults: all,
			MaxFaults: 2, Bisects: true, TimeSteps: 1, Terminal: true,
		},
		"a stream that hands over twice": {
			Source: consumers.Kinesis, Records: two, Batch: 2, Polls: 2, Processes: 2, Doubles: 1, Endings: answers,
			TimeSteps: 1,
		},
		"poison in a stream": {
			Source: consumers.DynamoDB, Records: keyless, Batch: 2, Polls: 3, Processes: 1, Endings: uncertain,
			Retries: 2, Bisects: true, Faults: all, MaxFaults: 2,
		},
		"final failures": {
			Source: consumers.Standard, Records: two, Batch: 2, Polls: 2, Processes: 1, Endings: final, Faults: lost,
		},
		"a slow handler": {
			Source: consumers.FIFO, Records: two, Batch: 2, Polls: 2, Processes: 1, Endings: answers, TimeSteps: 2,
			Faults: few,
		},
		"slow copies": {
			Source: consumers.Standard, Records: copies, Batch: 2, Polls: 2, Processes: 1, Endings: answers,
			TimeSteps: 2,
		},
		"copies in two groups": {
			Source: consumers.FIFO, Records: crossed, Batch: 4, Polls: 1, Processes: 1, Faults: deaths,
		},
		"copies in a stream": {
			Source: consumers.Kinesis, Records: copies, Batch: 2, Polls: 3, Processes: 1, Endings: anyhow,
			Faults: lost, MaxFaults: 2, Retries: 3, Bisects: true, Terminal: true, Poison: true,
		},
		"changes of a table": {
			Source: consumers.DynamoDB, Records: mixed, Batch: 3, Polls: 2, Processes: 1,
			Endings: []consumers.Ending{consumers.Succeeds, consumers.Panics}, Faults: deaths, Poison: true,
		},
	}
}

//go:embed testdata/long.txt
var long string

// worlds are the scenarios of this run.
func worlds() schedules.Worlds[consumers.Scenario] {
	return schedules.Worlds[consumers.Scenario]{All: scenarios(), Run: consumers.Run, Long: long, Seen: mustBeSeen}
}

func TestEveryScheduleKeepsTheRules(t *testing.T) { worlds().Search(t) }

// mustBeSeen is what the scenarios together have to lead to. A search that never gets there proves
// nothing about it.
var mustBeSeen = []string{
	"delivery: executed", "delivery: replayed", "delivery: in progress", "delivery: mismatch",
	"delivery: missing key", "delivery: panicked", "delivery: store unavailable", "delivery: unknown outcome",
	"handler succeeds", "handler fails", "handler fails for ever", "handler fails, the downstream may have acted",
	"handler panics", "handler ends its goroutine", "call: is lost", "call: is applied, its reply is lost",
	"call: fails for good", "call: is applied, then fails for good", "call: is never sent: the process dies",
	"call: is applied, the process dies", "handler: is never sent: the process dies",
	"final failures: fails for good", "final failures: panics", "final failures: is applied, the process dies",
	"final failures taken", "poison: fails for good", "poison: panics", "poison: is applied, the process dies",
	"poison taken", "visibility: fails for good", "visibility: panics", "visibility: is on its way, and fails",
	"late change of the visibility", "visibility changed", "answer: is lost on its way back", "handed over twice",
	"given up by the queue", "given up by the mapping", "bisected", "timeout", "takeover", "tried once more",
	"outcome unknown", "result stored",
}
