package observe

import (
	"errors"
	"log/slog"
	"slices"

	"github.com/go-idempotent/idempotent/internal/errortype"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// counts are what a delivery counts as, in the order of a line: the one place that says it. Alarms
// hold on to the names.
var counts = [...]struct {
	name string
	of   func(d *report.Delivery) int
}{
	{"Created", settled(report.Completed)},
	{"Replayed", answered(report.Replayed)},
	{"Resolved", answered(report.Resolved)},
	{"InProgress", answered(report.InProgress)},
	{"KeyMisuse", answered(report.MissingKey, report.InvalidKey, report.Mismatch)},
	{"Mismatch", answered(report.Mismatch)},
	{"Stale", answered(report.Stale)},
	{"MissingTenant", answered(report.MissingTenant)},
	{"FailedRetry", settled(report.Released)},
	{"BecameUnknown", settled(report.Unknown)},
	{"MetUnknown", when(metUnknown)},
	{"Takeover", when(func(d *report.Delivery) bool { return d.Recovered })},
	{"LeaseLost", when(leaseLost)},
	{"CompletionFailed", when(completionFailed)},
	{"StoreError", when(storeError)},
	{"ThrottledKey", throttled(store.ThrottledKey)},
	{"ThrottledTable", throttled(store.ThrottledTable)},
	{"ThrottledAccount", throttled(store.ThrottledAccount)},
	{"Unreadable", when(unreadable)},
	{"Refused", answered(report.Refused, report.WrappedTwice)},
	{"Panicked", answered(report.Panicked)},
	{"Unprotected", answered(report.Unprotected)},
	{"Disabled", answered(report.Disabled)},
	{"StepsRecorded", steps(report.StepRecorded, report.StepResolved)},
	{"StepsResumed", steps(report.StepResumed)},
	{"StepsFailed", steps(report.StepFailed, report.StepRefused, report.StepLeaseLost, report.StepUnreadable,
		report.StepUnknown)},
	{"StepsLost", stepsLost},
	{"OrphanSteps", func(d *report.Delivery) int { return len(d.OrphanSteps) }},
	{"Commits", commits(report.CommitDone)},
	{"CommitsDeclined", commits(report.CommitDeclined)},
	{"CommitsFailed", commitsFailed},
	{"CommitRetries", commitRetries},
	{"CommittedOtherwise", when(func(d *report.Delivery) bool { return d.OtherAnswer })},
}

// countDelivery adds to a line what a delivery counts as.
func countDelivery(l *line, d *report.Delivery) (storeFailure string) {
	for i := range counts {
		if n := counts[i].of(d); n > 0 {
			l.metric(counts[i].name, count, float64(n))
		}
	}
	return storeFailureOf(d)
}

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

func when(is func(d *report.Delivery) bool) func(d *report.Delivery) int {
	return func(d *report.Delivery) int {
		if is(d) {
			return 1
		}
		return 0
	}
}

func answered(by ...report.Outcome) func(d *report.Delivery) int {
	return when(func(d *report.Delivery) bool { return slices.Contains(by, d.Outcome) })
}

func settled(as report.Settlement) func(d *report.Delivery) int {
	return when(func(d *report.Delivery) bool { return d.Settlement == as })
}

func throttled(what store.Throttle) func(d *report.Delivery) int {
	return when(func(d *report.Delivery) bool { return d.Throttle == string(what) })
}

// metUnknown does not count a record that this very delivery has made UNKNOWN.
func metUnknown(d *report.Delivery) bool {
	return d.Settlement == report.StillUnknown || d.Outcome == report.UnknownOutcome && d.Settlement != report.Unknown
}

func leaseLost(d *report.Delivery) bool {
	return d.LeaseLost || d.Outcome == report.Superseded || d.Settlement == report.Elsewhere
}

// completionFailed does not count a record that says so and that this delivery has only met.
func completionFailed(d *report.Delivery) bool {
	return d.Settlement == report.NotSettled ||
		d.Reason == store.ReasonResultLost && d.Outcome != report.UnknownOutcome
}

func storeError(d *report.Delivery) bool {
	return d.Outcome == report.StoreUnavailable || d.StoreErr != nil && !d.LeaseLost && !metUnreadable(d)
}

func unreadable(d *report.Delivery) bool { return d.Outcome == report.Unreadable || metUnreadable(d) }

func metUnreadable(d *report.Delivery) bool {
	_, is := errors.AsType[*store.UnreadableError](d.StoreErr)
	return is
}

func steps(with ...report.StepEnd) func(d *report.Delivery) int {
	return func(d *report.Delivery) (n int) {
		for i := range d.Steps {
			if slices.Contains(with, d.Steps[i].End) {
				n++
			}
		}
		return n
	}
}

func commits(with ...report.CommitEnd) func(d *report.Delivery) int {
	return func(d *report.Delivery) (n int) {
		for i := range d.Commits {
			if slices.Contains(with, d.Commits[i].End) {
				n++
			}
		}
		return n
	}
}

func commitRetries(d *report.Delivery) (n int) {
	for i := range d.Commits {
		n += max(d.Commits[i].Tries-1, 0)
	}
	return n
}

var stepsLost = steps(report.StepLost)

// commitsFailed is at least 1 if the caller was told so, whatever the commits say.
func commitsFailed(d *report.Delivery) int {
	failed := commits(report.CommitRefused, report.CommitLeaseLost, report.CommitNotDone)
	return max(failed(d), answered(report.CommitFailed)(d))
}

// storeFailureOf says what failed in the store: a kind, or else the type of an error; empty if
// nothing did.
func storeFailureOf(d *report.Delivery) string {
	err := d.StoreErr
	if err == nil && d.Outcome == report.StoreUnavailable {
		err = d.Err
	}
	if failed, ok := errors.AsType[*store.Error](err); ok {
		return string(failed.Kind)
	}
	if d.StoreErr != nil && d.LeaseLost {
		return "lease lost"
	}
	return errortype.Of(err)
}
