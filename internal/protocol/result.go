package protocol

import (
	"time"

	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// Result is how a delivery ends, for whoever answers its caller.
type Result struct {
	// Outcome is Executed if what the handler returned is the answer.
	Outcome report.Outcome
	// Committed is true if the handler ran, and what it committed is the answer: it then returned
	// something else, or did not learn of it.
	Committed bool
	// Record is the one that is replayed, or that was committed, with its result, also where that
	// was kept in parts.
	Record store.Record
	// Expires is until when the answer is replayed, zero if it is not stored.
	Expires time.Time
	// Same says that what the handler returned says the same as what it had committed, in other
	// bytes.
	Same bool
	// RetryAfter is how long the lease of the execution in progress has left, never negative.
	RetryAfter time.Duration
	// Reason is why the outcome is unknown, or what is wrong with a record that cannot be read.
	Reason string
	// Err is the error of the store, or the cause of what is wrong.
	Err error
}

// since is a phase that began then and ends now.
func since(start time.Time) report.Phase { return report.Phase{Start: start, Took: time.Since(start)} }

func unreadableRecord(reason string) Result {
	return Result{Outcome: report.Unreadable, Reason: reason}
}

// cause is the error that stands for a result which is none, for an observer.
func (r Result) cause() error {
	if r.Outcome == report.Unreadable {
		return &store.UnreadableError{Reason: r.Reason, Err: r.Err}
	}
	return r.Err
}
