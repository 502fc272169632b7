// Package consumers plays every schedule of the functions of package batch, to which queues and
// streams hand their records: each call of the store, each end of a handler, each answer to Lambda,
// each step of the clock and each fault is a choice, and all sequences of choices are played.
//
// The functions are real, and so is the handler that idempotent.Wrap returns, on the memory store.
// Each goroutine of a batch stops at its calls of the store, before its handler returns, and in the
// functions of the configuration, until the schedule lets it go on. One clock serves them all, that
// of a bubble of testing/synctest. The search is depth first. Where two schedules lead to the same
// state, what follows is played once.
//
// The queue and the shard are models of what AWS documents of event source mappings. After every
// step the rules of I12 are checked, one function each, see docs/guarantees.md.
package consumers

import (
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/proof/schedules"
)

// Source is where records come from.
type Source int

// The sources. A standard queue hands over a message at least once, in any order. A FIFO queue
// keeps its groups in order, a stream its whole shard.
const (
	Standard Source = iota
	FIFO
	Kinesis
	DynamoDB
)

func (s Source) stream() bool { return s == Kinesis || s == DynamoDB }

// Record is what a producer has sent.
type Record struct {
	// ID is the message id, or the event id.
	ID string
	// Group is the message group, the partition key, or the key of the item.
	Group string
	// Key is the key of the handler. A record without one is poison.
	Key string
	// Amount is what the record is about: the fingerprint.
	Amount int
}

// Scenario says what is sent, and what may happen. The zero value of a field allows nothing of its
// kind.
type Scenario struct {
	Source  Source
	Records []Record
	// Batch is how many records a batch has at most, Polls how many batches are handed over before
	// everything calms down, Processes how many invocations run at once.
	Batch, Polls, Processes int
	// Doubles is how often records are handed over that an invocation has, or, by a standard queue,
	// that were acknowledged. Twice: a standard queue may hand over a message twice in one batch.
	Doubles int
	Twice   bool
	// Visibility is the timeout of the queue, 0 for six times that of the function. Receives is how
	// often a message is handed over before the queue gives it up, 0 for any number.
	Visibility time.Duration
	Receives   int
	// Retries is how often a stream repeats a batch before it gives it up, 0 for ever. Bisects: it
	// halves a batch that has failed as a whole.
	Retries int
	Bisects bool
	// Concurrency is how many groups of a batch run at once, 0 for the default.
	Concurrency int
	// Endings are how handlers may end; none is Succeeds. Faults are what may go wrong, at most
	// MaxFaults times in a schedule: once if that is 0.
	Endings   []Ending
	Faults    []Fault
	MaxFaults int
	// TimeSteps is how often the clock may move although somebody could go on.
	TimeSteps int
	// Terminal, Poison and Visible are the functions of the configuration that the consumer has.
	Terminal, Poison, Visible bool
	// Options configure the handler.
	Options []idempotent.Option
	// Consumer makes the function that is explored, of a handler of one record. Nil is that of
	// package batch.
	Consumer func(Parts) Consumer
}

// Run plays every schedule of the scenario. It must be called in a bubble of testing/synctest.
func Run(s Scenario) schedules.Report {
	if s.Endings == nil {
		s.Endings = []Ending{Succeeds}
	}
	if s.MaxFaults == 0 && len(s.Faults) > 0 {
		s.MaxFaults = 1
	}
	st := newStage(&s)
	return schedules.Run(func(choices *schedules.Schedule) error { return newWorld(st, choices).play() })
}
