// Package operateobserve has observers for the scheduled functions of package operate: [SweepEMF] and [ReconcileEMF] for metrics, [SweepSlog] and
// [ReconcileSlog] for a log. [Both] makes one of them:
//
//	sweeper := operate.Sweep(records, operate.SweepConfig{
//		Observe: operateobserve.Both(operateobserve.SweepEMF(os.Stdout), operateobserve.SweepSlog(nil)),
//	})
//
// What they write is said in package observe. What becomes of each request the observers of the handler tell, which are there, too.
package operateobserve

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/operate"
)

// SweepEMF returns an observer that writes lines of metrics for each run, see [observe.SweepEMF]. On Lambda, SweepEMF(os.Stdout) is all it takes to
// have them in CloudWatch. A nil w or a wrong option panics with an *idempotent.ConfigError; [observe.WithNamespace] and
// [observe.WithDimension] are right ones.
func SweepEMF(w io.Writer, opts ...observe.EMFOption) func(context.Context, operate.Swept) {
	write := observe.SweepEMF(w, opts...)
	return func(ctx context.Context, s operate.Swept) { write(ctx, told(s)) }
}

// SweepSlog returns an observer that writes lines about each run, see [observe.SweepSlog]. A nil logger is [slog.Default].
func SweepSlog(logger *slog.Logger) func(context.Context, operate.Swept) {
	write := observe.SweepSlog(logger)
	return func(ctx context.Context, s operate.Swept) { write(ctx, told(s)) }
}

// Both returns an observer that calls one after the other.
func Both[R any](first, second func(context.Context, R)) func(context.Context, R) {
	return func(ctx context.Context, report R) {
		first(ctx, report)
		second(ctx, report)
	}
}

// told is a report in the words of package observe.
func told(s operate.Swept) observe.Sweep {
	t := observe.Sweep{
		Records: s.Records, Changed: s.Changed, Foreign: s.Foreign, Unreadable: s.Unreadable, Errors: s.Errors,
		Done: s.Done, Busy: s.Busy(), DryRun: s.DryRun, Took: s.Ended.Sub(s.Began), Err: s.Err,
	}
	for _, operation := range slices.Sorted(maps.Keys(s.Operations)) {
		o := s.Operations[operation]
		t.Operations = append(t.Operations, observe.SweepOperation{
			Operation: operation, Lapsed: o.Lapsed, BecameUnknown: o.BecameUnknown, Abandoned: o.Abandoned, Listed: o.Listed,
		})
	}
	for _, p := range s.Problems {
		t.Problems = append(t.Problems, observe.SweepProblem(p))
	}
	return t
}
