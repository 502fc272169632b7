package storetest_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/store"
	"github.com/go-idempotent/idempotent/storetest"
)

func commitFaults() []fault {
	return slices.Concat(
		halfFaults(), refusedCommitFaults(), declinedFaults(), tokenFaults(), commitRecordFaults(), applyFaults(),
		commitContextFaults(), tornCommitFaults(),
	)
}

// commit is a call of Commit.
type commit struct {
	swap

	writes store.Writes
	token  string
}

// on makes the call as it should be made.
func (c commit) on(s *parted) (record, bool, error) {
	return s.Commit(c.ctx, c.seen, c.next, c.writes, c.token)
}

// committing breaks the commits of a store.
func committing(com func(s *parted, c commit) (record, bool, error)) func(*parted) store.Store {
	return func(s *parted) store.Store {
		return &faulty{parted: s, com: func(ctx context.Context, seen, next record, writes store.Writes,
			token string,
		) (record, bool, error) {
			return com(s, commit{swap{ctx, seen, next}, writes, token})
		}}
	}
}

// writesOther commits other writes, or another record, than it was told to. One that is not held
// goes through as it is.
func writesOther(change func(next *record, writes *partedWrites)) func(*parted) store.Store {
	return committing(func(s *parted, c commit) (record, bool, error) {
		if rows, ok := c.writes.(partedWrites); ok {
			rows = slices.Clone(rows)
			change(&c.next, &rows)
			c.writes = rows
		}
		return c.on(s)
	})
}

// halfFaults are stores of which one half of a commit is missing.
func halfFaults() []fault {
	const whole = "Commit/Swap completes a record"
	return []fault{
		{"Commit applies no writes", whole, writesOther(func(_ *record, w *partedWrites) { *w = nil })},
		{
			"Commit applies the first write only", whole,
			writesOther(func(_ *record, w *partedWrites) { *w = (*w)[:min(1, len(*w))] }),
		},
		{
			"Commit applies all writes but the last", whole,
			writesOther(func(_ *record, w *partedWrites) { *w = (*w)[:max(0, len(*w)-1)] }),
		},
		{
			"Commit applies at most 25 writes", "Commit/applies many writes",
			writesOther(func(_ *record, w *partedWrites) { *w = (*w)[:min(25, len(*w))] }),
		},
		{
			"Commit applies each write twice", whole,
			writesOther(func(_ *record, w *partedWrites) { *w = slices.Concat(*w, *w) }),
		},
		{
			"Commit completes no record", whole,
			committing(func(s *parted, c commit) (record, bool, error) {
				return record{}, true, s.Apply(c.ctx, c.writes, c.token)
			}),
		},
		{
			"Commit takes every write for one of a new row", "Commit/adds to rows that are there",
			writesOther(func(_ *record, w *partedWrites) {
				for n := range *w {
					(*w)[n].New = true
				}
			}),
		},
		{
			"Commit wants a write", "Commit/without writes completes a record",
			committing(func(s *parted, c commit) (record, bool, error) {
				if rows, ok := c.writes.(partedWrites); ok && len(rows) == 0 {
					return record{}, false, rejected("commit", errors.New("there is no write"))
				}
				return c.on(s)
			}),
		},
	}
}

// mistaken makes a mistake in Commit.
func mistaken(m mistake) func(*parted) store.Store {
	return committing(func(s *parted, c commit) (record, bool, error) {
		return s.Commit(c.ctx, m.taken(c.ctx, s, c.seen), c.next, c.writes, c.token)
	})
}

// refusedCommitFaults are stores that do something although the record refuses, or say something
// else.
func refusedCommitFaults() []fault {
	const (
		absent = "Commit/Swap of a key without a record is refused with a zero record, and writes nothing"
		stale  = "Commit/Swap by an owner that was taken over is refused with the record of the new owner"
	)
	return []fault{
		{
			"Commit applies the writes of a stale owner", stale,
			committing(func(s *parted, c commit) (record, bool, error) {
				held, committed, err := c.on(s)
				if err == nil && !committed {
					_ = s.Apply(c.ctx, c.writes, c.token)
				}
				return held, committed, err
			}),
		},
		{
			"Commit inserts a record that is gone", absent,
			committing(func(s *parted, c commit) (record, bool, error) {
				if _, found, _ := s.Get(c.ctx, c.seen.Key); !found {
					return s.Claim(c.ctx, c.next, time.Time{})
				}
				return c.on(s)
			}),
		},
		{
			"Commit applies the writes although the record is gone", absent,
			committing(func(s *parted, c commit) (record, bool, error) {
				if _, found, _ := s.Get(c.ctx, c.seen.Key); !found {
					return record{}, false, s.Apply(c.ctx, c.writes, c.token)
				}
				return c.on(s)
			}),
		},
		{
			"Commit of an absent record reports what was seen", absent,
			refusesCommitWith(func(seen, _, held record) record {
				if held.Key == "" {
					return seen
				}
				return held
			}),
		},
		{
			"Commit refuses without saying why", stale,
			refusesCommitWith(func(_, _, _ record) record { return record{} }),
		},
		{"Commit refuses with what was seen", stale, refusesCommitWith(func(seen, _, _ record) record { return seen })},
		{"Commit refuses with next", stale, refusesCommitWith(func(_, next, _ record) record { return next })},
		{
			"Commit looks at its writes before the record", stale,
			committing(func(s *parted, c commit) (record, bool, error) {
				if rows, ok := c.writes.(partedWrites); ok && s.wouldRefuse(rows) {
					return record{}, false, rejected("commit", store.ErrWritesRefused)
				}
				return c.on(s)
			}),
		},
		{
			"Commit adopts a later lease", "Commit/Swap by an owner whose lease was renewed since is refused",
			mistaken(mistake{take: func(held record, seen *record) {
				if held.Owner == seen.Owner && held.Status == seen.Status {
					seen.Lease = held.Lease
				}
			}}),
		},
		{
			"Commit completes what was completed", "Commit/Swap by an owner that has completed is refused",
			mistaken(mistake{take: func(held record, seen *record) {
				if held.Owner == seen.Owner {
					seen.Status = held.Status
				}
			}}),
		},
		{
			"Commit takes each commit of one owner for a repeated one",
			"Commit/Swap by an owner that has completed is refused",
			committing(func(s *parted, c commit) (record, bool, error) {
				held, committed, err := c.on(s)
				return held, committed || held.Owner == c.next.Owner && held.Status == store.StatusCompleted, err
			}),
		},
		{
			"Commit ignores writes of another kind", "Commit/refuses writes of another kind, and does nothing",
			committing(func(s *parted, c commit) (record, bool, error) {
				if _, ok := c.writes.(partedWrites); !ok {
					return s.Swap(c.ctx, c.seen, c.next)
				}
				return c.on(s)
			}),
		},
		{
			"Apply ignores writes of another kind", "Commit/refuses writes of another kind, and does nothing",
			func(s *parted) store.Store {
				return &faulty{parted: s, apply: func(ctx context.Context, writes store.Writes, token string) error {
					if _, ok := writes.(partedWrites); !ok {
						return nil
					}
					return s.Apply(ctx, writes, token)
				}}
			},
		},
	}
}

func refusesCommitWith(report func(seen, next, held record) record) func(*parted) store.Store {
	return committing(func(s *parted, c commit) (record, bool, error) {
		held, committed, err := c.on(s)
		if !committed && err == nil {
			held = report(c.seen, c.next, held)
		}
		return held, committed, err
	})
}

// wouldRefuse reports whether the condition of a write does not hold.
func (p *parted) wouldRefuse(rows partedWrites) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.refuse(rows)
}

// declinedFaults are stores that do something although a write refuses, or do not say so.
func declinedFaults() []fault {
	const (
		nothing = "Commit/whose write refuses does nothing, wherever that stands"
		alone   = "Commit/whose write refuses leaves steps and results alone"
		owned   = "Commit/whose write refuses leaves the record to its owner"
	)
	// declines does something else if a write refuses.
	declines := func(
		instead func(s *parted, c commit, rows partedWrites) (record, bool, error),
	) func(*parted) store.Store {
		return committing(func(s *parted, c commit) (record, bool, error) {
			held, committed, err := c.on(s)
			if errors.Is(err, store.ErrWritesRefused) {
				return instead(s, c, c.writes.(partedWrites))
			}
			return held, committed, err
		})
	}
	refused := rejected("commit", store.ErrWritesRefused)
	return []fault{
		{"Commit completes although a write refuses", nothing, declines(
			func(s *parted, c commit, _ partedWrites) (record, bool, error) {
				_, _, _ = s.Swap(c.ctx, c.seen, c.next)
				return record{}, false, refused
			},
		)},
		{"Commit ignores a write that refuses", nothing, declines(
			func(s *parted, c commit, rows partedWrites) (record, bool, error) {
				rows = slices.DeleteFunc(slices.Clone(rows),
					func(r storetest.Row) bool { return s.wouldRefuse(partedWrites{r}) })
				return s.Commit(c.ctx, c.seen, c.next, rows, "another")
			},
		)},
		{"Commit applies the writes before the one that refuses", nothing, declines(
			func(s *parted, c commit, rows partedWrites) (record, bool, error) {
				for _, r := range rows {
					if s.Apply(c.ctx, partedWrites{r}, "") != nil {
						break
					}
				}
				return record{}, false, refused
			},
		)},
		{"Commit applies the writes behind the one that refuses", nothing, declines(
			func(s *parted, c commit, rows partedWrites) (record, bool, error) {
				_ = s.Apply(c.ctx, rows[len(rows)-1:], "")
				return record{}, false, refused
			},
		)},
		{"Commit writes over what refuses", nothing, declines(
			func(s *parted, c commit, rows partedWrites) (record, bool, error) {
				rows = slices.Clone(rows)
				for n := range rows {
					rows[n].New = false
				}
				return s.Commit(c.ctx, c.seen, c.next, rows, "another")
			},
		)},
		{"Commit takes a write that refuses for a record that does", nothing, declines(
			func(s *parted, c commit, _ partedWrites) (record, bool, error) {
				held, _, err := s.Get(c.ctx, c.seen.Key)
				return held, false, err
			},
		)},
		{"Commit does not say why it failed", nothing, declines(
			func(*parted, commit, partedWrites) (record, bool, error) {
				return record{}, false, rejected("commit", errors.New("the transaction was cancelled"))
			},
		)},
		{
			"Commit looks at the first write that might refuse",
			"Commit/several of whose writes refuse does nothing", declines(
				func(s *parted, c commit, rows partedWrites) (record, bool, error) {
					if len(rows) > 1 && rows[0].New && rows[1].New {
						return s.Commit(c.ctx, c.seen, c.next, nil, "another")
					}
					return record{}, false, refused
				},
			),
		},
		{"Commit drops the steps although a write refuses", alone, declines(
			func(s *parted, c commit, _ partedWrites) (record, bool, error) {
				held, _, _ := s.Get(c.ctx, c.seen.Key)
				bare := held
				bare.Steps, bare.StepWrites = nil, 0
				_, _ = s.Delete(c.ctx, held)
				_, _, _ = s.Claim(c.ctx, bare, time.Time{})
				return record{}, false, refused
			},
		)},
		{"Commit ends the lease although a write refuses", owned, declines(
			func(s *parted, c commit, _ partedWrites) (record, bool, error) {
				held, _, _ := s.Get(c.ctx, c.seen.Key)
				crashed := held
				crashed.Owner = ""
				_, _, _ = s.Swap(c.ctx, held, crashed)
				return record{}, false, refused
			},
		)},
		{"Commit releases the record when a write refuses", owned, declines(
			func(s *parted, c commit, _ partedWrites) (record, bool, error) {
				held, _, _ := s.Get(c.ctx, c.seen.Key)
				_, _ = s.Delete(c.ctx, held)
				return record{}, false, refused
			},
		)},
	}
}

func tokenFaults() []fault {
	const (
		again   = "Commit/repeated with its token writes nothing again"
		another = "Commit/Swap repeated is refused with its own record"
		gone    = "Commit/repeated after its record is gone writes nothing again"
	)
	// repeated does something else with a token that it knows.
	repeated := func(instead func(s *parted, c commit) (record, bool, error)) func(*parted) store.Store {
		known := make(map[string]bool)
		return committing(func(s *parted, c commit) (record, bool, error) {
			if known[c.token] {
				return instead(s, c)
			}
			held, committed, err := c.on(s)
			known[c.token] = committed
			return held, committed, err
		})
	}
	apply := func(s *parted, c commit) (record, bool, error) {
		return record{}, true, s.Apply(c.ctx, c.writes, "")
	}
	return []fault{
		{
			"Commit applies repeated writes", again,
			repeated(func(s *parted, c commit) (record, bool, error) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.add(c.writes.(partedWrites))
				return record{}, true, nil
			}),
		},
		{"Commit takes its own rows for somebody else's", again, repeated(apply)},
		{
			"Commit refuses a token that it knows", again,
			repeated(func(*parted, commit) (record, bool, error) {
				return record{}, false, rejected("commit", errors.New("the token was used before"))
			}),
		},
		{
			"Commit refuses a repeated call without saying why", again,
			repeated(func(*parted, commit) (record, bool, error) { return record{}, false, nil }),
		},
		{
			"Commit writes a record that is gone for a token that it knows", gone,
			repeated(func(s *parted, c commit) (record, bool, error) {
				_, _, err := s.Claim(c.ctx, c.next, time.Time{})
				return record{}, true, err
			}),
		},
		{"Commit tells by its rows that it has happened", another, committing(func(s *parted, c commit) (record, bool, error) {
			held, committed, err := c.on(s)
			return held, committed || err == nil && held.Seal != "" && held.Seal == c.next.Seal, err
		})},
	}
}

// commitRecordFaults are stores that complete a record otherwise than they were told to.
func commitRecordFaults() []fault {
	const whole = "Commit/Swap completes a record"
	record := func(spoil func(next *record)) func(*parted) store.Store {
		return writesOther(func(next *record, _ *partedWrites) { spoil(next) })
	}
	return []fault{
		{
			"Commit cuts the seal to that of a completion", whole,
			record(func(next *store.Record) { next.Seal = store.Seal(next.Owner, next.Result) }),
		},
		{"Commit drops the seal", whole, record(func(next *store.Record) { next.Seal = "" })},
		{"Commit drops the expiry", whole, record(func(next *store.Record) { next.Expiry = time.Time{} })},
		{"Commit drops when it completed", whole, record(func(next *store.Record) { next.CompletedAt = time.Time{} })},
		{
			"Commit leaves the record in progress", whole,
			record(func(next *store.Record) { next.Status = store.StatusInProgress }),
		},
		{
			"Commit clears the lease if next has none", "Commit/Swap keeps the held lease if next has none",
			record(func(next *store.Record) {
				if next.Lease.IsZero() {
					next.Lease = time.Unix(0, 0)
				}
			}),
		},
		{"Commit keeps the reason", "Commit/Swap clears the fields that become zero", record(func(next *store.Record) {
			if next.Reason == "" {
				next.Reason = "result-lost"
			}
		})},
		{
			"Commit lets a record live for longer", "Commit/Swap is followed by a Claim when the record has expired",
			record(func(next *store.Record) {
				next.Expiry = next.Expiry.Add(time.Minute)
			}),
		},
		{
			"Commit drops the layout", "Commit/Layout text comes back as it was spelled",
			record(func(next *store.Record) { next.Layout = "" }),
		},
		{
			"Commit trims results", "Commit/Result comes back as it was spelled",
			record(func(next *store.Record) { next.Result = bytes.TrimSpace(next.Result) }),
		},
		{
			"Commit drops the layout of values", "Commit/Layout values come back in canonical form",
			record(func(next *store.Record) { next.Layout = "" }),
		},
		{
			"Commit cuts large results", "Commit/Result of 1048577 bytes comes back byte for byte",
			record(func(next *store.Record) { next.Result = next.Result[:min(len(next.Result), 1<<20)] }),
		},
		{
			"Commit names parts by their key", "Commit/Parts written by a refused Swap do not change the held result",
			func(s *parted) store.Store {
				s.name = func(key, _ string, _ []byte) string { return key }
				return splitsEarly(s)
			},
		},
		{
			"Commit keeps the parts of the record seen", "Commit/Parts are replaced by a Swap",
			committing(func(s *parted, c commit) (store.Record, bool, error) {
				if c.seen.Parts != "" {
					c.next.Parts, c.next.Result = c.seen.Parts, nil
				}
				return c.on(s)
			}),
		},
		{"Commit keeps the steps", "Commit/Steps are dropped by a completion, with their count", keepsSteps},
		{
			"Commit replaces the whole item", "Commit/Foreign attributes survive a Swap",
			committing(func(s *parted, c commit) (store.Record, bool, error) {
				held, committed, err := c.on(s)
				if committed {
					s.mu.Lock()
					defer s.mu.Unlock()
					delete(s.foreign, c.seen.Key)
				}
				return held, committed, err
			}),
		},
		{
			"Commit keeps the caller's bytes", "Commit/Bytes of a small result may change after Swap",
			func(s *parted) store.Store {
				shared := make(sharing)
				f := shared.store(s, bytes.Clone)
				f.com = func(ctx context.Context, seen, next store.Record, writes store.Writes,
					token string,
				) (store.Record, bool, error) {
					shared[next.Key+next.Seal] = next.Result
					return s.Commit(ctx, seen, next, writes, token)
				}
				return f
			},
		},
		{
			"a refused Commit hands out its own bytes", "Commit/Bytes of a small result may change after Swap",
			func(s *parted) store.Store {
				shared := make(sharing)
				f := shared.store(s, bytes.Clone)
				f.com = func(ctx context.Context, seen, next store.Record, writes store.Writes,
					token string,
				) (store.Record, bool, error) {
					held, committed, err := s.Commit(ctx, seen, next, writes, token)
					if kept, ok := shared[held.Key+held.Seal]; ok && held.Parts == "" {
						held.Result = kept
					}
					if held.Parts == "" && held.Result != nil {
						shared[held.Key+held.Seal] = held.Result
					}
					return held, committed, err
				}
				return f
			},
		},
	}
}

// splitsEarly writes the parts of a commit before it knows whether the record refuses.
func splitsEarly(s *parted) store.Store {
	return committing(func(s *parted, c commit) (record, bool, error) {
		s.mu.Lock()
		c.next = s.split(c.next)
		s.mu.Unlock()
		return c.on(s)
	})(s)
}

// keepsSteps shows the steps of a record that a commit has dropped.
func keepsSteps(s *parted) store.Store {
	kept := make(map[string]record)
	return &faulty{
		parted: s,
		com: func(ctx context.Context, seen, next record, writes store.Writes, token string) (record, bool, error) {
			held, _, _ := s.Get(ctx, seen.Key)
			got, committed, err := s.Commit(ctx, seen, next, writes, token)
			if committed {
				kept[seen.Key] = held
			}
			return got, committed, err
		},
		get: func(ctx context.Context, key string) (record, bool, error) {
			r, found, err := s.Get(ctx, key)
			if r.Status == store.StatusCompleted {
				r.Steps, r.StepWrites = kept[key].Steps, kept[key].StepWrites
			}
			return r, found, err
		},
	}
}
