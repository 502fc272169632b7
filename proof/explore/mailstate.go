package explore

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/proof/rows"
)

// mailDigest takes up the messages and all that relays may still do.
func (w *world) mailDigest(d *digest) {
	if w.Relays.Processes == 0 {
		return
	}
	m := &w.mail
	for _, left := range []int{m.handovers, m.drains, m.redrives, m.faults, m.dueSteps} {
		d.number(int64(left))
	}
	all := w.messageTable().Messages()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		w.entry(d, all[id].Entry())
	}
	for _, image := range w.handed() {
		d.text("image")
		w.entry(d, image.Entry())
	}
	for _, c := range m.late {
		d.text("late")
		w.boxCall(d, c)
	}
	for _, g := range m.generations {
		d.text(g.id)
		d.text(w.ownerName(g.owner))
		d.number(int64(w.uncounted(g)))
		d.number(int64(g.repeated))
		d.flags(g.arrived > 0, g.hopeless, g.usedUp, g.replaced)
		for _, p := range m.processes {
			done, delivered, left := false, false, time.Time{}
			if p != nil {
				done, delivered = p.remembers[g]
				left = p.left[g]
			}
			d.flags(done, delivered)
			d.time(left)
		}
	}
	for n := range m.processes {
		d.flags(w.hasWorked(n))
	}
	for _, r := range m.rounds {
		d.number(int64(r.number))
		d.number(int64(r.history))
		d.flags(r.at.delivers)
		w.entry(d, r.at.entry)
		w.boxCall(d, r.at.call)
	}
}

// uncounted is how many tries there were of a message that are not counted. More than may still come do not matter.
func (w *world) uncounted(g *generation) int {
	m := w.messageTable().Messages()[g.id]
	if m.Owner != g.owner || !m.Pending() {
		return 0
	}
	return min(g.failed+g.taken+g.doubled-m.Tries, w.Relays.Handovers+w.Relays.Drains+w.Relays.MaxFaults)
}

func (w *world) boxCall(d *digest, c boxCall) {
	d.text(string(c.name))
	d.text(c.id)
	w.entry(d, c.entry)
	d.time(c.at)
}

func (w *world) entry(d *digest, e relay.Entry[rows.Row]) {
	d.text(e.ID)
	d.text(w.ownerName(e.Owner))
	d.time(e.Due)
	d.number(int64(e.Tries))
	d.flags(e.Parked)
}

// sends takes up the messages in writes.
func (d *digest) sends(writes rows.Writes) {
	for _, one := range writes {
		if one.Op == rows.Send {
			d.text(one.Key)
			d.time(one.At)
		}
	}
}

// learn adds what a round is told to its history.
func (r *round) learn(g roundGrant) {
	w := r.world
	d := w.newDigest()
	d.number(int64(r.history))
	d.time(w.now)
	d.number(int64(g.receives))
	d.flags(g.reply.done, g.reply.err != nil)
	d.number(int64(g.reply.tries))
	w.entry(d, g.reply.entry)
	r.history = d.Sum64()
}

// learnList adds what it was handed over, or has read in a list.
func (r *round) learnList(ids []string) {
	w := r.world
	d := w.newDigest()
	d.number(int64(r.history))
	d.time(w.now)
	d.flags(r.entries == nil, r.hurried)
	for _, id := range ids {
		d.text(id)
	}
	r.history = d.Sum64()
}

// nameOf is a message in a story.
func (w *world) nameOf(id, owner string) string {
	for _, g := range w.mail.generations {
		if g.id == id {
			return fmt.Sprintf("%q of %s", g.name, w.ownerName(owner))
		}
	}
	return "a message of " + w.ownerName(owner)
}

func (w *world) describeBoxCall(c boxCall) string {
	if c.name == ReadMessage {
		return string(c.name)
	}
	return fmt.Sprintf("%s of %s", c.name, w.nameOf(c.id, c.entry.Owner))
}

func (w *world) describeMessage(m rows.Message) string {
	switch {
	case m.ID == "":
		return "no message"
	case m.Parked():
		return fmt.Sprintf("that of %s is parked after %d tries", w.ownerName(m.Owner), m.Tries)
	case m.Pending():
		return fmt.Sprintf("that of %s is due at %s after %d tries", w.ownerName(m.Owner), w.text(m.Due), m.Tries)
	default:
		return fmt.Sprintf("that of %s is done", w.ownerName(m.Owner))
	}
}
