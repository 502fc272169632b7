package storetest_test

import (
	"bytes"
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// bytesFaults are stores that share bytes with their callers, without ever losing any themselves.
func bytesFaults() []fault {
	return []fault{
		{
			"Claim keeps the caller's bytes", "Bytes/of a small result may change after Claim",
			func(s *parted) store.Store {
				shared := make(sharing)
				f := shared.store(s, bytes.Clone)
				f.claim = func(ctx context.Context, r record, now time.Time) (record, bool, error) {
					shared[r.Key+r.Seal] = r.Result
					return s.Claim(ctx, r, now)
				}
				return f
			},
		},
		{
			"Swap keeps the caller's bytes", "Bytes/of a small result may change after Swap",
			func(s *parted) store.Store {
				shared := make(sharing)
				f := shared.store(s, bytes.Clone)
				f.swap = func(ctx context.Context, seen, next record) (record, bool, error) {
					shared[next.Key+next.Seal] = next.Result
					return s.Swap(ctx, seen, next)
				}
				return f
			},
		},
		{
			"Get hands out its own bytes", "Bytes/of a small result may change after Swap",
			func(s *parted) store.Store {
				return make(sharing).store(s, func(b []byte) []byte { return b })
			},
		},
		{
			"ReadResult hands out its own bytes", "Bytes/of a large result may change after Swap",
			func(s *parted) store.Store {
				shared := make(sharing)
				return &faulty{parted: s, read: func(ctx context.Context, r record) ([]byte, error) {
					result, err := s.ReadResult(ctx, r)
					r.Result = result
					return shared.remember(r).Result, err
				}}
			},
		},
		{
			"a refused Claim hands out its own bytes", "Bytes/of a small result may change after Claim",
			func(s *parted) store.Store {
				shared := make(sharing)
				f := shared.store(s, bytes.Clone)
				f.claim = func(ctx context.Context, r record, now time.Time) (record, bool, error) {
					held, claimed, err := s.Claim(ctx, r, now)
					return shared.remember(held), claimed, err
				}
				return f
			},
		},
		{
			"a refused Swap hands out its own bytes", "Bytes/of a small result may change after Swap",
			func(s *parted) store.Store {
				shared := make(sharing)
				f := shared.store(s, bytes.Clone)
				f.swap = func(ctx context.Context, seen, next record) (record, bool, error) {
					held, swapped, err := s.Swap(ctx, seen, next)
					return shared.remember(held), swapped, err
				}
				return f
			},
		},
	}
}

// sharing is the bytes that a store has in common with its callers, by key and commit.
type sharing map[string][]byte

// remember returns r with the bytes that are shared, which are those of r if there are none yet.
func (s sharing) remember(r record) record {
	if r.Result == nil {
		return r
	}
	if _, found := s[r.Key+r.Seal]; !found {
		s[r.Key+r.Seal] = r.Result
	}
	r.Result = s[r.Key+r.Seal]
	return r
}

// store returns a store that hands out, by Get, what out makes of the shared bytes.
func (s sharing) store(p *parted, out func([]byte) []byte) *faulty {
	return &faulty{parted: p, get: func(ctx context.Context, key string) (record, bool, error) {
		r, found, err := p.Get(ctx, key)
		r = s.remember(r)
		r.Result = out(r.Result)
		return r, found, err
	}}
}
