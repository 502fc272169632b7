package storetest

import (
	"bytes"

	"github.com/go-idempotent/idempotent/store"
)

func bytesChecks() []check {
	return []check{
		{"handed to Claim may change afterwards", func(p *probe) {
			keepsOwnBytes(p, func(r store.Record) { p.claims(r, p.now) })
		}},
		{"handed to Swap may change afterwards", func(p *probe) {
			keepsOwnBytes(p, func(r store.Record) {
				seen := p.inProgress()
				seen.Key = r.Key
				p.plant(seen)
				p.swaps(seen, r)
			})
		}},
		{"returned by Get may change afterwards", func(p *probe) {
			handsOutCopies(p, func(held store.Record) store.Record { return p.get(held.Key) })
		}},
		{"returned by a refused Claim may change afterwards", func(p *probe) {
			handsOutCopies(p, func(held store.Record) store.Record {
				r, _, err := p.store.Claim(p.t.Context(), p.rival(held), p.now)
				p.noError("Claim", err)
				return r
			})
		}},
		{"returned by a refused Swap may change afterwards", func(p *probe) {
			handsOutCopies(p, func(held store.Record) store.Record {
				other := p.rival(held)
				r, _, err := p.store.Swap(p.t.Context(), other, takeover(other))
				p.noError("Swap", err)
				return r
			})
		}},
	}
}

// keepsOwnBytes overwrites the bytes that it had the store write.
func keepsOwnBytes(p *probe, write func(store.Record)) {
	for _, result := range [][]byte{[]byte(`{"id":"ch_1"}`), p.large()} {
		r := completion(p.inProgress(), bytes.Clone(result))
		write(r)
		scribble(r.Result)
		r.Result = result
		p.holds(r)
	}
}

// handsOutCopies overwrites the bytes that it read from the store.
func handsOutCopies(p *probe, read func(held store.Record) store.Record) {
	for _, result := range [][]byte{[]byte(`{"id":"ch_1"}`), p.large()} {
		held := p.plant(completion(p.inProgress(), result))
		first := p.whole(read(held))
		p.same("the record read", held, first)
		held.Result = bytes.Clone(result)
		scribble(first.Result)
		p.holds(held)
	}
}

func scribble(b []byte) {
	for i := range b {
		b[i] ^= 0x55
	}
}
