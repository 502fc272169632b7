package storetest

import (
	"slices"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

func claimChecks() []check {
	checks := []check{
		says("writes the record if none is held", from(nil, claim())),
		says("writes a record of any status", from(completed), from(unknown), from(ownerless)),
		says("writes the record if the held one was deleted", from(completed, remove(), claim())),
		says("replaces the held record completely", from(like(completed, expiring(0)), claim(bare, unleased))),
		says("repeated by its own owner is refused with its own record", from(inProgress, again())),
		says(
			"is refused with the record as it is now",
			from(inProgress, complete(charged), claim().refused(), swap(takeover), claim().refused()),
		),
		says(
			"takes an expiry that is told in another time zone",
			from(like(completed, expiring(0), inZone(5)), claim().after(-time.Millisecond).refused(), claim()),
		),
	}
	for _, of := range claimedOver() {
		for lease, ends := range map[string]*time.Duration{ // after the claim; nil is a record without a lease
			"without a lease": nil, "whose lease ended long ago": new(-time.Hour),
			"whose lease is live":               new(time.Hour),
			"whose lease has just ended":        new(time.Duration(0)),
			"whose lease ends in a millisecond": new(time.Millisecond),
		} {
			checks = append(checks, check{
				sentence: "of " + of.name + " " + lease + " goes by its expiry",
				run: func(p *probe) {
					claimsByExpiry(p, like(of.kind, expiring(0)), ends)
				},
			})
		}
	}
	return append(checks, check{sentence: "of another key drops no record before its expiry has passed", run: claimDropsNone})
}

// named is a kind of records, or what a caller takes one for.
type named struct {
	name string
	kind change
	then []turn // after it was planted
}

func claimedOver() []named {
	return []named{
		{name: "a record in progress", kind: inProgress},
		{name: "a record in progress of AWS Powertools", kind: ownerless},
		{name: "an UNKNOWN record", kind: unknown},
		{name: "a completed record", kind: completed},
		{name: "a completed record of AWS Powertools", kind: completedOwnerless},
	}
}

// claimsByExpiry claims records that expire at the probe's now, at instants around that. A store
// may have dropped what has expired by more than the instant itself, so none is then refused.
func claimsByExpiry(p *probe, of change, lease *time.Duration) {
	for _, after := range []time.Duration{
		-time.Hour, -time.Second, -time.Millisecond, -time.Nanosecond, 0, time.Millisecond, time.Second,
		30 * time.Minute,
	} {
		ends := unleased
		if lease != nil {
			ends = leased((after + *lease).Truncate(time.Millisecond))
		}
		k := p.begin(like(of, ends))
		if k.claimable(p.now.Add(after)) || after <= 0 {
			k.try(k.call(claim().after(after)))
		}
	}
}

// claimDropsNone claims other keys until the very instant in which records of every status expire.
func claimDropsNone(p *probe) {
	all := make([]*kept, 0, len(claimedOver()))
	for _, c := range claimedOver() {
		all = append(all, p.begin(like(c.kind, leased(-time.Minute), expiring(0))))
	}
	for n := range 12 {
		p.begin(nil).play(claim().after(time.Duration(n-11) * time.Second))
	}
	for _, k := range all {
		k.holds()
	}
}

// inZone tells the instants of a record in another time zone.
func inZone(hours int) change {
	return func(_ *probe, r *store.Record) {
		zone := time.FixedZone("", hours*60*60)
		r.Expiry = r.Expiry.In(zone)
		if !r.Lease.IsZero() {
			r.Lease = r.Lease.In(zone)
		}
	}
}

func swapChecks() []check {
	stale := []turn{
		swap(renewal).late().refused(), complete(other).late().refused(), remove().late().refused(),
		complete(other).late().by(unleased).refused(), remove().late().by(unleased).refused(),
	}
	return []check{
		says("takes over a record whose lease ended", from(inProgress, swap(takeover))),
		says("takes over a record that AWS Powertools wrote", from(ownerless, swap(takeover))),
		says("renews a lease, again and again", from(inProgress, swap(renewal), swap(renewal), swap(renewal))),
		says("never moves the lease of an owner back", from(inProgress,
			swap(renewal, renewal).by(unleased), // an owner need not know which of its renewals have landed
			swap(renewal).late().refused(), swap(renewal).late().by(unleased).refused(),
			swap(leaseMoved(-time.Millisecond)).refused(), swap(leaseMoved(-time.Millisecond)).by(unleased).refused(),
			swap().by(unleased), swap(leaseMoved(time.Millisecond)).by(unleased),
			swap(owned("C"), leased(time.Second)).by(unleased), // another owner starts afresh
		)),
		says("completes a record", from(inProgress, complete(charged), claim().refused(),
			swap(takeover).late().refused())),
		says(
			"marks a record UNKNOWN, and lets its owner complete it later",
			from(inProgress, swap(lost), complete(charged)),
		),
		says("keeps the held lease if next has none",
			from(inProgress, swap(renewal), complete(charged, unleased).late().by(unleased)),
			from(inProgress, complete(large, unleased)), from(like(inProgress, unleased), swap(attempted, unleased)),
			from(inProgress, swap(attempted, unleased), swap(renewal, unleased).by(unleased)),
		),
		says("gives a lease to a record that had none", from(like(inProgress, unleased), swap(leased(time.Minute)))),
		says("clears the fields that become zero",
			from(completed, swap(bare, func(_ *probe, r *store.Record) { r.Status = store.StatusInProgress })),
			from(like(inProgress, settled), complete(charged, bare)),
		),
		says("keeps the fields that stay equal", from(completed, swap(because(another)))),
		says("of a key without a record is refused with a zero record, and writes nothing",
			from(nil, swap(takeover).refused(), complete(charged).refused()),
			from(inProgress, remove(), swap(takeover).refused(), complete(charged).refused()),
		),
		says("repeated is refused with its own record", from(inProgress,
			swap(takeover), again(), swap(renewal), again(), complete(charged), again(),
		)),
		says("by an owner that was taken over is refused with the record of the new owner", from(inProgress, slices.Concat(
			[]turn{swap(takeover)}, stale, []turn{complete(charged)}, stale)...,
		)),
		says("by an owner whose lease was renewed since is refused", from(inProgress,
			swap(renewal), complete(charged).late().refused(), complete(charged).late().refused(),
		)),
		says("by an owner that has completed is refused", from(inProgress,
			complete(charged, leased(0)), complete(charged, leased(0)).late().refused(),
			complete(other).late().by(leased(0)).refused(), complete(other).late().by(leased(0)).refused(),
		)),
		says("is followed by a Claim when the record has expired", from(inProgress,
			complete(charged, expiring(time.Hour)), claim().after(time.Hour-1).refused(), claim().after(time.Hour),
		)),
	}
}

func deleteChecks() []check {
	return []check{
		says("of a key without a record is false",
			from(nil, remove().refused()), from(inProgress, remove(), remove().refused()),
		),
		says("lets the next claim start afresh", from(completed, remove(), claim(), remove().late().refused())),
		says(
			"removes a record that was swapped, as it is now",
			from(inProgress, swap(renewal), remove().late().refused(), remove()),
		),
	}
}

// seenChecks is the comparison that Swap, Delete and Commit share: of a record of each kind, with
// each mistake that a caller might make about it.
func seenChecks() (checks []check) {
	compares := func(method string, of named, t turn) check {
		return check{method + " of " + of.name + " compares what was seen", func(p *probe) {
			var k *kept
			for _, s := range sights() {
				if k == nil || k.last.Key == "" {
					k = p.begin(of.kind).play(of.then...)
				}
				seen := k.last
				s.kind(p, &seen)
				t.refuses = !k.is(seen)
				p.t.Logf("seen %s", s.name)
				if k.try(k.call(t.by(s.kind))) {
					k = nil
				}
			}
		}, t.completes}
	}
	for _, of := range seen() {
		checks = append(checks,
			compares("Swap", of, completes(takeover, completion(other))), compares("Delete", of, remove()))
	}
	return checks
}

// seen are the kinds of records that callers see.
func seen() []named {
	stepped := []turn{steps(stepsOf{charge: value(charged)}), steps(stepsOf{charge: value(other)})}
	return []named{
		{name: "a record in progress", kind: inProgress},
		{name: "a record in progress without a lease", kind: like(inProgress, unleased)},
		{name: "a record that was released", kind: like(inProgress, because(store.ReasonReleased))},
		{name: "a record with a step", kind: inProgress, then: stepped},
		{name: "an UNKNOWN record", kind: unknown},
		{name: "an UNKNOWN record with a step", kind: unknown, then: stepped},
		{name: "a completed record", kind: completed},
		{name: "a record without an owner", kind: ownerless},
		{name: "a record without an owner and a lease", kind: like(ownerless, unleased)},
	}
}

// sights are what a caller takes a record for.
func sights() []named {
	written := func(more int) change {
		return func(_ *probe, r *store.Record) { r.StepWrites = max(0, r.StepWrites+more) }
	}
	blurred := func(p *probe, r *store.Record) {
		steps := r.Steps // of which a completion has to know
		blur(p, r)
		r.Steps = steps
	}
	all := []named{
		{name: "as it is", kind: func(*probe, *store.Record) {}},
		{name: "in another time zone", kind: inZone(-3)},
		{name: "with a lease that ends a millisecond earlier", kind: leaseMoved(-time.Millisecond)},
		{name: "with a lease that ends a millisecond later", kind: leaseMoved(time.Millisecond)},
		{name: "without a lease", kind: unleased},
		{
			name: "with an expiry a second later",
			kind: func(_ *probe, r *store.Record) { r.Expiry = r.Expiry.Add(time.Second) },
		},
		{name: "with the owner B", kind: owned("B")},
		{name: "with the owner B and without a lease", kind: like(owned("B"), unleased)},
		{name: "without an owner", kind: owned("")},
		{name: "without an owner and a lease", kind: like(owned(""), unleased)},
		{name: "released", kind: because(store.ReasonReleased)},
		{name: "with another reason", kind: because(another)},
		{name: "without a reason", kind: because("")},
		{name: "without step writes", kind: written(-1 << 20)},
		{name: "without step writes and a lease", kind: like(written(-1<<20), unleased)},
		{name: "with a step write less", kind: written(-1)},
		{name: "with a step write more", kind: written(1)},
		{name: "with any step writes", kind: blindly},
		{name: "with nothing that does not tell it", kind: blurred},
		{name: "with nothing that does not tell it, without a lease", kind: like(blurred, unleased)},
	}
	for _, s := range []store.Status{store.StatusInProgress, store.StatusCompleted, store.StatusUnknown} {
		all = append(all, named{
			name: "as one that is " + string(s),
			kind: func(_ *probe, r *store.Record) { r.Status = s },
		})
	}
	return all
}

func getChecks() []check {
	apart := func(keys func(p *probe) []string) func(p *probe) {
		return func(p *probe) {
			var all []*kept
			for _, key := range keys(p) {
				p.absent(key)
				rekeyed := func(_ *probe, r *store.Record) { r.Key = key }
				all = append(all, p.begin(like(inProgress, completion(large), rekeyed)))
			}
			for i, k := range all {
				k.holds()
				if i%2 == 0 {
					k.play(remove())
				}
			}
			for _, k := range all {
				k.holds()
			}
		}
	}
	return []check{
		{sentence: "finds nothing under a key that was never claimed", run: func(p *probe) { p.absent(p.of(inProgress).Key) }},
		{sentence: "changes nothing", run: func(p *probe) { p.begin(completed).holds() }},
		{sentence: "keeps keys apart that resemble each other", run: apart(func(p *probe) []string {
			of := p.of(completed)
			key := of.Key
			return []string{
				key, strings.ToLower(key), key[:len(key)-1], "x" + key, strings.Replace(key, "#", "##", 1),
				strings.Replace(key, "#", ".", 1), key + "1", key + "#", key + "#1", key + "#" + of.Owner,
				key + "%", key + "*", key + "/", `"` + key + `"`, key + `\`, key + ":1",
			}
		})},
		{sentence: "keeps long keys apart that differ at their end", run: apart(func(p *probe) []string {
			key := strings.Repeat("o", 200) + p.of(inProgress).Key
			return []string{key + "a", key + "b"}
		})},
	}
}
