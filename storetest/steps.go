package storetest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/store"
)

func stepChecks() []check {
	return slices.Concat(storedSteps(), changedSteps(), largeSteps(), sharedSteps())
}

// The names of steps, and of derived keys.
const (
	charge = "charge"
	mail   = "mail"
	ship   = "ship"
)

// another stands for any text that is not the one which was expected.
const another = "another"

// storedSteps is what a record keeps of its steps.
func storedSteps() []check {
	return []check{
		{"come back exactly", func(p *probe) {
			for _, text := range append(spellings(), "no JSON", "\"\xff\xc3\x28\xed\xa0\x80\"", " ", "\n", "\x00", "started", "value x") {
				p.keepsSteps(map[string]store.Step{charge: value("A", text), mail: failedStep("A", text), ship: started("A")})
			}
		}},
		{"keep odd names and seals", func(p *probe) {
			changes := make(map[string]store.Step)
			for _, name := range []string{"a", "A", "0", ".", "/", "-", "_", "a.b", "a/b", "a-b", "a_b", "size", strings.Repeat("n", 64)} {
				changes[name] = value("owner of "+name, `"result of `+name+`"`)
			}
			for n, text := range oddTexts() {
				changes[fmt.Sprint("started", n)] = store.Step{Kind: store.StepStarted, Seal: text}
				changes[fmt.Sprint("owned", n)] = value(text[:min(len(text), 32)]+"o", text)
				changes[fmt.Sprint("unsealed", n)] = store.Step{Kind: store.StepValue, Seal: text, Result: []byte(`"a"`)}
			}
			p.keepsSteps(changes)
		}},
		{"are kept if there are a hundred", func(p *probe) {
			held := p.plant(p.inProgress())
			for n := range 10 {
				changes := make(map[string]store.Step)
				for m := range 10 {
					changes[fmt.Sprintf("item-%d%d", n, m)] = value(held.Owner, fmt.Sprintf(`{"id":"%d%d"}`, n, m))
				}
				held = p.steps(held, changes)
			}
			p.claimRefused(p.rival(held), p.now, held)
			held = p.takesOver(held, held, handedOver(held))
			p.swaps(held, stepless(completion(held, []byte(`"done"`))))
		}},
		{"stay while a lease is renewed, and when the record becomes UNKNOWN, is released or is taken over", stepsStay},
		{"are dropped by a completion, with their count", stepsAreDropped},
		{"are replaced by a Claim, with their count", func(p *probe) {
			held := p.inProgress()
			held.Lease, held.Expiry = p.now, p.now
			held = p.steps(p.plant(held), map[string]store.Step{charge: value(held.Owner, `"a"`), mail: started(held.Owner)})
			next := p.rival(held)
			p.claims(next, p.now)
			p.deletes(next)
		}},
		{"are none of a record that was deleted", func(p *probe) {
			held := p.plant(p.inProgress())
			held = p.steps(held, map[string]store.Step{charge: value(held.Owner, `"a"`)})
			p.deletes(held)
			p.claims(p.rival(held), p.now)
		}},
		{"are told to an owner that takes the record over, also one that was added since", stepsAreTold},
	}
}

func stepsStay(p *probe) {
	held := p.plant(p.inProgress())
	held = p.steps(held, map[string]store.Step{charge: value(held.Owner, `"a"`), mail: started(held.Owner)})
	held = p.swaps(held, stepless(renewal(held)))

	unknown := stepless(held)
	unknown.Status, unknown.Reason = store.StatusUnknown, store.ReasonUncertain
	held = p.swaps(held, unknown)
	held = p.steps(held, map[string]store.Step{mail: value(held.Owner, `"b"`)}) // its owner may still bring it

	released := stepless(settled(held))
	held = p.swaps(held, released)
	held = p.swaps(held, handedOver(held))
	p.steps(held, map[string]store.Step{ship: value(held.Owner, `"c"`)})
}

func stepsAreDropped(p *probe) {
	for _, reason := range []string{"", store.ReasonUncertain} {
		held := p.plant(p.inProgress())
		held = p.steps(held, map[string]store.Step{charge: value(held.Owner, `"a"`), mail: started(held.Owner)})
		held = p.steps(held, map[string]store.Step{ship: failedStep(held.Owner, `"b"`)})
		if reason != "" {
			unknown := stepless(held)
			unknown.Status, unknown.Reason = store.StatusUnknown, reason
			held = p.swaps(held, unknown)
		}
		done := completion(held, []byte(`{"id":"ch_1"}`)) // what it says of steps means nothing
		done.Steps = map[string]store.Step{charge: started(held.Owner), "other": value(held.Owner, `"c"`)}
		done.StepWrites = 7
		done = p.swaps(blindly(held), done)
		p.claimRefused(p.rival(held), p.now, done)

		again := takeover(done) // nothing of them comes back
		again = p.swaps(done, again)
		p.deletes(again)
	}
}

// stepsAreTold lets an owner write a step between the look of a takeover and its write.
func stepsAreTold(p *probe) {
	for _, status := range []store.Status{store.StatusInProgress, store.StatusUnknown} {
		seen := p.inProgress()
		seen.Status = status
		p.plant(seen)
		held := p.steps(seen, map[string]store.Step{charge: value(seen.Owner, `"a"`), mail: started(seen.Owner)})
		held = p.steps(held, map[string]store.Step{mail: value(seen.Owner, `"b"`)})
		taken := p.takesOver(seen, held, handedOver(seen))
		p.swapRefused(blindly(held), withSteps(held, map[string]store.Step{"late": value(held.Owner, `"c"`)}), taken)

		back := stepless(taken) // the undo of a takeover is one, too
		back.Owner, back.Lease, back.Reason = "C", p.now, store.ReasonReleased
		p.takesOver(taken, taken, back)
	}
}

// changedSteps is what a Swap does to steps.
func changedSteps() []check {
	return []check{
		{"are merged into those that are held", func(p *probe) {
			held := p.plant(p.inProgress())
			held = p.steps(held, map[string]store.Step{charge: value(held.Owner, `"a"`)})
			held = p.steps(held, map[string]store.Step{mail: value(held.Owner, `"b"`), ship: started(held.Owner)})
			held = p.steps(held, map[string]store.Step{ship: failedStep("B", `"c"`), charge: value("B", `"d"`)})
			p.steps(held, map[string]store.Step{ship: value("B", ""), mail: value(held.Owner, `"b"`)})
		}},
		{"are merged by a Swap that changes other fields, too", func(p *probe) {
			held := p.plant(p.inProgress())
			next := withSteps(renewal(held), map[string]store.Step{charge: value(held.Owner, `"a"`)})
			held = p.swaps(held, next)
			next = withSteps(settled(held), map[string]store.Step{charge: {}, mail: value(held.Owner, `"b"`)})
			p.swaps(held, next)
		}},
		{"are merged into those that are held, and not those that were seen", func(p *probe) {
			seen := p.plant(p.inProgress())
			held := p.steps(seen, map[string]store.Step{charge: value(seen.Owner, `"a"`)})
			next := withSteps(seen, map[string]store.Step{mail: value(seen.Owner, `"b"`)})
			p.swap(blindly(seen), next)
			p.holds(after(held, next))
		}},
		{"without a kind are removed", func(p *probe) {
			held := p.plant(p.inProgress())
			held = p.steps(held, map[string]store.Step{charge: started(held.Owner), mail: value(held.Owner, `"b"`)})
			held = p.steps(held, map[string]store.Step{charge: {}})
			held = p.steps(held, map[string]store.Step{"none": {}})
			held = p.steps(held, map[string]store.Step{charge: started(held.Owner)}) // its name is free again
			held = p.steps(held, map[string]store.Step{charge: {}, mail: {}})
			p.deleteRefused(uncounted(held), held) // it has had some
			p.deletes(held)
		}},
		{"that were started are not started again", func(p *probe) {
			for _, first := range []store.Step{started("A"), value("A", `"a"`), value("A", ""), failedStep("A", `"a"`)} {
				held := p.plant(p.inProgress())
				held = p.steps(held, map[string]store.Step{charge: first})
				again := withSteps(renewal(held), map[string]store.Step{charge: started("B"), mail: value("B", `"b"`)})
				p.swapRefused(held, again, held)
				p.swapRefused(blindly(held), again, held)
				p.swapRefused(blindly(uncounted(held)), again, held)
			}
		}},
		{"are counted once for each Swap that changes some", func(p *probe) {
			held := p.plant(p.inProgress())
			held = p.steps(held, map[string]store.Step{charge: value(held.Owner, `"a"`), mail: started(held.Owner)})
			held = p.swaps(held, stepless(renewal(held)))
			next := stepless(renewal(held))
			next.Steps, next.StepWrites = map[string]store.Step{}, 9
			held = p.swaps(held, next)
			held = p.steps(held, map[string]store.Step{charge: value(held.Owner, `"a"`)})
			if held.StepWrites != 2 {
				p.t.Fatalf("two writes of steps count as %d", held.StepWrites)
			}
		}},
		{"repeated are refused if they were counted, and written again if not", func(p *probe) {
			seen := p.plant(p.inProgress())
			next := withSteps(seen, map[string]store.Step{charge: value(seen.Owner, `"a"`)})
			held := p.swaps(seen, next)
			p.swapRefused(seen, next, held)
			p.swap(blindly(seen), next)
			p.holds(after(held, next))
		}},
	}
}

// largeSteps are those that a store may keep beside the record.
func largeSteps() []check {
	sizes := []int{700, 4000, 4096, 4097, 30_000, 400 << 10, 1 << 20}
	checks := make([]check, 0, len(sizes)+4)
	for _, size := range sizes {
		checks = append(checks, check{fmt.Sprintf("of %d bytes come back byte for byte", size), func(p *probe) {
			p.fits(size)
			p.keepsSteps(map[string]store.Step{
				charge: value("A", string(random(size))), mail: value("A", string(repetitive(size))),
				ship: value("A", "\xff"+string(random(size)[1:])), "fail": failedStep("A", string(random(size))),
			})
		}})
	}
	return append(checks,
		check{"of 1000 bytes come back byte for byte, one after the other", func(p *probe) {
			p.fits(1000)
			held := p.plant(p.inProgress())
			for n := range 10 {
				held = p.steps(held, map[string]store.Step{fmt.Sprint("item-", n): value(held.Owner, string(random(1000)))})
			}
			p.swaps(held, stepless(completion(held, p.large())))
		}},
		check{"that are large can be read whatever became of their record since", largeStepsStay},
		check{"that are large do not change what is held if they are refused", func(p *probe) {
			seen := p.plant(p.inProgress())
			large := value(seen.Owner, string(p.large()))
			held := p.steps(seen, map[string]store.Step{charge: large})
			p.swapRefused(seen, withSteps(seen, map[string]store.Step{charge: value(seen.Owner, string(p.large()))}), held)
			next := withSteps(held, map[string]store.Step{
				charge: started(seen.Owner), mail: value(seen.Owner, string(p.large())),
			})
			p.swapRefused(held, next, held)
		}},
		check{"handed back as they were read are the same", func(p *probe) {
			held := p.plant(p.inProgress())
			held = p.steps(held, map[string]store.Step{charge: value(held.Owner, string(p.large())), mail: value(held.Owner, `"b"`)})
			read := p.get(held.Key)
			swapAsRead(p, read, withSteps(read, read.Steps))
			held.StepWrites++
			p.holds(held)
		}},
	)
}

func largeStepsStay(p *probe) {
	held := p.plant(p.inProgress())
	changes := map[string]store.Step{charge: value(held.Owner, string(p.large())), mail: failedStep(held.Owner, string(p.large()))}
	held = p.steps(held, changes)
	read := p.get(held.Key)

	held = p.swaps(held, handedOver(held))
	unknown := stepless(held)
	unknown.Status, unknown.Reason = store.StatusUnknown, store.ReasonCrashed
	held = p.swaps(held, unknown)
	held = p.swaps(held, stepless(settled(held)))
	held = p.swaps(held, handedOver(held))
	held = p.steps(held, map[string]store.Step{ship: value(held.Owner, string(p.large()))})
	p.swaps(held, stepless(completion(held, p.large())))

	for name, s := range p.wholeSteps(read) { // one who has seen them still finds them
		if !bytes.Equal(s.Result, changes[name].Result) {
			p.t.Fatalf("the result of step %s is another one since the record was completed", name)
		}
	}
}

// sharedSteps are bytes and maps that a caller changes afterwards.
func sharedSteps() []check {
	return []check{
		{"handed to Swap may change afterwards", func(p *probe) {
			for _, result := range [][]byte{[]byte(`{"id":"ch_1"}`), p.large()} {
				held := p.plant(p.inProgress())
				s := store.Step{Kind: store.StepValue, Seal: store.Seal(held.Owner, result), Result: bytes.Clone(result)}
				changes := map[string]store.Step{charge: s}
				next := withSteps(held, changes)
				p.swap(held, next)
				scribble(s.Result)
				changes[mail] = s
				delete(changes, charge)
				s.Result = result
				p.holds(after(held, withSteps(next, map[string]store.Step{charge: s})))
			}
		}},
		{"returned by Get may change afterwards", func(p *probe) {
			handsOutSteps(p, func(held store.Record) store.Record { return p.get(held.Key) })
		}},
		{"returned by a refused Claim may change afterwards", func(p *probe) {
			handsOutSteps(p, func(held store.Record) store.Record {
				r, _, err := p.store.Claim(p.t.Context(), p.rival(held), p.now)
				p.noError("Claim", err)
				return r
			})
		}},
		{"returned by a refused Swap may change afterwards", func(p *probe) {
			handsOutSteps(p, func(held store.Record) store.Record {
				other := p.rival(held)
				r, _, err := p.store.Swap(p.t.Context(), other, takeover(other))
				p.noError("Swap", err)
				return r
			})
		}},
		{"returned by a takeover may change afterwards", func(p *probe) {
			held := p.plant(p.inProgress())
			held = p.steps(held, map[string]store.Step{charge: value(held.Owner, `"a"`)})
			next := handedOver(held)
			spoilSteps(p.swap(held, next))
			p.holds(after(held, next))
		}},
	}
}

// handsOutSteps overwrites the steps that it read from the store.
func handsOutSteps(p *probe, read func(held store.Record) store.Record) {
	for _, result := range [][]byte{[]byte(`{"id":"ch_1"}`), p.large()} {
		held := p.plant(p.inProgress())
		s := store.Step{Kind: store.StepValue, Seal: store.Seal(held.Owner, result), Result: bytes.Clone(result)}
		held = p.steps(held, map[string]store.Step{charge: s})
		spoilSteps(p.whole(read(held)))
		s.Result = result
		held.Steps = map[string]store.Step{charge: s}
		p.holds(held)
	}
}

// spoilSteps changes all that it can reach of the steps of a record.
func spoilSteps(r store.Record) {
	for _, s := range r.Steps {
		scribble(s.Result)
	}
	clear(r.Steps)
	if r.Steps != nil {
		r.Steps[another] = started("nobody")
	}
}

// started is a start mark.
func started(owner string) store.Step {
	return store.Step{Kind: store.StepStarted, Seal: store.Seal(owner, nil)}
}

// value is a result of a step.
func value(owner, result string) store.Step {
	return store.Step{Kind: store.StepValue, Seal: store.Seal(owner, []byte(result)), Result: []byte(result)}
}

// failedStep is a final failure of a step.
func failedStep(owner, result string) store.Step {
	s := value(owner, result)
	s.Kind = store.StepFailure
	return s
}

// withSteps is a record to swap for that changes these steps.
func withSteps(r store.Record, changes map[string]store.Step) store.Record {
	r.Steps = changes
	return r
}

// stepless is a record to swap for that changes no steps.
func stepless(r store.Record) store.Record { return withSteps(r, nil) }

// handedOver is a record to swap for by which another owner takes r over.
func handedOver(r store.Record) store.Record { return stepless(takeover(r)) }

// blindly is r as somebody sees it who does not compare its step writes.
func blindly(r store.Record) store.Record {
	r.StepWrites = store.AnyStepWrites
	return r
}

// uncounted is r as somebody saw it before its first step.
func uncounted(r store.Record) store.Record {
	r.Steps, r.StepWrites = nil, 0
	return r
}

// steps writes steps into the held record, as its owner does, and returns what is held then.
func (p *probe) steps(held store.Record, changes map[string]store.Step) store.Record {
	p.t.Helper()
	p.swap(blindly(held), withSteps(held, changes))
	held = after(held, withSteps(held, changes))
	p.holds(held)
	return held
}

// keepsSteps writes steps into a record, and reads them on every way there is.
func (p *probe) keepsSteps(changes map[string]store.Step) {
	p.t.Helper()
	seen := p.plant(p.inProgress())
	held := p.steps(seen, maps.Clone(changes))
	p.claimRefused(p.rival(held), p.now, held)
	p.swapRefused(seen, handedOver(seen), held)
	p.takesOver(held, held, handedOver(held))
}

// takesOver swaps seen for next, and sees that it returns held as it is after that.
func (p *probe) takesOver(seen, held, next store.Record) store.Record {
	p.t.Helper()
	want := after(held, next)
	p.same("the record that a takeover returned", want, p.swap(blindly(seen), next))
	p.holds(want)
	return want
}
