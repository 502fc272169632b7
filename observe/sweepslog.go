package observe

import (
	"context"
	"log/slog"
)

// SweepSlog returns a function that writes lines about each [Sweep]: one for each of its problems, one for each operation of which
// something was found, and one for the run. It is safe for concurrent use. A nil logger is [slog.Default], looked up each time.
//
// The line of a problem, "sweep record", is at level ERROR. Its attributes are record_key, error_type and error, whose text is that of the
// store.
//
// The line of an operation, "sweep operation", is at level WARN if something became UNKNOWN or is abandoned, which somebody has to settle; else
// at INFO. Its attributes are operation and each count by its name if it is not zero (lapsed, became_unknown, abandoned, listed).
//
// The line of a run, "sweep", is at level ERROR if it failed, else at INFO. Its attributes are done, busy and dry_run (both only if true), each
// count by its name if it is not zero (records, deleted, changed, foreign, unreadable, errors), took (a duration) and error.
func SweepSlog(logger *slog.Logger) func(context.Context, Sweep) {
	return func(ctx context.Context, s Sweep) {
		l := orDefault(logger)
		for _, p := range s.Problems {
			l.LogAttrs(ctx, slog.LevelError, "sweep record", slog.String("record_key", p.RecordKey),
				slog.String("error_type", errorType(p.Err)), slog.Any("error", p.Err))
		}
		for i := range s.Operations {
			o := &s.Operations[i]
			if attrs := sweepOperationAttributes(o); len(attrs) > 0 {
				l.LogAttrs(ctx, levelOfSweepOperation(o), "sweep operation", append([]slog.Attr{slog.String("operation", o.Operation)}, attrs...)...)
			}
		}
		if level := levelOfInvocation(s.Err); l.Enabled(ctx, level) {
			l.LogAttrs(ctx, level, "sweep", sweepAttributes(&s)...)
		}
	}
}

func levelOfSweepOperation(o *SweepOperation) slog.Level {
	if o.BecameUnknown > 0 || o.Abandoned > 0 {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

func sweepOperationAttributes(o *SweepOperation) []slog.Attr {
	return appendCounts(
		nil,
		counted{"lapsed", o.Lapsed},
		counted{"became_unknown", o.BecameUnknown},
		counted{"abandoned", o.Abandoned},
		counted{"listed", o.Listed},
	)
}

func sweepAttributes(s *Sweep) (attrs []slog.Attr) {
	attrs = append(attrs, slog.Bool("done", s.Done))
	if s.Busy {
		attrs = append(attrs, slog.Bool("busy", true))
	}
	if s.DryRun {
		attrs = append(attrs, slog.Bool("dry_run", true))
	}
	attrs = appendCounts(
		attrs,
		counted{manyRecords, s.Records},
		counted{"deleted", s.Deleted},
		counted{"changed", s.Changed},
		counted{"foreign", s.Foreign},
		counted{"unreadable", s.Unreadable},
		counted{"errors", s.Errors},
	)
	attrs = append(attrs, slog.Duration("took", s.Took))
	if s.Err != nil {
		attrs = append(attrs, slog.Any("error", s.Err))
	}
	return attrs
}
