package observe

import (
	"context"
	"log/slog"
)

// ReconcileSlog returns a function that writes lines about each [Reconciliation]: one for each of its problems, and one for the run. It is safe
// for concurrent use. A nil logger is [slog.Default], looked up each time.
//
// The line of a problem, "reconcile record", is at level ERROR if somebody has to act, because the record is parked, cannot be understood, or
// the store did not tell what became of it; else at WARN. Its attributes are operation, record, outcome, tries (unless it is zero), error_type
// and error. The text of error is that of the resolver, of the function that takes what is parked, or of the store.
//
// The line of a run, "reconcile", is at level ERROR if it failed, at DEBUG if there was nothing to do, else at INFO. Its attributes are
// operation, each count by its name if it is not zero (asked, completed, released, scheduled, parked, failed, elsewhere, busy, closed, unreadable,
// not_ended), not_begun if it is true, took (a duration) and error.
func ReconcileSlog(logger *slog.Logger) func(context.Context, Reconciliation) {
	return func(ctx context.Context, r Reconciliation) {
		l := orDefault(logger)
		for _, p := range r.Problems {
			attrs := appendCounts([]slog.Attr{
				slog.String("operation", r.Operation), slog.String("record", p.RecordKey), slog.String("outcome", p.Outcome),
			}, counted{"tries", p.Tries})
			l.LogAttrs(ctx, levelOfReconciled(p.Outcome), "reconcile record",
				append(attrs, slog.String("error_type", errorType(p.Err)), slog.Any("error", p.Err))...)
		}
		attrs := reconcileAttributes(&r)
		level := levelOfInvocation(r.Err)
		if len(attrs) == 0 {
			level = slog.LevelDebug
		}
		if l.Enabled(ctx, level) {
			attrs = append([]slog.Attr{slog.String("operation", r.Operation)}, attrs...)
			l.LogAttrs(ctx, level, "reconcile", append(attrs, slog.Duration("took", r.Took))...)
		}
	}
}

func levelOfReconciled(outcome string) slog.Level {
	switch outcome {
	case wordParked, "":
		return slog.LevelError
	default:
		return slog.LevelWarn
	}
}

// reconcileAttributes are what happened in a run, none if nothing did.
func reconcileAttributes(r *Reconciliation) []slog.Attr {
	attrs := appendCounts(
		nil,
		counted{"asked", r.Asked},
		counted{"completed", r.Completed},
		counted{"released", r.Released},
		counted{"scheduled", r.Scheduled},
		counted{wordParked, r.Parked},
		counted{wordFailed, r.Failed},
		counted{"elsewhere", r.Elsewhere},
		counted{"busy", r.Busy},
		counted{"closed", r.Closed},
		counted{"unreadable", r.Unreadable},
		counted{"not_ended", r.NotEnded},
	)
	if r.NotBegun {
		attrs = append(attrs, slog.Bool("not_begun", true))
	}
	if r.Err != nil {
		attrs = append(attrs, slog.Any("error", r.Err))
	}
	return attrs
}
