package storetest

import (
	"github.com/go-idempotent/idempotent/store"
)

func foreignChecks() []check {
	return []check{
		{"attributes survive a Swap", func(p *probe) {
			seen := p.plant(p.inProgress())
			p.putForeign(seen.Key)
			for _, next := range []store.Record{
				renewal(seen),
				takeover(seen),
				completion(takeover(seen), []byte(`{"id":"ch_1"}`)),
				completion(takeover(seen), p.large()),
			} {
				p.swaps(seen, next)
				p.hasForeign(seen.Key, true)
				seen = next
			}
		}},
		{"attributes are replaced by a Claim", func(p *probe) {
			held := p.completed()
			held.Expiry = p.now
			p.plant(held)
			p.putForeign(held.Key)
			p.claims(p.rival(held), p.now)
			p.hasForeign(held.Key, false)
		}},
	}
}

// putForeign adds an attribute to a record, or skips the check.
func (p *probe) putForeign(key string) {
	p.t.Helper()
	if p.features.Foreign == nil {
		p.t.Skipf("Features.Foreign: the suite cannot write attributes that the store does not know")
	}
	p.noError("Foreign.Put", p.features.Foreign.Put(p.t.Context(), p.store, key))
	p.hasForeign(key, true)
}

func (p *probe) hasForeign(key string, want bool) {
	p.t.Helper()
	has, err := p.features.Foreign.Has(p.t.Context(), p.store, key)
	p.noError("Foreign.Has", err)
	if has != want {
		p.t.Fatalf("the record has the attribute that the store does not know: want %t, got %t", want, has)
	}
}
