package explore

import (
	"fmt"
)

// event is something that invariants are about. They look at it before the chronicle knows of it.
type event struct {
	kind eventKind
	// d is who has begun, was answered, has written or sends. It is nil for the table itself.
	d *delivery
	// change is what was written or is sent.
	change
	// step is the one that began, or that has returned out and err; own is the error of its
	// function.
	step     int
	out      Done
	err, own error
	// tried is the commit that has returned err.
	tried int
	// What happened to a message, if anything did.
	*mailEvent
}

type eventKind int

const (
	evBegan      eventKind = iota // a handler runs
	evAnswered                    // a delivery has ended
	evSent                        // a call is about to be granted
	evDone                        // an operator was told what became of its change
	evPassed                      // time has passed
	evStepBegan                   // the function of a step runs
	evStepped                     // Step has returned
	evCommitted                   // Commit has returned
	evAsked                       // a resolver is asked, or somebody is given a record to be given up
	evReconciled                  // a reconciliation has ended
	evOver                        // every lease has ended
	evRemoved                     // the table has deleted a record that has expired

	// Somebody has written: what has changed a record, what has left one, and what has replaced one
	// by another.
	evWritten
	evChanged
	evLeft
	evReplaced

	evSentMessage    // a commit has put a message, which the world does not know yet
	evDelivers       // a delivery of one begins
	evWrittenMessage // a relay has changed one
	evReported       // a relay says what became of one
	evTold           // the stream is told of it, at the end of the round
	evDrained        // everything was drained, and the receiver has taken everything
)

// kinds are all that an event is of.
func (e *event) kinds() []eventKind {
	all := []eventKind{e.kind}
	if e.kind != evWritten {
		return all
	}
	if e.before != nil {
		all = append(all, evChanged)
	}
	if e.after != nil {
		all = append(all, evLeft)
	}
	if e.before != nil && e.after != nil {
		all = append(all, evReplaced)
	}
	return all
}

// subject is the event as that of a sentence.
func (w *world) subject(e *event) string {
	switch e.kind {
	case evBegan:
		return e.d.name + " executes"
	case evAnswered:
		return fmt.Sprintf("%s is answered %q", e.d.name, e.d.answer())
	case evSent, evWritten:
		return fmt.Sprintf("the %s of %s", e.d.callName(e.call), e.d.name)
	case evDone:
		return fmt.Sprintf("the operator %s", w.operator.deed)
	case evStepBegan:
		return fmt.Sprintf("%s begins the step %s", e.d.name, w.Steps[e.step].Name)
	case evStepped:
		return fmt.Sprintf("the step %s of %s, which %s,", w.Steps[e.step].Name, e.d.name, e.d.steps[e.step].told)
	case evCommitted:
		return fmt.Sprintf("commit %d of %s is told %q", e.tried+1, e.d.name, e.d.tries[e.tried].told)
	case evAsked:
		return e.d.name + " asks"
	case evReconciled:
		return fmt.Sprintf("%s is told %q", e.d.name, e.d.outcome())
	case evSentMessage:
		return fmt.Sprintf("the message %s of %s", e.of.name, e.of.by.name)
	case evWrittenMessage:
		return fmt.Sprintf("a %s of %s", e.write.Op, w.nameOf(e.was.ID, e.was.Owner))
	case evDelivers, evReported, evTold:
		return fmt.Sprintf("%s, with %s,", e.round.name, w.nameOf(e.entry.ID, e.entry.Owner))
	default: // nobody does it
		return "meanwhile"
	}
}

// check lets the invariants look at an event.
func (w *world) check(e *event) {
	if e.d == nil {
		e.d = e.by
	}
	if w.broken == nil && !w.Repeats() {
		w.broken = w.brokenBy(e)
	}
}

// brokenBy is the first invariant that does not hold at an event, nil if all do.
func (w *world) brokenBy(e *event) error {
	for _, rule := range invariants {
		for _, kind := range e.kinds() {
			if wrong, is := rule.on[kind]; is {
				if what := wrong(w, e); what != "" {
					return fmt.Errorf("%s: %s %s", rule.name, w.subject(e), what)
				}
			}
		}
	}
	return nil
}

// rule is a part of an invariant of docs/guarantees.md, whose number its name begins with. By the
// kinds of events that it is about it says what is wrong: nothing, or how the sentence goes on
// whose subject is the event.
type rule struct {
	name string
	on   on
}

type on = map[eventKind]func(w *world, e *event) string

var invariants = []rule{
	{"I1 one execution is committed, and none starts beside a live one", on{
		evLeft: commitsAlone, evBegan: beginsAlone,
	}},
	{"I2 a replay is the first result", on{
		evChanged: storedResultStays, evRemoved: storedResultStays, evAnswered: answerIsTheStoredOne,
	}},
	{"I3 another fingerprint never executes and never gets the result", on{
		evReplaced: replacesItsOwnRequest, evBegan: executesItsOwnRequest, evAnswered: answersItsOwnRequest,
	}},
	{"I4 no key stays blocked longer than its lease", on{
		evLeft: undoneStaysUndone, evAnswered: blockedNoLongerThanTheLease,
	}},
	{"I5 a stale owner changes nothing", on{evChanged: staleOwnerChangesNothing}},
	{"I6 no execution without a claim", on{evBegan: noExecutionWithoutAClaim}},
	{"I7 no failure hides the handler's result", on{evAnswered: nothingHidesTheResult}},
	{"I7 a record whose handler has a result is not released", on{evChanged: resultIsNotDeleted}},
	{"I1 a lease only grows", on{evReplaced: leaseOnlyGrows}},
	{"I4 no lease is renewed for ever where there is a deadline", on{evLeft: leaseIsNotEndless}},
	{"I1 no handler starts under a lease that is used up", on{evBegan: leaseIsWholeAtTheStart}},
	{"I1 of several marks the most cautious counts", on{evChanged: mostCautiousMarkCounts}},
	{"I4 what has expired decides nothing", on{
		evWritten: expiredIsNotKept, evAnswered: expiredDecidesNothing,
	}},
	{"I4 a handler that did nothing leaves nothing that blocks", on{evAnswered: nothingDoneNothingBlocked}},
	{"I4 a running transaction is no outage and is left alone", on{
		evSent: transactionIsLeftAlone, evAnswered: transactionIsNoOutage,
	}},
	{"I5 an undo leaves what was seen and nothing of its own", on{evChanged: undoLeavesWhatWasSeen}},
	{"I7 who has executed never says otherwise", on{evAnswered: executedIsNotDenied}},
	{"I7 no lease is given up that can be held", on{evPassed: leaseIsNotGivenUp}},
	{"I1 no record expires under its lease", on{evLeft: leaseOutlivedByExpiry}},
	{"I8 a recorded step is never begun again", on{evStepBegan: recordedIsNeverBegunAgain}},
	{"I8 who has lost its lease begins no step", on{evStepBegan: lostLeaseBeginsNothing}},
	{"I8 a handler that says that its lease is lost writes nothing but that an effect is lost", on{
		evSent: lostLeaseWritesNothing,
	}},
	{"I8 who does not own the record records nothing", on{evReplaced: onlyTheOwnerRecords}},
	{"I8 an effect of at most once never begins twice", on{evStepBegan: atMostOnce}},
	{"I8 what nobody has touched executes", on{evStepped: untouchedExecutes}},
	{"I8 a lost step is not followed by a release", on{evChanged: lostIsNotReleased}},
	{"I8 what is recorded stays as long as its record lives", on{evChanged: recordedStays}},
	{"I8 a step returns the same in every execution", on{evStepped: stepReturnsWhatIsRecorded}},
	{"I8 a crash is resumed if and only if its steps tell all", on{evChanged: crashIsResumedIfStepsTellAll}},
	{"I7 a step is not lost that can be recorded", on{evStepped: stepIsRecorded}},
	{"I8 an observer is told what became of steps", on{evAnswered: stepsAreReported}},
	{"I9 rows are written if and only if their answer is stored", on{evWritten: rowsComeWithTheirAnswer}},
	{"I9 what a commit says of its rows is true for ever", on{
		evWritten: refusedIsNeverApplied, evCommitted: toldAsItIs, evAnswered: settledAsItIs,
	}},
	{"I9 the committed answer counts", on{evAnswered: committedAnswerCounts}},
	{"I9 beside and after a commit nothing is done", on{
		evSent: nothingIsSentBesideACommit, evStepBegan: noStepAfterACommit, evLeft: nothingElseIsStored,
	}},
	{"I9 a commit inside of a step is refused", on{evCommitted: insideIsRefused}},
	{"I9 a commit is not given up that can be made", on{evCommitted: commitIsNotGivenUp}},
	{"I10 a message leaves only if its commit happened", on{evDelivers: leavesOnlyIfCommitted}},
	{"I10 a message that has left arrives", on{evDrained: arrives}},
	{"I10 a message has the same id whenever it is sent", on{evSentMessage: hasOneID}},
	{"I10 only a message that was delivered is done", on{evWrittenMessage: doneIsDelivered}},
	{"I10 a relay changes no message of another commit", on{evWrittenMessage: changesItsOwn}},
	{"I10 a message is given up for a reason", on{evWrittenMessage: givenUpForAReason}},
	{"I10 a drain leaves alone what is given up", on{evWrittenMessage: drainLeavesGivenUp}},
	{"I10 no more tries are counted than there were", on{evWrittenMessage: triesHappened}},
	{"I10 a drain tries no message more often than it may", on{evWrittenMessage: drainsTryNoMore}},
	{"I10 a stream is told of a message until something is written of it", on{evTold: toldUntilWritten}},
	{"I10 a stream does not repeat a message for ever", on{evReported: repeatsEnd}},
	{"I11 an operator and an owner never both win", on{
		evWritten: operatorChangesWhatItWasShown, evChanged: verdictStays, evDone: operatorIsToldTheTruth,
		evAnswered: overruledIsTold,
	}},
	{"I13 nobody is asked beside a live claim", on{evAsked: nobodyIsAskedBesideAClaim}},
	{"I13 nobody executes while somebody is asked", on{evBegan: nobodyExecutesBesideAQuestion}},
	{"I13 what is UNKNOWN is executed again only after a verdict", on{evBegan: unknownIsExecutedAfterAVerdict}},
	{"I13 a reconciliation changes nothing that is completed", on{evWritten: reconciliationLeavesTheCompleted}},
	{"I13 an answer counts if the claim is held, and as it was given", on{evReplaced: answerCountsUnderItsClaim}},
	{"I13 an open record stays on the list", on{evReplaced: openStaysOnTheList}},
	{"I13 nothing is on the list that nobody has to settle", on{evLeft: onTheListAsLongAsNeeded}},
	{"I13 tries are what was asked in vain", on{evLeft: triesAreWhatWasAsked}},
	{"I13 a record is given up after enough tries, and by somebody who took it", on{
		evAsked: askedAsOftenAsItMay, evReplaced: givenUpAfterEnough,
	}},
	{"I13 what can be resumed stays so", on{evReplaced: resumableStaysSo}},
	{"I13 what a reconciliation tells is true", on{evReconciled: reconciliationTellsTheTruth}},
	{"I13 no open record is lost", on{evReconciled: lastQuestionLeavesNothing, evOver: openIsNotLost}},
}
