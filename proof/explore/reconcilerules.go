package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// heldLive reports whether somebody else than d holds a claim of the record that surely lives.
func (w *world) heldLive(d *delivery) (by string, is bool) {
	held := w.held()
	if held == nil || held.Status != store.StatusInProgress || held.Reason == store.ReasonReleased ||
		d.uses(held.Owner) {
		return "", false
	}
	return w.ownerName(held.Owner), w.fastest().Before(held.Lease)
}

func nobodyIsAskedBesideAClaim(w *world, e *event) string {
	if e.kind != evAsked {
		return ""
	}
	if by, is := w.heldLive(e.d); is {
		return fmt.Sprintf("%s asks although %s holds a claim that lives", e.d.name, by)
	}
	for _, x := range w.deliveries {
		if x == e.d || x.dead || !w.now.Before(w.protectedUntil(x)) {
			continue
		}
		if x.at == atResolver || x.at == atGiveUp {
			return fmt.Sprintf("%s asks beside %s", e.d.name, x.name)
		}
		if x.handling() && !x.released {
			return fmt.Sprintf("%s asks while the handler of %s runs", e.d.name, x.name)
		}
	}
	return ""
}

func nobodyExecutesBesideAQuestion(w *world, e *event) string {
	if e.kind != evBegan {
		return ""
	}
	for _, x := range w.deliveries {
		if x != e.d && !x.dead && (x.at == atResolver || x.at == atGiveUp) && w.now.Before(w.protectedUntil(x)) {
			return fmt.Sprintf("%s executes while %s asks", e.d.name, x.name)
		}
	}
	return ""
}

func unknownIsExecutedAfterAVerdict(w *world, e *event) string {
	if e.kind == evBegan && w.unsettled && w.now.Before(w.protectedUntil(e.d)) {
		return e.d.name + " executes although the record was UNKNOWN, and nobody has said that nothing happened"
	}
	return ""
}

// reconciles reports whether a write is one of a reconciliation.
func (e *event) reconciles() bool {
	return e.kind == evWritten && e.by != nil && e.by.asks() && e.before != nil
}

func reconciliationLeavesTheCompleted(_ *world, e *event) string {
	switch {
	case e.kind == evWritten && e.by != nil && e.by.asks() && e.before == nil:
		return e.by.name + " makes a record where there was none"
	case !e.reconciles():
		return ""
	case e.before.Status == store.StatusCompleted:
		return e.by.name + " changes a record that is completed"
	case e.after == nil:
		return e.by.name + " deletes the record"
	}
	return ""
}

func answerCountsUnderItsClaim(_ *world, e *event) string {
	if !e.reconciles() || e.after == nil || e.by.callName(e.call) != Conclusion {
		return ""
	}
	d, took := e.by, e.by.took
	if !d.uses(e.before.Owner) || took == nil {
		return d.name + " settles a record that it does not hold"
	}
	said := d.asking.verdict
	if !d.resolved {
		said = StillUnknown
	}
	switch {
	case e.after.Status == store.StatusCompleted:
		if said != Executed || !strings.HasSuffix(answerIn(*e.after), " by "+foundBy(d)) {
			return fmt.Sprintf("the resolver of %s says %s, and the record is completed with %q", d.name, said,
				answerIn(*e.after))
		}
	case e.after.Status == store.StatusUnknown:
		if said == Executed || took.Released() || took.Reason != "" && e.after.Reason != took.Reason {
			return fmt.Sprintf("the resolver of %s says %s, and the record, which was %s, becomes UNKNOWN because %s",
				d.name, said, nameOfState(*took), e.after.Reason)
		}
	case !e.after.Released():
		return d.name + " leaves a claim that nobody holds"
	case said != Untouched && !took.Released():
		return fmt.Sprintf("the resolver of %s says %s, and the record is released", d.name, said)
	}
	return ""
}

func openStaysOnTheList(_ *world, e *event) string {
	if !e.reconciles() || e.after == nil || e.after.Status == store.StatusCompleted {
		return ""
	}
	d, a := e.by, e.after
	name := d.callName(e.call)
	if name == Undo {
		took := d.took
		if took != nil && (a.Attention != took.Attention || !a.AttentionAt.Equal(took.AttentionAt) ||
			a.Tries != took.Tries) {
			return d.name + " undoes its claim and leaves another place on the list"
		}
		return ""
	}
	latest := d.clock().Add(reconcilePause)
	if a.Released() && d.asking.verdict == Untouched {
		latest = d.clock().Add(store.ReleasedWait) // a client may come to do the other half
	}
	switch {
	case a.Released() && d.asking.verdict == Untouched && name == Conclusion && len(a.Steps) == 0:
		if a.Attention != "" {
			return d.name + " leaves a record on the list that nobody has to settle"
		}
		return ""
	case a.Attention == "":
		return fmt.Sprintf("%s leaves %s on no list", d.name, nameOfState(*a))
	case name == Takeover && e.before.Attention != "" && a.Attention != e.before.Attention:
		return d.name + " asks, and the record changes its list"
	case name == Takeover && !a.AttentionAt.Equal(a.Lease):
		return d.name + " asks, and the record is not due when its lease ends"
	case name == Conclusion && !a.GivenUp() && a.AttentionAt.After(latest):
		return fmt.Sprintf("%s leaves the record due in %v", d.name, a.AttentionAt.Sub(d.clock()))
	}
	return ""
}

// onTheListAsLongAsNeeded: who is not on the list costs nothing, and what is settled leaves it.
func onTheListAsLongAsNeeded(w *world, e *event) string {
	if e.kind != evWritten || e.after == nil || e.after.Attention == "" {
		return ""
	}
	switch a := e.after; {
	case a.Status == store.StatusCompleted:
		return e.by.name + " completes the record, which stays on the list"
	case a.Status == store.StatusInProgress && a.Reason == "" && !w.refuses() && !e.by.asks():
		return e.by.name + " executes again after a crash, and is on the list of what somebody has to settle"
	}
	return ""
}

func triesAreWhatWasAsked(w *world, e *event) string {
	if e.kind != evWritten || e.after == nil || e.by != nil && e.by.callName(e.call) == Undo {
		return ""
	}
	was := 0
	if e.before != nil {
		was = e.before.Tries
	}
	a := e.after.Tries
	asked := e.by != nil && e.by.asks() && e.by.resolved
	switch {
	case a > w.questions:
		return fmt.Sprintf("the record says %d tries, and %d questions were asked", a, w.questions)
	case a > was+1, a > was && !asked:
		return fmt.Sprintf("tries go from %d to %d by %s, which has not asked", was, a, e.by.name)
	case asked && e.by.asking.verdict == Untouched && e.by.took != nil && !e.by.took.Released(): // it is settled
		return ""
	case a <= was && asked && e.by.callName(e.call) == Conclusion && e.after.Attention != "":
		return fmt.Sprintf("%s has asked in vain, and the record says %d tries as before", e.by.name, a)
	case a < was && e.by != nil && e.by.asks() && e.after.Attention != "":
		return e.by.name + " forgets tries"
	}
	return ""
}

func givenUpAfterEnough(_ *world, e *event) string {
	if e.kind == evAsked && e.d.asks() && e.d.at == atResolver {
		took, a := e.d.took, e.d.client.Asks
		if took != nil && a.Due && a.Tries > 0 && took.Tries >= a.Tries {
			return fmt.Sprintf("%s asks although was asked %d times of %d", e.d.name, took.Tries, a.Tries)
		}
	}
	if !e.reconciles() || e.after == nil || !e.after.GivenUp() || e.before.GivenUp() {
		return ""
	}
	d, a := e.by, e.by.client.Asks
	switch {
	case d.callName(e.call) != Conclusion:
		return d.name + " gives up a record without having asked"
	case d.took.GivenUp():
		return ""
	case e.after.Tries < a.Tries:
		return fmt.Sprintf("%s gives up the record after %d tries of %d", d.name, e.after.Tries, a.Tries)
	case a.GivesUp && !d.asking.handed:
		return d.name + " gives up the record, and nobody has taken it"
	}
	return ""
}

func resumableStaysSo(w *world, e *event) string {
	if e.kind != evWritten || e.op == opClaim || e.before == nil || e.after == nil ||
		e.after.Status != store.StatusUnknown {
		return ""
	}
	b := *e.before
	if e.by != nil && e.by.asks() && e.by.took != nil && e.by.uses(b.Owner) {
		b = *e.by.took
	}
	crash := b.Status == store.StatusInProgress && b.Reason == "" && b.Resumable() && !b.Unmarked &&
		(e.by == nil || !e.by.uses(b.Owner))
	switch {
	case w.stopped:
		return fmt.Sprintf("%s makes %s UNKNOWN", e.by.name, nameOfState(b))
	case crash && !w.Resolver:
		return e.by.name + " makes a crash UNKNOWN whose steps tell all"
	}
	return ""
}

func reconciliationTellsTheTruth(w *world, e *event) string {
	if e.kind != evReconciled {
		return ""
	}
	d := e.d
	if d.panicked != nil {
		return fmt.Sprintf("%s panics: %v", d.name, d.panicked)
	}
	a := &d.asking
	became := func(is bool) string {
		if a.concluded && is {
			return ""
		}
		return fmt.Sprintf("%s says that the record is %s, which it has not made of it", d.name, d.found.Outcome)
	}
	switch d.found.Outcome {
	case report.ReconcileCompleted:
		return became(a.became.Status == store.StatusCompleted)
	case report.ReconcileReleased:
		return became(a.became.Released())
	case report.ReconcileScheduled:
		return became(a.became.Attention != "" && !a.became.GivenUp() && a.became.AttentionAt.Equal(d.found.Next))
	case report.ReconcileGivenUp:
		return became(a.became.GivenUp())
	case report.ReconcileBusy, report.ReconcileClosed:
		if a.asked {
			return fmt.Sprintf("%s says %s, and has asked", d.name, d.found.Outcome)
		}
	case report.ReconcileElsewhere:
		if a.concluded && w.faults == w.MaxFaults {
			return d.name + " says that somebody else has the record, which it has settled"
		}
	default:
		if w.faults == w.MaxFaults {
			return fmt.Sprintf("%s fails, and nothing kept it from ending: %v", d.name, d.err)
		}
	}
	return ""
}

// isOfOtherVersion reports whether a token is one of a process that knows no list.
func (w *world) isOfOtherVersion(token string) bool {
	return token == "" || slices.ContainsFunc(w.deliveries,
		func(d *delivery) bool { return d.client.Of != Current && d.uses(token) })
}

func openIsNotLost(w *world, e *event) string {
	held := w.held()
	if e.kind == evReconciled && e.d.last && held != nil && held.Attention != "" && !held.GivenUp() {
		return "the last question about what is due leaves " + nameOfState(*held)
	}
	if e.kind != evOver || held == nil {
		return ""
	}
	crashed := held.Status == store.StatusInProgress && held.Reason == "" && w.refuses() &&
		!w.isOfOtherVersion(held.Owner)
	open := held.Status == store.StatusUnknown || unsettled(*held) || held.Released() && len(held.Steps) > 0 || crashed
	switch {
	case !open:
		return ""
	case held.Attention == "":
		return nameOfState(*held) + " is on no list"
	case !held.GivenUp() && held.AttentionAt.After(w.now.Add(store.ReleasedWait)):
		return fmt.Sprintf("%s is due in %v", nameOfState(*held), held.AttentionAt.Sub(w.now))
	}
	return ""
}
