package observe

import (
	"context"
	"log/slog"
)

// OutboxSlog returns a function that writes records of each [Outbox]: one for each of its problems, and one for the invocation, unless
// nothing happened in it. It is safe for concurrent use. A nil logger is [slog.Default], looked up each time.
//
// The record of a problem, "outbox message", is at level ERROR if the message is parked, which somebody has to look at, or if the store did not
// take what became of it; else at WARN. Its attributes are outbox (the table), source, id, topic, outcome, tries, error_type and error. The
// text of error is that of whoever delivers, or of the client of DynamoDB.
//
// The record of an invocation, "outbox", is at level ERROR if it failed, else at INFO. Its attributes are outbox, source, each count by its
// name if it is not zero (delivered, elsewhere, failed, put_off, parked, unmarked, uncounted, not_begun, skipped, foreign), slowest (a duration),
// left (a group: pending, oldest, parked, and partial if there are more than were counted) and error.
func OutboxSlog(logger *slog.Logger) func(context.Context, Outbox) {
	return func(ctx context.Context, o Outbox) {
		l := orDefault(logger)
		for _, p := range o.Problems {
			l.LogAttrs(ctx, levelOfProblem(p.Outcome), "outbox message", slog.String("outbox", o.Table), slog.String("source", o.Source),
				slog.String("id", p.ID), slog.String("topic", p.Topic), slog.String("outcome", p.Outcome), slog.Int("tries", p.Tries),
				slog.String("error_type", errorType(p.Err)), slog.Any("error", p.Err))
		}
		level := levelOfInvocation(o.Err)
		if attrs := outboxAttributes(&o); len(attrs) > 0 && l.Enabled(ctx, level) {
			l.LogAttrs(ctx, level, "outbox", append([]slog.Attr{slog.String("outbox", o.Table), slog.String("source", o.Source)}, attrs...)...)
		}
	}
}

func levelOfProblem(outcome string) slog.Level {
	switch outcome {
	case wordParked, "unmarked", "uncounted":
		return slog.LevelError
	default:
		return slog.LevelWarn
	}
}

// outboxAttributes are what happened in an invocation, none if nothing did.
func outboxAttributes(o *Outbox) (attrs []slog.Attr) {
	attrs = appendCounts(
		attrs,
		counted{"delivered", o.Delivered},
		counted{"elsewhere", o.Elsewhere},
		counted{wordFailed, o.Failed},
		counted{"put_off", o.PutOff},
		counted{wordParked, o.Parked},
		counted{"unmarked", o.Unmarked},
		counted{"uncounted", o.Uncounted},
		counted{"not_begun", o.NotBegun},
		counted{"skipped", o.Skipped},
		counted{"foreign", o.Foreign},
	)
	if o.Slowest > 0 {
		attrs = append(attrs, slog.Duration("slowest", o.Slowest))
	}
	if left := o.Left; left != nil {
		group := []any{slog.Int("pending", left.Pending), slog.Duration("oldest", left.Oldest), slog.Int(wordParked, left.Parked)}
		if left.Partial {
			group = append(group, slog.Bool("partial", true))
		}
		attrs = append(attrs, slog.Group("left", group...))
	}
	if o.Err != nil {
		attrs = append(attrs, slog.Any("error", o.Err))
	}
	return attrs
}
