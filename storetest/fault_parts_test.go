package storetest_test

import (
	"bytes"
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

func partsFaults() []fault {
	return []fault{
		{
			"names parts by their key", "Parts/written by a refused Swap do not change the held result",
			func(s *parted) store.Store {
				s.name = func(key, _ string, _ []byte) string { return key }
				return s
			},
		},
		{
			"names parts by key and owner", "Parts/written by a refused Swap do not change the held result",
			func(s *parted) store.Store {
				s.name = func(key, owner string, _ []byte) string { return key + "#" + owner }
				return s
			},
		},
		{
			"names the parts of a Claim by key and owner",
			"Parts/written by a refused Claim do not change the held result",
			func(s *parted) store.Store {
				s.name = func(key, owner string, _ []byte) string { return key + "#" + owner }
				return s
			},
		},
		{
			"names parts by the first half of the key", "Get/keeps keys apart that resemble each other",
			func(s *parted) store.Store {
				s.name = func(key, _ string, _ []byte) string { return key[:20] }
				return s
			},
		},
		{
			"Claim keeps the parts of the claimed record", "Parts/are replaced by a Claim",
			func(s *parted) store.Store {
				return &faulty{
					parted: s,
					claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
						held, _, _ := s.Get(ctx, r.Key)
						if r.Result == nil {
							r.Parts = held.Parts
						}
						return s.Claim(ctx, r, now)
					},
				}
			},
		},
		{
			"Swap keeps the parts of the record seen", "Parts/are replaced by a Swap",
			swapsFor(func(held, _, next record) record {
				if next.Result == nil {
					next.Parts = held.Parts
				}
				return next
			}),
		},
		{
			"Swap drops the parts that it is handed", "Parts/stay if a Swap hands back the record that was read",
			swapsFor(func(_, _, next record) record {
				next.Parts = ""
				return next
			}),
		},
		{
			"remembers the parts of a released record", "Parts/of a released record do not come back",
			func(s *parted) store.Store {
				first := make(map[string][]byte)
				return &faulty{parted: s, read: func(ctx context.Context, r record) ([]byte, error) {
					if first[r.Key+r.Owner] == nil {
						result, err := s.ReadResult(ctx, r)
						first[r.Key+r.Owner] = result
						return result, err
					}
					return bytes.Clone(first[r.Key+r.Owner]), nil
				}}
			},
		},
		{"cannot read results", "Result/of 4097 bytes comes back byte for byte", func(s *parted) store.Store {
			return struct{ store.Store }{s}
		}},
		{
			"returns a result together with its parts", "Result/of 4097 bytes comes back byte for byte",
			reads(func(r *record) {
				if r.Parts != "" {
					r.Result = []byte("0")
				}
			}),
		},
		{
			"Swap drops attributes that it does not know", "Foreign/attributes survive a Swap",
			swapping(func(s *parted, c swap) (record, bool, error) {
				held, swapped, err := c.on(s)
				if swapped {
					s.forget(c.seen.Key)
				}
				return held, swapped, err
			}),
		},
		{
			"Swap of a large result drops attributes that it does not know", "Foreign/attributes survive a Swap",
			swapping(func(s *parted, c swap) (record, bool, error) {
				held, swapped, err := c.on(s)
				if swapped && len(c.next.Result) > 4096 {
					s.forget(c.seen.Key)
				}
				return held, swapped, err
			}),
		},
		{
			"Claim keeps attributes that it does not know", "Foreign/attributes are replaced by a Claim",
			func(s *parted) store.Store {
				return &faulty{
					parted: s,
					claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
						return s.Store.Claim(ctx, s.split(r), now)
					},
				}
			},
		},
	}
}

// forget drops the attribute of a record that the store does not know.
func (p *parted) forget(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.foreign, key)
}
