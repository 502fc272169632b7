package storetest

import (
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// seenChecks is the comparison that Swap and Delete share, once for each of them.
func seenChecks() []check {
	same, other := matching(), differing()
	checks := make([]check, 0, 2*(len(same)+len(other)))
	for _, c := range same {
		checks = append(checks, check{"Swap replaces " + c.name, func(p *probe) {
			held, seen := c.plant(p)
			p.swaps(seen, stepless(completion(takeover(held), []byte(`{"id":"ch_2"}`))))
		}}, check{"Delete removes " + c.name, func(p *probe) {
			_, seen := c.plant(p)
			p.deletes(seen)
		}})
	}
	for _, c := range other {
		checks = append(checks, check{"Swap leaves alone " + c.name, func(p *probe) {
			held, seen := c.plant(p)
			p.swapRefused(seen, stepless(completion(takeover(held), []byte(`{"id":"ch_2"}`))), held)
		}}, check{"Delete leaves alone " + c.name, func(p *probe) {
			held, seen := c.plant(p)
			p.deleteRefused(seen, held)
		}})
	}
	return checks
}

// seenCase is a record that is held, and what a caller takes it for.
type seenCase struct {
	name   string
	record func(*probe) store.Record
	// change makes two different records of one.
	change func(held, seen *store.Record)
	// writes is how often steps of the held record are written, seen how many of these writes were seen.
	writes, seen int
}

func (c seenCase) plant(p *probe) (held, seen store.Record) {
	held = c.record(p)
	seen = held
	c.change(&held, &seen)
	p.plant(held)
	for range c.writes {
		held = p.steps(held, map[string]store.Step{charge: value(held.Owner, `"a"`)})
	}
	if c.writes > 0 {
		seen.Steps = held.Steps
	}
	if seen.StepWrites == 0 {
		seen.StepWrites = c.seen
	}
	return held, seen
}

func matching() []seenCase {
	inProgress, ownerless := (*probe).inProgress, (*probe).ownerless
	same := func(_, _ *store.Record) {}
	without := func(held, seen *store.Record) { held.Lease, seen.Lease = time.Time{}, time.Time{} }
	return []seenCase{
		{name: "a record in progress", record: inProgress, change: same},
		{name: "a completed record", record: (*probe).completed, change: same},
		{name: "an UNKNOWN record", record: (*probe).unknown, change: same},
		{
			name: "a record of the owner seen, whatever its lease, if no lease was seen", record: inProgress,
			change: func(_, seen *store.Record) { seen.Lease = time.Time{} },
		},
		{name: "a record without a lease, of the owner seen", record: inProgress, change: without},
		{
			name: "a record whose lease was seen in another time zone", record: inProgress,
			change: func(_, seen *store.Record) { seen.Lease = seen.Lease.In(time.FixedZone("", -3*60*60)) },
		},
		{
			name: "a record of the owner and lease seen, whatever else was seen", record: (*probe).completed,
			change: func(_, seen *store.Record) {
				*seen = store.Record{
					Key: seen.Key, Status: seen.Status, Owner: seen.Owner, Lease: seen.Lease,
					Expiry: seen.Expiry.Add(-time.Second),
				}
			},
		},
		{
			name: "a record of the owner seen, if nothing else was seen", record: (*probe).completed,
			change: func(_, seen *store.Record) {
				*seen = store.Record{Key: seen.Key, Status: seen.Status, Owner: seen.Owner}
			},
		},
		{name: "a record whose steps were seen", record: inProgress, change: same, writes: 2, seen: 2},
		{name: "a record whose steps were not compared", record: inProgress, change: same, writes: 2, seen: store.AnyStepWrites},
		{name: "a record without steps, if they were not compared", record: inProgress, change: same, seen: store.AnyStepWrites},
		{name: "an UNKNOWN record whose steps were seen", record: (*probe).unknown, change: same, writes: 1, seen: 1},
		{name: "an UNKNOWN record whose steps were not compared", record: (*probe).unknown, change: same, writes: 1, seen: store.AnyStepWrites},
		{name: "a completed record, whatever steps were seen", record: (*probe).completed, change: same, seen: 3},
		{
			name: "a record that was released", record: inProgress,
			change: func(held, seen *store.Record) { held.Reason, seen.Reason = store.ReasonReleased, store.ReasonReleased },
		},
		{name: "an UNKNOWN record, whatever reason was seen", record: (*probe).unknown, change: func(_, seen *store.Record) { seen.Reason = another }},
		{name: "a completed record, whatever reason was seen", record: (*probe).completed, change: func(_, seen *store.Record) { seen.Reason = another }},
		{name: "a record without an owner, by its lease and expiry", record: ownerless, change: same},
		{name: "a record without an owner and without a lease, by its expiry", record: ownerless, change: without},
	}
}

func differing() []seenCase {
	inProgress, ownerless := (*probe).inProgress, (*probe).ownerless
	cases := []seenCase{
		{name: "a record of another owner", record: inProgress, change: func(_, seen *store.Record) { seen.Owner = "B" }},
		{
			name: "a record of another owner if no lease was seen", record: inProgress,
			change: func(_, seen *store.Record) { seen.Owner, seen.Lease = "B", time.Time{} },
		},
		{
			name: "a record whose lease is a millisecond later", record: inProgress,
			change: func(held, _ *store.Record) { held.Lease = held.Lease.Add(time.Millisecond) },
		},
		{
			name: "a record whose lease is a millisecond earlier", record: inProgress,
			change: func(held, _ *store.Record) { held.Lease = held.Lease.Add(-time.Millisecond) },
		},
		{
			name: "a record without a lease if one was seen", record: inProgress,
			change: func(held, _ *store.Record) { held.Lease = time.Time{} },
		},
		{
			name: "a record with an owner if none was seen", record: inProgress,
			change: func(_, seen *store.Record) { seen.Owner = "" },
		},
		{
			name: "a record without an owner if one was seen", record: ownerless,
			change: func(_, seen *store.Record) { seen.Owner = "A" },
		},
		{
			name: "a record without an owner if one, and no lease, was seen", record: ownerless,
			change: func(_, seen *store.Record) { seen.Owner, seen.Lease = "A", time.Time{} },
		},
		{
			name: "a record without an owner that has another lease", record: ownerless,
			change: func(held, _ *store.Record) { held.Lease = held.Lease.Add(time.Millisecond) },
		},
		{
			name: "a record without an owner that has a lease if none was seen", record: ownerless,
			change: func(_, seen *store.Record) { seen.Lease = time.Time{} },
		},
		{
			name: "a record without an owner that has no lease if one was seen", record: ownerless,
			change: func(held, _ *store.Record) { held.Lease = time.Time{} },
		},
		{
			name: "a record without an owner that expires a second later", record: ownerless,
			change: func(held, _ *store.Record) { held.Expiry = held.Expiry.Add(time.Second) },
		},
		{
			name: "a record without an owner and lease that expires a second later", record: ownerless,
			change: func(held, seen *store.Record) {
				held.Lease, seen.Lease = time.Time{}, time.Time{}
				held.Expiry = held.Expiry.Add(time.Second)
			},
		},
	}
	cases = append(cases, differingInSteps()...)
	statuses := []store.Status{store.StatusInProgress, store.StatusCompleted, store.StatusUnknown}
	for _, is := range statuses {
		for _, was := range statuses {
			if is == was {
				continue
			}
			cases = append(cases, seenCase{
				name: "a record that is " + string(is) + " and was " + string(was), record: inProgress,
				change: func(held, seen *store.Record) { held.Status, seen.Status = is, was },
			})
		}
	}
	return cases
}

// differingInSteps are records that have other steps, or another reason, than was seen.
func differingInSteps() []seenCase {
	inProgress, unknown, same := (*probe).inProgress, (*probe).unknown, func(_, _ *store.Record) {}
	return []seenCase{
		{name: "a record with a step if none was seen", record: inProgress, change: same, writes: 1},
		{name: "a record without steps if one was seen", record: inProgress, change: same, seen: 1},
		{name: "a record with a step that was written again", record: inProgress, change: same, writes: 2, seen: 1},
		{name: "an UNKNOWN record with a step if none was seen", record: unknown, change: same, writes: 1},
		{name: "an UNKNOWN record with a step that was written again", record: unknown, change: same, writes: 3, seen: 2},
		{
			name: "a record with a step if none, and no lease, was seen", record: inProgress, writes: 1,
			change: func(_, seen *store.Record) { seen.Lease = time.Time{} },
		},
		{
			name: "a record that was released since", record: inProgress,
			change: func(held, _ *store.Record) { held.Reason = store.ReasonReleased },
		},
		{
			name: "a record that was released, and is not any more", record: inProgress,
			change: func(_, seen *store.Record) { seen.Reason = store.ReasonReleased },
		},
		{
			name: "a record without an owner that was released since", record: (*probe).ownerless,
			change: func(held, _ *store.Record) { held.Reason = store.ReasonReleased },
		},
	}
}
