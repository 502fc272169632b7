package idempotent

import "time"

// Outcome is how a delivery was answered.
type Outcome string

// The outcomes. Each delivery has exactly one.
const (
	// OutcomeExecuted: the handler ran under a claim, and its own result or error was returned.
	OutcomeExecuted Outcome = "executed"
	// OutcomeReplayed: the stored result was returned.
	OutcomeReplayed Outcome = "replayed"
	// OutcomeResolved: a resolver settled an earlier execution, and the result it found was returned.
	OutcomeResolved Outcome = "resolved"
	// OutcomeMissingKey, OutcomeInvalidKey and OutcomeMismatch: the client misused the key.
	OutcomeMissingKey Outcome = "missing key"
	OutcomeInvalidKey Outcome = "invalid key"
	OutcomeMismatch   Outcome = "mismatch"
	// OutcomeStale: the timestamp of the request is missing, malformed or too old.
	OutcomeStale Outcome = "stale"
	// OutcomeMissingTenant: the caller cannot be identified, although [HTTP.RequireTenant] asks for it.
	OutcomeMissingTenant Outcome = "missing tenant"
	// OutcomeInProgress: another execution holds the key.
	OutcomeInProgress Outcome = "in progress"
	// OutcomeSuperseded: the handler, or the resolver, ran, but lost its lease, and another execution of the request holds the key.
	OutcomeSuperseded Outcome = "superseded"
	// OutcomeUnknown: nobody knows whether an earlier execution had its effect.
	OutcomeUnknown Outcome = "unknown outcome"
	// OutcomeUnreadable: the stored record cannot be understood; an operator has to look.
	OutcomeUnreadable Outcome = "unreadable"
	// OutcomeStoreUnavailable: the store could not answer, and the handler did not run.
	OutcomeStoreUnavailable Outcome = "store unavailable"
	// OutcomeCommitFailed: the handler ran, its commit failed, and it returned an answer all the same, of which nothing is stored; or it is
	// an HTTP handler and returned that error. The caller gets [ErrCommitFailed].
	OutcomeCommitFailed Outcome = "commit failed"
	// OutcomeRefused: the request could not be prepared, because a function of the configuration failed, or because the
	// payload is no event of the handler.
	OutcomeRefused Outcome = "refused"
	// OutcomePanicked: the handler, or a function of the configuration, panicked or called runtime.Goexit. The panic
	// continues.
	OutcomePanicked Outcome = "panicked"
	// OutcomeUnprotected: the handler ran without protection, because the request needs no key and carries none, or
	// because its HTTP method is never protected, or because [HTTP.Protect] says so.
	OutcomeUnprotected Outcome = "unprotected"
	// OutcomeDisabled: the handler ran without protection, because the protection is turned off.
	OutcomeDisabled Outcome = "disabled"
)

// Settlement is what a delivery made of its record.
type Settlement string

// The settlements. A delivery that left the record as it found it has none.
const (
	// SettledCompleted: the result is stored.
	SettledCompleted Settlement = "completed"
	// SettledReleased: the record is gone, or keeps nothing but its steps, and the next delivery executes.
	SettledReleased Settlement = "released"
	// SettledUnknown: this delivery has made the record UNKNOWN, see Event.Reason. Its own execution ended so, or it found a crashed
	// one that must not be executed again.
	SettledUnknown Settlement = "unknown"
	// SettledStillUnknown: a resolver was asked about an UNKNOWN record, and could not settle it. The record is as it was before.
	SettledStillUnknown Settlement = "still unknown"
	// SettledElsewhere: the execution lost its lease, and another delivery owns the record now, or can take it over.
	SettledElsewhere Settlement = "elsewhere"
	// SettledFailed: the store did not answer; the record stays in progress until its lease ends.
	SettledFailed Settlement = "failed"
)

// Event reports one delivery to the observer. It holds no key of a client, no payload and no result, except for what the handler
// or the resolver itself put into its error.
type Event struct {
	Operation string
	// Route is the route of an HTTP request, see [HTTP.Route]: a handler has at most 100 of them, and "other". It is empty if the
	// handler is no HTTP handler, if the protection is turned off, and for an event that is none of the handler's kind.
	Route string
	// RecordKey is the operation and a digest of scope and key. It is empty if the delivery ended before it had one, or
	// needed none.
	RecordKey  string
	Outcome    Outcome
	Settlement Settlement
	// Reason says why the record is UNKNOWN. It is empty if the record is not UNKNOWN.
	Reason string
	// Attempt is the number of this execution under its record, from 1. It is 0 if nothing was claimed.
	Attempt int
	// Recovered is true if the claim was a takeover.
	Recovered bool
	// Err is the error that the delivery ended with, nil if it ended well. It is the handler's own error with its
	// marks, also if the handler returned a response beside it, with those that it noted with [Mark], or an error of this package. If a resolver or an
	// encoder failed, its error is joined to it. If the handler did something else than return the answer that it had committed, it is
	// a [*CommittedError]. The text of an error of this package repeats nothing of the request, also
	// where a function of an option failed; that of the handler's or the resolver's own may.
	Err error
	// StoreErr is the last failure of the store that did not decide the answer: a claim that could not be undone, a
	// renewal, a completion or a release that failed. It is nil if there was none.
	StoreErr error
	// Claim, Wait, Handle and Settle are the durations of the phases, 0 for a phase that did not happen. Wait is how
	// long the delivery waited for a running execution, see [WithWait]; it includes the reads of the record and the
	// claims after them.
	Claim, Wait, Handle, Settle time.Duration
	// ResultBytes is the size of the result that was stored or replayed.
	ResultBytes int
	// DerivedKeys are the keys that the execution got from [DerivedKey], in the order of their names: with them an operator asks
	// the other services what happened. They are no secrets. Also those are among them that a resolver asked with, and those
	// of an execution before, if the record was UNKNOWN. There are at most 20, of names of 1 to 64 bytes; what is beyond is left
	// out. An unprotected execution has none.
	DerivedKeys []NamedKey
	// Steps are those that the execution asked for, in the order in which they ended.
	Steps []StepEvent
	// OrphanSteps are the names of steps that an earlier execution recorded and that this one, which ended with a stored result, did not
	// ask for: code that was renamed or removed since. They are in ascending order.
	OrphanSteps []string
	// Commits are those that the handler tried, in their order. The last one may have completed the record.
	Commits []CommitEvent
}

// CommitEvent is what became of one commit of a handler, such as dynamo.Commit.
type CommitEvent struct {
	// Items is how many writes it had beside the answer. Tries is how often it was sent: more than once if another writer was at work, the
	// store lacked capacity, or a reply was lost.
	Items, Tries int
	Took         time.Duration
	// Declined is true if the condition of a write did not hold: an ordinary branch of the handler, and no failure.
	Declined bool
	// Err is why it has not happened: [ErrCommitRefused], [ErrCommitFailed], [ErrLeaseLost], or, if it was declined, the error of the
	// store. It is nil if it has.
	Err error
}

// StepEvent is what became of one [Step].
type StepEvent struct {
	Name string
	// Resumed is true if an earlier execution had recorded the result, so that the function did not run. Resolved is true if the
	// resolver of [AtMostOnce] gave it. Recorded is true if this execution recorded it.
	Resumed, Resolved, Recorded bool
	// Took is how long the function ran, 0 if it did not. Recording is how long the writes of the step took.
	Took, Recording time.Duration
	// Bytes is the size of the JSON that was recorded or read.
	Bytes int
	// Err is the error that the step ended with: the function's own, with its marks, a [*ReplayedError] if that is recorded, or a
	// [*StepError], which says why the step has no outcome of its own: [ErrStepLost] in it means that its effect happened and that its
	// result is not recorded.
	Err error
}

// NamedKey is a key of [DerivedKey] and its name.
type NamedKey struct{ Name, Key string }
