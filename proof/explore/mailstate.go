package explore

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-idempotent/idempotent/internal/dev/rows"
)

// mailDigest takes up the messages and all that relays may still do.
func (w *world) mailDigest(d *digest) {
	if w.Relays.Processes == 0 {
		return
	}
	m := &w.mail
	d.Add(w.Relays.Handovers, w.Relays.Drains, w.Relays.Redrives, w.Relays.MaxFaults, w.Relays.DueSteps)
	all := w.table.Messages
	for _, id := range slices.Sorted(maps.Keys(all)) {
		w.entry(d, all[id])
	}
	for _, image := range w.handed() {
		d.Add("image")
		w.entry(d, image)
	}
	for _, c := range m.late {
		d.Add("late")
		w.boxCall(d, c)
	}
	for _, g := range m.generations {
		d.Add(g.id, w.ownerName(g.owner), w.uncounted(g), g.repeated, g.arrived > 0, g.hopeless, g.usedUp, g.replaced)
	}
	d.Add(m.begun)
	for _, r := range m.rounds {
		if r.alive() {
			d.Add(r.client.Process, r.history, r.at)
			w.entry(d, r.entry)
			w.boxCall(d, r.boxCall)
		}
	}
}

// uncounted is how many tries there were of a message that are not counted. More than may still
// come do not matter.
func (w *world) uncounted(g *generation) int {
	m := w.table.Messages[g.id]
	if m.Owner != g.owner || !rows.Pending(m) {
		return 0
	}
	all := w.given.Relays
	return min(g.failed+g.taken+g.doubled-m.Tries, all.Handovers+all.Drains+all.MaxFaults)
}

func (w *world) boxCall(d *digest, c rows.BoxCall) {
	d.Add(c.Op, c.At)
	w.entry(d, c.Entry)
}

func (w *world) entry(d *digest, e rows.Message) {
	d.Add(e.ID, w.ownerName(e.Owner), e.Due, e.Tries, e.GivenUp)
}

// sends takes up the messages in writes.
func sends(d *digest, writes rows.Writes) {
	for _, one := range writes {
		if one.Sends {
			d.Add(one.Key, one.At)
		}
	}
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

func (w *world) describeBoxCall(c rows.BoxCall) string {
	if c.Op == rows.Read {
		return string(c.Op)
	}
	return fmt.Sprintf("%s of %s", c.Op, w.nameOf(c.Entry.ID, c.Entry.Owner))
}

func (w *world) describeMessage(m rows.Message) string {
	switch {
	case m.ID == "":
		return "no message"
	case m.GivenUp:
		return fmt.Sprintf("that of %s is given up after %d tries", w.ownerName(m.Owner), m.Tries)
	case rows.Pending(m):
		return fmt.Sprintf("that of %s is due at %s after %d tries", w.ownerName(m.Owner), w.text(m.Due), m.Tries)
	default:
		return fmt.Sprintf("that of %s is done", w.ownerName(m.Owner))
	}
}
