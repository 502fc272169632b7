package page

import (
	"fmt"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/cmd/idempotent/internal/show"
	"github.com/go-idempotent/idempotent/operate"
	"github.com/go-idempotent/idempotent/store"
)

// moment is what has happened to a record, or will.
type moment struct {
	// At is the zero time if the record does not tell it.
	At   time.Time
	What string
	// More says what the record does not tell, or what follows.
	More string
	// Class is that of a state, for the colour.
	Class string
	// Ahead is true for what will happen if nothing else does.
	Ahead bool
}

// timelineOf tells the story of a record as far as the record tells it: a record keeps how it is, and of how it came to be so only some
// instants.
func timelineOf(s operate.Shown) []moment {
	t := &timeline{record: s.Record, state: s.State, now: s.At}
	t.begin()
	t.claims()
	t.steps(s.Steps())
	switch s.State {
	case operate.StateInProgress:
		t.held()
	case operate.StateLapsed:
		t.dated(moment{
			At: s.Record.Lease, What: "Its lease ended", Class: may,
			More: "nobody has said how the execution ended, and no request has come since",
		})
	case operate.StateUnknown:
		t.unknown(show.Because(s.Record.Reason))
	case operate.StateReleased:
		t.released()
	default: // what is left to tell is in its times
	}
	t.settled()
	t.completed()
	t.end()
	return t.sorted()
}

// timeline collects moments.
type timeline struct {
	record store.Record
	state  operate.State
	now    time.Time
	// told are those whose instant is known, untold the others, in their order.
	told, untold []moment
}

func (t *timeline) dated(m moment) {
	if m.At.IsZero() {
		t.untold = append(t.untold, m)
		return
	}
	m.Ahead = !store.Reached(m.At, t.now)
	t.told = append(t.told, m)
}

func (t *timeline) begin() {
	m := moment{At: t.record.CreatedAt, What: "Claimed for the first time", More: "an execution began", Class: quiet}
	if m.At.IsZero() {
		m.More = "the record does not say when"
	}
	t.dated(m)
}

// claims tells of later executions, of which a record keeps the number alone.
func (t *timeline) claims() {
	if n := t.record.Attempt; n > 1 {
		what := "Claimed once more"
		if n > 2 {
			what = fmt.Sprintf("Claimed %d more times", n-1)
		}
		t.dated(moment{What: what, More: "after a release, or taken over from an execution that had ended; the record counts, but keeps no times", Class: quiet})
	}
}

func (t *timeline) steps(steps []operate.Step) {
	for _, s := range steps {
		m := moment{What: "Step “" + s.Name + "”", More: show.StepMeaning(s), Class: well}
		switch s.State {
		case operate.StepOpen, operate.StepOther:
			m.Class = needs
		case operate.StepHasFailed:
			m.Class = may
		default: // it went well
		}
		t.dated(m)
	}
}

// held tells of a lease that is live: that of an execution, or of somebody who asks about an execution that ended.
func (t *timeline) held() {
	r := t.record
	if r.Attention == "" {
		t.dated(moment{At: r.Lease, What: "Its lease ends", More: "unless the execution renews it", Class: quiet})
		return
	}
	t.asked()
	t.dated(moment{At: r.Lease, What: "Somebody asks what became of it", More: "the lease of the question ends then, unless it is renewed", Class: may})
}

// unknown tells since when nobody knows the outcome. The one instant that a record keeps of this moves with each question.
func (t *timeline) unknown(reason string) {
	became := moment{What: "Became unknown", More: reason, Class: needs}
	switch r := t.record; {
	case r.Parked():
		became.More += "; the record does not say when any more"
		t.dated(became)
		t.asked()
		t.dated(moment{At: r.AttentionAt, What: "Given up", More: "nobody asks about it any more: a person has to settle it", Class: needs})
	case r.Tries > 0:
		became.More += "; the record does not say when any more"
		t.dated(became)
		t.asked()
		t.due("The next question", "It is due to be asked about again")
	default:
		became.At = r.AttentionAt
		t.dated(became)
	}
}

// asked tells how often somebody has asked without an answer.
func (t *timeline) asked() {
	switch n := t.record.Tries; {
	case n == 1:
		t.dated(moment{What: "Asked about once, without an answer", More: "the resolver could not tell", Class: may})
	case n > 1:
		t.dated(moment{What: fmt.Sprintf("Asked about %d times, without an answer", n), More: "the resolver could not tell; the record counts, but keeps no times", Class: may})
	}
}

// due tells when something is to be done, or was.
func (t *timeline) due(ahead, over string) {
	m := moment{At: t.record.AttentionAt, What: ahead, More: "at the next run of the reconciliation after this", Class: quiet}
	if store.Reached(m.At, t.now) {
		m.What = over
	}
	t.dated(m)
}

func (t *timeline) released() {
	r := t.record
	if r.SettledBy == "" {
		t.dated(moment{What: "Released", More: "given up for another try: the next request executes; the record does not say when", Class: may})
	}
	switch {
	case r.Attention == "":
	case r.Parked():
		t.asked()
		t.dated(moment{At: r.AttentionAt, What: "Given up", More: "nobody asks about it any more: a person has to settle it", Class: needs})
	case r.Tries > 0:
		t.asked()
		t.due("The next question", "It is due to be asked about again")
	default:
		t.dated(moment{At: r.AttentionAt, What: "Somebody has to look at it", More: "if it has stopped between two steps, and no retry has come until then", Class: may})
	}
}

func (t *timeline) settled() {
	r := t.record
	if r.SettledBy == "" {
		return
	}
	what := "Settled as not executed, or released"
	if r.Status == store.StatusCompleted {
		what = "Settled"
	}
	t.dated(moment{At: r.SettledAt, What: what + ", by " + r.SettledBy, More: "“" + r.SettledReason + "”", Class: well})
}

func (t *timeline) completed() {
	r := t.record
	if r.Status != store.StatusCompleted {
		return
	}
	m := moment{At: r.CompletedAt, What: "Completed", More: "its result is stored, and every retry gets it", Class: well}
	if r.Reason == store.ReasonTerminal {
		m.More, m.Class = "it failed for good; the error is stored, and every retry gets it", may
	}
	if m.At.IsZero() {
		m.More += "; the record does not say when"
	}
	t.dated(m)
}

func (t *timeline) end() {
	m := moment{At: t.record.Expiry, What: "Expires", More: "the key is as good as new then", Class: quiet}
	if t.state == operate.StateExpired {
		m.What, m.More = "Expired", "the key is as good as new"
	}
	t.dated(m)
}

// sorted puts what has no instant behind the first claim: when it happened is not known, but that it was after that.
func (t *timeline) sorted() []moment {
	slices.SortStableFunc(t.told, func(a, b moment) int { return a.At.Compare(b.At) })
	first := min(1, len(t.told))
	if t.record.CreatedAt.IsZero() {
		first = 0
	}
	return slices.Concat(t.told[:first], t.untold, t.told[first:])
}
