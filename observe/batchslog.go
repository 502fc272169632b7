package observe

import (
	"context"
	"log/slog"
)

// BatchSlog returns a function that writes lines about each [Batch]: one for each of its problems, and one for the invocation, unless the batch
// was empty. It is safe for concurrent use. A nil logger is [slog.Default], looked up each time.
//
// The line of a problem, "batch record", is at level ERROR if somebody has to act: the handler panicked, the function of an option failed, or
// it is poison that comes again; at INFO if another invocation executes it; else at WARN. Its attributes are operation, source, id, outcome,
// receives (unless nobody counts them), again, error_type and error, and function_error if the function of an option failed. The text of error is
// that of the handler, or of this module, which quotes no record; that of a panic names the type of its value, and has the stack beside it
// (error.message and error.stack).
//
// The line of an invocation, "batch", is at level ERROR if it failed, else at INFO. Its attributes are operation, source, records, each count
// by its name if it is not zero (succeeded, terminal, poison, in_progress, failed, panicked, not_begun, again, functions_failed), took (a duration) and
// error.
func BatchSlog(logger *slog.Logger) func(context.Context, Batch) {
	return func(ctx context.Context, b Batch) {
		l := orDefault(logger)
		for i := range b.Problems {
			p := &b.Problems[i]
			if level := levelOfRecord(p); l.Enabled(ctx, level) {
				l.LogAttrs(ctx, level, "batch record", recordAttributes(&b, p)...)
			}
		}
		level := levelOfInvocation(b.Err)
		if (b.Records > 0 || b.Err != nil) && l.Enabled(ctx, level) {
			l.LogAttrs(ctx, level, "batch", batchAttributes(&b)...)
		}
	}
}

func levelOfRecord(p *BatchProblem) slog.Level {
	switch {
	case p.FunctionErr != nil, p.Outcome == "panicked", p.Outcome == "poison" && p.Again:
		return slog.LevelError
	case p.Outcome == "in progress":
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

func recordAttributes(b *Batch, p *BatchProblem) []slog.Attr {
	attrs := []slog.Attr{
		slog.String("operation", b.Operation), slog.String("source", b.Source), slog.String("id", p.ID), slog.String("outcome", p.Outcome),
	}
	attrs = appendCounts(attrs, counted{"receives", p.Receives})
	attrs = append(attrs, slog.Bool("again", p.Again), slog.String("error_type", errorType(p.Err)), slog.Any("error", p.Err))
	if p.FunctionErr != nil {
		attrs = append(attrs, slog.Any("function_error", p.FunctionErr))
	}
	return attrs
}

func batchAttributes(b *Batch) []slog.Attr {
	attrs := appendCounts(
		[]slog.Attr{slog.String("operation", b.Operation), slog.String("source", b.Source), slog.Int("records", b.Records)},
		counted{"succeeded", b.Succeeded},
		counted{"terminal", b.Terminal},
		counted{"poison", b.Poison},
		counted{"in_progress", b.InProgress},
		counted{wordFailed, b.Failed},
		counted{"panicked", b.Panicked},
		counted{"not_begun", b.NotBegun},
		counted{"again", b.Again},
		counted{"functions_failed", b.FunctionsFailed},
	)
	attrs = append(attrs, slog.Duration("took", b.Took))
	if b.Err != nil {
		attrs = append(attrs, slog.Any("error", b.Err))
	}
	return attrs
}
