package storetest

import (
	"time"

	"github.com/go-idempotent/idempotent/store"
)

func swapChecks() []check {
	return []check{
		{"takes over a record whose lease ended", func(p *probe) {
			seen := p.plant(p.inProgress())
			p.swaps(seen, takeover(seen))
		}},
		{"takes over a record that AWS Powertools wrote", func(p *probe) {
			seen := p.plant(p.ownerless())
			p.swaps(seen, takeover(seen))
		}},
		{"renews a lease, again and again", func(p *probe) {
			seen := p.plant(p.inProgress())
			for range 3 {
				next := renewal(seen)
				p.swaps(seen, next)
				seen = next
			}
		}},
		{"never moves the lease of an owner back", swapNeverShortens},
		{"completes a record", func(p *probe) {
			seen := p.plant(p.inProgress())
			p.swaps(seen, completion(seen, []byte(`{"id":"ch_1"}`)))
		}},
		{"marks a record UNKNOWN, and lets its owner complete it later", func(p *probe) {
			seen := p.plant(p.inProgress())
			unknown := seen
			unknown.Status, unknown.Reason = store.StatusUnknown, "result-lost"
			p.swaps(seen, unknown)
			p.swaps(unknown, completion(unknown, []byte(`{"id":"ch_1"}`)))
		}},
		{"keeps the held lease if next has none", swapKeepsLease},
		{"gives a lease to a record that had none", func(p *probe) {
			seen := p.inProgress()
			seen.Lease = time.Time{}
			p.plant(seen)
			next := seen
			next.Lease = p.now.Add(time.Minute)
			p.swaps(seen, next)
		}},
		{"clears the fields that become zero", swapClears},
		{"keeps the fields that stay equal", func(p *probe) {
			seen := p.plant(p.completed())
			next := seen
			next.Reason = another
			p.swaps(seen, next)
		}},
		{"of a key without a record is refused with a zero record, and writes nothing", func(p *probe) {
			seen := p.inProgress()
			p.swapRefusedAbsent(seen, takeover(seen))
			p.plant(seen)
			p.deletes(seen)
			p.swapRefusedAbsent(seen, takeover(seen))
		}},
		{"repeated is refused with its own record", swapRepeated},
		{"by an owner that was taken over is refused with the record of the new owner", swapStale},
	}
}

// swapNeverShortens lets a renewal arrive after a later one, as a slow network may have it.
func swapNeverShortens(p *probe) {
	first := p.plant(p.inProgress())
	blind := first
	blind.Lease = time.Time{} // the owner does not know which of its renewals have landed
	early, late := renewal(first), renewal(renewal(first))
	p.swaps(blind, late)
	p.swapRefused(blind, early, late)
	p.swapRefused(late, early, late)
	shorter := late
	shorter.Lease = late.Lease.Add(-time.Millisecond)
	p.swapRefused(blind, shorter, late)
	p.swaps(blind, late) // a lease that stays is not shorter
	late.Lease = late.Lease.Add(time.Millisecond)
	p.swaps(blind, late)

	// Another owner starts afresh: the undo of a takeover ends the lease.
	undone := late
	undone.Owner, undone.Lease = "C", first.Lease
	p.swaps(blind, undone)
}

func swapKeepsLease(p *probe) {
	seen := p.plant(p.inProgress())
	held := renewal(seen)
	p.swaps(seen, held)

	seen.Lease = time.Time{} // the owner does not know that its lease was renewed
	next := completion(seen, []byte(`{"id":"ch_1"}`))
	next.Lease = time.Time{}
	p.swaps(seen, next)
	next.Lease = held.Lease
	p.holds(next)

	none := p.inProgress()
	none.Lease = time.Time{}
	p.plant(none)
	next = none
	next.Attempt++
	p.swaps(none, next)
	p.holds(next)
}

func swapClears(p *probe) {
	seen := p.plant(p.completed())
	next := store.Record{
		Key: seen.Key, Status: store.StatusInProgress, Owner: "B", Lease: seen.Lease, Expiry: seen.Expiry,
	}
	p.swaps(seen, next)
}

// swapRefusedAbsent swaps seen for next, and sees that nothing is held, neither before nor after.
func (p *probe) swapRefusedAbsent(seen, next store.Record) {
	p.t.Helper()
	held, swapped, err := p.store.Swap(p.t.Context(), seen, next)
	p.noError("Swap", err)
	if swapped {
		p.t.Fatalf("Swap replaced a record that is not held")
	}
	p.same("the record that a refused Swap returned", store.Record{}, held)
	p.absent(seen.Key)
}

// swapRepeated delivers each kind of write a second time, as a client does that lost the first reply.
func swapRepeated(p *probe) {
	first := p.plant(p.inProgress())
	second := takeover(first)
	p.swaps(first, second)
	p.swapRefused(first, second, second)
	third := renewal(second)
	p.swaps(second, third)
	p.swapRefused(second, third, third)
	fourth := completion(third, []byte(`{"id":"ch_1"}`))
	p.swaps(third, fourth)
	p.swapRefused(third, fourth, fourth)
}

// swapStale lets an owner come back after its record was taken over, with every write it might still send.
func swapStale(p *probe) {
	stale := p.plant(p.inProgress())
	held := takeover(stale)
	p.swaps(stale, held)
	for range 2 { // while the new owner runs, and after it has completed
		p.swapRefused(stale, renewal(stale), held)
		p.swapRefused(stale, completion(stale, []byte(`{"id":"ch_2"}`)), held)
		p.deleteRefused(stale, held)
		blind := stale
		blind.Lease = time.Time{}
		p.swapRefused(blind, completion(stale, []byte(`{"id":"ch_2"}`)), held)
		p.deleteRefused(blind, held)

		if held.Status == store.StatusInProgress {
			done := completion(held, []byte(`{"id":"ch_1"}`))
			p.swaps(held, done)
			held = done
		}
	}
}
