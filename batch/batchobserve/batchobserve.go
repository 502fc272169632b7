// Package batchobserve has observers for [batch.WithObserver]: [EMF] for metrics, [Slog] for a log. Each option adds one:
//
//	lambda.Start(batch.SQS(handler,
//		batch.WithObserver(batchobserve.EMF(os.Stdout)),
//		batch.WithObserver(batchobserve.Slog(nil))))
//
// They tell of batches. What became of each delivery to the handler its own observers tell, which are in package observe.
package batchobserve

import (
	"context"
	"io"
	"log/slog"

	"github.com/go-idempotent/idempotent/batch"
	"github.com/go-idempotent/idempotent/observe"
)

// EMF returns an observer that writes one line of metrics for each batch, see [observe.BatchEMF]. On Lambda, EMF(os.Stdout) is all it
// takes to have them in CloudWatch. A nil w or a wrong option panics with an *idempotent.ConfigError; [observe.WithNamespace] and
// [observe.WithDimension] are right ones.
func EMF(w io.Writer, opts ...observe.EMFOption) func(context.Context, batch.Report) {
	write := observe.BatchEMF(w, opts...)
	return func(ctx context.Context, r batch.Report) { write(ctx, told(r)) }
}

// Slog returns an observer that writes a line for each record that has not succeeded, and one for each batch, see [observe.BatchSlog].
// A nil logger is [slog.Default].
func Slog(logger *slog.Logger) func(context.Context, batch.Report) {
	write := observe.BatchSlog(logger)
	return func(ctx context.Context, r batch.Report) { write(ctx, told(r)) }
}

// told is a report in the words of package observe.
func told(r batch.Report) observe.Batch {
	b := observe.Batch{
		Operation: r.Operation, Source: r.Source, Records: r.Records, Succeeded: r.Succeeded, Terminal: r.Terminal, Poison: r.Poison,
		InProgress: r.InProgress, Failed: r.Failed, Panicked: r.Panicked, NotBegun: r.NotBegun, Again: r.Again, FunctionsFailed: r.FunctionsFailed,
		Took: r.Took, Err: r.Err,
	}
	for _, p := range r.Problems {
		b.Problems = append(b.Problems, observe.BatchProblem{
			ID: p.ID, Outcome: string(p.Outcome), Receives: p.Receives, Again: p.Again, Err: p.Err, FunctionErr: p.FunctionErr,
		})
	}
	return b
}
