package idempotent

import (
	"context"
	"crypto/rand"
	"time"
)

// request is what the protocol knows of a delivery. All of it is computed before any I/O and before the handler can
// touch the event.
type request struct {
	recordKey   string
	fingerprint string
}

// work is the handler of one delivery as the protocol sees it.
type work interface {
	// execute runs the handler and says how the record is to end. It sets *returned once the handler has returned.
	execute(ctx context.Context, returned *bool) ending
	// resolve asks the resolver what became of an earlier execution. The ending has no reason.
	resolve(ctx context.Context, x Execution) (verdict, ending)
}

// ending is how an execution leaves its record.
type ending struct {
	fate fate
	// reason is stored beside an UNKNOWN record, and tells a stored error from a stored value.
	reason string
	// result is the JSON text to store.
	result []byte
}

type fate int

const (
	fateRelease fate = iota
	fateComplete
	fateUnknown
)

// The reasons that records carry. They are stored: never change one.
const (
	reasonTerminal    = "terminal"    // completed with a stored error
	reasonUncertain   = "uncertain"   // the handler marked its error
	reasonPanic       = "panic"       // the handler panicked or called runtime.Goexit
	reasonInterrupted = "interrupted" // the handler returned the error of its context
	reasonError       = "error"       // the handler failed, and the policy is UnknownOnError
	reasonNotStored   = "not-stored"  // the result is not to be stored, and the policy is UnknownOnError
	reasonCrashed     = "crashed"     // the lease lapsed, and the policy is Refuse
	reasonResultLost  = "result-lost" // the handler returned, but its result could not be stored
)

// answer is how an invocation ends for its caller.
type answer struct {
	outcome Outcome
	// result is what a replay returns: a value, or an error if terminal is set.
	result   []byte
	terminal bool
	// committed says that a commit vouches for the result: it is what a handler with this key encoded here.
	committed bool
	// expires is until when the result is replayed, zero if it is not stored.
	expires time.Time
	// err is the library's error, if that is the answer.
	err error
}

// executed is the answer that returns what the handler returned.
var executed = answer{outcome: OutcomeExecuted}

// invocation is one delivery under one claim token. It belongs to one goroutine; only the heartbeat runs beside it, and
// is joined before anything is settled.
type invocation struct {
	*config
	request
	owner string
	// started and deadline (zero for none) are the invocation's by the clock of contexts, lease is the end of the lease
	// that a claim takes by the clock of records.
	started, deadline, lease time.Time
	// mine is the record as this claim wrote it last, once it is claimed.
	mine Record
	// seenReason is why a record that was taken over needs a resolver.
	seenReason string
	event      *Event
}

// invoke runs one delivery: claim, handle, and complete or release. The event is filled in on the way.
func (c *config) invoke(ctx context.Context, req request, w work, event *Event) answer {
	v := &invocation{config: c, request: req, event: event}
	v.begin(ctx)
	event.RecordKey = req.recordKey

	a, claimed := v.claim(ctx)
	event.Claim = time.Since(v.started)
	if !claimed && a.outcome == OutcomeInProgress && v.wait > 0 {
		a, claimed = v.await(ctx, a)
	}
	if !claimed {
		return a
	}
	event.Attempt, event.Recovered = v.mine.Attempt, v.recovered()
	return v.handle(ctx, w)
}

// begin prepares a claim: a token, and a lease from now.
func (v *invocation) begin(ctx context.Context) {
	v.owner, v.started, v.deadline = rand.Text(), time.Now(), nearDeadline(ctx)
	v.lease = v.leaseUntil(v.deadline)
}

func (v *invocation) recovered() bool { return v.mine.Attempt > 1 }

func (v *invocation) execution() Execution {
	return Execution{
		Operation:   v.operation,
		RecordKey:   v.recordKey,
		Attempt:     v.mine.Attempt,
		Recovered:   v.recovered(),
		fingerprint: v.mine.Fingerprint,
	}
}

// handle runs the handler under the claim and settles the record, whichever way the handler ends.
func (v *invocation) handle(ctx context.Context, w work) answer {
	hctx, end := v.handlerContext(ctx)
	started := time.Now()
	stop := func() {
		end()
		v.event.Handle = time.Since(started)
	}

	returned, done := false, false
	// A panic and runtime.Goexit pass through here without being recovered, so they continue as what they are, with
	// their own stack. There is no need to tell them apart.
	defer func() {
		if done {
			return
		}
		stop()
		v.settle(hctx, v.crashed(returned))
	}()

	resolved, e := touchedNothing, ending{}
	if v.user.resolver != nil && v.recovered() { // an execution that may have had its effect
		resolved, e = w.resolve(hctx, v.execution())
		if resolved == touchedNothing && hctx.Err() != nil {
			resolved, e = stillUnknown, ending{fate: fateUnknown} // too late to execute: someone else may own the record
		}
		if resolved == stillUnknown {
			e.reason = v.seenReason
		}
	}
	if resolved == touchedNothing {
		e = w.execute(hctx, &returned)
	}
	done = true
	stop()

	a, own := v.settle(hctx, e)
	switch {
	case !own || resolved == touchedNothing:
		return a
	case resolved == hasExecuted:
		v.event.ResultBytes = len(e.result)
		return answer{outcome: OutcomeResolved, result: e.result, expires: a.expires}
	default:
		return v.unknown(e.reason)
	}
}

// crashed is the ending of an execution that panicked. Once the handler has returned, its effect has happened and only
// the result is lost: that must not lead to a second execution.
func (v *invocation) crashed(returned bool) ending {
	switch {
	case returned:
		return ending{fate: fateUnknown, reason: reasonResultLost}
	case v.crash == Refuse:
		return ending{fate: fateUnknown, reason: reasonPanic}
	default:
		return ending{fate: fateRelease}
	}
}

// The answers of the library. Each sets what the observer sees of it.

func (v *invocation) refuse(outcome Outcome, err error) answer {
	return answer{outcome: outcome, err: err}
}

func (v *invocation) unknown(reason string) answer {
	v.event.Reason = reason
	return v.refuse(OutcomeUnknown,
		&UnknownOutcomeError{Operation: v.operation, RecordKey: v.recordKey, Reason: reason})
}

func (v *invocation) mismatch() answer {
	return v.refuse(OutcomeMismatch, &MismatchError{Operation: v.operation, RecordKey: v.recordKey})
}

func (v *invocation) inProgress(held Record, now time.Time) answer {
	end := held.Lease
	if end.IsZero() {
		end = held.Expiry
	}
	return v.refuse(OutcomeInProgress, &InProgressError{
		Operation: v.operation, RecordKey: v.recordKey, RetryAfter: max(end.Sub(now), 0),
	})
}

func (v *invocation) unreadable(reason string, err error) answer {
	return v.refuse(OutcomeUnreadable,
		&UnreadableError{Operation: v.operation, RecordKey: v.recordKey, Reason: reason, Err: err})
}

func (v *invocation) unavailable(err error) answer {
	return v.refuse(OutcomeStoreUnavailable,
		&StoreUnavailableError{Operation: v.operation, RecordKey: v.recordKey, Err: err})
}
