package explore

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

var commitRules = []rule{
	// It is about what is applied: rows if and only if their answer is stored, by
	// who owns the record, once.
	{"I9 rows are written if and only if their answer is stored", on{evWritten: func(w *world, e *event) string {
		b, a := e.before, e.after
		commits := a != nil && a.Status == store.StatusCompleted && ofWrites(a.Seal) != "" &&
			(b == nil || b.Seal != a.Seal)
		if !e.applied {
			return when(commits, "stores the answer of a commit without its rows")
		}
		switch {
		case !commits:
			return "writes rows without its answer"
		case answerIn(*a) != e.d.receiptOf(e.try, e.d.order).String():
			return fmt.Sprintf("writes rows with the answer %q", answerIn(*a))
		case a.Seal != store.CommitSeal(e.d.owner, a.Result, e.try+1):
			return "writes rows, and the seal is not that of its answer, its commit and its owner"
		case len(a.Steps) > 0:
			return "writes rows, and steps stay"
		case b == nil || b.Owner != e.d.owner || b.Status != store.StatusInProgress:
			return "writes rows of somebody who does not own the record"
		}
		for _, a := range w.applications {
			if a.life == w.life {
				return fmt.Sprintf("writes rows, and those of commit %d of %s were before", a.try+1, a.by.name)
			}
		}
		return ""
	}}},
	{"I9 what a commit says of its rows is true for ever", on{
		// It is about what Commit says: after an error nothing of it is ever applied, unless it has
		// failed and nobody could know; and then nothing once the delivery has released the record.
		evWritten: func(_ *world, e *event) string {
			if !e.applied {
				return ""
			}
			t := e.d.tries[e.try]
			if t.told != toldNothing && t.told != toldLanded && !t.unclear() {
				return fmt.Sprintf("writes rows, and it was told %q", t.told)
			}
			return when(t.unclear() && e.d.settledWithout(), "writes rows after it said that its record is %s",
				e.d.event.Settlement)
		},
		evCommitted: func(w *world, e *event) string {
			switch t := e.d.tries[e.tried]; {
			case t.told == toldLanded:
				return when(t.applied == 0, "and its rows are not written")
			case !t.unclear() && w.isApplied(e.d, e.tried):
				return "and its rows were written"
			default:
				return when(t.told == toldRefused && t.sent > 0, "and something was sent")
			}
		},
		evAnswered: func(w *world, e *event) string {
			n := w.appliedOf(e.d)
			return when(n >= 0 && e.d.settledWithout(), "its record is %s, and the rows of its commit %d were written",
				e.d.event.Settlement, n+1)
		},
	}},
	// committedAnswerCounts is about what the caller of an execution gets that has tried commits.
	{"I9 the committed answer counts", on{evAnswered: func(w *world, e *event) string {
		d := e.d
		if len(d.tries) == 0 || !d.returned {
			return ""
		}
		if n := d.landed(); n >= 0 {
			differs := d.ending != Succeeds || d.unlike
			switch {
			case d.panicked != nil || d.err != nil || d.answer() != d.receiptOf(n, d.order).String():
				return fmt.Sprintf("although its commit %d has landed; its handler %s", n+1, d.ending)
			case d.event.Outcome != report.Executed || d.event.Settlement != report.Completed:
				return fmt.Sprintf("after its commit, and the observer is told %s, %s", d.event.Outcome,
					d.event.Settlement)
			}
			return when(differs != errors.Is(d.event.Err, idempotent.ErrOtherAnswer),
				"after its commit, its handler %s, and the observer is told %v", d.ending, d.event.Err)
		}
		n := w.appliedOf(d)
		own := d.err == nil && d.panicked == nil && d.receipt.By == d.name
		switch {
		case own && d.spoiled():
			return "although its commit failed, and nothing is stored"
		case n >= 0 && d.tries[n].doubled && d.tries[len(d.tries)-1].sent == 0 &&
			d.event.Settlement == report.Elsewhere:
			return "" // By the clock its lease had ended, and it had no reason to look.
		}
		return when(n >= 0 && d.event.Settlement != report.NotSettled && d.receipt != d.receiptOf(n, d.order),
			"although its commit %d was applied", n+1)
	}}},
	{"I9 beside and after a commit nothing is done", on{
		// nothingIsSentBesideACommit is about what an execution sends, and when.
		evSent: func(_ *world, e *event) string {
			d, name := e.d, e.d.callName(e.call)
			if len(d.tries) == 0 {
				return ""
			}
			last := d.tries[len(d.tries)-1]
			switch {
			case d.landed() >= 0 && e.Op != opGet:
				return "follows a commit that has landed"
			case d.spoiled() && e.Op == opCommit:
				return "follows a commit of which it does not know that it was not applied"
			case name == Renewal && d.committer != nil && last.sent > 0:
				return "goes out beside its commit"
			case last.told == toldFailed && last.unread && d.returned && e.Op != opGet:
				return "follows a commit of which it could not read what became"
			case e.Op != opCommit:
				return ""
			}
			if before, repeats := last.args[e.Token]; repeats && !sameCall(before, e.call) {
				return "repeats the token of another call"
			}
			if len(e.Token) == 0 || len(e.Token) > 36 {
				return fmt.Sprintf("has a token of %d characters", len(e.Token))
			}
			if d.stands() {
				return "goes out while a step runs"
			}
			return when(d.beat.at == atCall, "goes out while the lease is renewed")
		},
		evStepBegan: func(_ *world, e *event) string {
			under := e.d.committer != nil && e.d.tries[len(e.d.tries)-1].sent > 0
			return when(under || e.d.landed() >= 0 || e.d.spoiled(), "after its commit was sent")
		},
		evLeft: func(w *world, e *event) string {
			stores := e.Op != opCommit && e.after.Status == store.StatusCompleted && e.d.mark() != FailsTerminal
			return when(stores && e.d.spoiled() && e.d != w.operator.self, "stores %q after a commit that failed",
				answerIn(*e.after))
		},
	}},
	// insideIsRefused is about commits inside of a step: with its context they are refused at once.
	// With another one they wait for that step, which ends after them; the wait is bounded.
	{"I9 a commit inside of a step is refused", on{evCommitted: func(_ *world, e *event) string {
		t, took := e.d.tries[e.tried], time.Since(e.d.tries[e.tried].began)
		refused := t.told == toldRefused
		switch {
		case t.inside && (!refused || took > 0):
			return fmt.Sprintf("inside of a step, after %v", took)
		case refused && took > standstill+tick:
			return fmt.Sprintf("after %v", took)
		}
		return when(refused && e.d.returned && time.Since(e.d.returnedAt) > tick, "long after its handler has returned")
	}}},
	// commitIsNotGivenUp is about commits that nothing keeps from being applied.
	{"I9 a commit is not given up that can be made", on{evCommitted: func(w *world, e *event) string {
		d, t := e.d, e.d.tries[e.tried]
		if t.hindered || d.landed() >= 0 && d.landed() != e.tried || d.over() ||
			!w.now.Before(w.protectedUntil(d).Add(-w.fences)) || w.operator.applied {
			return ""
		}
		for _, before := range d.tries[:e.tried] {
			if before.told == toldFailed || before.told == toldLost {
				return ""
			}
		}
		switch t.told {
		case toldLanded, toldDeclined, toldNothing:
			return ""
		case toldRefused:
			if t.inside || d.returned || d.stands() && (time.Since(t.began) >= standstill || !d.client.NoDeadline) {
				return ""
			}
		case toldLost, toldFailed:
		}
		held := w.held()
		owns := held != nil && held.Owner == d.owner && held.Status == store.StatusInProgress
		return when(owns, "and nothing kept it from being applied: %v", e.err)
	}}},
}

// unclear reports whether nobody could know whether a commit that has not landed was applied, or
// will be.
func (t commitFacts) unclear() bool { return t.told == toldFailed && t.unread || t.doubled }

// settledWithout reports whether a delivery says that its record ended without its answer.
func (d *delivery) settledWithout() bool {
	return d.event.Settlement == report.Released || d.event.Settlement == report.Unknown
}

// commitCounts reports whether what a delivery answers depends on its commits, and not on what its
// handler returned.
func (w *world) commitCounts(d *delivery) bool {
	return d.landed() >= 0 || d.spoiled() || w.appliedOf(d) >= 0
}

func sameCall(a, b call) bool {
	a.within, a.try, b.within, b.try = false, 0, false, 0
	return reflect.DeepEqual(a, b)
}

// standstill is how long a commit waits for steps of which none ends.
const standstill = 30 * time.Second

// stands reports whether a step of the delivery has begun and not ended.
func (d *delivery) stands() bool {
	return slices.ContainsFunc(d.steps, func(f stepFacts) bool { return f.began && f.told == "" })
}

// over reports whether the context of the handler has ended, or is about to.
func (d *delivery) over() bool {
	end, limited := d.hctx.Deadline()
	return d.hctx.Err() != nil || limited && !time.Now().Before(end)
}
