package storetest

import (
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

func claimChecks() []check {
	return slices.Concat(plainClaims(), blockedClaims(), claimableClaims())
}

func plainClaims() []check {
	return []check{
		{"writes the record if none is held", func(p *probe) {
			p.claims(p.inProgress(), p.now)
		}},
		{"writes a record of any status", func(p *probe) {
			p.claims(p.completed(), p.now)
			p.claims(p.unknown(), p.now)
			p.claims(p.ownerless(), p.now)
		}},
		{"writes the record if the held one was deleted", func(p *probe) {
			held := p.plant(p.completed())
			p.deletes(held)
			p.claims(p.rival(held), p.now)
		}},
		{"replaces the held record completely", claimReplaces},
		{"of another key drops no record before its expiry has passed", claimDropsNone},
		{"repeated by its own owner is refused with its own record", func(p *probe) {
			own := p.plant(p.inProgress())
			p.claimRefused(own, p.now, own)
		}},
		{"repeated after its own completion is refused with the result", func(p *probe) {
			own := p.plant(p.inProgress())
			done := completion(own, []byte(`{"id":"ch_1"}`))
			p.swaps(own, done)
			p.claimRefused(own, p.now, done)
		}},
	}
}

func blockedClaims() []check {
	cases := blocked()
	checks := make([]check, len(cases))
	for i, c := range cases {
		checks[i] = check{"is refused by " + c.held, func(p *probe) {
			held := p.plant(c.record(p))
			p.claimRefused(p.rival(held), p.now.Add(c.after), held)
		}}
	}
	return checks
}

func claimableClaims() []check {
	cases := claimable()
	checks := make([]check, len(cases))
	for i, c := range cases {
		checks[i] = check{"replaces " + c.held, func(p *probe) {
			held := p.plant(c.record(p))
			p.claims(p.rival(held), p.now.Add(c.after))
		}}
	}
	return checks
}

// claimReplaces takes fields away from a record that has them all.
func claimReplaces(p *probe) {
	held := p.completed()
	held.Expiry = p.now
	p.plant(held)
	p.claims(store.Record{
		Key: held.Key, Status: store.StatusInProgress, Owner: "B", Expiry: p.now.Add(time.Hour),
	}, p.now)
}

// claimDropsNone claims other keys until the very instant in which records of every status expire.
func claimDropsNone(p *probe) {
	held := []store.Record{p.inProgress(), p.ownerless(), p.unknown(), p.completed()}
	for i := range held {
		held[i].Lease, held[i].Expiry = p.now.Add(-time.Minute), p.now
		p.plant(held[i])
	}
	for n := range 12 {
		p.claims(p.inProgress(), p.now.Add(time.Duration(n-11)*time.Second))
	}
	for _, r := range held {
		p.holds(r)
	}
}

// claimCase is a held record and a claim of its key, some time after the probe's now.
type claimCase struct {
	held   string
	record func(*probe) store.Record
	after  time.Duration
}

// blocked returns records that refuse a claim. None has expired by more than the instant itself: later, a store might
// have dropped it.
func blocked() []claimCase {
	return []claimCase{
		{"a record in progress whose lease is live", (*probe).inProgress, 0},
		{"a record in progress whose lease has ended, which is not the store's to judge", (*probe).inProgress, time.Minute},
		{"a record in progress without a lease", func(p *probe) store.Record {
			r := p.inProgress()
			r.Lease = time.Time{}
			return r
		}, 0},
		{"a record in progress whose expiry has come, but whose lease is live", expired((*probe).inProgress), 0},
		{"a record in progress whose expiry has come, one millisecond before its lease ends", leased(time.Millisecond), 0},
		{"a record in progress that AWS Powertools wrote", (*probe).ownerless, 0},
		{"a record in progress that AWS Powertools wrote, whose expiry has come, but whose lease is live", expired((*probe).ownerless), 0},
		{"an UNKNOWN record", (*probe).unknown, 0},
		{"an UNKNOWN record one millisecond before its expiry", expired((*probe).unknown), -time.Millisecond},
		{"a completed record", (*probe).completed, 0},
		{"a completed record one second before its expiry", expired((*probe).completed), -time.Second},
		{"a completed record one millisecond before its expiry", expired((*probe).completed), -time.Millisecond},
		{"a completed record one nanosecond before its expiry", expired((*probe).completed), -time.Nanosecond},
		{"a completed record whose lease ended long before its expiry", (*probe).completed, 10 * time.Minute},
	}
}

// claimable returns records that a claim replaces.
func claimable() []claimCase {
	return []claimCase{
		{"a completed record in the instant of its expiry", expired((*probe).completed), 0},
		{"a completed record one millisecond after its expiry", expired((*probe).completed), time.Millisecond},
		{"a completed record one second after its expiry", expired((*probe).completed), time.Second},
		{"a completed record half an hour after its expiry", expired((*probe).completed), 30 * time.Minute},
		{"a completed record that AWS Powertools wrote, at its expiry", func(p *probe) store.Record {
			r := expired((*probe).ownerless)(p)
			r.Status, r.Result = store.StatusCompleted, []byte(`{}`)
			return r
		}, 0},
		{"an UNKNOWN record in the instant of its expiry", expired((*probe).unknown), 0},
		{"a record in progress in the instant in which both its lease and its expiry have come", leased(0), 0},
		{"a record in progress whose lease ended long before its expiry came", leased(-time.Hour), 0},
		{"a record in progress without a lease, at its expiry", func(p *probe) store.Record {
			r := expired((*probe).inProgress)(p)
			r.Lease = time.Time{}
			return r
		}, 0},
		{"a record in progress that AWS Powertools wrote, when its lease and its expiry have come", func(p *probe) store.Record {
			r := expired((*probe).ownerless)(p)
			r.Lease = p.now
			return r
		}, 0},
		{"a completed record at its expiry, whatever its lease", func(p *probe) store.Record {
			r := expired((*probe).completed)(p)
			r.Lease = p.now.Add(time.Hour)
			return r
		}, 0},
		{"a completed record whose expiry is told in another time zone", func(p *probe) store.Record {
			r := expired((*probe).completed)(p)
			r.Expiry = r.Expiry.In(time.FixedZone("", 5*60*60))
			return r
		}, 0},
	}
}

// leased returns a record in progress whose expiry is at the probe's now, and whose lease ends this long after that.
func leased(after time.Duration) func(*probe) store.Record {
	return func(p *probe) store.Record {
		r := expired((*probe).inProgress)(p)
		r.Lease = p.now.Add(after)
		return r
	}
}

// expired returns the same record with an expiry at the probe's now.
func expired(record func(*probe) store.Record) func(*probe) store.Record {
	return func(p *probe) store.Record {
		r := record(p)
		r.Expiry = p.now
		return r
	}
}
