package operateobserve

import (
	"context"
	"io"
	"log/slog"

	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/operate"
)

// ReconcileEMF returns an observer that writes a line of metrics for each run, see [observe.ReconcileEMF]. On Lambda, ReconcileEMF(os.Stdout) is
// all it takes to have them in CloudWatch. A nil w or a wrong option panics with an *idempotent.ConfigError; [observe.WithNamespace] and
// [observe.WithDimension] are right ones.
func ReconcileEMF(w io.Writer, opts ...observe.EMFOption) func(context.Context, operate.Reconciliation) {
	write := observe.ReconcileEMF(w, opts...)
	return func(ctx context.Context, r operate.Reconciliation) { write(ctx, reconciliation(r)) }
}

// ReconcileSlog returns an observer that writes lines about each run, see [observe.ReconcileSlog]. A nil logger is [slog.Default].
func ReconcileSlog(logger *slog.Logger) func(context.Context, operate.Reconciliation) {
	write := observe.ReconcileSlog(logger)
	return func(ctx context.Context, r operate.Reconciliation) { write(ctx, reconciliation(r)) }
}

// reconciliation is a report in the words of package observe.
func reconciliation(r operate.Reconciliation) observe.Reconciliation {
	o := observe.Reconciliation{
		Operation: r.Operation, Asked: r.Asked, Completed: r.Completed, Released: r.Released, Scheduled: r.Scheduled, Parked: r.Parked,
		Failed: r.Failed, Elsewhere: r.Elsewhere, Busy: r.Busy, Closed: r.Closed, Unreadable: r.Unreadable, NotEnded: r.NotEnded,
		NotBegun: r.NotBegun, Took: r.Took, Err: r.Err,
	}
	for _, p := range r.Problems {
		o.Problems = append(o.Problems, observe.ReconcileProblem{RecordKey: p.RecordKey, Outcome: string(p.Outcome), Tries: p.Tries, Err: p.Err})
	}
	return o
}
