package storetest

import (
	"context"
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// probe drives one store through one check. Its methods fail the check at the first answer that
// breaks the contract. They must be called on the check's own goroutine.
type probe struct {
	t        tester
	store    store.Store
	features Features
	now      time.Time // a whole second

	// commits, unless nil, has each completion be a commit.
	commits *commits
	// spoils has all bytes be overwritten that were handed in or out.
	spoils bool
}

// tester is what [testing.T] and [rapid.T] have in common.
type tester interface {
	rapid.TB
	Context() context.Context
}

// get returns the record held under key as the store returned it.
func (p *probe) get(key string) (r store.Record, found bool) {
	p.t.Helper()
	r, found, err := p.store.Get(p.t.Context(), key)
	p.noError("Get", err)
	return r, found
}

// absent sees that no record is held under key.
func (p *probe) absent(key string) {
	p.t.Helper()
	if r, found := p.get(key); found || !equal(r, store.Record{}) {
		p.t.Fatalf("Get of a key without a record returns %t and\n%s", found, describe(r))
	}
}

// whole returns a record that came from the store with its result and those of its steps in it,
// wherever the store keeps them.
func (p *probe) whole(r store.Record) store.Record {
	p.t.Helper()
	steps := maps.Clone(r.Steps)
	for name, s := range steps {
		if s.Parts != "" {
			s.Result, s.Parts = p.parts("step "+name, r.OfStep(s)), ""
			steps[name] = s
		}
	}
	if r.Parts != "" {
		r.Result, r.Parts = p.parts("the record", r), ""
	}
	r.Steps = steps
	return r
}

// parts reads a result that is kept beside its record.
func (p *probe) parts(of string, r store.Record) []byte {
	p.t.Helper()
	if r.Result != nil {
		p.t.Fatalf("%s has a Result together with Parts", of)
	}
	read := calls.Call{Op: calls.ReadResult, Seen: r}.Make(p.t.Context(), p.store)
	p.noError("ReadResult", read.Err)
	return read.Held.Result
}

// fits skips the check if the store does not keep results of this size.
func (p *probe) fits(size int) {
	p.t.Helper()
	if limit := p.features.MaxResult; limit != 0 && size > limit {
		p.t.Skipf("Features.MaxResult: the store keeps results of up to %d bytes", limit)
	}
	if testing.Short() && size > 1<<20 {
		p.t.Skipf("-short: results of more than 1 MiB are left out")
	}
}

func (p *probe) noError(call string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %v", call, err)
	}
}
