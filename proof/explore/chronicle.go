package explore

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/report"
	"github.com/go-idempotent/idempotent/store"
)

// chronicle is what really happened in a world, as the invariants need it.
type chronicle struct {
	// moment counts what happened.
	moment  int
	commits []commit
	// unknown says that the record was UNKNOWN at some time.
	unknown bool
	broken  error
	// life counts how often the record is gone for good: it has expired, or an operator has deleted
	// it. recorded is what steps have recorded, as they must return it.
	life     int
	recorded map[recordKey]string
	// applications are those of writes of commits.
	applications []application
	// left are the tokens of nobody, by who has left them.
	left map[string]string
	// unsettled: the record was UNKNOWN, and nobody has settled it since. questions are those that
	// were asked.
	unsettled bool
	questions int
	// stopped: the record was released, and nobody has executed since.
	stopped bool
	// fences is by how much commits have moved leases.
	fences time.Duration
}

// commit is a completion that was applied.
type commit struct {
	by     *delivery
	answer string
	expiry time.Time
	// from and to are the moments at which it came and went; to is 0 while it is held.
	from, to int
}

// facts are what happened to one delivery.
type facts struct {
	// lease is the end of its lease by its own clock, from its deadline and not from its record.
	lease time.Time
	from  int
	// owner is the token it uses, fingerprint what it says its request is. retired are the tokens
	// it used before: who begins a claim anew has a new one.
	owner, fingerprint string
	retired            []string
	// claimed: a write that takes the record with its token was applied. undone: it has sent the
	// undo of one.
	claimed, undone bool
	// restored: its undo of a takeover was applied.
	restored bool
	// began: its handler runs or ran. released: its record was deleted by itself after that,
	// or a resolver says that it touched nothing.
	began, released bool
	// unknownUntil is the expiry of the record that says that its outcome is unknown.
	unknownUntil time.Time
	// ending is how its handler ended, if returned.
	ending     Ending
	returned   bool
	returnedAt time.Time // by the clock of contexts
	// resolved: its resolver was asked.
	resolved bool
	// untouched is true once its resolver has said that nothing had happened.
	untouched bool
	// shown is the record that the store showed it last, shownAt the clock when it asked.
	shown   store.Record
	shownAt time.Time
	// took is the record that its takeover replaced, as it saw that.
	took *store.Record
	// conflicts: its claims meet a transaction as long as the owner works. refused: the last one
	// did, and nothing came after.
	conflicts, refused bool
	// failedRenewals are those since the last one that succeeded. troubled: there was one at some
	// time.
	failedRenewals int
	troubled       bool
	// overruled: an operator has settled the record since its handler began, so nothing that it
	// brings counts.
	overruled bool
	// steps are those of its handler. life is the one of the record that it owns or owned.
	// toldLost: a step has said that the lease is lost. stepMark is how a handler counts that
	// returned the error of a step.
	steps    []stepFacts
	life     int
	toldLost bool
	stepMark Ending
	// tries are the commits of its handler, committer runs the last one if that has not returned.
	tries     []commitFacts
	committer *strand
	// unlike: its handler returned an answer when none of them had landed.
	unlike bool
	// frozen: its process is suspended. wasFrozen: it was, at some time.
	frozen, wasFrozen bool
	// asking is what happened to a reconciliation.
	asking askingFacts
	// last: it came after everything else, alone.
	last bool
}

func (f *facts) ended(e Ending) { f.ending, f.returned, f.returnedAt = e, true, time.Now() }

// change is a call that was made, and the record before and after it.
type change struct {
	by *delivery // nil for the table itself
	call
	before, after *store.Record
	done          bool
	// applied: writes of a handler were applied in the call.
	applied bool
}

// sent notes a call, and what will become of it, before it is granted.
func (w *world) sent(s *strand, f Fault) {
	d, c := s.of, s.called
	if c.Op == opClaim || d.callName(c) == Takeover {
		d.claims(c.Next)
	}
	w.check(&event{kind: evSent, d: d, change: change{by: d, call: c}})
	w.sentByCommit(d, c, f)
	d.refused = f == Conflict
	if s == &d.beat {
		d.troubled = d.troubled || f != None
		if f.err(c.Op) != nil {
			d.failedRenewals++
		}
	}
	if d.callName(c) != Undo {
		return
	}
	d.undone = d.undone || c.Seen.Owner == d.owner
	if c.Op == opDelete {
		w.Saw("undo of a claim")
	} else {
		w.Saw("undo of a takeover")
	}
}

// claims notes the token of a claim.
func (f *facts) claims(r store.Record) {
	if r.Owner == f.owner && f.fingerprint != "" {
		return
	}
	if f.owner != "" { // it waited, or its claim took long, and it claims anew
		f.retired = append(slices.Clone(f.retired), f.owner)
		f.lease, f.claimed, f.undone, f.restored = r.Lease, false, false, false
	}
	f.owner, f.fingerprint = r.Owner, r.Fingerprint
}

// uses reports whether a token is or was one of the delivery.
func (f *facts) uses(token string) bool {
	return token != "" && (token == f.owner || slices.Contains(f.retired, token))
}

// replied notes what a delivery learns from a call.
func (w *world) replied(s *strand, got reply) {
	d, c := s.of, s.called
	if s == &d.beat && got.Err == nil {
		d.failedRenewals = 0
	}
	w.repliedToCommit(d, c, got)
	if got.Err != nil || got.Done && c.Op != opGet {
		return
	}
	d.shown, d.shownAt = got.Held, s.asked
	if !d.began && (c.Op == opClaim || c.Op == opSwap) && got.Held.Owner == d.owner &&
		got.Held.Status == store.StatusInProgress {
		w.Saw("own " + string(c.Op) + " recognised")
	}
}

// written notes a call that was made.
func (w *world) written(c change) {
	w.moment++
	if c.Op == opGet || !c.done && !c.applied || w.recognised(c) {
		return
	}
	w.noteLeft(c)
	kind := evWritten
	if c.by == nil {
		kind = evRemoved
	}
	w.check(&event{kind: kind, change: c})
	w.noteApplied(c)
	w.noteCommit(c)
	w.noteLease(c)
	w.noteSteps(c)
	w.noteReconciled(c)
	if c.by == w.operator.self {
		w.overruled(c)
		return
	}
	w.forgetsVerdict(c)
	switch {
	case c.by == nil:
	case c.undoes():
		c.by.restored = c.by.restored || c.Seen.Owner == c.by.owner
	case c.after == nil, c.keepsSteps() && c.by.uses(c.Seen.Owner):
		c.by.released = c.by.released || c.by.began
	case c.takes():
		c.by.claimed = true
		if c.Op == opSwap {
			c.by.took = c.taken()
		}
		w.Saw(c.how())
	case c.after.Status == store.StatusUnknown:
		w.noteUnknown(c)
	}
}

// takes reports whether the call made the record that of its sender.
func (c change) takes() bool {
	return c.after.Status == store.StatusInProgress && c.after.Owner == c.by.owner &&
		(c.Op == opClaim || c.Seen.Owner != c.by.owner || c.by.asks() && c.by.callName(c.call) == Takeover)
}

// taken is what the sender saw of the record that the call took over. A token and a lease may have
// stood in two records: a claim of the same token may arrive late, after that record is gone.
func (c change) taken() *store.Record {
	if saw := c.by.shown; saw.Owner == c.before.Owner && saw.Lease.Equal(c.before.Lease) {
		return &saw
	}
	return c.before
}

// undoes reports whether the call gave back a record that its sender has taken over.
func (c change) undoes() bool {
	return c.Op == opSwap && c.by.callName(c.call) == Undo
}

// how names a claim.
func (c change) how() string {
	switch {
	case c.before == nil:
		return "claim"
	case c.before.Status == store.StatusCompleted:
		return "claim of an expired record"
	case c.Op == opClaim:
		return "claim of an expired record, " + string(c.before.Status)
	case c.before.Status == store.StatusUnknown:
		return "takeover of an UNKNOWN record"
	case c.before.Reason == store.ReasonReleased:
		return "takeover of a released record"
	default:
		return "takeover"
	}
}

// noteLease notes until when a record protects its owner. In a timed world nobody knows that
// before.
func (w *world) noteLease(c change) {
	if w.Timed && c.by != nil && c.after != nil && c.after.Status == store.StatusInProgress &&
		c.after.Owner == c.by.owner {
		c.by.lease = later(c.by.lease, c.after.Lease)
	}
}

func (w *world) noteUnknown(c change) {
	w.unknown = true
	w.Saw("unknown: " + c.after.Reason)
	for _, d := range w.deliveries {
		if d.uses(c.after.Owner) {
			d.unknownUntil = c.after.Expiry
		}
	}
}

func (w *world) noteCommit(c change) {
	if c.before != nil && c.before.Status == store.StatusCompleted {
		w.commits[len(w.commits)-1].to = w.moment
	}
	if c.after == nil || c.after.Status != store.StatusCompleted {
		return
	}
	switch {
	case c.before == nil:
		w.Saw("completed although deleted")
	case c.before.Status == store.StatusUnknown:
		w.Saw("completed although UNKNOWN")
	case c.before.Owner != c.by.owner:
		w.Saw("completed in place of a crashed one")
	default:
		w.Saw("completed")
	}
	for _, d := range w.deliveries {
		if !d.unknownUntil.IsZero() {
			d.unknownUntil = w.now // settled
		}
	}
	// The table is appended to, never changed in place, so that a commit is the same for whoever
	// looks at it.
	w.commits = append(slices.Clone(w.commits), commit{
		by: c.by, answer: answerIn(*c.after), expiry: c.after.Expiry, from: w.moment,
	})
}

// answerIn is what a replay of the record must answer, in the words of delivery.answer.
func answerIn(r store.Record) string {
	var stored struct {
		Receipt
		Message string `json:"errorMessage"`
	}
	if err := json.Unmarshal(r.Result, &stored); err != nil {
		return "nothing: " + err.Error()
	}
	if r.Reason == "terminal" {
		return stored.Message
	}
	return stored.String()
}

// began notes that the handler of a delivery runs.
func (w *world) began(d *delivery) {
	w.moment++
	w.Sayf("  the handler of %s runs", d.name)
	w.check(&event{kind: evBegan, d: d})
	d.began = true
}

// resolved notes what a resolver said. If nothing was touched, no execution before it stands in the
// way of another one.
func (w *world) resolved(d *delivery, v Verdict) {
	w.Saw("resolver says " + string(v))
	d.resolved = true
	if d.asks() {
		d.asking.verdict = v // which counts if it is written
		return
	}
	if v == Untouched {
		w.unsettled, d.untouched = false, true
		d.steps = make([]stepFacts, len(w.Steps))
		w.absolve("resolver", w.held())
	}
	for _, x := range w.deliveries {
		if x.began && v == Untouched {
			x.released, x.unknownUntil = true, time.Time{}
		}
	}
}

// answered notes the answer of a delivery.
func (w *world) answered(d *delivery) {
	w.moment++
	if d.panicked == nil {
		w.Saw(string(d.event.Outcome))
	} else {
		w.Saw(string(report.Panicked))
	}
	if d.event.Settlement != "" {
		w.Saw("settled: " + string(d.event.Settlement))
	}
	if d.event.Wait.Took > 0 {
		w.Saw("waited: " + string(d.event.Outcome))
	}
	if d.overruled && superseded(d.err) {
		w.Saw("superseded by a verdict")
	}
	if d.overruled && d.event.Outcome == report.Replayed {
		w.Saw("replayed a verdict")
	}
	if d.returned && d.event.Settlement == report.Elsewhere {
		w.Saw("lost lease: " + string(d.event.Outcome))
	}
	w.check(&event{kind: evAnswered, d: d})
}
