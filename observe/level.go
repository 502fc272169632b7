package observe

import (
	"log/slog"

	"github.com/go-idempotent/idempotent/report"
)

// levelOf is that of the record about a delivery.
func levelOf(d *report.Delivery) slog.Level {
	c := told(d).counts
	switch {
	case d.StoreErr != nil, d.Outcome == report.StoreUnavailable, d.Outcome == report.Unreadable,
		d.Outcome == report.Refused,
		d.Outcome == report.WrappedTwice, d.Outcome == report.Panicked:
		return slog.LevelError
	case d.Outcome == report.InProgress:
		return slog.LevelInfo
	case d.Err != nil, d.Settlement == report.Unknown, c.StepsLost > 0, c.OrphanSteps > 0, c.CommitsFailed > 0:
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

func levelOfMessage(outcome string) slog.Level {
	switch outcome {
	case "given up", "unmarked", "uncounted":
		return slog.LevelError
	default:
		return slog.LevelWarn
	}
}

func levelOfReconciled(o report.ReconcileOutcome) slog.Level {
	switch o {
	case report.ReconcileGivenUp, "":
		return slog.LevelError
	default:
		return slog.LevelWarn
	}
}

// levelOfInvocation is that of the record about a whole invocation.
func levelOfInvocation(err error) slog.Level {
	if err != nil {
		return slog.LevelError
	}
	return slog.LevelInfo
}
