package storetest_test

import (
	"bytes"
	"context"
	"maps"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// stepPartFaults are stores that lose or confuse what they keep beside a record of its steps.
func stepPartFaults() []fault {
	const whatever = "Steps/that are large can be read whatever became of their record since"
	forgets := func(when func(seen, next record) bool) func(*parted) store.Store {
		return swapping(func(s *parted, c swap) (record, bool, error) {
			before, _, _ := s.Get(c.ctx, c.seen.Key)
			held, swapped, err := c.on(s)
			if swapped && when(c.seen, c.next) {
				s.mu.Lock()
				defer s.mu.Unlock()
				for _, step := range before.Steps {
					delete(s.parts, step.Parts)
				}
			}
			return held, swapped, err
		})
	}
	return []fault{
		{
			"keeps one part for all steps", "Steps/of 30000 bytes come back byte for byte",
			func(s *parted) store.Store {
				s.name = func(key, owner string, _ []byte) string { return key + "#" + owner }
				return s
			},
		},
		{
			"overwrites the part of a step", "Steps/that are large do not change what is held if they are refused",
			func(s *parted) store.Store {
				s.name = func(key, owner string, _ []byte) string { return key + "#" + owner }
				return s
			},
		},
		{
			"reads the parts of steps by the owner of the record", whatever,
			func(s *parted) store.Store {
				s.name = func(key, owner string, result []byte) string {
					return key + "#" + owner + "#" +
						string(result[:20])
				}
				return &faulty{parted: s, read: func(ctx context.Context, r record) ([]byte, error) {
					if held, found, _ := s.Get(ctx, r.Key); found && r.Owner != held.Owner {
						return nil, &store.UnreadableError{Reason: "the part is missing"}
					}
					return s.ReadResult(ctx, r)
				}}
			},
		},
		{
			"a takeover forgets the parts of steps", whatever,
			forgets(func(seen, next record) bool { return seen.Owner != next.Owner }),
		},
		{
			"a release forgets the parts of steps", whatever,
			forgets(func(_, next record) bool { return next.Reason == store.ReasonReleased }),
		},
		{
			"UNKNOWN forgets the parts of steps", whatever,
			forgets(func(_, next record) bool { return next.Status == store.StatusUnknown }),
		},
		{
			"a completion forgets the parts of steps", whatever,
			forgets(func(_, next record) bool { return next.Status == store.StatusCompleted }),
		},
		{
			"Swap drops the parts of steps that it is handed", "Steps/handed back as they were read are the same",
			swapsFor(func(_, _, next record) record {
				next.Steps = maps.Clone(next.Steps)
				for name, s := range next.Steps {
					s.Parts = ""
					next.Steps[name] = s
				}
				return next
			}),
		},
		{
			"returns the result of a step together with its parts", "Steps/of 30000 bytes come back byte for byte",
			reads(func(r *record) {
				r.Steps = maps.Clone(r.Steps)
				for name, s := range r.Steps {
					if s.Parts != "" {
						s.Result = []byte("0")
						r.Steps[name] = s
					}
				}
			}),
		},
		{
			"cuts the results of steps", "Steps/of 4096 bytes come back byte for byte", reads(func(r *record) {
				r.Steps = maps.Clone(r.Steps)
				for name, s := range r.Steps {
					s.Result = s.Result[:min(len(s.Result), 4000)]
					r.Steps[name] = s
				}
			}),
		},
	}
}

// stepBytesFaults are stores that share bytes or maps of steps with their callers.
func stepBytesFaults() []fault {
	// shares hands out one map, with one result for each step, and keeps what its caller makes of
	// them.
	shares := func(hand func(f *faulty, share func(record) record, s *parted)) func(*parted) store.Store {
		return func(s *parted) store.Store {
			shared := make(map[string]steps)
			f := &faulty{parted: s, get: func(ctx context.Context, key string) (record, bool, error) {
				r, found, err := s.Get(ctx, key)
				if kept, is := shared[key]; is && len(r.Steps) > 0 {
					r.Steps = maps.Clone(kept)
					for name, step := range r.Steps {
						step.Result = bytes.Clone(step.Result)
						r.Steps[name] = step
					}
				}
				return r, found, err
			}}
			hand(f, func(r record) record {
				if len(r.Steps) > 0 {
					shared[r.Key] = r.Steps
				}
				return r
			}, s)
			return f
		}
	}
	return []fault{
		{
			"Swap keeps the caller's steps", "Bytes/of a small step may change after Swap",
			shares(func(f *faulty, share func(record) record, s *parted) {
				f.swap = func(ctx context.Context, seen, next record) (record, bool, error) {
					share(next)
					return s.Swap(ctx, seen, next)
				}
			}),
		},
		{
			"Get hands out its own steps", "Bytes/of a small step may change after Swap",
			shares(func(f *faulty, _ func(record) record, s *parted) {
				shared := make(map[string]record)
				f.get = func(ctx context.Context, key string) (record, bool, error) {
					if r, is := shared[key]; is {
						return r, true, nil
					}
					r, found, err := s.Get(ctx, key)
					if len(r.Steps) > 0 {
						shared[key] = r
					}
					return r, found, err
				}
			}),
		},
		{
			"a refused Claim hands out its own steps", "Bytes/of a small step may change after Swap",
			shares(func(f *faulty, share func(record) record, s *parted) {
				f.claim = func(ctx context.Context, r record, now time.Time) (record, bool, error) {
					held, claimed, err := s.Claim(ctx, r, now)
					return share(held), claimed, err
				}
			}),
		},
		{
			"a refused Swap hands out its own steps", "Bytes/of a small step may change after Swap",
			shares(func(f *faulty, share func(record) record, s *parted) {
				f.swap = func(ctx context.Context, seen, next record) (record, bool, error) {
					held, swapped, err := s.Swap(ctx, seen, next)
					if !swapped {
						held = share(held)
					}
					return held, swapped, err
				}
			}),
		},
		{
			"a takeover hands out its own steps", "Bytes/of a small step may change after Swap",
			shares(func(f *faulty, share func(record) record, s *parted) {
				f.swap = func(ctx context.Context, seen, next record) (record, bool, error) {
					held, swapped, err := s.Swap(ctx, seen, next)
					if swapped {
						held = share(held)
					}
					return held, swapped, err
				}
			}),
		},
	}
}
