package storetest

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// caller invents calls for one key out of what it has seen there: the turns of stories, with values
// that no other call writes, so that an answer tells which one it saw.
type caller struct {
	*probe

	name string
	// pick returns a number from zero up to, but not including, n.
	pick func(n int) int
	// seen is the last record that the caller wrote or was shown. It may have been replaced since.
	// Before that it has a key only.
	seen store.Record
	// count numbers the calls.
	count int
}

// sequences makes calls for two keys, one after the other, by three callers of which each knows
// only its own answers.
func sequences(p *probe) {
	rapid.Check(p.t, func(t *rapid.T) {
		p := new(*p)
		p.t = t
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		keys := []*kept{p.begin(nil), p.begin(nil)}
		callers := make([]*caller, 6)
		for i := range callers {
			seen := store.Record{Key: keys[i%2].last.Key}
			callers[i] = &caller{probe: p, name: string(rune('A' + i)), pick: pick, seen: seen}
		}
		for range rapid.IntRange(1, 20).Draw(t, "calls") {
			i := pick(len(callers))
			made := callers[i].call()
			_, want := keys[i%2].apply(made)
			keys[i%2].try(made)
			callers[i].learn(made, want)
		}
	})
}

// call returns the next call.
func (c *caller) call() call {
	c.count++
	t := turn{op: calls.Get}
	switch n := c.pick(10); {
	case n < 3 || c.seen.Status == "":
		t = claim(c.values).after(time.Duration(c.pick(2)) * step)
	case n < 5:
		t = swap(c.values, c.running, c.steps).by(c.sight)
	case n < 7:
		t = completes(c.values, c.completed).by(c.sight).writing(added)
		if c.pick(4) == 3 { // rapid prefers small numbers
			t = t.writing(added, taken)
		}
	case n < 8:
		t = remove().by(c.sight)
	}
	return (&kept{probe: c.probe, first: c.seen, last: c.seen}).call(t)
}

// learn takes note of an answer.
func (c *caller) learn(made call, a answer) {
	switch {
	case a.declined: // nothing has happened
	case a.record.Key != "":
		c.seen = a.record // the steps of a swap that handed the record over, too
	case !a.done || made.Op == calls.Delete:
		c.seen = store.Record{Key: c.seen.Key}
	case made.Op == calls.Claim:
		c.seen = made.Next
	default:
		c.seen = after(c.seen, made.Next)
	}
}

// step is the unit of the few instants at which leases and records end.
const step = 10 * time.Second

// values gives r new ones, of which some are none. It leaves the owner, takes another, or none as
// AWS Powertools writes it. No record expires before the last instant at which a claim is made, so
// that none may be dropped; some expire in that very instant.
func (c *caller) values(p *probe, r *store.Record) {
	owner := r.Owner
	texted(fmt.Sprintf("%s.%d", c.name, c.count))(p, r)
	r.Attempt++
	r.CreatedAt = c.now.Add(time.Duration(-c.count) * time.Millisecond)
	r.CompletedAt, r.SettledAt, r.AttentionAt = r.CreatedAt, r.CreatedAt, r.CreatedAt
	r.Tries, r.Questions = c.pick(3), c.pick(3)
	owners := []string{c.name, "", r.Owner, r.Owner, owner, owner, owner, owner}
	if c.pick(3) == 0 {
		bare(p, r)
	}
	r.Owner = owners[c.pick(len(owners))]
	r.Lease = c.now.Add(time.Duration(c.pick(3)) * time.Millisecond)
	r.Expiry = c.now.Add(step + time.Duration(c.pick(2))*step)
	r.Unmarked = c.unmarked()
}

func (c *caller) unmarked() bool { return c.count%2 == 0 }

// running is r as anything else than completed, and may keep its lease.
func (c *caller) running(_ *probe, r *store.Record) {
	r.Result, r.Parts, r.Seal = nil, "", ""
	r.Status = []store.Status{store.StatusInProgress, store.StatusInProgress, store.StatusUnknown}[c.pick(3)]
	if c.pick(4) == 0 {
		r.Lease = time.Time{}
	}
}

func (c *caller) completed(_ *probe, r *store.Record) {
	r.Status, r.Result, r.Parts = store.StatusCompleted, fmt.Appendf(nil, `"%s.%d"`, c.name, c.count), ""
	r.Seal = store.Seal(r.Owner, r.Result)
}

// stepNames are the names of steps that callers write.
var stepNames = []string{charge, mail, "reserve/1"}

// steps writes none, or some of the few that there are.
func (c *caller) steps(p *probe, r *store.Record) {
	r.Steps = make(map[string]store.Step)
	for c.pick(3) == 0 {
		of := text(fmt.Sprintf(`"step of %s.%d"`, c.name, c.count))
		kinds := []stepOf{started, value(of), failed(of), gone}
		r.Steps[stepNames[c.pick(len(stepNames))]] = kinds[c.pick(len(kinds))](p, c.name)
	}
}

// sight is what the caller has seen, or what it might mistake that for. It tells nothing else of
// the record than which one it is. It names every step that there may be: a caller may have missed
// one.
func (c *caller) sight(p *probe, r *store.Record) {
	if all := sights(); c.pick(2) == 0 {
		all[c.pick(len(all))].kind(p, r)
	} else {
		blindly(p, r)
	}
	blur(p, r)
	r.Unmarked = !c.unmarked()
	r.Steps = make(map[string]store.Step, len(stepNames))
	for _, name := range stepNames {
		r.Steps[name] = store.Step{Kind: store.StepStarted, Seal: "blurred"}
	}
}

// blur changes the fields that do not tell which record was seen. A store may leave alone what seen
// and next agree in; now they agree in nothing that the held record might have otherwise.
func blur(_ *probe, seen *store.Record) {
	const blurred = "blurred"
	seen.Fingerprint, seen.Seal = blurred, blurred
	if seen.Status != store.StatusInProgress {
		seen.Reason = blurred
	}
	if seen.Status == store.StatusCompleted {
		seen.StepWrites = 1 << 20
	}
	seen.Steps = nil
	seen.Attempt, seen.Tries, seen.Questions, seen.CreatedAt = 1<<20, 1<<20, 1<<20, time.UnixMilli(1)
	seen.CompletedAt, seen.SettledAt, seen.AttentionAt = time.UnixMilli(1), time.UnixMilli(1), time.UnixMilli(1)
	seen.SettledBy, seen.SettledReason, seen.Attention, seen.Derived = blurred, blurred, blurred, []string{blurred}
	seen.StepNames, seen.Trace, seen.Story = seen.Derived, blurred, blurred
	seen.Result, seen.Parts = []byte("0"), ""
	if seen.Owner != "" {
		seen.Expiry = seen.Expiry.Add(time.Hour)
	}
}
