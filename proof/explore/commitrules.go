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

// rowsComeWithTheirAnswer is about what is applied: rows if and only if their answer is stored, by
// who owns the record, once.
func rowsComeWithTheirAnswer(w *world, e *event) string {
	if e.kind != evWritten || e.by == nil {
		return ""
	}
	commits := e.after != nil && e.after.Status == store.StatusCompleted && ofWrites(e.after.Seal) != "" &&
		(e.before == nil || e.before.Seal != e.after.Seal)
	if !e.applied {
		if commits {
			return fmt.Sprintf("the %s of %s stores the answer of a commit without its rows",
				e.by.callName(e.call), e.by.name)
		}
		return ""
	}
	who := fmt.Sprintf("the rows of commit %d of %s are written", e.try+1, e.by.name)
	answer := fmt.Sprintf("%d by %s", e.by.order.Amount, e.by.receiptOf(e.try, e.by.order).By)
	switch b := e.before; {
	case !commits:
		return who + " without its answer"
	case answerIn(*e.after) != answer:
		return fmt.Sprintf("%s with the answer %q", who, answerIn(*e.after))
	case e.after.Seal != store.CommitSeal(e.by.owner, e.after.Result, e.try+1):
		return who + ", and the seal is not that of its answer, its commit and its owner"
	case len(e.after.Steps) > 0:
		return who + ", and steps stay"
	case b == nil || b.Owner != e.by.owner || b.Status != store.StatusInProgress:
		return who + ", who does not own the record"
	}
	for _, a := range w.applications {
		if a.life == w.life {
			return fmt.Sprintf("%s, and those of commit %d of %s were before", who, a.try+1, a.by.name)
		}
	}
	return ""
}

// refusedIsNeverApplied is about what Commit says: after an error nothing of it is ever applied,
// unless it has failed and nobody could know; and then nothing once the delivery has released the
// record.
func refusedIsNeverApplied(w *world, e *event) string {
	switch {
	case e.kind == evWritten && e.applied && e.by != nil:
		switch t := e.by.tries[e.try]; {
		case t.told != toldNothing && t.told != toldLanded && !t.unclear():
			return fmt.Sprintf("commit %d of %s was told %q, and its rows are written", e.try+1, e.by.name, t.told)
		case t.unclear() && e.by.settledWithout():
			return fmt.Sprintf("%s says that its record is %s, and the rows of its commit %d are written", e.by.name,
				e.by.event.Settlement, e.try+1)
		}
	case e.kind == evCommitted:
		t := e.d.tries[e.tried]
		switch landed := t.told == toldLanded; {
		case landed && t.applied == 0:
			return fmt.Sprintf("commit %d of %s has landed, and its rows are not written", e.tried+1, e.d.name)
		case !landed && !t.unclear() && w.isApplied(e.d, e.tried):
			return fmt.Sprintf("commit %d of %s was told %q, and its rows were written", e.tried+1, e.d.name, t.told)
		case t.told == toldRefused && t.sent > 0:
			return fmt.Sprintf("commit %d of %s is refused, and something was sent", e.tried+1, e.d.name)
		}
	case e.kind == evAnswered:
		if n := w.appliedOf(e.d); n >= 0 && e.d.settledWithout() {
			return fmt.Sprintf("%s says that its record is %s, and the rows of its commit %d were written", e.d.name,
				e.d.event.Settlement, n+1)
		}
	}
	return ""
}

// unclear reports whether nobody could know whether a commit that has not landed was applied, or
// will be.
func (t commitFacts) unclear() bool { return t.told == toldFailed && t.unread || t.doubled }

// settledWithout reports whether a delivery says that its record ended without its answer.
func (d *delivery) settledWithout() bool {
	return d.event.Settlement == report.Released || d.event.Settlement == report.Unknown
}

// committedAnswerCounts is about what the caller of an execution gets that has tried commits.
func committedAnswerCounts(w *world, e *event) string {
	if e.kind != evAnswered || len(e.d.tries) == 0 || !e.d.returned {
		return ""
	}
	d := e.d
	if n := d.landed(); n >= 0 {
		want := fmt.Sprintf("%d by %s", d.order.Amount, d.receiptOf(n, d.order).By)
		differs := d.ending != Succeeds || d.unlike
		told := errors.Is(d.event.Err, idempotent.ErrOtherAnswer)
		switch {
		case d.panicked != nil || d.err != nil || d.answer() != want:
			return fmt.Sprintf("commit %d of %s has landed, its handler %s, and it is answered %q", n+1, d.name,
				d.ending, d.answer())
		case d.event.Outcome != report.Executed || d.event.Settlement != report.Completed:
			return fmt.Sprintf("commit %d of %s has landed, and the observer is told %s, %s", n+1, d.name,
				d.event.Outcome, d.event.Settlement)
		case differs != told:
			return fmt.Sprintf("commit %d of %s has landed, its handler %s, and the observer is told %v", n+1, d.name,
				d.ending, d.event.Err)
		}
		return ""
	}
	n := w.appliedOf(d)
	own := d.err == nil && d.panicked == nil && d.receipt.By == d.name
	switch {
	case own && d.spoiled():
		return fmt.Sprintf("a commit of %s failed, nothing is stored, and it is answered %q", d.name, d.answer())
	case n >= 0 && d.tries[n].doubled && d.tries[len(d.tries)-1].sent == 0 && d.event.Settlement == report.Elsewhere:
		// By the clock its lease had ended, and it had no reason to look.
	case n >= 0 && d.event.Settlement != report.NotSettled && d.receipt != d.receiptOf(n, d.order):
		return fmt.Sprintf("the commit %d of %s was applied, and it is answered %q", n+1, d.name, d.answer())
	}
	return ""
}

// commitCounts reports whether what a delivery answers depends on its commits, and not on what its
// handler returned.
func (w *world) commitCounts(d *delivery) bool {
	return d.landed() >= 0 || d.spoiled() || w.appliedOf(d) >= 0
}

// afterACommitNothingFollows is about what an execution sends, and when.
func afterACommitNothingFollows(w *world, e *event) string {
	switch e.kind {
	case evSent:
		return w.sentBesideACommit(e)
	case evStepBegan:
		if d := e.d; d.committer != nil && d.tries[len(d.tries)-1].sent > 0 || d.landed() >= 0 || d.spoiled() {
			return fmt.Sprintf("%s begins the step %s after its commit was sent", d.name, w.Steps[e.step].Name)
		}
	case evWritten:
		if e.by == nil || !e.by.spoiled() || e.by == w.operator.self || e.op == opCommit || e.after == nil ||
			e.after.Status != store.StatusCompleted || e.by.mark() == FailsTerminal {
			return ""
		}
		return fmt.Sprintf("a commit of %s failed, and a %s stores %q", e.by.name, e.by.callName(e.call),
			answerIn(*e.after))
	case evBegan, evAnswered, evPassed, evDone, evStepped, evCommitted, evAsked, evReconciled, evOver:
	}
	return ""
}

func (w *world) sentBesideACommit(e *event) string {
	d, name := e.d, e.by.callName(e.call)
	if len(d.tries) == 0 {
		return ""
	}
	last := d.tries[len(d.tries)-1]
	switch {
	case d.landed() >= 0 && e.op != opGet:
		return fmt.Sprintf("a commit of %s has landed, and a %s follows", d.name, name)
	case d.spoiled() && e.op == opCommit:
		return d.name + " commits after a commit of which it does not know that it was not applied"
	case name == Renewal && d.committer != nil && last.sent > 0:
		return d.name + " renews its lease beside its commit"
	case last.told == toldFailed && last.unread && d.returned && e.op != opGet:
		return fmt.Sprintf("%s could not read what became of its commit, and a %s follows", d.name, name)
	case e.op != opCommit:
		return ""
	}
	if before, repeats := last.args[e.token]; repeats && !sameCall(before, e.call) {
		return d.name + " repeats the token of its commit with another call"
	}
	if len(e.token) == 0 || len(e.token) > 36 {
		return fmt.Sprintf("%s has a token of %d characters", d.name, len(e.token))
	}
	for n, f := range d.steps {
		if f.began && f.told == "" {
			return fmt.Sprintf("%s commits while its step %s runs", d.name, w.Steps[n].Name)
		}
	}
	if d.beat.at == atCall {
		return d.name + " commits while it renews its lease"
	}
	return ""
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

// insideIsRefused is about commits inside of a step: with its context they are refused at once.
// With another one they wait for that step, which ends after them; the wait is bounded.
func insideIsRefused(_ *world, e *event) string {
	if e.kind != evCommitted {
		return ""
	}
	t, took := e.d.tries[e.tried], time.Since(e.d.tries[e.tried].began)
	switch {
	case t.inside && (t.told != toldRefused || took > 0):
		return fmt.Sprintf("commit %d of %s begins inside of a step, and is told %q after %v", e.tried+1,
			e.d.name, t.told, took)
	case t.told == toldRefused && took > standstill+tick:
		return fmt.Sprintf("commit %d of %s is refused after %v", e.tried+1, e.d.name, took)
	case t.told == toldRefused && e.d.returned && time.Since(e.d.returnedAt) > tick:
		return fmt.Sprintf("commit %d of %s waits for steps %v after its handler has returned", e.tried+1, e.d.name,
			time.Since(e.d.returnedAt))
	}
	return ""
}

// over reports whether the context of the handler has ended, or is about to.
func (d *delivery) over() bool {
	end, limited := d.hctx.Deadline()
	return d.hctx.Err() != nil || limited && !time.Now().Before(end)
}

// commitIsNotGivenUp is about commits that nothing keeps from being applied.
func commitIsNotGivenUp(w *world, e *event) string {
	if e.kind != evCommitted {
		return ""
	}
	d, t := e.d, e.d.tries[e.tried]
	if t.hindered || d.landed() >= 0 && d.landed() != e.tried || d.over() ||
		!w.now.Before(w.protectedUntil(d).Add(-w.fences)) || w.operator.applied {
		return ""
	}
	for n := range e.tried {
		if told := d.tries[n].told; told == toldFailed || told == toldLost {
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
	if held := w.held(); held == nil || held.Owner != d.owner || held.Status != store.StatusInProgress {
		return ""
	}
	return fmt.Sprintf("commit %d of %s is told %q, and nothing kept it from being applied: %v", e.tried+1,
		d.name, t.told, e.err)
}
