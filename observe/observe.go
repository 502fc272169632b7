// Package observe writes reports as metrics and as logs. [EMF] and [Slog] are observers for
// [idempotent.WithObserver]. The others are for batches, for the relay of an outbox and for
// reconciliations. [All] joins several. All of them are safe for concurrent use.
//
// A metric or an attribute is a field of a report, and its tag says how it is written.
package observe

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"

	"github.com/go-idempotent/idempotent/internal/setup"
	"github.com/go-idempotent/idempotent/report"
)

// EMF returns an observer that writes one line of JSON for each delivery, in the Embedded Metric
// Format of CloudWatch: on Lambda, EMF(os.Stdout) is all it takes to have metrics, without a call
// to CloudWatch. docs/observability.md has their names and their meaning. The dimension is
// Operation.
//
// A line has the metrics that happened and no zeros, because each metric costs something once it
// has a value; so let alarms treat missing data as not breaching. Beside them it has properties,
// for CloudWatch Logs Insights: outcome, settlement, reason, route, recordKey (a digest and no
// key), attempt, throttle, errorType (of the error that the delivery ended with), storeFailure (a
// [store.Failure], "lease lost", or a type), and requestId. None of them is the text of an error.
//
// Each line goes to w in one call of Write. A line that w refuses is dropped: a delivery does not
// fail because of its metrics. A wrong Config or a nil w panics with a [*store.ConfigError] that
// names every problem.
//
// The format:
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
func EMF(w io.Writer, config ...Config) func(context.Context, report.Delivery) {
	c := configOf("observe.EMF", w, config, true)
	emf := newEMF[report.Delivery](w, c)
	emf.count = countDelivery
	return func(ctx context.Context, d report.Delivery) {
		sets := [2]dimension{{name: dimensionTenant}, {name: dimensionRoute}}
		if c.Tenant != nil {
			sets[0].value = dimensionValue(c.Tenant(ctx, d))
		}
		if c.Route {
			sets[1].value = dimensionValue(d.Route)
		}
		_ = emf.write(ctx, &d, sets[:]...)
	}
}

// Slog returns an observer that writes one record for each delivery. A nil logger is
// [slog.Default], looked up at each record. The level is
//
//   - ERROR, if the store failed, a record could not be read, the lease was lost, the request could
//     not be prepared, or something panicked
//   - WARN, if a handler failed, a caller misused a key, an outcome is unknown, the result of a
//     step was lost, nobody asked for a recorded step, a commit failed, or the handler did
//     something else than return what it had committed
//   - INFO otherwise
//
// The attributes are the fields of [report.Delivery] that say something. Phases are durations. The
// derived keys are a group, by name; so are steps, and commits by their place from 1, with the type
// of an error and never its text. The texts of errors of this module hold neither keys nor
// payloads; the handler's own are its own, and so are the names of derived keys and of steps.
//
// A delivery that made its record UNKNOWN has settlement=unknown. One that met an UNKNOWN record
// has outcome="unknown outcome" and no settlement, or settlement="still unknown" if a resolver was
// asked and could not tell.
func Slog(logger *slog.Logger) func(context.Context, report.Delivery) {
	plan := logPlan[report.Delivery]()
	return func(ctx context.Context, d report.Delivery) {
		plan.log(ctx, logger, levelOf(&d), "idempotency", &d)
	}
}

// BatchEMF returns an observer that writes one line for each batch, as [EMF] does. No line is
// written of an empty batch, and none has anything of a record.
func BatchEMF(w io.Writer, config ...Config) func(context.Context, report.Batch) {
	return newEMF[report.Batch](w, configOf("observe.BatchEMF", w, config, false)).observe
}

// BatchSlog returns an observer that writes a line "batch record" for each record that has not
// succeeded, and a line "batch" for the batch, unless it was empty.
//
// The line of a record is at level ERROR if somebody has to act: the handler panicked, a function
// of the configuration failed, or it is poison that comes again; at INFO if another invocation
// executes it; else at WARN. The text of its error is that of the handler, or of this module, which
// quotes no record; that of a panic names the type of its value, and has the stack beside it.
//
// The line of the batch is at ERROR if it failed, else at INFO.
func BatchSlog(logger *slog.Logger) func(context.Context, report.Batch) {
	whole, single := logPlan[report.Batch](), logPlan[report.BatchProblem]()
	return func(ctx context.Context, b report.Batch) {
		for i := range b.Problems {
			p := &b.Problems[i]
			single.log(ctx, logger, levelOfRecord(p), "batch record", p, slog.String("operation", b.Operation),
				slog.String("source", b.Source))
		}
		if b.Records > 0 || b.Err != nil {
			whole.log(ctx, logger, errorIf(b.Err != nil, slog.LevelInfo), "batch", &b)
		}
	}
}

// RelayEMF returns an observer that writes one line for each invocation of a relay, as [EMF] does.
// The dimension is Outbox, the name of the table. No line is written of an invocation in which
// nothing happened. What is left after a drain is always in its line, also zeros: an alarm learns
// from them that nothing waits any more, and a line that is missing says that no drain runs.
func RelayEMF(w io.Writer, config ...Config) func(context.Context, report.Relay) {
	return newEMF[report.Relay](w, configOf("observe.RelayEMF", w, config, false)).observe
}

// RelaySlog returns an observer that writes a line "outbox message" for each message with which
// something went wrong, and a line "outbox" for the invocation, unless nothing happened in it.
//
// The line of a message is at level ERROR if it was given up, which somebody has to look at, or if
// the store did not take what became of it; else at WARN. The line of an invocation is at ERROR if
// it failed, else at INFO.
func RelaySlog(logger *slog.Logger) func(context.Context, report.Relay) {
	whole, single := logPlan[report.Relay](), logPlan[report.RelayProblem]()
	return func(ctx context.Context, r report.Relay) {
		about := []slog.Attr{slog.String("outbox", r.Table), slog.String("source", r.Source)}
		for i := range r.Problems {
			p := &r.Problems[i]
			lost := slices.Contains([]string{"given up", "unmarked", "uncounted"}, p.Outcome)
			single.log(ctx, logger, errorIf(lost, slog.LevelWarn), "outbox message", p, about...)
		}
		if whole.says(&r) {
			whole.log(ctx, logger, errorIf(r.Err != nil, slog.LevelInfo), "outbox", &r)
		}
	}
}

// ReconcileEMF returns an observer that writes one line for each run of a reconciliation, as [EMF]
// does. ReconcileAsked is always in it, also if it is zero: a line that is missing says that nobody
// reconciles.
func ReconcileEMF(w io.Writer, config ...Config) func(context.Context, report.Reconciled) {
	return newEMF[report.Reconciled](w, configOf("observe.ReconcileEMF", w, config, false)).observe
}

// ReconcileSlog returns an observer that writes a line "reconcile record" for each record with
// which something went wrong, and a line "reconcile" for the run.
//
// The line of a record is at level ERROR if somebody has to act, because it was given up, cannot be
// understood, or the store did not tell what became of it; else at WARN. The line of a run is at
// level ERROR if it failed, at DEBUG if there was nothing to do, else at INFO.
func ReconcileSlog(logger *slog.Logger) func(context.Context, report.Reconciled) {
	whole, single := logPlan[report.Reconciled](), logPlan[report.ReconcileProblem]()
	return func(ctx context.Context, r report.Reconciled) {
		for i := range r.Problems {
			p := &r.Problems[i]
			level := errorIf(p.Outcome == report.ReconcileGivenUp || p.Outcome == "", slog.LevelWarn)
			single.log(ctx, logger, level, "reconcile record", p, slog.String("operation", r.Operation))
		}
		level := errorIf(r.Err != nil, slog.LevelInfo)
		if !whole.says(&r) {
			level = slog.LevelDebug
		}
		whole.log(ctx, logger, level, "reconcile", &r)
	}
}

// AttentionEMF returns a function that writes one line for each count of what waits, as [EMF] does,
// and returns the error of w. It also writes zeros: an alarm learns from them that nothing is open
// any more, and a line that is missing says that nobody has counted.
func AttentionEMF(w io.Writer, config ...Config) func(context.Context, report.Attention) error {
	emf := newEMF[report.Attention](w, configOf("observe.AttentionEMF", w, config, false))
	return func(ctx context.Context, a report.Attention) error {
		if err := emf.write(ctx, &a); err != nil {
			return fmt.Errorf("observe: attention of %q: %w", a.Operation, err)
		}
		return nil
	}
}

// All returns an observer that hands every report to each of the observers, in their order:
//
//	idempotent.WithObserver(observe.All(observe.EMF(os.Stdout), observe.Slog(nil)))
//
// A nil observer panics with a [*store.ConfigError].
func All[R any](observers ...func(context.Context, R)) func(context.Context, R) {
	observers = slices.Clone(observers) // the caller may go on using the slice
	p := setup.Of("observe.All")
	for i, o := range observers {
		p.Addf(o == nil, "observer %d is nil", i+1)
	}
	p.Panic()
	return func(ctx context.Context, r R) {
		for _, observe := range observers {
			observe(ctx, r)
		}
	}
}
