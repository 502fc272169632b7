package observe

import (
	"context"
	"io"
	"sync"
	"time"
)

// Sweep says what one run of a sweep found and did. It is the Swept of package operate in a form that does not need that package; package
// operateobserve makes one of the other.
type Sweep struct {
	// Operations are what was found, by operation.
	Operations []SweepOperation
	// Records is how many records were read, Deleted how many items that had expired were deleted.
	Records, Deleted int
	// Changed, Foreign, Unreadable and Errors count records, as operate.Swept does.
	Changed, Foreign, Unreadable, Errors int
	// Done is true if the sweep has come to its end, Busy if another one is at work. DryRun is true if nothing was written.
	Done, Busy, DryRun bool
	// Took is how long the run took.
	Took time.Duration
	// Problems are what went wrong with single records.
	Problems []SweepProblem
	// Err is the error of the run, nil if it did not fail.
	Err error
}

// SweepOperation is what a sweep found of one operation, as operate.SweptOperation counts it.
type SweepOperation struct {
	Operation                                string
	Lapsed, BecameUnknown, Abandoned, Listed int
}

// SweepProblem is what went wrong with a record.
type SweepProblem struct {
	RecordKey string
	Err       error
}

// sweepOperation is the value of the dimension of a line about a whole run: the operation of its cursor.
const sweepOperation = "idempotent.sweep"

// manyRecords is what a sweep has many of.
const manyRecords = "records"

// Alarms hold on to the names: a name that has been published does not change.
var sweepOperationMeasures = []measure[SweepOperation]{
	{Metric{"SweepLapsed", count}, func(o *SweepOperation) float64 { return float64(o.Lapsed) }, nil},
	{Metric{"SweepBecameUnknown", count}, func(o *SweepOperation) float64 { return float64(o.BecameUnknown) }, nil},
	{Metric{"SweepAbandoned", count}, func(o *SweepOperation) float64 { return float64(o.Abandoned) }, nil},
	{Metric{"SweepListed", count}, func(o *SweepOperation) float64 { return float64(o.Listed) }, nil},
}

var sweepMeasures = []measure[Sweep]{
	{Metric{"SweepRecords", count}, func(s *Sweep) float64 { return float64(s.Records) }, isSweep},
	{Metric{"SweepDone", count}, func(s *Sweep) float64 { return oneIf(s.Done) }, isSweep},
	{Metric{"SweepDeleted", count}, func(s *Sweep) float64 { return float64(s.Deleted) }, nil},
	{Metric{"SweepChanged", count}, func(s *Sweep) float64 { return float64(s.Changed) }, nil},
	{Metric{"SweepForeign", count}, func(s *Sweep) float64 { return float64(s.Foreign) }, nil},
	{Metric{"SweepUnreadable", count}, func(s *Sweep) float64 { return float64(s.Unreadable) }, nil},
	{Metric{"SweepErrors", count}, func(s *Sweep) float64 { return float64(s.Errors) }, nil},
	{Metric{"SweepFailed", count}, func(s *Sweep) float64 { return oneIf(s.Err != nil) }, nil},
}

// isSweep is true: a line about a run has these metrics, also if they are zero.
func isSweep(*Sweep) bool { return true }

// SweepMetrics lists the metrics that [SweepEMF] can write: first those of an operation, then those of a run.
func SweepMetrics() []Metric {
	return append(metricsIn(sweepOperationMeasures), metricsIn(sweepMeasures)...)
}

// SweepEMF returns a function that writes lines of JSON for each [Sweep], in the format, the namespace and with the dimension of [EMF]: one for
// each operation of which something was found, and one for the run, whose Operation is "idempotent.sweep". See [SweepMetrics] for the
// metrics. That line always has SweepRecords and SweepDone, also zeros: one that is missing says that no sweep runs, and a sum of
// SweepDone that stays zero that none comes to its end. A dry run writes nothing. Beside them a line has the properties errorType (of the
// error of the run) and requestId. It holds no text of an error.
//
// The function is safe for concurrent use and hands each line to w in one call of Write. A line that w refuses is dropped: a sweep does not
// fail because of its metrics. A wrong option or a nil w panics with an [*idempotent.ConfigError] that names every problem;
// [WithTenant] and [WithRoute] are wrong ones, because a record tells neither.
func SweepEMF(w io.Writer, opts ...EMFOption) func(context.Context, Sweep) {
	run := &summary[Sweep]{
		constructor: "observe.SweepEMF", many: manyRecords, dimension: dimensionOperation, measures: sweepMeasures,
		about: func(s *Sweep) (operation, source string, err error) { return sweepOperation, "", s.Err },
	}
	operation := &summary[SweepOperation]{
		constructor: "observe.SweepEMF", many: manyRecords, dimension: dimensionOperation, measures: sweepOperationMeasures,
		about: func(o *SweepOperation) (operation, source string, err error) { return o.Operation, "", nil },
	}
	writeRun, writeOperation := run.emf(w, opts), operation.emf(w, opts)
	var mu sync.Mutex // guards w, which two functions write to
	return func(ctx context.Context, s Sweep) {
		if s.DryRun {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, o := range s.Operations {
			writeOperation(ctx, o)
		}
		writeRun(ctx, s)
	}
}
