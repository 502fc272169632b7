package storetest_test

import (
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

func contextFaults() []fault {
	never := context.WithoutCancel
	claim := func(s *parted) store.Store {
		return &faulty{parted: s, claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
			return s.Claim(never(ctx), r, now)
		}}
	}
	return []fault{
		{"Claim ignores a cancelled context", "Context/that was cancelled fails a Claim", claim},
		{"Claim ignores a deadline", "Context/that is past its deadline fails a Claim", claim},
		{"Swap ignores its context", "Context/that was cancelled fails a Swap", swapping(func(s *parted, c swap) (record, bool, error) {
			return s.Swap(never(c.ctx), c.seen, c.next)
		})},
		{"Delete ignores its context", "Context/that was cancelled fails a Delete", func(s *parted) store.Store {
			return &faulty{
				parted: s,
				del:    func(ctx context.Context, seen record) (bool, error) { return s.Delete(never(ctx), seen) },
			}
		}},
		{"Get ignores its context", "Context/that was cancelled fails a Get", func(s *parted) store.Store {
			return &faulty{
				parted: s,
				get:    func(ctx context.Context, key string) (record, bool, error) { return s.Get(never(ctx), key) },
			}
		}},
		{
			"ReadResult ignores its context", "Context/that was cancelled fails a ReadResult",
			func(s *parted) store.Store {
				return &faulty{
					parted: s,
					read:   func(ctx context.Context, r record) ([]byte, error) { return s.ReadResult(never(ctx), r) },
				}
			},
		},
		{
			"ReadResult takes a cancelled context for a missing part", "Context/that was cancelled fails a ReadResult",
			func(s *parted) store.Store {
				return &faulty{parted: s, read: func(ctx context.Context, r record) ([]byte, error) {
					result, err := s.ReadResult(ctx, r)
					if err != nil {
						return nil, &store.UnreadableError{Reason: "the part is missing", Err: err}
					}
					return result, nil
				}}
			},
		},
		{"Claim denies what it did", "Context/that was cancelled fails a Claim", func(s *parted) store.Store {
			return &faulty{parted: s, claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
				held, claimed, err := s.Claim(never(ctx), r, now)
				return held, claimed, denied(ctx, err)
			}}
		}},
		{
			"Swap denies what it did", "Context/that is past its deadline fails a Swap",
			swapping(func(s *parted, c swap) (record, bool, error) {
				held, swapped, err := s.Swap(never(c.ctx), c.seen, c.next)
				return held, swapped, denied(c.ctx, err)
			}),
		},
		{
			"Delete denies what it did", "Context/that is past its deadline fails a Delete",
			func(s *parted) store.Store {
				return &faulty{parted: s, del: func(ctx context.Context, seen record) (bool, error) {
					deleted, err := s.Delete(never(ctx), seen)
					return deleted, denied(ctx, err)
				}}
			},
		},
	}
}

// denied returns, for a context that has ended, the error of a write that was not applied.
func denied(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return &store.Error{Op: "write", Kind: store.FailureTimeout, NotApplied: true, Err: ended}
	}
	return err
}
