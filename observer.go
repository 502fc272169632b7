package idempotent

import "time"

// Outcome is how an invocation was answered.
type Outcome string

// The outcomes. Each invocation has exactly one.
const (
	// OutcomeExecuted: the handler ran under a claim, and its own result or error was returned.
	OutcomeExecuted Outcome = "executed"
	// OutcomeReplayed: the stored result was returned.
	OutcomeReplayed Outcome = "replayed"
	// OutcomeResolved: a resolver settled an earlier execution, and the result it found was returned.
	OutcomeResolved Outcome = "resolved"
	// OutcomeMissingKey, OutcomeInvalidKey and OutcomeMismatch: the caller misused the key.
	OutcomeMissingKey Outcome = "missing key"
	OutcomeInvalidKey Outcome = "invalid key"
	OutcomeMismatch   Outcome = "mismatch"
	// OutcomeStale: the timestamp of the request is missing, malformed or too old.
	OutcomeStale Outcome = "stale"
	// OutcomeMissingTenant: the caller cannot be identified, although [HTTP.RequireTenant] asks for it.
	OutcomeMissingTenant Outcome = "missing tenant"
	// OutcomeInProgress: another execution holds the key.
	OutcomeInProgress Outcome = "in progress"
	// OutcomeUnknown: an earlier execution's outcome is unknown.
	OutcomeUnknown Outcome = "unknown outcome"
	// OutcomeUnreadable: the stored record cannot be understood; an operator has to look.
	OutcomeUnreadable Outcome = "unreadable"
	// OutcomeStoreUnavailable: the store could not answer, and the handler did not run.
	OutcomeStoreUnavailable Outcome = "store unavailable"
	// OutcomeRefused: the request could not be judged: a function of the configuration failed, or the payload is no
	// event of the handler.
	OutcomeRefused Outcome = "refused"
	// OutcomePanicked: the handler, or a function of the configuration, panicked or called runtime.Goexit, which goes on.
	OutcomePanicked Outcome = "panicked"
	// OutcomeUnprotected: the request needs no key and carries none.
	OutcomeUnprotected Outcome = "unprotected"
	// OutcomeDisabled: the protection is turned off.
	OutcomeDisabled Outcome = "disabled"
)

// Settlement is what became of the record of an execution.
type Settlement string

// The settlements. Invocations that executed or resolved nothing have none.
const (
	// SettledCompleted: the result is stored.
	SettledCompleted Settlement = "completed"
	// SettledReleased: the record is gone, and the next delivery executes.
	SettledReleased Settlement = "released"
	// SettledUnknown: the record is UNKNOWN, see Event.Reason.
	SettledUnknown Settlement = "unknown"
	// SettledElsewhere: the lease was lost during the execution, and someone else owns the record now.
	SettledElsewhere Settlement = "elsewhere"
	// SettledFailed: the store did not answer; the record stays in progress until its lease ends.
	SettledFailed Settlement = "failed"
)

// Event reports one invocation to the observer. It holds no key, no payload and no result, except for what the handler
// itself put into its error.
type Event struct {
	Operation string
	// RecordKey is the operation and the hash of scope and key; empty if there was none.
	RecordKey  string
	Outcome    Outcome
	Settlement Settlement
	// Reason is that of the record where it became or is UNKNOWN.
	Reason string
	// Attempt is the number of this execution under its record, from 1; 0 if none was claimed.
	Attempt int
	// Recovered is true if the claim was a takeover.
	Recovered bool
	// Err is the error that the invocation ended with: the handler's own with its marks, also where a response stands
	// beside it, or the library's, joined with that of a resolver or an encoder that failed. Nil if it ended well.
	Err error
	// StoreErr is the last failure of the store that did not decide the answer: a claim that could not be undone, a
	// renewal, a completion or a release that failed. Nil if there was none.
	StoreErr error
	// Claim, Wait, Handle and Settle are the durations of the phases; 0 for one that did not happen. Wait is that of
	// [WithWait], with the looks and the claims in it.
	Claim, Wait, Handle, Settle time.Duration
	// ResultBytes is the size of the result that was stored or replayed.
	ResultBytes int
}
