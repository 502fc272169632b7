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
			p.swaps(seen, completion(takeover(held), []byte(`{"id":"ch_2"}`)))
		}}, check{"Delete removes " + c.name, func(p *probe) {
			_, seen := c.plant(p)
			p.deletes(seen)
		}})
	}
	for _, c := range other {
		checks = append(checks, check{"Swap leaves alone " + c.name, func(p *probe) {
			held, seen := c.plant(p)
			p.swapRefused(seen, completion(takeover(held), []byte(`{"id":"ch_2"}`)), held)
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
}

func (c seenCase) plant(p *probe) (held, seen store.Record) {
	held = c.record(p)
	seen = held
	c.change(&held, &seen)
	return p.plant(held), seen
}

func matching() []seenCase {
	inProgress, ownerless := (*probe).inProgress, (*probe).ownerless
	same := func(_, _ *store.Record) {}
	without := func(held, seen *store.Record) { held.Lease, seen.Lease = time.Time{}, time.Time{} }
	return []seenCase{
		{"a record in progress", inProgress, same},
		{"a completed record", (*probe).completed, same},
		{"an UNKNOWN record", (*probe).unknown, same},
		{
			"a record of the owner seen, whatever its lease, if no lease was seen", inProgress,
			func(_, seen *store.Record) { seen.Lease = time.Time{} },
		},
		{"a record without a lease, of the owner seen", inProgress, without},
		{
			"a record whose lease was seen in another time zone", inProgress,
			func(_, seen *store.Record) { seen.Lease = seen.Lease.In(time.FixedZone("", -3*60*60)) },
		},
		{
			"a record of the owner and lease seen, whatever else was seen", (*probe).completed,
			func(_, seen *store.Record) {
				*seen = store.Record{
					Key: seen.Key, Status: seen.Status, Owner: seen.Owner, Lease: seen.Lease,
					Expiry: seen.Expiry.Add(-time.Second),
				}
			},
		},
		{
			"a record of the owner seen, if nothing else was seen", (*probe).completed,
			func(_, seen *store.Record) {
				*seen = store.Record{Key: seen.Key, Status: seen.Status, Owner: seen.Owner}
			},
		},
		{"a record without an owner, by its lease and expiry", ownerless, same},
		{"a record without an owner and without a lease, by its expiry", ownerless, without},
	}
}

func differing() []seenCase {
	inProgress, ownerless := (*probe).inProgress, (*probe).ownerless
	cases := []seenCase{
		{"a record of another owner", inProgress, func(_, seen *store.Record) { seen.Owner = "B" }},
		{
			"a record of another owner if no lease was seen", inProgress,
			func(_, seen *store.Record) { seen.Owner, seen.Lease = "B", time.Time{} },
		},
		{
			"a record whose lease is a millisecond later", inProgress,
			func(held, _ *store.Record) { held.Lease = held.Lease.Add(time.Millisecond) },
		},
		{
			"a record whose lease is a millisecond earlier", inProgress,
			func(held, _ *store.Record) { held.Lease = held.Lease.Add(-time.Millisecond) },
		},
		{
			"a record without a lease if one was seen", inProgress,
			func(held, _ *store.Record) { held.Lease = time.Time{} },
		},
		{
			"a record with an owner if none was seen", inProgress,
			func(_, seen *store.Record) { seen.Owner = "" },
		},
		{
			"a record without an owner if one was seen", ownerless,
			func(_, seen *store.Record) { seen.Owner = "A" },
		},
		{
			"a record without an owner if one, and no lease, was seen", ownerless,
			func(_, seen *store.Record) { seen.Owner, seen.Lease = "A", time.Time{} },
		},
		{
			"a record without an owner that has another lease", ownerless,
			func(held, _ *store.Record) { held.Lease = held.Lease.Add(time.Millisecond) },
		},
		{
			"a record without an owner that has a lease if none was seen", ownerless,
			func(_, seen *store.Record) { seen.Lease = time.Time{} },
		},
		{
			"a record without an owner that has no lease if one was seen", ownerless,
			func(held, _ *store.Record) { held.Lease = time.Time{} },
		},
		{
			"a record without an owner that expires a second later", ownerless,
			func(held, _ *store.Record) { held.Expiry = held.Expiry.Add(time.Second) },
		},
		{
			"a record without an owner and lease that expires a second later", ownerless,
			func(held, seen *store.Record) {
				held.Lease, seen.Lease = time.Time{}, time.Time{}
				held.Expiry = held.Expiry.Add(time.Second)
			},
		},
	}
	statuses := []store.Status{store.StatusInProgress, store.StatusCompleted, store.StatusUnknown}
	for _, is := range statuses {
		for _, was := range statuses {
			if is == was {
				continue
			}
			cases = append(cases, seenCase{
				"a record that is " + string(is) + " and was " + string(was), inProgress,
				func(held, seen *store.Record) { held.Status, seen.Status = is, was },
			})
		}
	}
	return cases
}
