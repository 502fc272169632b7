package storetest

import (
	"bytes"
	"crypto/rand"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// change makes the next record of one, or what a caller takes it for. A kind of records is a change
// of nothing, and each of its records has a key of its own.
type change func(p *probe, r *store.Record)

// like makes several changes.
func like(all ...change) change {
	return func(p *probe, r *store.Record) {
		for _, c := range all {
			c(p, r)
		}
	}
}

// inProgress is a record as a first claim writes it.
func inProgress(p *probe, r *store.Record) {
	*r = store.Record{
		Key:         "storetest#" + rand.Text(),
		Status:      store.StatusInProgress,
		Owner:       rand.Text(),
		Lease:       p.now.Add(30*time.Second + 123*time.Millisecond),
		Expiry:      p.now.Add(time.Hour),
		Fingerprint: "1:" + rand.Text(),
		Attempt:     1,
		CreatedAt:   p.now.Add(-7 * time.Millisecond),
	}
}

// The other kinds: one in which every field has a value, one of unknown outcome, and two as AWS
// Powertools writes them.
var (
	completed = like(inProgress, completion(charged))
	unknown   = like(inProgress, lost, func(p *probe, r *store.Record) {
		r.Attention, r.AttentionAt = store.AttentionOf(r.Key), p.now.Add(-3*time.Millisecond)
		r.Derived = []string{charge, mail}
	})
	ownerless          = like(inProgress, bare, owned(""))
	completedOwnerless = like(ownerless, func(_ *probe, r *store.Record) {
		r.Status, r.Result = store.StatusCompleted, []byte(`"a"`)
	})
)

// completion is r as its owner completes it. Every field has a value, and all that may change does.
func completion(of result) change {
	return func(p *probe, r *store.Record) {
		r.Status = store.StatusCompleted
		r.Lease = r.Lease.Add(time.Second)
		r.Expiry = r.Expiry.Add(24 * time.Hour)
		r.Result = of(p)
		r.Seal = store.Seal(r.Owner, r.Result)
		r.Reason = "error"
		r.CompletedAt = r.Expiry.Add(-25*time.Hour + 5*time.Millisecond)
	}
}

// renewal is r with a later lease and expiry. It has a lease also if r has none.
func renewal(_ *probe, r *store.Record) {
	r.Expiry = r.Expiry.Add(30 * time.Second)
	r.Lease = r.Expiry.Add(-59*time.Minute + 123*time.Millisecond)
}

// takeover is the record with which another owner takes r over.
func takeover(p *probe, r *store.Record) {
	renewal(p, r)
	r.Status, r.Owner = store.StatusInProgress, rand.Text()
	r.Result, r.Parts, r.Seal, r.Reason = nil, "", "", ""
	r.CompletedAt, r.Attention, r.AttentionAt, r.Derived, r.Tries = time.Time{}, "", time.Time{}, nil, 0
	r.Attempt++
}

// settled is r as an operator releases it.
func settled(p *probe, r *store.Record) {
	at := r.Expiry.Add(-time.Hour + 9*time.Millisecond)
	takeover(p, r)
	r.Attempt--
	r.Reason, r.SettledBy, r.SettledReason, r.SettledAt = store.ReasonReleased, "dana", "ticket 4711", at
}

// lost is r as its owner marks it when its result could not be stored.
func lost(_ *probe, r *store.Record) {
	r.Status, r.Reason = store.StatusUnknown, store.ReasonResultLost
}

// bare is a record with no more than a store needs.
func bare(_ *probe, r *store.Record) {
	*r = store.Record{Key: r.Key, Status: r.Status, Owner: "B", Lease: r.Lease, Expiry: r.Expiry}
}

// unleased is r without a lease.
func unleased(_ *probe, r *store.Record) { r.Lease = time.Time{} }

// blindly is r as somebody sees it who does not compare its step writes.
func blindly(_ *probe, r *store.Record) { r.StepWrites = store.AnyStepWrites }

// leased has a lease until this long after the probe's now.
func leased(after time.Duration) change {
	return func(p *probe, r *store.Record) { r.Lease = p.now.Add(after) }
}

// expiring expires this long after the probe's now.
func expiring(after time.Duration) change {
	return func(p *probe, r *store.Record) { r.Expiry = p.now.Add(after) }
}

// leaseMoved has a lease that ends so much later than that of r.
func leaseMoved(by time.Duration) change {
	return func(p *probe, r *store.Record) {
		if r.Lease.IsZero() {
			r.Lease = p.now
		}
		r.Lease = r.Lease.Add(by)
	}
}

func owned(by string) change { return func(_ *probe, r *store.Record) { r.Owner = by } }

func because(reason string) change {
	return func(_ *probe, r *store.Record) { r.Reason = reason }
}

func attempted(_ *probe, r *store.Record) { r.Attempt++ }

// stepOf makes a step of an owner.
type stepOf func(p *probe, owner string) store.Step

type stepsOf map[string]stepOf

// with changes these steps.
func with(all stepsOf) change {
	return func(p *probe, r *store.Record) {
		r.Steps = make(map[string]store.Step, len(all))
		for name, of := range all {
			r.Steps[name] = of(p, r.Owner)
		}
	}
}

// started is a start mark.
func started(_ *probe, owner string) store.Step {
	return store.Step{Kind: store.StepStarted, Seal: store.Seal(owner, nil)}
}

// value is a result of a step.
func value(of result) stepOf {
	return func(p *probe, owner string) store.Step {
		r := of(p)
		return store.Step{Kind: store.StepValue, Seal: store.Seal(owner, r), Result: r}
	}
}

// failed is a final failure of a step.
func failed(of result) stepOf {
	return func(p *probe, owner string) store.Step {
		s := value(of)(p, owner)
		s.Kind = store.StepFailure
		return s
	}
}

// gone removes a step.
func gone(*probe, string) store.Step { return store.Step{} }

// The names of steps, and of derived keys.
const (
	charge = "charge"
	mail   = "mail"
	ship   = "ship"
)

// another stands for any text that is not the one which was expected.
const another = "another"

// result makes a result, as JSON text unless it says otherwise.
type result func(p *probe) []byte

// text is a result that is spelled so.
func text(spelled string) result { return func(*probe) []byte { return []byte(spelled) } }

var (
	charged = text(`{"id":"ch_1"}`)
	other   = text(`{"id":"ch_2"}`)
)

// large is new each time, and a store might not want to keep it inside the record.
func large(p *probe) []byte {
	size := 64 << 10
	if limit := p.features.MaxResult; limit != 0 {
		size = min(size, limit)
	}
	return random(size)(p)
}

// random has this many bytes, at least one, and does not compress below three quarters of them.
func random(size int) result {
	return func(p *probe) []byte {
		const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
		p.fits(size)
		if size == 1 {
			return []byte("0")
		}
		made := make([]byte, size)
		_, _ = rand.Read(made) // never fails
		for i, b := range made {
			made[i] = letters[b%64]
		}
		made[0], made[size-1] = '"', '"'
		return made
	}
}

// repetitive has this many bytes, at least one, and compresses to almost nothing.
func repetitive(size int) result {
	return func(p *probe) []byte {
		p.fits(size)
		return append(bytes.Repeat([]byte(" "), size-1), '0')
	}
}
