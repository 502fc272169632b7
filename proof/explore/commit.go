package explore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/internal/execution"
	"github.com/go-idempotent/idempotent/internal/testkit/rows"
	"github.com/go-idempotent/idempotent/store"
)

// told is what a commit has returned.
type told string

const (
	toldNothing  told = ""          // it has not returned
	toldLanded   told = "landed"    // the answer is stored, and the rows are written
	toldRefused  told = "not begun" // nothing was sent
	toldDeclined told = "declined"  // a row refused
	toldLost     told = "lost lease"
	toldFailed   told = "failed"
)

// commitFacts are what happened to one commit of a handler.
type commitFacts struct {
	// began is when it did.
	began time.Time
	// sent counts its calls of the store, all of them. applied counts how often its writes were
	// applied.
	sent, applied int
	// args are those of its transactions, by their tokens.
	args map[string]call
	// hindered: something befell it that does not pass, or of which nobody knows whether it was
	// applied. unread: it could not move the lease, so that nobody knows what became of it.
	hindered, unread bool
	// doubled: somebody has sent it twice whom nobody has asked. inside: it has the context of a
	// step.
	doubled, inside bool
	told            told
	// writes are what it writes.
	writes rows.Writes
}

// application is that the writes of a commit were applied.
type application struct {
	by   *delivery
	try  int
	life int
}

// toldBy is what an error of a commit tells the handler.
func toldBy(err error) told {
	switch {
	case err == nil:
		return toldLanded
	case errors.Is(err, store.ErrWritesRefused):
		return toldDeclined
	case errors.Is(err, execution.ErrCommitRefused):
		return toldRefused
	case errors.Is(err, execution.ErrLeaseLost):
		return toldLost
	default:
		return toldFailed
	}
}

// commitAll tries the commits of the handler. It returns the error with which the handler ends.
func (d *delivery) commitAll(ctx context.Context, o Order) error {
	if !d.world.Unawaited {
		return d.commitOn(ctx, &d.strand, o)
	}
	b := d.branch()
	b.about = -1 // no step
	go func() {
		b.wait(atFork)
		_ = d.commitOn(context.WithoutCancel(ctx), b, o) // nobody waits for it, and it does not end with the handler
		d.world.arrived <- arrival{strand: b, at: atEnd}
	}()
	return nil
}

// branch is a new strand beside the others.
func (d *delivery) branch() *strand {
	b := d.world.newStrand(d)
	d.branches = append(d.branches, &b)
	return &b
}

func (d *delivery) commitOn(ctx context.Context, s *strand, o Order) error {
	w := d.world
	var last error
	for n := range w.Commits {
		if n == 0 && w.Abandons && !w.Unawaited || n > 0 && w.Timed {
			s.wait(atFork) // what runs beside it, its steps or its heartbeat, may act before
		}
		told, err := d.commit(ctx, s, n, o)
		declined := d.dead || told == toldDeclined
		last = err
		if declined {
			last = nil
		}
		if d.dead || !declined && !w.Restless {
			break
		}
	}
	if w.Careless || d.landed() >= 0 {
		return nil
	}
	return last
}

// commit tries one of them.
func (d *delivery) commit(ctx context.Context, s *strand, n int, o Order) (told, error) {
	if d.dead {
		return toldNothing, errDied
	}
	w, try := d.world, len(d.tries)
	writes := d.addressed(ctx, w.Commits[n])
	under, _ := execution.From(ctx)
	d.tries = append(d.tries, commitFacts{began: time.Now(), writes: writes, inside: under.Step != ""})
	d.committer = s
	err := execution.CommitsOf(ctx).Commit(onStrand(ctx, s), d.receiptOf(try, o), writes, nil)
	d.committer = nil
	if d.dead {
		return toldNothing, errDied
	}
	is := toldBy(err)
	w.committed(d, try, is, err)
	if d.tries[try].inside {
		d.tries = d.tries[:try] // it was none
	}
	return is, err
}

// receiptOf is the answer that a commit of the delivery stores. It is no other answer of anybody.
func (d *delivery) receiptOf(try int, o Order) Receipt {
	return Receipt{By: fmt.Sprintf("commit %d of %s", try+1, d.name), Amount: o.Amount}
}

// committed notes what a commit has returned.
func (w *world) committed(d *delivery, n int, is told, err error) {
	w.moment++
	w.Saw("commit: " + string(is))
	w.Sayf("    the commit %d of %s: %s, %v", n+1, d.name, is, err)
	d.tries[n].told = is
	w.check(&event{kind: evCommitted, d: d, tried: n, err: err})
}

// landed is which commit of the delivery has said that it landed, -1 for none.
func (f *facts) landed() int {
	return slices.IndexFunc(f.tries, func(t commitFacts) bool { return t.told == toldLanded })
}

// spoiled reports whether a commit was tried that leaves the delivery without an answer to store.
func (f *facts) spoiled() bool {
	return slices.ContainsFunc(f.tries, func(t commitFacts) bool { return t.told == toldFailed || t.told == toldLost })
}

// lostInCommit reports whether a commit of the delivery was told that the lease is lost.
func (f *facts) lostInCommit() bool {
	return slices.ContainsFunc(f.tries, func(t commitFacts) bool { return t.told == toldLost })
}

// isApplied reports whether a commit of the delivery was applied, and its record is not gone since.
func (w *world) isApplied(d *delivery, try int) bool {
	return slices.Contains(w.applications, application{by: d, try: try, life: w.life})
}

// appliedOf is which commit of the delivery was applied to the record that there is, -1 for none.
func (w *world) appliedOf(d *delivery) int {
	for n := range d.tries {
		if w.isApplied(d, n) {
			return n
		}
	}
	return -1
}

// commitWaitsFor reports whether a commit of the delivery, which has sent nothing yet, waits for a
// step.
func (d *delivery) commitWaitsFor(b *strand) bool {
	return d.committer != nil && b != d.committer && d.tries[len(d.tries)-1].sent == 0 &&
		(b.at == atStep || b.at == atStepResolver || b.at == atCall)
}

// sentByCommit notes a call of the store that a commit makes.
func (w *world) sentByCommit(d *delivery, c call, f Fault) {
	if !c.within {
		return
	}
	t := &d.tries[c.try]
	t.sent++
	t.hindered = t.hindered || f != None && f != Contends && f != Throttles
	t.doubled = t.doubled || f == Doubles
	switch c.Op {
	case opCommit:
		if t.args == nil {
			t.args = map[string]call{}
		}
		t.args[c.Token] = c
	case opSwap:
		w.Saw("fence")
		w.fences += time.Millisecond
	default:
	}
}

// repliedToCommit notes what a commit learns from a call.
func (w *world) repliedToCommit(d *delivery, c call, got reply) {
	if !c.within {
		return
	}
	t := &d.tries[c.try]
	if c.Op == opSwap {
		t.unread = got.Err != nil
	}
	if c.Op == opCommit && got.Err == nil && !got.Done && got.Held.Seal != "" && got.Held.Seal == c.Next.Seal {
		w.Saw("own commit recognised by its seal")
	}
	if c.Op == opCommit && got.Err == nil && !got.Done && got.Held.Owner == d.owner &&
		got.Held.Status == store.StatusInProgress {
		w.Saw("commit meets a late renewal")
	}
}

// recognised reports whether a commit changed nothing because the table knows its token.
func (w *world) recognised(c change) bool {
	if c.Op != opCommit || c.applied || !c.done || c.before == nil || c.after == nil ||
		c.before.Seal != c.after.Seal {
		return false
	}
	w.Saw("own commit recognised by its token")
	return true
}

// noteApplied notes that writes were applied.
func (w *world) noteApplied(c change) {
	if !c.applied {
		return
	}
	c.by.tries[c.try].applied++
	// The table is appended to, never changed in place.
	w.applications = append(slices.Clone(w.applications), application{by: c.by, try: c.try, life: w.life})
	w.Saw("rows applied")
	w.noteSent(c.by, c.by.tries[c.try].writes)
}

// appliedRows is how many transactions the table has applied.
func (w *world) appliedRows() int {
	if w.table == nil {
		return 0
	}
	return w.table.Applied
}

// changeRows is what somebody else does to the rows.
func (w *world) changeRows() {
	err := w.table.Apply(context.Background(), w.Outside[0], "")
	w.Outside = w.Outside[1:]
	became := "applied"
	if err != nil {
		became = "not applied"
	}
	if err != nil && !errors.Is(err, store.ErrWritesRefused) {
		panic(err)
	}
	w.Saw("rows of somebody else: " + became)
	w.Sayf("  somebody else writes rows: %s", became)
}

// ofCommits reports whether the fault is one of commits alone and the call is none that it can
// befall.
func (f Fault) ofCommits(c call) bool {
	switch f {
	case Contends, Throttles, Denies, Garbles:
		return !c.within
	case Doubles:
		return c.Op != opCommit
	case Twice:
		return true
	default:
		return false
	}
}

// ofWrites is the part of a seal that tells which commit it is of, empty if it is of none.
func ofWrites(seal string) string {
	if parts := strings.SplitN(seal, ".", 3); len(parts) == 3 {
		return parts[2]
	}
	return ""
}

// nameOfWrites tells whose commit a seal names, empty if it names none. Owners are drawn anew
// whenever a schedule is played.
func (w *world) nameOfWrites(seal string) string {
	part := ofWrites(seal)
	for _, d := range w.deliveries {
		if part != "" && strings.HasPrefix(seal, d.owner+".") {
			return d.name + part
		}
	}
	return part
}

// rowDigest takes up the rows and what was applied to them.
func (w *world) rowDigest(d *digest) {
	if w.table == nil {
		return
	}
	d.Add(len(w.Outside), w.fences)
	all := w.table.Rows
	for _, key := range slices.Sorted(maps.Keys(all)) {
		d.Add(key)
		for _, name := range slices.Sorted(maps.Keys(all[key])) {
			d.Add(name, all[key][name])
		}
	}
	for _, a := range w.applications {
		d.Add(a.by.name, a.try, a.life)
	}
}

func commitsOf(d *digest, x *delivery) {
	d.Add(x.committer != nil)
	if x.committer != nil {
		d.Add(time.Since(x.tries[len(x.tries)-1].began))
	}
	for _, t := range x.tries {
		d.Add(t.applied, t.hindered, t.unread, t.doubled, t.sent > 0, t.told)
		sends(d, t.writes)
	}
}
