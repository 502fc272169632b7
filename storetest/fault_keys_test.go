package storetest_test

import (
	"context"
	"strings"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

func deleteFaults() []fault {
	return []fault{
		{"Delete removes any record", "Delete/lets the next claim start afresh", func(s *parted) store.Store {
			return &faulty{parted: s, del: func(ctx context.Context, seen record) (bool, error) {
				held, _, _ := s.Get(ctx, seen.Key)
				return s.Delete(ctx, held)
			}}
		}},
		{
			"Delete by a stale owner removes the record",
			"Swap/by an owner that was taken over is refused with the record of the new owner",
			func(s *parted) store.Store {
				return &faulty{parted: s, del: func(ctx context.Context, seen record) (bool, error) {
					held, _, _ := s.Get(ctx, seen.Key)
					_, err := s.Delete(ctx, held)
					return false, err
				}}
			},
		},
		{
			"Delete only says that it did", "Delete/removes a record that was swapped, as it is now",
			func(s *parted) store.Store {
				return &faulty{parted: s, del: func(ctx context.Context, seen record) (bool, error) {
					held, _, err := s.Get(ctx, seen.Key)
					return held.Owner == seen.Owner && held.Lease.Equal(seen.Lease), err
				}}
			},
		},
		{"Delete of nothing is true", "Delete/of a key without a record is false", func(s *parted) store.Store {
			return &faulty{parted: s, del: func(ctx context.Context, seen record) (bool, error) {
				_, found, _ := s.Get(ctx, seen.Key)
				deleted, err := s.Delete(ctx, seen)
				return deleted || !found, err
			}}
		}},
		{
			"Delete leaves a mark", "Claim/writes the record if the held one was deleted",
			func(s *parted) store.Store {
				deleted := make(map[string]record)
				return &faulty{
					parted: s,
					del: func(ctx context.Context, seen record) (bool, error) {
						deleted[seen.Key] = seen
						return s.Delete(ctx, seen)
					},
					claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
						if mark, found := deleted[r.Key]; found {
							return mark, false, nil
						}
						return s.Claim(ctx, r, now)
					},
				}
			},
		},
	}
}

func getFaults() []fault {
	return []fault{
		{
			"Get finds a record under any key", "Get/finds nothing under a key that was never claimed",
			func(s *parted) store.Store {
				return &faulty{parted: s, get: func(ctx context.Context, key string) (record, bool, error) {
					r, _, err := s.Get(ctx, key)
					return r, true, err
				}}
			},
		},
		{
			"Get returns the key of a record that is not there", "Get/finds nothing under a key that was never claimed",
			func(s *parted) store.Store {
				return &faulty{parted: s, get: func(ctx context.Context, key string) (record, bool, error) {
					r, found, err := s.Get(ctx, key)
					r.Key = key
					return r, found, err
				}}
			},
		},
		{"Get removes what it reads", "Get/changes nothing", func(s *parted) store.Store {
			return &faulty{parted: s, get: func(ctx context.Context, key string) (record, bool, error) {
				r, found, err := s.Get(ctx, key)
				if found {
					_, err = s.Delete(ctx, r)
				}
				return r, found, err
			}}
		}},
		{"ignores the case of keys", "Get/keeps keys apart that resemble each other", keysAs(strings.ToLower)},
		{
			"cuts keys at the second #", "Get/keeps keys apart that resemble each other",
			keysAs(func(key string) string {
				return strings.Join(strings.SplitN(key, "#", 3)[:2], "#")
			}),
		},
		{
			"cuts long keys", "Get/keeps long keys apart that differ at their end",
			keysAs(func(key string) string { return key[:min(len(key), 128)] }),
		},
	}
}

// keysAs holds records under other keys than their own.
func keysAs(change func(string) string) func(*parted) store.Store {
	return func(s *parted) store.Store {
		return &faulty{
			parted: s,
			claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
				r.Key = change(r.Key)
				return s.Claim(ctx, r, now)
			},
			swap: func(ctx context.Context, seen, next record) (record, bool, error) {
				seen.Key, next.Key = change(seen.Key), change(next.Key)
				return s.Swap(ctx, seen, next)
			},
			del: func(ctx context.Context, seen record) (bool, error) {
				seen.Key = change(seen.Key)
				return s.Delete(ctx, seen)
			},
			get: func(ctx context.Context, key string) (record, bool, error) {
				r, found, err := s.Get(ctx, change(key))
				if found {
					r.Key = key
				}
				return r, found, err
			},
		}
	}
}
