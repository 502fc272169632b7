package storetest

import (
	"context"
	"maps"
	"time"

	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/store"
)

// probe drives one store through one check. Its methods fail the check at the first answer that breaks the contract.
// They must be called on the check's own goroutine.
type probe struct {
	t        tester
	store    store.Store
	features Features
	now      time.Time // a whole second
}

// tester is what [testing.T] and [rapid.T] have in common.
type tester interface {
	rapid.TB
	Context() context.Context
}

// in returns the same probe for one case of a property.
func (p *probe) in(t tester) *probe {
	q := *p
	q.t = t
	return &q
}

// claims claims r at the instant now and sees that it is then held.
func (p *probe) claims(r store.Record, now time.Time) {
	p.t.Helper()
	held, claimed, err := p.store.Claim(p.t.Context(), r, now)
	p.noError("Claim", err)
	if !claimed {
		p.t.Fatalf("Claim was refused; reported as held:\n%s", describe(held))
	}
	p.holds(r)
}

// plant puts a record into the store before the check begins, and returns it.
func (p *probe) plant(r store.Record) store.Record {
	p.t.Helper()
	p.claims(r, p.now)
	return r
}

// claimRefused claims r, and sees that held refuses it and stays.
func (p *probe) claimRefused(r store.Record, now time.Time, held store.Record) {
	p.t.Helper()
	got, claimed, err := p.store.Claim(p.t.Context(), r, now)
	p.noError("Claim", err)
	if claimed {
		p.t.Fatalf("Claim was not refused by\n%s", describe(held))
	}
	p.same("the record that a refused Claim returned", held, got)
	p.holds(held)
}

// swaps swaps seen, which has the steps that are held, for next. It sees that this is then held, and returns it.
func (p *probe) swaps(seen, next store.Record) store.Record {
	p.t.Helper()
	got := p.swap(seen, next)
	want := after(seen, next)
	if next.Lease.IsZero() {
		return want // what lease is kept is the check's own business
	}
	if seen.HandsOver(next) {
		p.same("the record that a takeover returned", want, got)
	}
	p.holds(want)
	return want
}

// swap swaps seen for next and returns what the store returned.
func (p *probe) swap(seen, next store.Record) store.Record {
	p.t.Helper()
	held, swapped, err := p.store.Swap(p.t.Context(), seen, next)
	p.noError("Swap", err)
	if !swapped {
		p.t.Fatalf("Swap was refused; seen:\n%s\nreported as held:\n%s", describe(seen), describe(held))
	}
	return held
}

// swapRefused swaps seen for next, and sees that held refuses it and stays.
func (p *probe) swapRefused(seen, next, held store.Record) {
	p.t.Helper()
	got, swapped, err := p.store.Swap(p.t.Context(), seen, next)
	p.noError("Swap", err)
	if swapped {
		p.t.Fatalf("Swap was not refused; seen:\n%s\nheld:\n%s", describe(seen), describe(held))
	}
	p.same("the record that a refused Swap returned", held, got)
	p.holds(held)
}

// deletes deletes the record that was seen and sees that it is gone.
func (p *probe) deletes(seen store.Record) {
	p.t.Helper()
	deleted, err := p.store.Delete(p.t.Context(), seen)
	p.noError("Delete", err)
	if !deleted {
		p.t.Fatalf("Delete reported false; seen:\n%s", describe(seen))
	}
	p.absent(seen.Key)
}

// deleteRefused deletes what was seen, and sees that held stays.
func (p *probe) deleteRefused(seen, held store.Record) {
	p.t.Helper()
	deleted, err := p.store.Delete(p.t.Context(), seen)
	p.noError("Delete", err)
	if deleted {
		p.t.Fatalf("Delete reported true; seen:\n%s\nheld:\n%s", describe(seen), describe(held))
	}
	p.holds(held)
}

// holds sees that Get returns want.
func (p *probe) holds(want store.Record) {
	p.t.Helper()
	p.same("the record held", want, p.get(want.Key))
}

// get returns the record held under key as the store returned it.
func (p *probe) get(key string) store.Record {
	p.t.Helper()
	r, found, err := p.store.Get(p.t.Context(), key)
	p.noError("Get", err)
	if !found {
		p.t.Fatalf("Get found no record")
	}
	return r
}

// absent sees that no record is held under key.
func (p *probe) absent(key string) {
	p.t.Helper()
	r, found, err := p.store.Get(p.t.Context(), key)
	p.noError("Get", err)
	if found {
		p.t.Fatalf("Get found a record where none is held:\n%s", describe(r))
	}
}

// same sees that got, which the store returned, is want in every field.
func (p *probe) same(what string, want, got store.Record) {
	p.t.Helper()
	if d := difference(want, p.whole(got)); d != "" {
		p.t.Fatalf("%s differs:\n%s", what, d)
	}
}

// whole returns a record that came from the store with its result and those of its steps in it, wherever the store keeps them.
func (p *probe) whole(r store.Record) store.Record {
	p.t.Helper()
	r.Steps = p.wholeSteps(r)
	if r.Parts == "" {
		return r
	}
	if r.Result != nil {
		p.t.Fatalf("Result is set together with Parts")
	}
	r.Result, r.Parts = p.readResult(r), ""
	return r
}

// wholeSteps returns the steps of a record with their results in them.
func (p *probe) wholeSteps(r store.Record) map[string]store.Step {
	p.t.Helper()
	steps := maps.Clone(r.Steps)
	for name, s := range steps {
		if s.Parts == "" {
			continue
		}
		if s.Result != nil {
			p.t.Fatalf("step %s has a Result together with Parts", name)
		}
		s.Result, s.Parts = p.readResult(r.OfStep(s)), ""
		steps[name] = s
	}
	return steps
}

func (p *probe) readResult(r store.Record) []byte {
	p.t.Helper()
	reader, ok := p.store.(store.ResultReader)
	if !ok {
		p.t.Fatalf("Parts is set, but %T is no ResultReader", p.store)
	}
	result, err := reader.ReadResult(p.t.Context(), r)
	p.noError("ReadResult", err)
	return result
}

func (p *probe) noError(call string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %v", call, err)
	}
}
