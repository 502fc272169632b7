// Package report says what happened, in plain structs: a delivery with its steps and commits, a
// batch, a relay of messages, a reconciliation, and how much waits. Whoever does the work fills a
// report in and hands it to observers; package observe writes it as metrics and as logs. A zero
// says that nothing of its kind happened. Operation is the name of the wrapped handler everywhere,
// and Took how long the whole took.
//
// The tag emf of a field says what package observe writes of it as a metric: a name, perhaps a unit
// (Count if there is none), and "always" if zeros count, too. "property" and "dimension" stand for
// fields that are no metrics; the dimension is the first field. The tag log is the name of an
// attribute of a log. So a new counter is one field.
//
// A report holds no key of a client, no payload and no result. Texts of errors are those of whoever
// made the error: the handler, a resolver, a function of the configuration, or this module. They
// are for logs: the JSON of [Relay] and [Reconciled] has none of them.
package report

import "time"

// Delivery is what became of one delivery to a wrapped handler.
type Delivery struct {
	Operation string  `emf:"Operation,dimension" log:"operation"`
	Outcome   Outcome `emf:"outcome,property"    log:"outcome"`
	// Route is the route of an HTTP request. A handler has at most 100 of them, and "other". It is
	// empty also if the protection is turned off, and for an event of another kind.
	Route string `emf:"route,property" log:"route"`
	// RecordKey is the operation and a digest of scope and key, empty without a key.
	RecordKey  string     `emf:"recordKey,property"  log:"record"`
	Settlement Settlement `emf:"settlement,property" log:"settlement"`
	// Reason says why the record is UNKNOWN.
	Reason string `emf:"reason,property" log:"reason"`
	// Attempt is the number of this execution under its record, from 1.
	Attempt int `emf:"attempt,property" log:"attempt"`
	// Recovered says that the claim was a takeover after a crash.
	Recovered bool `log:"recovered"`
	// Trigger is what the handler takes: "http" for requests of a gateway, "message" for messages
	// of a queue or records of a stream, one at a time, or "call" for events of the caller's own.
	Trigger string
	// Trace is the trace context of another execution, as the header traceparent of W3C Trace
	// Context has it: of the one whose answer was replayed, of the one that died or was released
	// before this one, or of the one that was waited for or runs. It is empty if nobody traced it.
	Trace   string
	Created time.Time // when the answer that was replayed was stored, zero if nobody said
	Start   time.Time // when the delivery began
	Took    time.Duration
	// Claim, Wait, Handle and Settle are the phases. Wait is the wait for a running execution; it
	// includes the reads of the record and the claims after them.
	Claim  Phase `emf:"ClaimLatency,Milliseconds"      log:"claim"`
	Wait   Phase `emf:"WaitLatency,Milliseconds"       log:"wait"`
	Handle Phase `emf:"HandlerLatency,Milliseconds"    log:"handle"`
	Settle Phase `emf:"CompletionLatency,Milliseconds" log:"settle"`
	// ResultBytes is the size of the result that was stored or replayed.
	ResultBytes int `emf:"ResultBytes,Bytes" log:"bytes"`
	// DerivedKeys are the keys that the execution got from DerivedKey, in the order of their names:
	// with them an operator asks the other services what happened. They are no secrets. Those that
	// a resolver asked with are among them, and those of an execution before, if the record was
	// UNKNOWN. There are at most 20, of names of 1 to 64 bytes; what is beyond is left out.
	DerivedKeys []NamedKey `log:"derived_keys"`
	// Steps are those that the execution asked for, in the order in which they ended.
	Steps []Step `log:"steps"`
	// OrphanSteps are the names of steps that an earlier execution recorded and that this one,
	// which ended with a stored result, did not ask for: code that was renamed or removed since.
	// They are in ascending order.
	OrphanSteps []string `log:"orphan_steps"`
	// Commits are those that the handler tried, in their order.
	Commits     []Commit `log:"commits"`
	OtherAnswer bool     // the handler did something else than return what it had committed
	LeaseLost   bool     // the execution lost its lease
	// Err is the error that the delivery ended with. It is the handler's own error with its marks,
	// also if the handler returned a response beside it, or an error of this module. If a resolver
	// or an encoder failed, its error is joined to it.
	Err error `log:"error"`
	// StoreErr is the last failure of the store that did not decide the answer: a claim that could
	// not be undone, a renewal, a completion or a release that failed.
	StoreErr error `log:"store_error"`
	// Throttle says what lacked capacity: "hot key", "table" or "account". It is empty also where
	// DynamoDB did not say.
	Throttle string `emf:"throttle,property" log:"throttle"`
}

// Phase is a part of a delivery.
type Phase struct {
	Start time.Time
	Took  time.Duration
}

// NamedKey is a derived key and its name.
type NamedKey struct{ Name, Key string }

// Outcome is how a delivery was answered.
type Outcome string

// The outcomes. Each delivery has exactly one.
const (
	// Executed: the handler ran under a claim, and its own result or error was returned.
	Executed Outcome = "executed"
	Replayed Outcome = "replayed" // the stored result was returned
	Resolved Outcome = "resolved" // a resolver settled an earlier execution; what it found was returned
	// MissingKey, InvalidKey and Mismatch: the client misused the key.
	MissingKey Outcome = "missing key"
	InvalidKey Outcome = "invalid key"
	Mismatch   Outcome = "mismatch"
	// Stale: the timestamp of the request is missing, malformed or too old.
	Stale         Outcome = "stale"
	MissingTenant Outcome = "missing tenant" // the caller cannot be identified, but must be
	InProgress    Outcome = "in progress"    // another execution holds the key
	// Superseded: the handler, or the resolver, lost its lease, and another execution of the
	// request holds the key.
	Superseded Outcome = "superseded"
	// UnknownOutcome: nobody knows whether an earlier execution had its effect.
	UnknownOutcome Outcome = "unknown outcome"
	Unreadable     Outcome = "unreadable" // an operator has to look at the stored record
	// WrappedTwice: the handler is wrapped twice, and its caller executes the record it asks for.
	WrappedTwice     Outcome = "wrapped twice"
	StoreUnavailable Outcome = "store unavailable" // it could not answer; the handler did not run
	// CommitFailed: the handler's commit failed, and it returned an answer all the same, of which
	// nothing is stored; or it is an HTTP handler and returned that error.
	CommitFailed Outcome = "commit failed"
	// Refused: the request could not be prepared, because a function of the configuration failed,
	// or because the payload is no event of the handler.
	Refused Outcome = "refused"
	// Panicked: the handler, or a function of the configuration, panicked or called runtime.Goexit.
	// The panic continues.
	Panicked Outcome = "panicked"
	// Unprotected: the handler ran without protection, because the request needs no key and carries
	// none, or because its method or route is never protected.
	Unprotected Outcome = "unprotected"
	Disabled    Outcome = "disabled" // the same, because the protection is turned off
)

// Settlement is what a delivery made of its record.
type Settlement string

// The settlements. A delivery that left the record as it found it has none.
const (
	Completed Settlement = "completed" // the result is stored
	// Released: the record is gone, or keeps nothing but its steps, and the next delivery executes.
	Released Settlement = "released"
	// Unknown: this delivery has made the record UNKNOWN. Its own execution ended so, or it found a
	// crashed one that must not be executed again.
	Unknown      Settlement = "unknown"
	StillUnknown Settlement = "still unknown" // a resolver could not settle an UNKNOWN record
	// Elsewhere: the lease was lost, and another delivery owns the record now, or can take it over.
	Elsewhere Settlement = "elsewhere"
	// NotSettled: the store did not answer; the record stays in progress until its lease ends.
	NotSettled Settlement = "failed"
)

// Step is what became of one step of a handler.
type Step struct {
	Name string  `log:",key"`
	End  StepEnd `log:"end"`
	// Start is when the function of the step began, or else when the step was asked for.
	Start time.Time
	// Took is how long the function ran, Recording how long the writes of the step took.
	Took      time.Duration `log:"took"`
	Recording time.Duration `log:"recording"`
	// Bytes is the size of the JSON that was recorded or read.
	Bytes int `log:"bytes"`
	// Err is the error that the step ended with.
	Err error
	// ErrorType is the type of that error, or of its cause where the end says all but that.
	ErrorType string `log:"error"`
}

// StepEnd is what came of a step.
type StepEnd string

// The ends of steps. Each step has exactly one.
const (
	StepRecorded   StepEnd = "recorded"        // this execution recorded its result or final failure
	StepResolved   StepEnd = "resolved"        // the same, and a resolver had found it
	StepResumed    StepEnd = "resumed"         // an earlier execution recorded it: the function did not run
	StepFailed     StepEnd = "failed"          // its function panicked, or its error is not recorded
	StepLost       StepEnd = "lost"            // its function ran, but what it returned is not recorded
	StepRefused    StepEnd = "refused"         // its function did not run
	StepLeaseLost  StepEnd = "lease lost"      // the execution had lost its lease
	StepUnreadable StepEnd = "unreadable"      // what is recorded cannot be understood
	StepUnknown    StepEnd = "unknown outcome" // it began, did not end, and may have had its effect
)

// Commit is what became of one commit of a handler.
type Commit struct {
	End CommitEnd `log:"end"`
	// Items is how many writes it had beside the answer. Tries is how often it was sent: more than
	// once if another writer was at work, the store lacked capacity, or a reply was lost.
	Items int `log:"items,always"`
	Tries int `log:"tries,always"`
	Start time.Time
	Took  time.Duration `log:"took"`
	// Err is why it has not happened.
	Err error
	// ErrorType is what failed in the store, or the type of the cause, unless the end says all.
	ErrorType string `log:"error"`
}

// CommitEnd is what came of a commit.
type CommitEnd string

// The ends of commits. Each commit has exactly one.
const (
	CommitDone      CommitEnd = "committed"
	CommitDeclined  CommitEnd = "declined"   // a condition did not hold: an ordinary branch, no failure
	CommitRefused   CommitEnd = "refused"    // it was wrong to call it, and nothing was sent
	CommitLeaseLost CommitEnd = "lease lost" // the execution had lost its lease
	CommitNotDone   CommitEnd = "failed"     // the store did not take it
)
