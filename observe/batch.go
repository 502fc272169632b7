package observe

import (
	"context"
	"io"
	"time"
)

// Batch says what one invocation did with a batch of records, of a queue or a stream. It is the Report of package batch in a form that does not
// need that package; package batchobserve makes one of the other.
type Batch struct {
	// Operation is the name of the wrapped handler. Source is where the records came from: "sqs", "kinesis" or "dynamodb".
	Operation, Source string
	// Records is how many there were.
	Records int
	// What became of the records, as batch.Report counts it.
	Succeeded, Terminal, Poison, InProgress, Failed, Panicked, NotBegun int
	// Again is how many of them Lambda was told to hand over again.
	Again int
	// FunctionsFailed is for how many of them the function of an option failed.
	FunctionsFailed int
	// Took is how long the invocation took.
	Took time.Duration
	// Problems are the records that have not succeeded, without those that were not begun.
	Problems []BatchProblem
	// Err is why nothing was begun, nil if something was.
	Err error
}

// BatchProblem is a record that has not succeeded.
type BatchProblem struct {
	// ID is the message id, or the event id of the record of a stream. Outcome is what has become of it: "terminal", "poison", "in progress",
	// "failed" or "panicked".
	ID, Outcome string
	// Receives is how often the queue has handed it over, 0 for the record of a stream.
	Receives int
	// Again is true if it comes again.
	Again bool
	// Err is why. FunctionErr is what the function of an option failed with that got the record, nil if none did.
	Err, FunctionErr error
}

// Alarms hold on to the names: a name that has been published does not change.
var batchMeasures = []measure[Batch]{
	{Metric{"BatchRecordSucceeded", count}, func(b *Batch) float64 { return float64(b.Succeeded) }, nil},
	{Metric{"BatchRecordTerminal", count}, func(b *Batch) float64 { return float64(b.Terminal) }, nil},
	{Metric{"BatchRecordPoison", count}, func(b *Batch) float64 { return float64(b.Poison) }, nil},
	{Metric{"BatchRecordInProgress", count}, func(b *Batch) float64 { return float64(b.InProgress) }, nil},
	{Metric{"BatchRecordFailed", count}, func(b *Batch) float64 { return float64(b.Failed) }, nil},
	{Metric{"BatchRecordPanicked", count}, func(b *Batch) float64 { return float64(b.Panicked) }, nil},
	{Metric{"BatchRecordNotBegun", count}, func(b *Batch) float64 { return float64(b.NotBegun) }, nil},
	{Metric{"BatchRecordAgain", count}, func(b *Batch) float64 { return float64(b.Again) }, nil},
	{Metric{"BatchFunctionFailed", count}, func(b *Batch) float64 { return float64(b.FunctionsFailed) }, nil},
	{Metric{"BatchFailed", count}, func(b *Batch) float64 { return oneIf(b.Err != nil) }, nil},
}

// BatchMetrics lists the metrics that [BatchEMF] can write, in the order that they have in a line.
func BatchMetrics() []Metric { return metricsIn(batchMeasures) }

// BatchEMF returns a function that writes one line of JSON for each [Batch], in the format, the namespace and with the dimension of [EMF]. See
// [BatchMetrics] for the metrics: a line has those that happened and no zeros, and no line is written of an empty batch. Beside them a line has
// the properties source, errorType (of the error of the invocation) and requestId. It holds nothing of a record and no text of an error.
//
// The function is safe for concurrent use and hands each line to w in one call of Write. A line that w refuses is dropped: an
// invocation does not fail because of its metrics. A wrong option or a nil w panics with an [*idempotent.ConfigError]
// that names every problem; [WithTenant] and [WithRoute] are wrong ones, because the records of an invocation have many tenants and no route.
func BatchEMF(w io.Writer, opts ...EMFOption) func(context.Context, Batch) {
	batch := &summary[Batch]{
		constructor: "observe.BatchEMF", many: "records", dimension: dimensionOperation, measures: batchMeasures,
		about: func(b *Batch) (operation, source string, err error) { return b.Operation, b.Source, b.Err },
	}
	return batch.emf(w, opts)
}
