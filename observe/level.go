package observe

import (
	"log/slog"

	"github.com/go-idempotent/idempotent/report"
)

// levelOf is that of the record about a delivery.
func levelOf(d *report.Delivery) slog.Level {
	switch {
	case d.StoreErr != nil, d.Outcome == report.StoreUnavailable, d.Outcome == report.Unreadable,
		d.Outcome == report.Refused, d.Outcome == report.WrappedTwice, d.Outcome == report.Panicked:
		return slog.LevelError
	case d.Outcome == report.InProgress:
		return slog.LevelInfo
	case d.Err != nil, d.Settlement == report.Unknown, stepsLost(d) > 0, len(d.OrphanSteps) > 0, commitsFailed(d) > 0:
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

func levelOfRecord(p *report.BatchProblem) slog.Level {
	switch {
	case p.FunctionErr != nil, p.Outcome == report.RecordPanicked, p.Outcome == report.RecordPoison && p.Again:
		return slog.LevelError
	case p.Outcome == report.RecordInProgress:
		return slog.LevelInfo
	default:
		return slog.LevelWarn
	}
}

func errorIf(is bool, otherwise slog.Level) slog.Level {
	if is {
		return slog.LevelError
	}
	return otherwise
}
