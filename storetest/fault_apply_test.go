package storetest_test

import (
	"context"
	"errors"

	"github.com/go-idempotent/idempotent/store"
)

func applyFaults() []fault {
	applies := func(apply func(s *parted, ctx context.Context, rows partedWrites,
		token string) error,
	) func(*parted) store.Store {
		return func(s *parted) store.Store {
			return &faulty{parted: s, apply: func(ctx context.Context, writes store.Writes, token string) error {
				rows, ok := writes.(partedWrites)
				if !ok {
					return s.Apply(ctx, writes, token)
				}
				return apply(s, ctx, rows, token)
			}}
		}
	}
	return []fault{
		{
			"Apply applies nothing", "Commit/alone applies the writes",
			applies(func(*parted, context.Context, partedWrites, string) error { return nil }),
		},
		{
			"Apply applies the first write", "Commit/alone applies the writes",
			applies(func(s *parted, ctx context.Context, rows partedWrites, token string) error {
				return s.Apply(ctx, rows[:min(1, len(rows))], token)
			}),
		},
		{
			"Apply wants a write", "Commit/alone without writes does nothing",
			applies(func(s *parted, ctx context.Context, rows partedWrites, token string) error {
				if len(rows) == 0 {
					return rejected("apply", errors.New("there is no write"))
				}
				return s.Apply(ctx, rows, token)
			}),
		},
		{
			"Apply is no transaction", "Commit/alone with a write that refuses does nothing",
			applies(func(s *parted, ctx context.Context, rows partedWrites, token string) error {
				for _, r := range rows {
					if err := s.Apply(ctx, partedWrites{r}, token); err != nil {
						return err
					}
				}
				return nil
			}),
		},
		{
			"Apply does not say that a write refuses", "Commit/alone with a write that refuses does nothing",
			applies(func(s *parted, ctx context.Context, rows partedWrites, token string) error {
				if err := s.Apply(ctx, rows, token); !errors.Is(err, store.ErrWritesRefused) {
					return err
				}
				return nil
			}),
		},
	}
}

func commitContextFaults() []fault {
	never := context.WithoutCancel
	return []fault{
		{
			"Commit ignores its context", "Commit/Context that was cancelled fails a completion",
			committing(func(s *parted, c commit) (record, bool, error) {
				return s.Commit(never(c.ctx), c.seen, c.next, c.writes, c.token)
			}),
		},
		{
			"Commit denies what it did", "Commit/Context that is past its deadline fails a completion",
			committing(func(s *parted, c commit) (record, bool, error) {
				held, committed, err := s.Commit(never(c.ctx), c.seen, c.next, c.writes, c.token)
				err = denied(c.ctx, err)
				return held, committed && err == nil, err
			}),
		},
		{
			"Apply ignores its context", "Commit/Context that was cancelled fails a completion",
			func(s *parted) store.Store {
				return &faulty{parted: s, apply: func(ctx context.Context, writes store.Writes, token string) error {
					return s.Apply(never(ctx), writes, token)
				}}
			},
		},
		{
			"Apply denies what it did", "Commit/Context that is past its deadline fails a completion",
			func(s *parted) store.Store {
				return &faulty{parted: s, apply: func(ctx context.Context, writes store.Writes, token string) error {
					return denied(ctx, s.Apply(never(ctx), writes, token))
				}}
			},
		},
	}
}

// tornCommitFaults are stores whose commits are right as long as calls come one after the other.
func tornCommitFaults() []fault {
	const only = " has one winner"
	return []fault{
		{"Commit reads and then writes", "Commit/Race of completions of one owner" + only, tornCommit},
		{"Commit of a large result reads and then writes", "Commit/Race of completions with large results" +
			only, tornCommit},
		{"Commit lets a takeover in between", "Commit/Race of completions and takeovers" + only, tornCommit},
		{"Commit lets a completion in between", "Commit/Race of completions and others without writes" +
			only, tornCommit},
		{"Commit lets a release in between", "Commit/Race of completions and releases" + only, tornCommit},
		{"Commit lets a renewal in between", "Commit/Race of completions and a renewal" + only, tornCommit},
		{"Commit writes the rows first", "Commit/Race of completions of one owner" + only, rowsFirst},
		{"a history of torn commits", "Commit/History of concurrent calls is linearizable", tornCommit},
		{
			"a history of rows that come first",
			"Commit/History of concurrent calls is linearizable", rowsFirst,
		},
		{
			"Commit loses every other write of rows", "Commit/Sequence of calls is answered as a register answers it",
			func(s *parted) store.Store {
				made := 0
				return committing(func(s *parted, c commit) (record, bool, error) {
					if made++; made%2 == 0 {
						return c.swap.on(s)
					}
					return c.on(s)
				})(s)
			},
		},
	}
}

func tornCommit(s *parted) store.Store {
	f := &faulty{parted: s, torn: true}
	f.swap = func(ctx context.Context, seen, next record) (record, bool, error) {
		pause() // so that it comes after the first half of a commit
		return s.Swap(ctx, seen, next)
	}
	f.del = func(ctx context.Context, seen record) (bool, error) {
		pause()
		return s.Delete(ctx, seen)
	}
	f.com = func(ctx context.Context, seen, next record, writes store.Writes, token string) (record, bool, error) {
		held, found, err := s.Get(ctx, seen.Key)
		rows, ok := writes.(partedWrites)
		if err != nil || !found || !ok || !held.Matches(seen) || s.wouldRefuse(rows) {
			return s.Commit(ctx, seen, next, writes, token)
		}
		whole, _ := swapped(held, seen, next)
		pause()
		pause()
		if _, _, err := s.overwrite(ctx, whole); err != nil {
			return record{}, false, err
		}
		return record{}, true, s.Apply(ctx, rows, token)
	}
	return f
}

// rowsFirst applies the writes, and takes them for done although the record refuses then.
func rowsFirst(s *parted) store.Store {
	f := &faulty{parted: s, torn: true}
	f.com = func(ctx context.Context, seen, next record, writes store.Writes, token string) (record, bool, error) {
		held, found, err := s.Get(ctx, seen.Key)
		if _, ok := writes.(partedWrites); err != nil || !found || !ok || !held.Matches(seen) {
			return s.Commit(ctx, seen, next, writes, token)
		}
		if err := s.Apply(ctx, writes, token); err != nil {
			return record{}, false, err
		}
		pause()
		return s.Commit(ctx, seen, next, partedWrites{}, token)
	}
	return f
}
