package explore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent"
	"github.com/go-idempotent/idempotent/store"
)

// Asks says how a process asks about the record, see [idempotent.Handler.Reconcile].
type Asks struct {
	// Due leaves alone what is not due, or given up.
	Due bool
	// Tries is how often is asked in vain before the record is given up. Gives up gives it somebody
	// who takes the record then, or fails.
	Tries   int
	GivesUp bool
	// Index finds the record by the index: what has no attention, or is not due, is never seen.
	// Without it the record is known.
	Index bool
}

// reconcilePause is for how long the record waits for its next question.
const reconcilePause = 2 * time.Second

// askingFacts are what happened to a reconciliation.
type askingFacts struct {
	// taken: its claim was applied. asked: its resolver was. handed: somebody was given the record,
	// and took it.
	taken, asked, handed bool
	// verdict is what its resolver said, if resolved.
	verdict Verdict
	// concluded: it has settled the record, or put it back, as became.
	concluded bool
	became    store.Record
}

// asks reports whether this is no delivery, but a reconciliation.
func (d *delivery) asks() bool { return d.client.Asks != nil }

// whatBegins is for a story.
func (d *delivery) whatBegins() string {
	if d.asks() {
		return "reconciliation " + d.name
	}
	return fmt.Sprintf("delivery %s of %d", d.name, d.client.Amount)
}

// mayAsk reports whether there is something to ask about. What is completed, or has a lease that
// lives, is left out: a reconciliation that finds it only reads it. It may become so once the
// reconciliation has begun.
func (w *world) mayAsk(a *Asks) bool {
	held := w.held()
	if a.Index {
		return held != nil && held.Attention != "" && !held.GivenUp() && !w.now.Before(held.AttentionAt)
	}
	return held != nil && held.Status != store.StatusCompleted &&
		(held.Status != store.StatusInProgress || held.Unheld(w.now))
}

// refuses reports whether the handler lets nobody execute after a crash without having asked.
func (w *world) refuses() bool { return w.Unrepeatable || w.Resolver }

// noteIndex notes what the index shows to who reads it.
func (w *world) noteIndex(c *client) {
	if c.Asks == nil || !c.Asks.Index {
		return
	}
	what := nameOfState(*w.held())
	if held := w.held(); held.Status == store.StatusInProgress && !held.Unheld(w.now) {
		what = "an execution whose lease was renewed"
	}
	w.Saw("the index shows " + what)
}

// reconcile asks about the record.
func (d *delivery) reconcile(ctx context.Context) (idempotent.Reconciled, error) {
	a := d.client.Asks
	how := idempotent.Reconciling{
		Timeout: timeout, OnlyDue: a.Due, FirstPause: reconcilePause, LongestPause: reconcilePause, MaxTries: a.Tries,
	}
	if a.GivesUp {
		how.GiveUp = func(context.Context, idempotent.Execution, int) error { return d.giveUp() }
	}
	return d.process.handler.Reconcile(ctx, d.world.recordKey,
		func(context.Context, idempotent.Execution) (idempotent.Resolution[Receipt], error) {
			return ask(&d.strand, atResolver, Receipt{By: foundBy(d), Amount: d.world.amountOf(d.shown)})
		}, how)
}

var errCannotTell = errors.New("cannot tell")

// giveUp is who is given a record to be given up.
func (d *delivery) giveUp() error {
	if d.dead {
		return errDied
	}
	if g := d.wait(atGiveUp); d.dead || g.fails {
		return errCannotTell
	}
	return nil
}

// callOfReconciler is the name of a call that a reconciliation makes.
func (d *delivery) callOfReconciler(c call) Call {
	switch {
	case c.Op == opGet:
		return Look
	case c.Next.Attempt > c.Seen.Attempt:
		return Takeover
	case c.Next.Attempt < c.Seen.Attempt:
		return Undo
	case c.Next.Status == store.StatusInProgress && c.Seen.Owner == c.Next.Owner:
		return Renewal
	default:
		return Conclusion
	}
}

// asked notes that a resolver is asked, or that somebody is given the record to give it up.
func (w *world) asked(d *delivery) {
	w.moment++
	w.check(&event{kind: evAsked, d: d})
	if !d.asks() {
		return
	}
	if d.at == atResolver {
		w.Sayf("  the resolver of %s is asked", d.name)
		w.Saw("reconcile: asked")
		w.questions++
	} else {
		w.Sayf("  %s hands the record to somebody", d.name)
	}
	d.asking.asked = true
}

// outcome is what a reconciliation was told, in words.
func (d *delivery) outcome() string {
	if d.err != nil {
		return d.err.Error()
	}
	return string(d.found.Outcome)
}

// reconciled notes the end of a reconciliation.
func (w *world) reconciled(d *delivery) {
	w.moment++
	w.Sayf("  %s ends: %s, tries %d", d.name, d.outcome(), d.found.Tries)
	if d.err == nil {
		w.Saw("reconcile: " + string(d.found.Outcome))
	} else {
		w.Saw("reconcile: failed")
	}
	w.check(&event{kind: evReconciled, d: d})
}

// unsettled reports whether a record was UNKNOWN before, and somebody has taken it to settle it.
func unsettled(r store.Record) bool {
	return r.Status == store.StatusInProgress && r.Reason != "" && !r.Released()
}

// noteReconciled notes what a write means for questions.
func (w *world) noteReconciled(c change) {
	if c.after == nil || c.Op == opClaim || c.after.Status == store.StatusCompleted || c.after.Released() {
		w.unsettled = w.unsettled && c.by != nil && !c.by.asks() && c.by.resolved && !c.by.untouched &&
			(c.after == nil || c.after.Released())
	} else if c.after.Status == store.StatusUnknown {
		w.unsettled = true
	}
	switch {
	case c.after == nil, c.Op == opClaim, c.after.Status == store.StatusCompleted:
		w.stopped = false
	case c.after.Reason == store.ReasonReleased:
		w.stopped = true
	case c.by != nil && !c.by.asks() && c.takes():
		w.stopped = false
	}
	if c.by == nil || !c.by.asks() || c.after == nil {
		return
	}
	d := c.by
	switch d.callName(c.call) {
	case Takeover:
		d.asking.taken = true
		w.Saw("reconcile: takes " + nameOfState(*c.before))
	case Conclusion:
		d.asking.concluded, d.asking.became = true, *c.after
		w.Saw("reconcile: leaves " + nameOfState(*c.after))
	default:
		return
	}
	if !c.after.Released() || d.asking.verdict != Untouched || !d.asking.concluded {
		return
	}
	w.absolve("reconciliation", c.before)
	for _, x := range w.deliveries {
		if x.began {
			x.released, x.unknownUntil = true, time.Time{}
		}
	}
}

func nameOfState(r store.Record) string {
	switch {
	case r.Status == store.StatusUnknown && r.GivenUp():
		return "a record that is given up"
	case r.Status != store.StatusInProgress:
		return string(r.Status)
	case r.Reason == store.ReasonReleased && len(r.Steps) > 0:
		return "a record that was released with steps"
	case r.Reason == store.ReasonReleased:
		return "a record that was released"
	case r.Reason == store.ReasonAsked:
		return "a released record whose question died"
	case r.Reason != "":
		return "an UNKNOWN record whose question died"
	default:
		return "a crash"
	}
}

// askLast asks about what is open once more, when it is due.
func (w *world) askLast() {
	for _, c := range w.clients {
		held := w.held()
		if c.Asks == nil || held == nil || w.broken != nil || held.Attention == "" || held.GivenUp() {
			continue
		}
		w.now = later(w.now, held.AttentionAt)
		if w.Timed {
			time.Sleep(time.Until(w.now))
			w.settle()
		}
		w.Sayf("%s: the record is due", w.clockText())
		w.deliver(c)
		return
	}
}

func askingOf(d *digest, x *delivery) {
	if !x.asks() {
		return
	}
	a := &x.asking
	d.Add(a.taken, a.asked, a.handed, a.concluded, a.verdict)
	if a.concluded {
		x.world.record(d, a.became)
	}
}
