package explore

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// event is something that invariants are about.
type event struct {
	kind eventKind
	// d is whose handler began, or who was answered.
	d *delivery
	// change is what was written.
	change
	// step is the one that began, or that has returned out and err; own is the error of its
	// function.
	step     int
	out      Done
	err, own error
	// tried is the commit that has returned err.
	tried int
}

type eventKind int

const (
	evWritten eventKind = iota
	evBegan
	evAnswered
	evSent   // a call is about to be granted
	evDone   // an operator was told what became of its change
	evPassed // time has passed
	evStepBegan
	evStepped
	evCommitted
	evAsked      // a resolver is asked, or somebody is given a record to be given up
	evReconciled // a reconciliation has ended
	evOver       // every lease has ended
)

// invariant looks at an event before the chronicle knows of it, and says what is wrong; "" if
// nothing is.
type invariant func(w *world, e *event) string

// invariants are those of docs/guarantees.md.
var invariants = []struct {
	name  string
	holds invariant
}{
	{"I1 one execution is committed, and none starts beside a live one", oneExecution},
	{"I2 a replay is the first result", replayIsTheFirstResult},
	{"I3 another fingerprint never executes and never gets the result", otherFingerprintGetsNothing},
	{"I4 no key stays blocked longer than its lease", blockedNoLongerThanTheLease},
	{"I5 a stale owner changes nothing", staleOwnerChangesNothing},
	{"I6 no execution without a claim", noExecutionWithoutAClaim},
	{"I7 no failure hides the handler's result", nothingHidesTheResult},
	{"I7 a record whose handler has a result is not released", resultIsNotDeleted},
	{"I1 a lease only grows", leaseOnlyGrows},
	{"I4 no lease is renewed for ever where there is a deadline", leaseIsNotEndless},
	{"I1 no handler starts under a lease that is used up", leaseIsWholeAtTheStart},
	{"I1 of several marks the most cautious counts", mostCautiousMarkCounts},
	{"I4 what has expired decides nothing", expiredDecidesNothing},
	{"I4 a handler that did nothing leaves nothing that blocks", nothingDoneNothingBlocked},
	{"I4 a running transaction is no outage and is left alone", transactionIsNoOutage},
	{"I5 an undo leaves what was seen and nothing of its own", undoLeavesWhatWasSeen},
	{"I7 who has executed never says otherwise", executedIsNotDenied},
	{"I7 no lease is given up that can be held", leaseIsNotGivenUp},
	{"I1 no record expires under its lease", leaseOutlivedByExpiry},
	{"I8 a recorded step is never begun again", recordedIsNeverBegunAgain},
	{"I8 who has lost its lease begins no step", lostLeaseBeginsNothing},
	{"I8 a handler that says that its lease is lost writes nothing but that an effect is lost", lostLeaseWritesNothing},
	{"I8 who does not own the record records nothing", onlyTheOwnerRecords},
	{"I8 an effect of at most once never begins twice", atMostOnce},
	{"I8 what nobody has touched executes", untouchedExecutes},
	{"I8 a lost step is not followed by a release", lostIsNotReleased},
	{"I8 what is recorded stays as long as its record lives", recordedStays},
	{"I8 a step returns the same in every execution", stepReturnsWhatIsRecorded},
	{"I8 a crash is resumed if and only if its steps tell all", crashIsResumedIfStepsTellAll},
	{"I7 a step is not lost that can be recorded", stepIsRecorded},
	{"I8 an observer is told what became of steps", stepsAreReported},
	{"I9 rows are written if and only if their answer is stored", rowsComeWithTheirAnswer},
	{"I9 what a commit says of its rows is true for ever", refusedIsNeverApplied},
	{"I9 the committed answer counts", committedAnswerCounts},
	{"I9 beside and after a commit nothing is done", afterACommitNothingFollows},
	{"I9 a commit inside of a step is refused", insideIsRefused},
	{"I9 a commit is not given up that can be made", commitIsNotGivenUp},
	{"I11 an operator and an owner never both win", operatorAndOwnerNeverBothWin},
	{"I13 nobody is asked beside a live claim", nobodyIsAskedBesideAClaim},
	{"I13 nobody executes while somebody is asked", nobodyExecutesBesideAQuestion},
	{"I13 what is UNKNOWN is executed again only after a verdict", unknownIsExecutedAfterAVerdict},
	{"I13 a reconciliation changes nothing that is completed", reconciliationLeavesTheCompleted},
	{"I13 an answer counts if the claim is held, and as it was given", answerCountsUnderItsClaim},
	{"I13 an open record stays on the list", openStaysOnTheList},
	{"I13 nothing is on the list that nobody has to settle", onTheListAsLongAsNeeded},
	{"I13 tries are what was asked in vain", triesAreWhatWasAsked},
	{"I13 a record is given up after enough tries, and by somebody who took it", givenUpAfterEnough},
	{"I13 what can be resumed stays so", resumableStaysSo},
	{"I13 what a reconciliation tells is true", reconciliationTellsTheTruth},
	{"I13 no open record is lost", openIsNotLost},
}

func (w *world) check(e *event) {
	for _, i := range invariants {
		if wrong := i.holds(w, e); wrong != "" && w.broken == nil {
			w.broken = fmt.Errorf("%s: %s", i.name, wrong) //nolint:err113 // for a reader
		}
	}
}

func oneExecution(w *world, e *event) string {
	if e.kind == evWritten && e.after != nil && e.after.Status == store.StatusCompleted {
		for _, c := range w.commits {
			if e.by.clock().Before(c.expiry) && c.to == 0 {
				return fmt.Sprintf("%s commits %q although %s committed %q", e.by.name, answerIn(*e.after),
					c.by.name, c.answer)
			}
		}
	}
	if e.kind != evBegan {
		return ""
	}
	for _, c := range w.commits {
		if e.d.clock().Before(c.expiry) {
			return fmt.Sprintf("%s executes although %s has committed", e.d.name, c.by.name)
		}
	}
	for _, x := range w.deliveries {
		if x == e.d || !x.began || x.released {
			continue
		}
		if why := w.forbids(x); why != "" {
			return e.d.name + " executes although " + why
		}
	}
	return ""
}

// forbids says why nobody may execute after or beside a delivery that has begun, empty if somebody
// may.
func (w *world) forbids(x *delivery) string {
	switch {
	case w.now.Before(x.unknownUntil):
		return "the outcome of " + x.name + " is unknown"
	case !x.unknownUntil.IsZero() || w.hasCommitted(x):
		return ""
	case w.now.Before(w.protectedUntil(x)):
		return x.name + " is live"
	case w.Timed && w.isProtected(x):
		return "the handler of " + x.name + " runs, whose lease can be renewed"
	default:
		return ""
	}
}

// protectedUntil is until when nobody may execute beside a delivery: the end of its lease, or,
// where clocks differ, at least its deadline.
func (w *world) protectedUntil(d *delivery) time.Time {
	if w.skew() > 0 {
		return d.started.Add(timeout)
	}
	return d.lease
}

// A process that has missed its deadline is protected for about a quarter of an hour after its
// beginning: certainly for overrun, and never after endless.
const (
	overrun = 14 * time.Minute
	endless = 17 * time.Minute
)

// isProtected reports whether a heartbeat has to hold the lease of a handler: it runs, and either
// its context has not ended, or it has overrun its deadline and every renewal succeeds.
func (w *world) isProtected(x *delivery) bool {
	switch {
	// a commit takes what is left of the lease
	case x.dead || x.wasFrozen || !x.handling() || x.committer != nil || x.lostInCommit():
		return false
	case x.hctx.Err() == nil:
		return true
	default:
		return !x.client.NoDeadline && !x.troubled && w.now.Before(x.started.Add(overrun))
	}
}

// skew is how far clocks differ.
func (w *world) skew() time.Duration {
	var slowest, fastest time.Duration
	for _, c := range w.clients {
		slowest, fastest = min(slowest, c.Skew), max(fastest, c.Skew)
	}
	return fastest - slowest
}

func (w *world) hasCommitted(d *delivery) bool {
	for _, c := range w.commits {
		if c.by == d {
			return true
		}
	}
	return false
}

func replayIsTheFirstResult(w *world, e *event) string {
	switch e.kind {
	case evWritten:
		b := e.before
		if b == nil || b.Status != store.StatusCompleted {
			return ""
		}
		if e.by == nil && !w.now.Before(b.Expiry) || e.by != nil && !e.by.clock().Before(b.Expiry) {
			return ""
		}
		if e.by == w.operator.self && e.after == nil {
			return "" // it is what a deletion is for
		}
		return fmt.Sprintf("a stored result is changed by %s of %s", e.op, e.by.name)
	case evAnswered:
		return w.answerIsTheStoredOne(e.d)
	case evBegan, evSent, evPassed, evDone, evStepBegan, evStepped, evCommitted, evAsked, evReconciled, evOver:
	}
	return ""
}

// answerIsTheStoredOne compares an answer with what was stored while the delivery was under way,
// and with what others got.
func (w *world) answerIsTheStoredOne(d *delivery) string {
	stored := d.event.Settlement == report.Completed
	if d.event.Outcome == report.Replayed || stored {
		found := false
		for _, c := range w.commits {
			during := c.to == 0 || c.to > d.from
			found = found || during && c.answer == d.answer() && (!stored || c.by == d)
		}
		if !found {
			return fmt.Sprintf("%s is answered %q, which is not what was stored", d.name, d.answer())
		}
	}
	if d.err != nil || d.panicked != nil || w.faults < w.MaxFaults || w.expired || w.unknown {
		return ""
	}
	for _, x := range w.deliveries {
		if x.at == atEnd && !x.dead && !x.asks() && x.err == nil && x.panicked == nil && x.answer() != d.answer() {
			return fmt.Sprintf("%s got %q and %s got %q", x.name, x.answer(), d.name, d.answer())
		}
	}
	return ""
}

func otherFingerprintGetsNothing(w *world, e *event) string {
	switch e.kind {
	case evWritten:
		if e.by == nil || e.before == nil || e.after == nil || e.op == opClaim && expired(*e.before, e.by.clock()) {
			return ""
		}
		if e.before.Fingerprint != e.after.Fingerprint {
			return e.by.name + " replaces the record of another request"
		}
	case evBegan:
		if held := w.held(); held != nil && held.Owner == e.d.owner && held.Fingerprint != e.d.fingerprint {
			return e.d.name + " executes under the record of another request"
		}
	case evAnswered:
		d := e.d
		if d.err == nil && d.panicked == nil && d.receipt.Amount != d.order.Amount {
			return fmt.Sprintf("%s asked for %d and got %q", d.name, d.order.Amount, d.answer())
		}
		if errors.Is(d.err, idempotent.ErrMismatch) && d.shown.Fingerprint == d.fingerprint {
			return d.name + " is refused as another request, which it is not"
		}
	case evSent, evPassed, evDone, evStepBegan, evStepped, evCommitted, evAsked, evReconciled, evOver:
	}
	return ""
}

func blockedNoLongerThanTheLease(w *world, e *event) string {
	if e.kind == evWritten && e.by != nil && e.by.restored && e.after != nil && e.op == opSwap && e.takes() {
		return e.by.name + " has undone its takeover, which comes back and blocks the key"
	}
	if e.kind != evAnswered {
		return ""
	}
	d := e.d
	if running, ok := errors.AsType[*idempotent.Error](d.err); ok && errors.Is(d.err, idempotent.ErrInProgress) {
		// It is reckoned from the time at which the store was asked.
		switch longest := w.longestLease() + w.now.Sub(d.started) + w.skew() + w.fences; {
		case running.RetryAfter <= 0 && d.event.Wait.Took == 0: // after a wait the key may have become free too late

			return d.name + " is told to wait for a lease that has ended"
		case running.RetryAfter > longest:
			return fmt.Sprintf("%s is told to wait for %v", d.name, running.RetryAfter)
		}
	}
	if !d.last {
		return ""
	}
	switch held := w.held(); {
	case d.err == nil, errors.As(d.err, new(*idempotent.ReplayedError)):
		return ""
	case errors.Is(d.err, idempotent.ErrMismatch):
		return ""
	case errors.Is(d.err, idempotent.ErrUnknownOutcome) && held != nil && held.Status == store.StatusUnknown:
		return "" // expiredDecidesNothing bounds it
	}
	return fmt.Sprintf("%s comes after everything and is answered %q", d.name, d.answer())
}

func staleOwnerChangesNothing(w *world, e *event) string {
	// I11
	if e.kind != evWritten || e.by == nil || e.before == nil || e.by.uses(e.before.Owner) || e.by == w.operator.self {
		return ""
	}
	b, now := e.before, e.by.clock()
	switch {
	case e.after == nil:
		return e.by.name + " deletes the record of someone else"
	case b.Status == store.StatusInProgress && b.Unheld(now): // anybody's
		return ""
	case e.op == opClaim && expired(*b, now):
		return ""
	case b.Status == store.StatusUnknown && (w.Resolver || e.by.asks()) && e.takes(): // to be settled
		return ""
	}
	return fmt.Sprintf("%s by %s changes the record of someone else", e.op, e.by.name)
}

func noExecutionWithoutAClaim(w *world, e *event) string {
	if e.kind != evBegan {
		return ""
	}
	switch held := w.held(); {
	case !e.d.claimed:
		return e.d.name + " executes without a claim"
	case e.d.undone:
		return e.d.name + " executes although it has undone its claim"
	case e.d.began:
		return e.d.name + " executes twice"
	case held != nil && held.Owner == e.d.owner && held.Status != store.StatusInProgress:
		return fmt.Sprintf("%s executes under a record that is %s", e.d.name, held.Status)
	case w.now.Before(w.protectedUntil(e.d)) && (held == nil || held.Owner != e.d.owner):
		return e.d.name + " executes although the record is not its own"
	}
	return ""
}

func nothingHidesTheResult(w *world, e *event) string {
	if e.kind != evAnswered {
		return ""
	}
	d := e.d
	if w.commitCounts(d) {
		return "" // I9 says how
	}
	if d.panicked != nil && (!d.returned || d.ending != Panics || d.panicked != d.name) {
		return fmt.Sprintf("%s panics: %v", d.name, d.panicked)
	}
	if !d.returned {
		return ""
	}
	theirs := d.shown.Owner != d.owner && d.shown.Key != ""
	stored := d.answers() || d.mark() == FailsTerminal
	lost := d.ending == FailsInStep && errors.Is(d.own, idempotent.ErrLeaseLost) && !w.now.Before(w.protectedUntil(d))
	switch {
	case lost && theirs && (d.event.Outcome == report.Replayed || superseded(d.err)):
		return "" // it had nothing of its own to tell
	case stored && theirs && d.event.Outcome == report.Replayed:
		return "" // I2 compares it
	case stored && theirs && superseded(d.err) && (!w.now.Before(w.protectedUntil(d)) || w.operator.deleted()):
		return ""
	case !d.hasOwnAnswer():
		return fmt.Sprintf("%s is answered %q, but its handler %s", d.name, d.answer(), d.ending)
	case stored && w.faults == w.MaxFaults && w.now.Before(w.protectedUntil(d)) && !w.hasCommitted(d):
		return d.name + " has a result that nothing kept from being stored, and is not"
	}
	return ""
}

// hasOwnAnswer reports whether the answer is what the handler returned, its error unmarked and not
// wrapped.
func (d *delivery) hasOwnAnswer() bool {
	switch d.ending {
	case Panics:
		return d.panicked == d.name
	case Succeeds, Differs:
		return d.err == nil && d.receipt.By == d.name
	default:
		return d.err == d.own //nolint:errorlint // the very value
	}
}
