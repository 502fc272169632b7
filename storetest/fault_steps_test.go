package storetest_test

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-idempotent/idempotent/store"
)

type steps = map[string]store.Step

func stepFaults() []fault {
	return slices.Concat(stepFieldFaults(), stepWriteFaults(), stepPartFaults(), stepBytesFaults())
}

// stepFieldFaults are stores that read steps otherwise than they were written.
func stepFieldFaults() []fault {
	const exactly = "Steps/come back exactly"
	each := func(spoil func(*store.Step)) func(*parted) store.Store {
		return reads(func(r *record) {
			r.Steps = maps.Clone(r.Steps)
			for name, s := range r.Steps {
				spoil(&s)
				r.Steps[name] = s
			}
		})
	}
	return []fault{
		{"drops steps", exactly, reads(func(r *record) { r.Steps = nil })},
		{"drops one step of several", exactly, reads(func(r *record) {
			r.Steps = maps.Clone(r.Steps)
			delete(r.Steps, "mail")
		})},
		{"drops the kind of a failed step", exactly, each(func(s *store.Step) {
			if s.Kind == store.StepFailure {
				s.Kind = store.StepValue
			}
		})},
		{"takes a step without a result for a start mark", exactly, each(func(s *store.Step) {
			if len(s.Result) == 0 && s.Parts == "" {
				s.Kind = store.StepStarted
			}
		})},
		{"drops start marks", exactly, reads(func(r *record) {
			r.Steps = maps.Clone(r.Steps)
			maps.DeleteFunc(r.Steps, func(_ string, s store.Step) bool { return s.Kind == store.StepStarted })
		})},
		{"drops the seals of steps", exactly, each(func(s *store.Step) { s.Seal = "" })},
		{"drops the seals of start marks", exactly, each(func(s *store.Step) {
			if s.Kind == store.StepStarted {
				s.Seal = ""
			}
		})},
		{"drops the results of steps", exactly, each(func(s *store.Step) { s.Result = nil })},
		{"trims the results of steps", exactly, each(func(s *store.Step) { s.Result = bytes.TrimSpace(s.Result) })},
		{"repairs results of steps that are not valid UTF-8", exactly, each(func(s *store.Step) {
			if !utf8.Valid(s.Result) {
				s.Result = bytes.ToValidUTF8(s.Result, []byte("\ufffd"))
			}
		})},
		{"ends the seal of a step at a space", "Steps/keep odd names and seals", each(func(s *store.Step) {
			s.Seal, _, _ = strings.Cut(s.Seal, " ")
		})},
		{"keeps the names of steps in lower case", "Steps/keep odd names and seals", reads(func(r *record) {
			lower := make(steps)
			for name, s := range r.Steps {
				lower[strings.ToLower(name)] = s
			}
			r.Steps = lower
		})},
		{"keeps fifty steps", "Steps/are kept if there are a hundred", reads(func(r *record) {
			names := slices.Sorted(maps.Keys(r.Steps))
			r.Steps = maps.Clone(r.Steps)
			for _, name := range names[min(50, len(names)):] {
				delete(r.Steps, name)
			}
		})},
		{"drops the count of step writes", exactly, reads(func(r *record) { r.StepWrites = 0 })},
		{"a listing with steps", "List/never has a result", listsSteps},
	}
}

// listsSteps lists records with the steps that they have.
func listsSteps(s *parted) store.Store {
	return &faulty{parted: s, list: func(ctx context.Context, q store.Query) iter.Seq2[record, error] {
		return func(yield func(record, error) bool) {
			for r, err := range s.List(ctx, q) {
				if whole, found, _ := s.Get(ctx, r.Key); found {
					r.Steps = whole.Steps
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}}
}

// stepWriteFaults are stores that write steps otherwise than a Swap says.
func stepWriteFaults() []fault {
	none := func(change func(next record) bool) func(*parted) store.Store {
		return swapsFor(func(_, _, next record) record {
			if change(next) {
				next.Steps = nil
			}
			return next
		})
	}
	removing := func(which func(held, next record) bool) func(*parted) store.Store {
		return swapsFor(func(held, _, next record) record {
			if !which(held, next) {
				return next
			}
			next.Steps = maps.Clone(next.Steps)
			if next.Steps == nil {
				next.Steps = make(steps)
			}
			for name := range held.Steps {
				if _, changed := next.Steps[name]; !changed {
					next.Steps[name] = store.Step{}
				}
			}
			return next
		})
	}
	return []fault{
		{"Swap writes no steps", "Steps/are merged into those that are held", none(func(record) bool { return true })},
		{
			"Swap replaces all steps", "Steps/are merged into those that are held",
			removing(func(_, next record) bool { return len(next.Steps) > 0 }),
		},
		{
			"Swap writes steps alone or not at all", "Steps/are merged by a Swap that changes other fields, too",
			swapsFor(func(held, _, next record) record {
				if !next.Expiry.Equal(held.Expiry) {
					next.Steps = nil
				}
				return next
			}),
		},
		{
			"Swap writes the steps that were seen",
			"Steps/are merged into those that are held, and not those that were seen",
			swapsFor(func(held, seen, next record) record {
				next.Steps = maps.Clone(next.Steps)
				for name := range held.Steps {
					if _, was := seen.Steps[name]; !was && seen.StepWrites == store.AnyStepWrites {
						next.Steps[name] = store.Step{}
					}
				}
				return next
			}),
		},
		{
			"Swap keeps a step that it is to remove", "Steps/without a kind are removed",
			swapsFor(func(held, _, next record) record {
				next.Steps = maps.Clone(next.Steps)
				for name, s := range next.Steps {
					if was, has := held.Steps[name]; has && s.Kind == "" {
						next.Steps[name] = was
					}
				}
				return next
			}),
		},
		{
			"Swap starts a step again", "Steps/that were started are not started again",
			swapping(func(s *parted, c swap) (record, bool, error) {
				held, found, _ := s.Get(c.ctx, c.seen.Key)
				if _, merged, _ := held.Merged(c.next); found && merged == 0 && held.Matches(c.seen) {
					freed := held
					freed.Steps = make(steps)
					for name := range c.next.Steps {
						freed.Steps[name] = store.Step{}
					}
					if _, _, err := s.Swap(c.ctx, held, freed); err != nil {
						return record{}, false, err
					}
					c.seen.StepWrites = store.AnyStepWrites
				}
				return c.on(s)
			}),
		},
		{
			"Swap starts a step over a result", "Steps/that were started are not started again",
			swapsFor(func(held, _, next record) record {
				next.Steps = maps.Clone(next.Steps)
				for name, s := range next.Steps {
					if was := held.Steps[name]; was.Kind == store.StepValue && s.Kind == store.StepStarted {
						s.Kind = store.StepValue
						next.Steps[name] = s
					}
				}
				return next
			}),
		},
		{
			"Swap refuses a start mark and writes the rest", "Steps/that were started are not started again",
			swapsFor(func(held, _, next record) record {
				next.Steps = maps.Clone(next.Steps)
				for name, s := range next.Steps {
					if _, has := held.Steps[name]; has && s.Kind == store.StepStarted {
						delete(next.Steps, name)
					}
				}
				return next
			}),
		},
		{
			"a renewal drops steps",
			"Steps/stay while a lease is renewed, and when the record becomes UNKNOWN, is released or is taken over",
			removing(func(held, next record) bool { return next.Owner == held.Owner && next.Lease.After(held.Lease) }),
		},
		{
			"UNKNOWN drops steps", "Steps/stay while a lease is renewed, and when the record becomes UNKNOWN, is " +
				"released or is taken over",
			removing(func(_, next record) bool { return next.Status == store.StatusUnknown }),
		},
		{
			"a release drops steps",
			"Steps/stay while a lease is renewed, and when the record becomes UNKNOWN, is released or is taken over",
			removing(func(_, next record) bool { return next.Reason == store.ReasonReleased }),
		},
		{
			"a takeover drops steps",
			"Steps/are told to an owner that takes the record over, also one that was added since",
			removing(func(held, next record) bool { return next.Owner != held.Owner }),
		},
		{
			"a completion keeps steps", "Steps/are dropped by a completion, with their count",
			keepsAtCompletion(func(record) bool { return true }),
		},
		{
			"a completion of an UNKNOWN record keeps steps", "Steps/are dropped by a completion, with their count",
			keepsAtCompletion(func(held record) bool { return held.Status == store.StatusUnknown }),
		},
		{
			"a completion keeps the count of step writes", "Steps/are dropped by a completion, with their count",
			func(s *parted) store.Store {
				counts := make(map[string]int)
				f := &faulty{parted: s}
				f.swap = func(ctx context.Context, seen, next record) (record, bool, error) {
					if held, _, _ := s.Get(ctx, seen.Key); next.Status == store.StatusCompleted {
						counts[seen.Key] = held.StepWrites
					}
					return s.Swap(ctx, seen, next)
				}
				f.get = func(ctx context.Context, key string) (record, bool, error) {
					r, found, err := s.Get(ctx, key)
					if r.Status == store.StatusCompleted {
						r.StepWrites = counts[key]
					}
					return r, found, err
				}
				return f
			},
		},
		{"Claim keeps steps", "Steps/are replaced by a Claim, with their count", func(s *parted) store.Store {
			return &faulty{parted: s, claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
				held, _, _ := s.Get(ctx, r.Key)
				r.Steps = held.Steps
				return s.Claim(ctx, r, now)
			}}
		}},
		{
			"Claim keeps the count of step writes", "Steps/are replaced by a Claim, with their count",
			func(s *parted) store.Store {
				return &faulty{
					parted: s,
					claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
						held, _, _ := s.Get(ctx, r.Key)
						r.StepWrites = held.StepWrites
						return s.Claim(ctx, r, now)
					},
				}
			},
		},
		{
			"steps of a deleted record come back", "Steps/are none of a record that was deleted",
			func(s *parted) store.Store {
				gone := make(map[string]record)
				return &faulty{parted: s, del: func(ctx context.Context, seen record) (bool, error) {
					held, _, _ := s.Get(ctx, seen.Key)
					gone[seen.Key] = held
					return s.Delete(ctx, seen)
				}, claim: func(ctx context.Context, r record, now time.Time) (record, bool, error) {
					r.Steps = gone[r.Key].Steps
					return s.Claim(ctx, r, now)
				}}
			},
		},
		{
			"counts every Swap", "Steps/are counted once for each Swap that changes some",
			swapsFor(func(_, _, next record) record {
				if next.Status != store.StatusCompleted && len(next.Steps) == 0 {
					next.Steps = steps{"none": {}}
				}
				return next
			}),
		},
		{
			"counts each step", "Steps/are counted once for each Swap that changes some",
			swapping(func(s *parted, c swap) (record, bool, error) {
				held, swapped, err := c.on(s)
				for n := 1; swapped && n < len(c.next.Steps); n++ {
					again := c.seen
					again.Status, again.Owner, again.Reason, again.StepWrites = c.next.Status, c.next.Owner,
						c.next.Reason, store.AnyStepWrites
					c.next.Steps = steps{"none": {}}
					_, _, err = s.Swap(c.ctx, again, c.next)
				}
				return held, swapped, err
			}),
		},
		{
			"counts no removal", "Steps/without a kind are removed",
			reads(func(r *record) {
				if len(r.Steps) == 0 {
					r.StepWrites = 0
				}
			}),
		},
		{
			"a takeover returns nothing",
			"Steps/are told to an owner that takes the record over, also one that was added since", returnsFromTakeover(
				func(*parted, record, record, record) record { return record{} }),
		},
		{
			"a takeover returns what was seen",
			"Steps/are told to an owner that takes the record over, also one that was added since", returnsFromTakeover(
				func(_ *parted, seen, _, held record) record {
					held.Steps, held.StepWrites = seen.Steps, max(seen.StepWrites, 0)
					return held
				}),
		},
		{
			"a takeover returns what it was handed",
			"Steps/are told to an owner that takes the record over, also one that was added since", returnsFromTakeover(
				func(_ *parted, _, next, _ record) record { return next }),
		},
		{
			"a takeover returns what was held before",
			"Steps/are told to an owner that takes the record over, also one that was added since", returnsBefore,
		},
		{
			"a takeover of an UNKNOWN record returns nothing",
			"Steps/are told to an owner that takes the record over, also one that was added since", returnsFromTakeover(
				func(_ *parted, seen, _, held record) record {
					if seen.Status == store.StatusUnknown {
						return record{}
					}
					return held
				}),
		},
		{
			"a history of takeovers that return nothing", "History/of concurrent calls is linearizable",
			returnsFromTakeover(
				func(*parted, record, record, record) record { return record{} }),
		},
		{
			"a sequence of takeovers that return nothing", "Sequence/of calls is answered as a register answers it",
			returnsFromTakeover(
				func(*parted, record, record, record) record { return record{} }),
		},
		{
			"a sequence of swaps that write no steps", "Sequence/of calls is answered as a register answers it",
			none(func(record) bool { return true }),
		},
		{"start marks that read and then write", "Race/of start marks of one step has one winner", tornSwap},
		{
			"a release that reads and then writes beside a step",
			"Race/of a step and releases has one winner", tornDelete,
		},
	}
}

// keepsAtCompletion shows the steps that a completed record had before.
func keepsAtCompletion(which func(held record) bool) func(*parted) store.Store {
	return func(s *parted) store.Store {
		had := make(map[string]steps)
		return &faulty{parted: s, swap: func(ctx context.Context, seen, next record) (record, bool, error) {
			if held, found, _ := s.Get(ctx, seen.Key); found && which(held) {
				had[seen.Key] = held.Steps
			}
			return s.Swap(ctx, seen, next)
		}, get: func(ctx context.Context, key string) (record, bool, error) {
			r, found, err := s.Get(ctx, key)
			if r.Status == store.StatusCompleted {
				r.Steps = had[key]
			}
			return r, found, err
		}}
	}
}

// returnsFromTakeover returns another record from a Swap that hands one over.
func returnsFromTakeover(change func(s *parted, seen, next, held record) record) func(*parted) store.Store {
	return swapping(func(s *parted, c swap) (record, bool, error) {
		held, swapped, err := c.on(s)
		if swapped && err == nil && c.seen.HandsOver(c.next) {
			held = change(s, c.seen, c.next, held)
		}
		return held, swapped, err
	})
}

// returnsBefore returns from a takeover the record that it replaced.
func returnsBefore(s *parted) store.Store {
	return &faulty{parted: s, swap: func(ctx context.Context, seen, next record) (record, bool, error) {
		before, _, _ := s.Get(ctx, seen.Key)
		held, swapped, err := s.Swap(ctx, seen, next)
		if swapped && seen.HandsOver(next) {
			return before, true, nil
		}
		return held, swapped, err
	}}
}
