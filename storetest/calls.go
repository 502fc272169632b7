package storetest

import (
	"fmt"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// caller invents calls for one key out of what it has seen there. Each call writes values that no
// other call writes, so that an answer tells which one it saw.
type caller struct {
	name string
	key  string
	now  time.Time
	// pick returns a number from zero up to, but not including, n.
	pick func(n int) int
	// seen is the last record that the caller wrote or was shown. It may have been replaced since.
	seen store.Record
	// count numbers the calls.
	count int
	// commits, unless nil, makes commits of what would be a completion.
	commits *commits
}

// step is the unit of the few instants at which leases and records end.
const step = 10 * time.Second

// call returns the next call.
func (c *caller) call() call {
	c.count++
	switch n := c.pick(10); {
	case n < 3 || c.seen.Key == "":
		return call{op: OpClaim, key: c.key, next: c.claim(), now: c.now.Add(time.Duration(c.pick(2)) * step)}
	case n < 7:
		made := c.commit(call{op: OpSwap, key: c.key, seen: c.sight(), next: c.next()})
		made.seen.Unmarked = !made.next.Unmarked // blurred
		if made.next.Status == store.StatusCompleted {
			made.seen.Steps = c.allSteps() // a caller may have missed one, and says what there may be
		}
		return made
	case n < 8:
		return call{op: OpDelete, key: c.key, seen: c.sight()}
	default:
		return call{op: OpGet, key: c.key}
	}
}

// commit returns the commit that stands in the place of a swap: of each completion, and of half of
// the others. Now and then a write of it refuses.
func (c *caller) commit(made call) call {
	if c.commits == nil || made.next.Status != store.StatusCompleted && c.pick(2) == 1 {
		return made
	}
	made.next.Status = store.StatusCompleted
	if made.next.Result == nil {
		made.next.Result = []byte(`"committed"`)
	}
	rows := []rowKind{added}
	if c.pick(4) == 3 { // rapid prefers small numbers
		rows = append(rows, taken)
	}
	return c.commits.instead(made, rows, false)
}

// learn takes note of an answer.
func (c *caller) learn(made call, a answer) {
	switch {
	case a.declined: // nothing has happened
	case a.record.Key != "":
		c.seen = a.record // the steps of a swap that handed the record over, too
	case !a.done || made.op == OpDelete:
		c.seen = store.Record{}
	case made.op == OpClaim:
		c.seen = made.next
	case !made.next.Lease.IsZero():
		c.seen = after(c.seen, made.next)
	default:
		kept := c.seen.Lease
		c.seen = after(c.seen, made.next)
		c.seen.Lease = kept
	}
}

// claim returns a record to claim the key with; one in ten is as AWS Powertools writes it.
func (c *caller) claim() store.Record {
	r := c.fill(store.Record{Key: c.key, Status: store.StatusInProgress}) // without steps
	if c.pick(10) == 0 {
		r.Owner = ""
	}
	return r
}

// next returns a record to swap for: a takeover, a renewal, a completion, a mark, or anything else
// that the core might come to write one day.
func (c *caller) next() store.Record {
	r := c.fill(c.seen)
	switch c.pick(4) {
	case 0:
		r.Status = store.StatusInProgress
	case 1:
		r.Status = store.StatusUnknown
	case 2:
		r.Status = store.StatusCompleted
	}
	if c.seen.Owner != "" && c.pick(3) > 0 {
		r.Owner = c.seen.Owner
	}
	r.Result, r.Parts, r.Seal = nil, "", ""
	if r.Status == store.StatusCompleted {
		r.Result = fmt.Appendf(nil, `"%s.%d"`, c.name, c.count)
		r.Seal = store.Seal(r.Owner, r.Result)
	}
	if c.pick(4) == 0 {
		r.Lease = time.Time{}
	}
	r.Steps = c.stepChanges()
	return r
}

// stepNames are the names of steps that callers write.
var stepNames = []string{charge, mail, "reserve/1"}

// stepChanges returns the steps that a swap writes: none, or some of the few that there are.
func (c *caller) stepChanges() map[string]store.Step {
	var changes map[string]store.Step
	for c.pick(3) == 0 {
		if changes == nil {
			changes = make(map[string]store.Step)
		}
		result := fmt.Appendf(nil, `"step of %s.%d"`, c.name, c.count)
		kinds := []store.StepKind{store.StepStarted, store.StepValue, store.StepFailure, ""}
		s := store.Step{Kind: kinds[c.pick(len(kinds))], Result: result}
		if s.Kind == store.StepStarted || s.Kind == "" {
			s.Result = nil
		}
		if s.Kind != "" {
			s.Seal = store.Seal(c.name, s.Result)
		}
		changes[stepNames[c.pick(len(stepNames))]] = s
	}
	return changes
}

// allSteps names every step that a record may have, and tells nothing else of it.
func (c *caller) allSteps() map[string]store.Step {
	all := make(map[string]store.Step, len(stepNames))
	for _, name := range stepNames {
		all[name] = store.Step{Kind: store.StepStarted, Seal: "blurred"}
	}
	return all
}

// fill gives r new values. No record expires before the last instant at which a claim is made, so
// that none may be dropped; some expire in that very instant.
func (c *caller) fill(r store.Record) store.Record {
	mark := fmt.Sprintf("%s.%d", c.name, c.count)
	r.Owner, r.Fingerprint, r.Reason = mark, "fingerprint "+mark, "reason "+mark
	r.Attempt++
	r.Lease = c.now.Add(time.Duration(c.pick(3)) * time.Millisecond)
	r.Expiry = c.now.Add(step + time.Duration(c.pick(2))*step)
	r.CreatedAt = c.now.Add(time.Duration(-c.count) * time.Millisecond)
	r.CompletedAt, r.SettledAt, r.AttentionAt = r.CreatedAt, r.CreatedAt, r.CreatedAt
	r.SettledBy, r.SettledReason, r.Attention, r.Trace = "by "+mark, "why "+mark, mark, "trace "+mark
	r.Derived = []string{mark}
	r.Story = "story " + mark
	r.Tries, r.Questions, r.Unmarked = c.pick(3), c.pick(3), c.pick(2) == 0
	r.StepNames = []string{mark}
	if c.pick(3) == 0 {
		r.CompletedAt, r.SettledAt, r.AttentionAt = time.Time{}, time.Time{}, time.Time{}
		r.Story = ""
		r.SettledBy, r.SettledReason, r.Attention, r.Derived, r.StepNames, r.Trace = "", "", "", nil, nil, ""
	}
	return r
}

// sight returns what the caller saw last, or what it might mistake it for.
func (c *caller) sight() store.Record {
	seen := c.seen
	switch c.pick(12) {
	case 0, 1:
		seen.Lease = time.Time{}
	case 2:
		seen.Lease = seen.Lease.Add(time.Millisecond)
	case 3:
		seen.Status = store.StatusUnknown
	case 4:
		seen.Owner = ""
	case 5:
		seen.Owner = "nobody"
	case 6:
		seen.Expiry = seen.Expiry.Add(time.Second)
	case 7:
		seen.Reason = another
	case 8:
		seen.StepWrites++
	}
	if c.pick(2) == 0 {
		seen.StepWrites = store.AnyStepWrites
	}
	return blur(seen)
}

// blur changes the fields that do not tell which record was seen. A store may leave alone what seen
// and next agree in; now they agree in nothing that the held record might have otherwise.
func blur(seen store.Record) store.Record {
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
	return seen
}
