// Package outboxobserve has observers for [outbox.WithObserver]: [EMF] for metrics, [Slog] for a log. Each option adds one:
//
//	relay := outbox.NewRelay(client, table, deliver,
//		outbox.WithObserver(outboxobserve.EMF(os.Stdout)),
//		outbox.WithObserver(outboxobserve.Slog(nil)))
//
// What they write is said in package observe, which knows no outbox: whoever has none does not link one.
package outboxobserve

import (
	"context"
	"io"
	"log/slog"

	"github.com/go-idempotent/idempotent/observe"
	"github.com/go-idempotent/idempotent/outbox"
)

// EMF returns an observer that writes one line of metrics for each invocation, see [observe.OutboxEMF]. On Lambda, EMF(os.Stdout) is all it
// takes to have them in CloudWatch. A nil w or a wrong option panics with an *idempotent.ConfigError; [observe.WithNamespace] and
// [observe.WithDimension] are right ones.
func EMF(w io.Writer, opts ...observe.EMFOption) func(context.Context, outbox.Report) {
	write := observe.OutboxEMF(w, opts...)
	return func(ctx context.Context, r outbox.Report) { write(ctx, told(r)) }
}

// Slog returns an observer that writes a record for each message with which something went wrong, and one for each invocation, see
// [observe.OutboxSlog]. A nil logger is [slog.Default].
func Slog(logger *slog.Logger) func(context.Context, outbox.Report) {
	write := observe.OutboxSlog(logger)
	return func(ctx context.Context, r outbox.Report) { write(ctx, told(r)) }
}

// told is a report in the words of package observe.
func told(r outbox.Report) observe.Outbox {
	o := observe.Outbox{
		Table: r.Table, Source: string(r.Source), Delivered: r.Delivered, Elsewhere: r.Elsewhere, Failed: r.Failed, PutOff: r.PutOff,
		Parked: r.Parked, Unmarked: r.Unmarked, Uncounted: r.Uncounted, NotBegun: r.NotBegun, Skipped: r.Skipped, Foreign: r.Foreign,
		Slowest: r.Slowest, Err: r.Err,
	}
	if r.Left != nil {
		left := observe.OutboxLeft(*r.Left)
		o.Left = &left
	}
	for _, p := range r.Problems {
		o.Problems = append(o.Problems, observe.OutboxProblem(p))
	}
	return o
}
