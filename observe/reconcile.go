package observe

import (
	"context"
	"io"
	"time"
)

// Reconciliation says what one run of a reconciler did. It is operate.Reconciliation in a form that does not need that package; package
// operateobserve makes one of the other.
type Reconciliation struct {
	// Operation is that of the records.
	Operation string
	// What became of the records, as operate.Reconciliation counts it.
	Asked, Completed, Released, Scheduled, Parked, Failed, Elsewhere, Busy, Closed, Unreadable, NotEnded int
	// NotBegun is true if no time was left for records that may be due.
	NotBegun bool
	// Problems are what went wrong with single records.
	Problems []ReconcileProblem
	// Took is how long the run took.
	Took time.Duration
	// Err is the error of the run, nil if it did not fail.
	Err error
}

// ReconcileProblem is what went wrong with a record.
type ReconcileProblem struct {
	// RecordKey is that of the record. Outcome is what has become of it, empty if the store did not tell.
	RecordKey, Outcome string
	// Tries is how often was asked in vain.
	Tries int
	// Err is why.
	Err error
}

// Alarms hold on to the names: a name that has been published does not change.
var reconcileMeasures = []measure[Reconciliation]{
	{Metric{"ReconcileAsked", count}, func(r *Reconciliation) float64 { return float64(r.Asked) }, isRun},
	{Metric{"ReconcileResolved", count}, func(r *Reconciliation) float64 { return float64(r.Completed + r.Released) }, nil},
	{Metric{"ReconcileReleased", count}, func(r *Reconciliation) float64 { return float64(r.Released) }, nil},
	{Metric{"ReconcileScheduled", count}, func(r *Reconciliation) float64 { return float64(r.Scheduled) }, nil},
	{Metric{"ReconcileParked", count}, func(r *Reconciliation) float64 { return float64(r.Parked) }, nil},
	{Metric{"ReconcileFailed", count}, func(r *Reconciliation) float64 { return float64(r.Failed) }, nil},
	{Metric{"ReconcileElsewhere", count}, func(r *Reconciliation) float64 { return float64(r.Elsewhere) }, nil},
	{Metric{"ReconcileUnreadable", count}, func(r *Reconciliation) float64 { return float64(r.Unreadable) }, nil},
	{Metric{"ReconcileNotEnded", count}, func(r *Reconciliation) float64 { return float64(r.NotEnded) }, nil},
	{Metric{"ReconcileNotBegun", count}, func(r *Reconciliation) float64 { return oneIf(r.NotBegun) }, nil},
	{Metric{"ReconcileRunFailed", count}, func(r *Reconciliation) float64 { return oneIf(r.Err != nil) }, nil},
}

// isRun is always true: a line that is missing says that nobody reconciles.
func isRun(*Reconciliation) bool { return true }

// ReconcileMetrics lists the metrics that [ReconcileEMF] can write, in the order that they have in a line.
func ReconcileMetrics() []Metric { return metricsIn(reconcileMeasures) }

// ReconcileEMF returns a function that writes one line of JSON for each [Reconciliation], in the format, the namespace and with the
// dimension of [EMF]. See [ReconcileMetrics] for the metrics: a line has those that happened, and always ReconcileAsked, also if it is zero, so
// that a line that is missing says that nobody reconciles. ReconcileResolved are the records that were completed or released, ReconcileReleased
// the latter of them. Beside them a line has the properties errorType (of the error of the run) and requestId. It holds no key of a record
// and no text of an error.
//
// The function is safe for concurrent use and hands each line to w in one call of Write. A line that w refuses is dropped: a run does not
// fail because of its metrics. A wrong option or a nil w panics with an [*idempotent.ConfigError] that names every problem; [WithTenant] and
// [WithRoute] are wrong ones, because the records of a run have many tenants and no route.
func ReconcileEMF(w io.Writer, opts ...EMFOption) func(context.Context, Reconciliation) {
	reconciliations := &summary[Reconciliation]{
		constructor: "observe.ReconcileEMF", many: "records", dimension: dimensionOperation, measures: reconcileMeasures,
		about: func(r *Reconciliation) (operation, source string, err error) { return r.Operation, "", r.Err },
	}
	return reconciliations.emf(w, opts)
}
