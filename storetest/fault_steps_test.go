package storetest_test

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// each changes the steps of every record on its way out.
func each(change func(s *store.Step)) inject {
	return shownSteps(func(all steps) {
		for name, s := range all {
			change(&s)
			all[name] = s
		}
	})
}

func shownSteps(change func(all steps)) inject {
	return shown(func(r *record) { change(ownSteps(r)) })
}

// swapsSteps changes the steps that a Swap is to write.
func swapsSteps(change func(c call, next steps)) inject {
	return swaps.before(func(c *call) { change(*c, ownSteps(&c.Next)) })
}

// stepFaults are stores that read steps otherwise than they were written.
func stepFaults() faults {
	return faults{
		"Steps/come back exactly": {
			{"drops the kind of a failed step", each(func(s *store.Step) {
				if s.Kind == store.StepFailure {
					s.Kind = store.StepValue
				}
			})},
			{"takes a step without a result for a start mark", each(func(s *store.Step) {
				if len(s.Result) == 0 && s.Parts == "" {
					s.Kind = store.StepStarted
				}
			})},
			{"drops the seals of steps", each(func(s *store.Step) { s.Seal = "" })},
			{"drops the results of steps", each(func(s *store.Step) { s.Result = nil })},
			{"trims the results of steps", each(func(s *store.Step) { s.Result = bytes.TrimSpace(s.Result) })},
			{"repairs results of steps that are not valid UTF-8", each(func(s *store.Step) { s.Result = repaired(s.Result) })},
		},
		"Steps/keep odd names and seals": {
			{"ends the seal of a step at a space", each(func(s *store.Step) {
				s.Seal, _, _ = strings.Cut(s.Seal, " ")
			})},
			{"keeps the names of steps in lower case", shownSteps(func(all steps) {
				for name, s := range maps.Clone(all) {
					delete(all, name)
					all[strings.ToLower(name)] = s
				}
			})},
		},
		"Steps/are kept if there are a hundred": {
			{"keeps fifty steps", shownSteps(func(all steps) {
				names := slices.Sorted(maps.Keys(all))
				for _, name := range names[min(50, len(names)):] {
					delete(all, name)
				}
			})},
		},
		"Steps/without a kind are removed": {
			{"counts no removal", shown(func(r *record) {
				if len(r.Steps) == 0 {
					r.StepWrites = 0
				}
			})},
			{"Swap keeps a step that it is to remove", swapsSteps(func(c call, next steps) {
				for name, was := range c.held.Steps {
					if s, changes := next[name]; changes && s.Kind == "" {
						next[name] = was
					}
				}
			})},
		},
	}
}

// stepWriteFaults are stores that write steps otherwise than a Swap says.
func stepWriteFaults() faults {
	none := swapsSteps(func(_ call, next steps) { clear(next) })
	counted := func(c *call) {
		if c.Next.Status != store.StatusCompleted && len(c.Next.Steps) == 0 {
			c.Next.Steps = steps{"none": {}}
		}
	}
	return faults{
		"Steps/are merged into those that are held": {
			{"Swap writes no steps", none},
			{"Swap replaces all steps", removes(func(c call) bool { return len(c.Next.Steps) > 0 })},
		},
		"Sequence/of calls is answered as a register answers it": {
			{"a sequence of swaps that write no steps", none},
		},
		"Steps/are merged by a Swap that changes other fields, too": {
			{"Swap writes steps alone or not at all", swapsSteps(func(c call, next steps) {
				if !c.Next.Expiry.Equal(c.held.Expiry) {
					clear(next)
				}
			})},
		},
		"Steps/are merged into those that are held, and not those that were seen": {
			{"Swap writes the steps that were seen", swapsSteps(func(c call, next steps) {
				for name := range c.held.Steps {
					if _, was := c.Seen.Steps[name]; !was && c.Seen.StepWrites == store.AnyStepWrites {
						next[name] = store.Step{}
					}
				}
			})},
		},
		"Steps/that were started are not started again": {
			{"Swap starts a step again", swaps.before(func(c *call) {
				if _, _, merges := c.held.Merged(c.Next); merges || !c.held.Matches(c.Seen) {
					return
				}
				free := *c
				free.Seen, free.Next, free.Next.Steps = c.held, c.held, make(steps)
				for name := range c.Next.Steps {
					free.Next.Steps[name] = store.Step{}
				}
				free.pass()
				c.Seen.StepWrites = store.AnyStepWrites
			})},
			{"Swap starts a step over a result", swapsSteps(func(c call, next steps) {
				for name, s := range next {
					if s.Kind == store.StepStarted && c.held.Steps[name].Kind == store.StepValue {
						s.Kind = store.StepValue
						next[name] = s
					}
				}
			})},
			{"Swap refuses a start mark and writes the rest", swapsSteps(func(c call, next steps) {
				maps.DeleteFunc(next, func(name string, s store.Step) bool {
					_, has := c.held.Steps[name]
					return has && s.Kind == store.StepStarted
				})
			})},
		},
		"Steps/stay while a lease is renewed, and when the record becomes UNKNOWN, is released or is taken over": {
			{"a renewal drops steps", removes(func(c call) bool {
				return c.Next.Owner == c.held.Owner && c.Next.Lease.After(c.held.Lease)
			})},
			{"UNKNOWN drops steps", removes(becomesUnknown)},
			{"a release drops steps", removes(releases)},
		},
		"Steps/are dropped by a completion, with their count": {
			{"a completion keeps steps", keepsSteps(swaps)},
			{"a completion of an UNKNOWN record keeps steps", keepsSteps(swaps, unknown)},
			{"a completion keeps the count of step writes", remembers(swaps, func(had record, r *record) {
				r.StepWrites = had.StepWrites
			})},
		},
		"Commit/Steps are dropped by a completion, with their count": {
			{"Commit keeps the steps", keepsSteps(commits)},
		},
		"Steps/are replaced by a Claim, with their count": {
			{"Claim keeps steps", claims.before(func(c *call) { c.Next.Steps = c.held.Steps })},
			{"Claim keeps the count of step writes", claims.before(func(c *call) {
				c.Next.StepWrites = c.held.StepWrites
			})},
		},
		"Steps/are none of a record that was deleted": {
			{"steps of a deleted record come back", all(
				deletes.before(func(c *call) { c.notes[c.Key] = c.held }),
				claims.before(func(c *call) { c.Next.Steps = c.notes[c.Key].Steps }),
			)},
		},
		"Steps/are counted once for each Swap that changes some": {
			{"counts every Swap", swaps.before(counted)},
			{"counts each step", swaps.after(func(c call, a *answer) {
				again := c
				again.Seen, again.Next.Steps = c.Next, steps{"none": {}}
				again.Seen.Lease, again.Seen.StepWrites = c.Seen.Lease, store.AnyStepWrites
				for n := 1; a.Done && n < len(c.Next.Steps); n++ {
					again.pass()
				}
			})},
		},
	}
}

func becomesUnknown(c call) bool { return c.Next.Status == store.StatusUnknown }

func releases(c call) bool { return c.Next.Reason == store.ReasonReleased }

func completes(c call) bool { return c.Next.Status == store.StatusCompleted }

func changesOwner(c call) bool { return c.Next.Owner != c.held.Owner }

// removes drops, where it is so, the steps that a Swap leaves alone.
func removes(where ...condition) inject {
	return swapsSteps(func(c call, next steps) {
		for name := range c.held.Steps {
			if _, changes := next[name]; !changes && c.meets(where) {
				next[name] = store.Step{}
			}
		}
	})
}

// keepsSteps shows the steps that a completed record had before.
func keepsSteps(m methods, where ...condition) inject {
	return remembers(m, func(had record, r *record) { r.Steps = had.Steps }, where...)
}

// remembers shows something of what a completed record was before.
func remembers(m methods, show func(had record, r *record), where ...condition) inject {
	return all(
		m.before(func(c *call) {
			if c.held.Key != "" && c.meets(where) {
				c.notes[c.Key] = c.held
			}
		}),
		gets.after(func(c call, a *answer) {
			if a.Held.Status == store.StatusCompleted {
				show(c.notes[c.Key], &a.Held)
			}
		}),
	)
}

// takeoverFaults are stores whose Swap returns another record when it hands one over.
func takeoverFaults() faults {
	returns := func(what func(c call) record, where ...condition) inject {
		return swaps.after(func(c call, a *answer) {
			if a.Done && handsOver(c) && c.meets(where) {
				c.held, c.notes[c.Key] = a.Held, c.held
				a.Held = what(c)
			}
		})
	}
	nothing := func(call) record { return record{} }
	return faults{
		"Steps/are told to an owner that takes the record over, also one that was added since": {
			{"a takeover drops steps", removes(changesOwner)},
			{"a takeover returns nothing", returns(nothing)},
			{"a takeover of an UNKNOWN record returns nothing", returns(nothing, unknown)},
			{"a takeover returns what was held before", returns(func(c call) record { return c.notes[c.Key] })},
			{"a takeover returns what it was handed", returns(func(c call) record { return c.Next })},
			{"a takeover returns what was seen", returns(func(c call) record {
				c.held.Steps, c.held.StepWrites = c.Seen.Steps, max(c.Seen.StepWrites, 0)
				return c.held
			})},
		},
		"History/of concurrent calls is linearizable": {{"a history of takeovers that return nothing", returns(nothing)}},
		"Sequence/of calls is answered as a register answers it": {
			{"a sequence of takeovers that return nothing", returns(nothing)},
		},
	}
}

// stepPartFaults are stores that lose or confuse what they keep beside a record of its steps.
func stepPartFaults() faults {
	forgets := func(where condition) inject {
		return swaps.after(func(c call, a *answer) {
			if !a.Done || !where(c) {
				return
			}
			for _, step := range c.held.Steps {
				c.Parts.Delete(step.Parts)
			}
		})
	}
	return faults{
		"Steps/that are large can be read whatever became of their record since": {
			{"reads the parts of steps by the owner of the record", reads.instead(func(c call) answer {
				if c.held.Key != "" && c.Seen.Owner != c.held.Owner {
					return answer{Err: &store.UnreadableError{Reason: "the part is missing"}}
				}
				return c.pass()
			})},
			{"a takeover forgets the parts of steps", forgets(func(c call) bool {
				return c.Seen.Owner != c.Next.Owner
			})},
			{"a release forgets the parts of steps", forgets(releases)},
			{"UNKNOWN forgets the parts of steps", forgets(becomesUnknown)},
			{"a completion forgets the parts of steps", forgets(completes)},
		},
		"Steps/that are large do not change what is held if they are refused": {
			{"overwrites the part of a step", partsNamed(byOwner)},
		},
		"Steps/handed back as they were read are the same": {
			{"Swap drops the parts of steps that it is handed", swapsSteps(func(_ call, next steps) {
				for name, s := range next {
					s.Parts = ""
					next[name] = s
				}
			})},
		},
		"Steps/of 30000 bytes come back byte for byte": {
			{"keeps one part for all steps", partsNamed(byOwner)},
			{"returns the result of a step together with its parts", each(func(s *store.Step) {
				if s.Parts != "" {
					s.Result = []byte("0")
				}
			})},
		},
		"Steps/of 4096 bytes come back byte for byte": {
			{"cuts the results of steps", each(func(s *store.Step) { s.Result = s.Result[:min(len(s.Result), 4000)] })},
		},
	}
}

// stepBytesFaults are stores that share bytes or maps of steps with their callers: they hand out
// one map, with one result for each step, and keep what a caller makes of them.
func stepBytesFaults() faults {
	share := func(c call, r record) {
		if len(r.Steps) > 0 {
			c.notes[c.Key] = r
		}
	}
	shares := func(of inject) inject {
		return all(of, gets.after(func(c call, a *answer) {
			if kept, is := c.notes[c.Key]; is && len(a.Held.Steps) > 0 {
				a.Held.Steps = kept.Steps
				for name, s := range ownSteps(&a.Held) {
					s.Result = bytes.Clone(s.Result)
					a.Held.Steps[name] = s
				}
			}
		}))
	}
	handsOut := func(m methods, done bool) inject {
		return shares(m.after(func(c call, a *answer) {
			if a.Done == done {
				share(c, a.Held)
			}
		}))
	}
	return faults{
		"Bytes/of a small step may change after Swap": {
			{"Swap keeps the caller's steps", shares(swaps.before(func(c *call) { share(*c, c.Next) }))},
			{"a refused Claim hands out its own steps", handsOut(claims, false)},
			{"a refused Swap hands out its own steps", handsOut(swaps, false)},
			{"a takeover hands out its own steps", handsOut(swaps, true)},
			{"Get hands out its own steps", gets.after(func(c call, a *answer) {
				if kept, is := c.notes[c.Key]; is {
					a.Held = kept
				}
				share(c, a.Held)
			})},
		},
	}
}

// partsNamed names the parts of results.
func partsNamed(name func(key, owner string, result []byte) string) inject {
	return func(f *faulty) { f.Name = name }
}

func byKey(key, _ string, _ []byte) string { return key }

func byOwner(key, owner string, _ []byte) string { return key + "#" + owner }

func partsFaults() faults {
	// forgets drops the attribute of a record that the store does not know.
	forgets := func(of methods, where ...condition) inject {
		return of.after(func(c call, a *answer) {
			if a.Done && c.meets(where) {
				c.Foreign.Delete(c.Key)
			}
		})
	}
	return faults{
		"Parts/written by a refused Swap do not change the held result": {
			{"names parts by their key", partsNamed(byKey)},
			{"names parts by key and owner", partsNamed(byOwner)},
		},
		"Parts/written by a refused Claim do not change the held result": {
			{"names the parts of a Claim by key and owner", partsNamed(byOwner)},
		},
		"Parts/are replaced by a Claim": {
			{"Claim keeps the parts of the claimed record", claims.before(func(c *call) {
				if c.Next.Result == nil {
					c.Next.Parts = c.held.Parts
				}
			})},
		},
		"Parts/are replaced by a Swap": {
			{"Swap keeps the parts of the record seen", swaps.before(func(c *call) {
				if c.Next.Result == nil {
					c.Next.Parts = c.held.Parts
				}
			})},
		},
		"Parts/stay if a Swap hands back the record that was read": {
			{"Swap drops the parts that it is handed", swaps.before(func(c *call) { c.Next.Parts = "" })},
		},
		"Parts/of a released record do not come back": {
			{"remembers the parts of a released record", reads.after(func(c call, a *answer) {
				of := c.Key + c.Seen.Owner
				if c.shared[of] == nil {
					c.shared[of] = a.Held.Result
				}
				a.Held.Result = bytes.Clone(c.shared[of])
			})},
		},
		"Result/of 4097 bytes comes back byte for byte": {
			{"cannot read results", func(f *faulty) { f.resultless = true }},
			{"returns a result together with its parts", shown(func(r *record) {
				if r.Parts != "" {
					r.Result = []byte("0")
				}
			})},
		},
		"Foreign/attributes survive a Swap": {
			{"Swap drops attributes that it does not know", forgets(swaps)},
			{"Swap of a large result drops attributes that it does not know", forgets(swaps, func(c call) bool {
				return len(c.Next.Result) > 4096
			})},
		},
		"Foreign/attributes are replaced by a Claim": {
			{"Claim keeps attributes that it does not know", claims.instead(func(c call) answer {
				_, had := c.Foreign.Load(c.Key)
				a := c.as(calls.Claim)
				if had {
					c.Foreign.Store(c.Key, true)
				}
				return a
			})},
		},
		"Commit/Foreign attributes survive a Swap": {
			{"Commit replaces the whole item", forgets(commits)},
		},
	}
}

// bytesFaults are stores that share bytes with their callers, without ever losing any themselves.
func bytesFaults() faults {
	cloned := gets.after(func(c call, a *answer) {
		c.share(&a.Held)
		a.Held.Result = bytes.Clone(a.Held.Result)
	})
	keepsBytes := func(m methods) inject {
		return all(cloned, m.before(func(c *call) { c.shared[c.Key+c.Next.Seal] = c.Next.Result }))
	}
	handsOut := func(m methods) inject {
		return all(cloned, m.after(func(c call, a *answer) { c.share(&a.Held) }))
	}
	return faults{
		"Bytes/of a small result may change after Claim": {
			{"Claim keeps the caller's bytes", keepsBytes(claims)},
			{"a refused Claim hands out its own bytes", handsOut(claims)},
		},
		"Bytes/of a small result may change after Swap": {
			{"Swap keeps the caller's bytes", keepsBytes(swaps)},
			{"a refused Swap hands out its own bytes", handsOut(swaps)},
			{"Get hands out its own bytes", gets.after(func(c call, a *answer) { c.share(&a.Held) })},
		},
		"Bytes/of a large result may change after Swap": {
			{"ReadResult hands out its own bytes", reads.after(func(c call, a *answer) {
				c.Seen.Result = a.Held.Result
				c.share(&c.Seen)
				a.Held.Result = c.Seen.Result
			})},
		},
		"Commit/Bytes of a small result may change after Swap": {
			{"Commit keeps the caller's bytes", keepsBytes(commits)},
			{"a refused Commit hands out its own bytes", handsOut(commits)},
		},
	}
}

// share gives a record the bytes that the store has in common with its callers, which are its own
// if there are none yet.
func (f *faulty) share(r *record) {
	if r.Result == nil {
		return
	}
	of := r.Key + r.Seal
	if _, found := f.shared[of]; !found {
		f.shared[of] = r.Result
	}
	r.Result = f.shared[of]
}
