package observe

import (
	"errors"

	"github.com/go-idempotent/idempotent/internal/errortype"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// delivery is the report of a delivery with what it counts as.
type delivery struct {
	counts
	report.Delivery

	StoreFailure string `emf:"storeFailure,property"`
}

// counts are what a delivery counts as. Alarms hold on to the names.
type counts struct {
	Created            int  `emf:"Created"`
	Replayed           int  `emf:"Replayed"`
	Resolved           int  `emf:"Resolved"`
	InProgress         int  `emf:"InProgress"`
	KeyMisuse          int  `emf:"KeyMisuse"`
	Mismatch           int  `emf:"Mismatch"`
	Stale              int  `emf:"Stale"`
	MissingTenant      int  `emf:"MissingTenant"`
	FailedRetry        int  `emf:"FailedRetry"`
	BecameUnknown      int  `emf:"BecameUnknown"`
	MetUnknown         int  `emf:"MetUnknown"`
	Takeover           bool `emf:"Takeover"`
	LeaseLost          bool `emf:"LeaseLost"`
	CompletionFailed   bool `emf:"CompletionFailed"`
	StoreError         bool `emf:"StoreError"`
	ThrottledKey       bool `emf:"ThrottledKey"`
	ThrottledTable     bool `emf:"ThrottledTable"`
	ThrottledAccount   bool `emf:"ThrottledAccount"`
	Unreadable         bool `emf:"Unreadable"`
	Refused            int  `emf:"Refused"`
	Panicked           int  `emf:"Panicked"`
	Unprotected        int  `emf:"Unprotected"`
	Disabled           int  `emf:"Disabled"`
	StepsRecorded      int  `emf:"StepsRecorded"`
	StepsResumed       int  `emf:"StepsResumed"`
	StepsFailed        int  `emf:"StepsFailed"`
	StepsLost          int  `emf:"StepsLost"`
	OrphanSteps        int  `emf:"OrphanSteps"`
	Commits            int  `emf:"Commits"`
	CommitsDeclined    int  `emf:"CommitsDeclined"`
	CommitsFailed      int  `emf:"CommitsFailed"`
	CommitRetries      int  `emf:"CommitRetries"`
	CommittedOtherwise bool `emf:"CommittedOtherwise"`
}

// told is what a line says of a delivery. It is the one place that says what a delivery counts as.
func told(d *report.Delivery) delivery {
	var c counts
	c.answered(d)
	c.settled(d)
	c.stood(d)
	c.ThrottledKey = d.Throttle == string(store.ThrottledKey)
	c.ThrottledTable = d.Throttle == string(store.ThrottledTable)
	c.ThrottledAccount = d.Throttle == string(store.ThrottledAccount)
	for i := range d.Steps {
		c.step(d.Steps[i].End)
	}
	for i := range d.Commits {
		c.commit(&d.Commits[i])
	}
	if d.Outcome == report.CommitFailed && c.CommitsFailed == 0 {
		c.CommitsFailed = 1 // whatever the commits say, the caller was told so
	}
	c.OrphanSteps = len(d.OrphanSteps)
	c.CommittedOtherwise = d.OtherAnswer
	c.Takeover = d.Recovered
	return delivery{counts: c, Delivery: *d, StoreFailure: storeFailure(d)}
}

// answered counts the outcome.
func (c *counts) answered(d *report.Delivery) {
	switch d.Outcome {
	case report.Executed, report.CommitFailed: // the settlement and the commits say what came of it
	case report.Replayed:
		c.Replayed = 1
	case report.Resolved:
		c.Resolved = 1
	case report.MissingKey, report.InvalidKey:
		c.KeyMisuse = 1
	case report.Mismatch:
		c.KeyMisuse, c.Mismatch = 1, 1
	case report.Stale:
		c.Stale = 1
	case report.MissingTenant:
		c.MissingTenant = 1
	case report.InProgress:
		c.InProgress = 1
	case report.Superseded:
		c.LeaseLost = true
	case report.UnknownOutcome:
		c.MetUnknown = 1
	case report.Unreadable:
		c.Unreadable = true
	case report.StoreUnavailable:
		c.StoreError = true
	case report.Refused, report.WrappedTwice:
		c.Refused = 1
	case report.Panicked:
		c.Panicked = 1
	case report.Unprotected:
		c.Unprotected = 1
	case report.Disabled:
		c.Disabled = 1
	}
}

// settled counts the settlement.
func (c *counts) settled(d *report.Delivery) {
	const lost = "result-lost" // stored in records
	switch d.Settlement {
	case report.Completed:
		c.Created = 1
	case report.Released:
		c.FailedRetry = 1
	case report.Unknown:
		c.BecameUnknown, c.MetUnknown = 1, 0 // by this very delivery, which did not meet it so
	case report.StillUnknown:
		c.MetUnknown = 1
	case report.Elsewhere:
		c.LeaseLost = true
	case report.NotSettled:
		c.CompletionFailed = true
	}
	// A record may say so that this delivery has only met.
	c.CompletionFailed = c.CompletionFailed || d.Reason == lost && d.Outcome != report.UnknownOutcome
}

// stood counts the failure of the store that did not decide the answer.
func (c *counts) stood(d *report.Delivery) {
	var unreadable *store.UnreadableError
	switch {
	case d.StoreErr == nil:
	case d.LeaseLost:
		c.LeaseLost = true
	case errors.As(d.StoreErr, &unreadable):
		c.Unreadable = true
	default:
		c.StoreError = true
	}
}

func (c *counts) step(end report.StepEnd) {
	switch end {
	case report.StepRecorded, report.StepResolved:
		c.StepsRecorded++
	case report.StepResumed:
		c.StepsResumed++
	case report.StepLost:
		c.StepsLost++
	case report.StepFailed, report.StepRefused, report.StepLeaseLost, report.StepUnreadable, report.StepUnknown:
		c.StepsFailed++
	}
}

func (c *counts) commit(r *report.Commit) {
	c.CommitRetries += max(r.Tries-1, 0)
	switch r.End {
	case report.CommitDone:
		c.Commits++
	case report.CommitDeclined:
		c.CommitsDeclined++
	case report.CommitRefused, report.CommitLeaseLost, report.CommitNotDone:
		c.CommitsFailed++
	}
}

// storeFailure says what failed in the store: a kind, or else the type of an error; empty if
// nothing did.
func storeFailure(d *report.Delivery) string {
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
