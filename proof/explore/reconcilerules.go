package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

var reconcileRules = []rule{
	{"I13 nobody is asked beside a live claim", on{evAsked: func(w *world, e *event) string {
		if by, is := w.heldLive(e.d); is {
			return fmt.Sprintf("although %s holds a claim that lives", by)
		}
		for _, x := range w.deliveries {
			switch {
			case x == e.d || x.dead || !w.protects(x):
			case x.isAsked():
				return "beside " + x.name
			case x.handling() && !x.released:
				return fmt.Sprintf("while the handler of %s runs", x.name)
			}
		}
		return ""
	}}},
	{"I13 nobody executes while somebody is asked", on{evBegan: func(w *world, e *event) string {
		for _, x := range w.deliveries {
			if x != e.d && x.isAsked() && w.protects(x) {
				return fmt.Sprintf("while %s asks", x.name)
			}
		}
		return ""
	}}},
	{"I13 what is UNKNOWN is executed again only after a verdict", on{evBegan: func(w *world, e *event) string {
		return when(w.unsettled && w.protects(e.d),
			"although the record was UNKNOWN, and nobody has said that nothing happened")
	}}},
	{"I13 a reconciliation changes nothing that is completed", on{evWritten: func(_ *world, e *event) string {
		switch {
		case !e.d.asks():
			return ""
		case e.before == nil:
			return "makes a record where there was none"
		case e.before.Status == store.StatusCompleted:
			return "changes a record that is completed"
		}
		return when(e.after == nil, "deletes the record")
	}}},
	{"I13 an answer counts if the claim is held, and as it was given", on{evReplaced: func(_ *world, e *event) string {
		d, took := e.d, e.d.took
		if !d.asks() || d.callName(e.call) != Conclusion {
			return ""
		}
		if !d.uses(e.before.Owner) || took == nil {
			return "settles a record that it does not hold"
		}
		said := d.asking.verdict
		if !d.resolved {
			said = StillUnknown
		}
		var fits bool
		switch a := e.after; {
		case a.Status == store.StatusCompleted:
			fits = said == Executed && strings.HasSuffix(answerIn(*a), " by "+foundBy(d))
		case a.Status == store.StatusUnknown:
			fits = said != Executed && !took.Released() && (took.Reason == "" || a.Reason == took.Reason)
		case !a.Released():
			return "leaves a claim that nobody holds"
		default:
			fits = said == Untouched || took.Released()
		}
		return when(!fits, "leaves %s of %s, and its resolver says: %s", nameOfState(*e.after), nameOfState(*took),
			said)
	}}},
	{"I13 an open record stays on the list", on{evReplaced: func(_ *world, e *event) string {
		d, a := e.d, e.after
		if !d.asks() || a.Status == store.StatusCompleted {
			return ""
		}
		name := d.callName(e.call)
		if name == Undo {
			took := d.took
			return when(took != nil && (a.Attention != took.Attention || !a.AttentionAt.Equal(took.AttentionAt) ||
				a.Tries != took.Tries), "leaves another place on the list")
		}
		latest := d.clock().Add(reconcilePause)
		absolved := a.Released() && d.asking.verdict == Untouched
		if absolved {
			latest = d.clock().Add(store.ReleasedWait) // a client may come to do the other half
		}
		switch {
		case absolved && name == Conclusion && len(a.Steps) == 0:
			return when(a.Attention != "", "leaves a record on the list that nobody has to settle")
		case a.Attention == "":
			return fmt.Sprintf("leaves %s on no list", nameOfState(*a))
		case name == Takeover && e.before.Attention != "" && a.Attention != e.before.Attention:
			return "leaves the record on another list"
		case name == Takeover && !a.AttentionAt.Equal(a.Lease):
			return "leaves the record not due when its lease ends"
		}
		return when(name == Conclusion && !a.GivenUp() && a.AttentionAt.After(latest), "leaves the record due in %v",
			a.AttentionAt.Sub(d.clock()))
	}}},
	// onTheListAsLongAsNeeded: who is not on the list costs nothing, and what is settled leaves it.
	{"I13 nothing is on the list that nobody has to settle", on{evLeft: func(w *world, e *event) string {
		switch a := e.after; {
		case a.Attention == "":
			return ""
		case a.Status == store.StatusCompleted:
			return "leaves a completed record on the list"
		default:
			again := a.Status == store.StatusInProgress && a.Reason == "" && !w.refuses() && !e.d.asks()
			return when(again, "executes again after a crash, and is on the list of what somebody has to settle")
		}
	}}},
	{"I13 tries are what was asked in vain", on{evLeft: func(w *world, e *event) string {
		name := e.d.callName(e.call)
		if name == Undo {
			return ""
		}
		was, is := 0, e.after.Tries
		if e.before != nil {
			was = e.before.Tries
		}
		asked := e.d.asks() && e.d.resolved
		switch {
		case is > w.questions || is > was+1 || is > was && !asked:
			return fmt.Sprintf("leaves %d tries of %d, and %d questions were asked", is, was, w.questions)
		case asked && e.d.asking.verdict == Untouched && e.d.took != nil && !e.d.took.Released(): // it is settled
			return ""
		case is <= was && asked && name == Conclusion && e.after.Attention != "":
			return fmt.Sprintf("leaves %d tries as before, and has asked in vain", is)
		}
		return when(is < was && e.d.asks() && e.after.Attention != "", "forgets tries")
	}}},
	{"I13 a record is given up after enough tries, and by somebody who took it", on{
		evAsked: func(_ *world, e *event) string {
			a, took := e.d.client.Asks, e.d.took
			return when(a != nil && e.d.at == atResolver && took != nil && a.Due && a.Tries > 0 &&
				took.Tries >= a.Tries,
				"although it has asked as often as it may")
		},
		evReplaced: func(_ *world, e *event) string {
			d, a := e.d, e.d.client.Asks
			if a == nil || !e.after.GivenUp() || e.before.GivenUp() {
				return ""
			}
			switch {
			case d.callName(e.call) != Conclusion:
				return "gives up the record without having asked"
			case d.took.GivenUp():
				return ""
			case e.after.Tries < a.Tries:
				return fmt.Sprintf("gives up the record after %d tries of %d", e.after.Tries, a.Tries)
			}
			return when(a.GivesUp && !d.asking.handed, "gives up the record, and nobody has taken it")
		},
	}},
	{"I13 what can be resumed stays so", on{evReplaced: func(w *world, e *event) string {
		if e.Op == opClaim || e.after.Status != store.StatusUnknown {
			return ""
		}
		b := *e.before
		if e.d.asks() && e.d.took != nil && e.d.uses(b.Owner) {
			b = *e.d.took
		}
		crash := b.Status == store.StatusInProgress && b.Reason == "" && b.Resumable() && !b.Unmarked &&
			!e.d.uses(b.Owner)
		if w.stopped {
			return fmt.Sprintf("makes %s UNKNOWN", nameOfState(b))
		}
		return when(crash && !w.Resolver, "makes a crash UNKNOWN whose steps tell all")
	}}},
	{"I13 what a reconciliation tells is true", on{evReconciled: func(w *world, e *event) string {
		d, a := e.d, &e.d.asking
		if d.panicked != nil {
			return fmt.Sprintf("and panics: %v", d.panicked)
		}
		var isSo bool
		switch d.found.Outcome {
		case report.ReconcileCompleted:
			isSo = a.concluded && a.became.Status == store.StatusCompleted
		case report.ReconcileReleased:
			isSo = a.concluded && a.became.Released()
		case report.ReconcileScheduled:
			isSo = a.concluded && a.became.Attention != "" && !a.became.GivenUp() &&
				a.became.AttentionAt.Equal(d.found.Next)
		case report.ReconcileGivenUp:
			isSo = a.concluded && a.became.GivenUp()
		case report.ReconcileBusy, report.ReconcileClosed:
			isSo = !a.asked
		case report.ReconcileElsewhere:
			isSo = !a.concluded || !w.faultless()
		default:
			isSo = !w.faultless() // nothing else keeps it from ending
		}
		return when(!isSo, "which is not so")
	}}},
	{"I13 no open record is lost", on{
		evReconciled: func(w *world, e *event) string {
			held := w.held()
			if !e.d.last || held == nil {
				return ""
			}
			return when(held.Attention != "" && !held.GivenUp(),
				"at the last question about what is due, which leaves %s",
				nameOfState(*held))
		},
		evOver: func(w *world, _ *event) string {
			held := w.held()
			if held == nil {
				return ""
			}
			crashed := held.Status == store.StatusInProgress && held.Reason == "" && w.refuses() &&
				!w.isOfOtherVersion(held.Owner)
			open := held.Status == store.StatusUnknown || unsettled(*held) ||
				held.Released() && len(held.Steps) > 0 || crashed
			switch {
			case !open:
				return ""
			case held.Attention == "":
				return nameOfState(*held) + " is on no list"
			}
			return when(!held.GivenUp() && held.AttentionAt.After(w.now.Add(store.ReleasedWait)), "%s is due in %v",
				nameOfState(*held), held.AttentionAt.Sub(w.now))
		},
	}},
}

// heldLive reports whether somebody else than d holds a claim of the record that surely lives.
func (w *world) heldLive(d *delivery) (by string, is bool) {
	held := w.held()
	if held == nil || held.Status != store.StatusInProgress || held.Reason == store.ReasonReleased ||
		d.uses(held.Owner) {
		return "", false
	}
	return w.ownerName(held.Owner), w.fastest().Before(held.Lease)
}

// isAsked reports whether a delivery waits for a resolver, or for who is given the record.
func (d *delivery) isAsked() bool { return !d.dead && (d.at == atResolver || d.at == atGiveUp) }

// isOfOtherVersion reports whether a token is one of a process that knows no list.
func (w *world) isOfOtherVersion(token string) bool {
	return token == "" || slices.ContainsFunc(w.deliveries,
		func(d *delivery) bool { return d.client.Of != Current && d.uses(token) })
}
