package explore

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-idempotent/idempotent/internal/relay"
	"github.com/go-idempotent/idempotent/proof/rows"
	"github.com/go-idempotent/idempotent/proof/schedules"
)

// mailDigest takes up the messages and all that relays may still do.
func (w *world) mailDigest(d *schedules.Digest) {
	if w.Relays.Processes == 0 {
		return
	}
	m := &w.mail
	for _, left := range []int{m.handovers, m.drains, m.redrives, m.faults, m.dueSteps} {
		d.Number(int64(left))
	}
	all := w.messageTable().Messages()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		w.entry(d, all[id].Entry())
	}
	for _, image := range w.handed() {
		d.Text("image")
		w.entry(d, image.Entry())
	}
	for _, c := range m.late {
		d.Text("late")
		w.boxCall(d, c)
	}
	for _, g := range m.generations {
		d.Text(g.id)
		d.Text(w.ownerName(g.owner))
		d.Number(int64(w.uncounted(g)))
		d.Number(int64(g.repeated))
		d.Flags(g.arrived > 0, g.hopeless, g.usedUp, g.replaced)
	}
	for n := range m.processes {
		d.Flags(w.hasWorked(n))
	}
	for _, r := range m.rounds {
		d.Number(int64(r.number))
		d.Number(int64(r.history))
		d.Flags(r.at.delivers)
		w.entry(d, r.at.entry)
		w.boxCall(d, r.at.call)
	}
}

// uncounted is how many tries there were of a message that are not counted. More than may still
// come do not matter.
func (w *world) uncounted(g *generation) int {
	m := w.messageTable().Messages()[g.id]
	if m.Owner != g.owner || !m.Pending() {
		return 0
	}
	return min(g.failed+g.taken+g.doubled-m.Tries, w.Relays.Handovers+w.Relays.Drains+w.Relays.MaxFaults)
}

func (w *world) boxCall(d *schedules.Digest, c boxCall) {
	d.Text(string(c.name))
	d.Text(c.id)
	w.entry(d, c.entry)
	d.Time(c.at)
}

func (w *world) entry(d *schedules.Digest, e relay.Entry[rows.Row]) {
	d.Text(e.ID)
	d.Text(w.ownerName(e.Owner))
	d.Time(e.Due)
	d.Number(int64(e.Tries))
	d.Flags(e.GivenUp)
}

// sends takes up the messages in writes.
func sends(d *schedules.Digest, writes rows.Writes) {
	for _, one := range writes {
		if one.Op == rows.Send {
			d.Text(one.Key)
			d.Time(one.At)
		}
	}
}

// learn adds what a round is told to its history.
func (r *round) learn(g roundGrant) {
	w := r.world
	d := schedules.NewDigest(w.origin)
	d.Number(int64(r.history))
	d.Time(w.now)
	d.Number(int64(g.receives))
	d.Flags(g.reply.done, g.reply.err != nil)
	d.Number(int64(g.reply.tries))
	w.entry(d, g.reply.entry)
	r.history = d.Sum64()
}

// learnList adds what it was handed over, or has read in a list.
func (r *round) learnList(ids []string) {
	w := r.world
	d := schedules.NewDigest(w.origin)
	d.Number(int64(r.history))
	d.Time(w.now)
	d.Flags(r.entries == nil, r.hurried)
	for _, id := range ids {
		d.Text(id)
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
	case m.GivenUp():
		return fmt.Sprintf("that of %s is given up after %d tries", w.ownerName(m.Owner), m.Tries)
	case m.Pending():
		return fmt.Sprintf("that of %s is due at %s after %d tries", w.ownerName(m.Owner), w.text(m.Due), m.Tries)
	default:
		return fmt.Sprintf("that of %s is done", w.ownerName(m.Owner))
	}
}
