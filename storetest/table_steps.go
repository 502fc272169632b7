package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

func stepChecks() []check {
	return slices.Concat(storedSteps(), changedSteps(), largeSteps())
}

// onEachWay shows what is held on every way there is.
func onEachWay() []turn {
	return []turn{claim().refused(), swap(takeover).late().by(owned("nobody")).refused(), swap(takeover).by(blindly)}
}

// keepsSteps writes steps into a record.
func keepsSteps(all stepsOf) []story {
	return from(inProgress, append([]turn{steps(all)}, onEachWay()...)...)
}

var (
	two   = stepsOf{charge: value(charged), mail: started}
	reset = with(nil)
)

// storedSteps is what a record keeps of its steps.
func storedSteps() []check {
	var spelled []story
	for _, s := range append(spellings(), "no JSON", "\"\xff\xc3\x28\xed\xa0\x80\"", " ", "\x00",
		"started", "value x") {
		spelled = append(spelled, keepsSteps(stepsOf{charge: value(text(s)), mail: failed(text(s)), ship: started})...)
	}
	hundred := make([]turn, 10)
	for n := range hundred {
		ten := make(stepsOf)
		for m := range 10 {
			ten[fmt.Sprintf("item-%d%d", n, m)] = value(text(fmt.Sprintf(`{"id":"%d%d"}`, n, m)))
		}
		hundred[n] = steps(ten)
	}
	ended := []turn{complete(charged, with(two)).by(blindly), claim().refused(), swap(takeover, reset), remove()}
	return []check{
		says("come back exactly", spelled),
		says("keep odd names and seals", keepsSteps(oddSteps())),
		says("are kept if there are a hundred", from(inProgress,
			slices.Concat(hundred, onEachWay(), []turn{complete(charged)})...,
		)),
		says(
			"stay while a lease is renewed, and when the record becomes UNKNOWN, is released or is taken over",
			from(inProgress, steps(two), swap(renewal), swap(lost), steps(stepsOf{mail: value(other)}), swap(settled),
				swap(takeover), steps(stepsOf{ship: value(charged)})),
		),
		says("are dropped by a completion, with their count",
			from(inProgress, append([]turn{steps(two), steps(stepsOf{ship: failed(other)})}, ended...)...),
			from(inProgress, append([]turn{steps(two), swap(lost), steps(stepsOf{ship: value(large)})}, ended...)...),
		),
		says("are replaced by a Claim, with their count", from(
			like(inProgress, leased(0), expiring(0)), steps(two), claim(), remove(),
		)),
		says("are none of a record that was deleted", from(inProgress, steps(two), remove(), claim())),
		says("are told to an owner that takes the record over, also one that was added since",
			toldToNext(inProgress), toldToNext(unknown),
		),
	}
}

// toldToNext has the owner write a step between the look of a takeover and its write. The undo of a
// takeover is one, too.
func toldToNext(of change) []story {
	return from(of,
		steps(two), steps(stepsOf{mail: value(other)}),
		swap(takeover).late().by(blindly), swap(with(stepsOf{"late": value(charged)})).late().by(blindly).refused(),
		swap(owned("C"), leased(0), because(store.ReasonReleased)),
	)
}

func oddSteps() stepsOf {
	odd := make(stepsOf)
	long := strings.Repeat("n", 64)
	for _, name := range []string{"a", "A", "0", ".", "/", "-", "_", "a.b", "a/b", "a-b", "a_b", "size", long} {
		odd[name] = value(text(`"result of ` + name + `"`))
	}
	for n, seal := range oddTexts() {
		odd[fmt.Sprint("started", n)] = sealed(started, seal)
		odd[fmt.Sprint("owned", n)] = func(p *probe, _ string) store.Step {
			return value(text(seal))(p, seal[:min(len(seal), 32)]+"o")
		}
		odd[fmt.Sprint("unsealed", n)] = sealed(value(charged), seal)
	}
	return odd
}

// sealed is a step with another seal.
func sealed(of stepOf, seal string) stepOf {
	return func(p *probe, owner string) store.Step {
		s := of(p, owner)
		s.Seal = seal
		return s
	}
}

// changedSteps is what a Swap does to steps.
func changedSteps() []check {
	both := stepsOf{charge: value(charged), mail: value(other)}
	return []check{
		says("are merged into those that are held", from(inProgress,
			steps(stepsOf{charge: value(charged)}), steps(stepsOf{mail: value(other), ship: started}),
			steps(stepsOf{ship: failed(other), charge: value(other)}),
			steps(stepsOf{ship: value(text("")), mail: value(other)}),
		)),
		says("are merged by a Swap that changes other fields, too", from(inProgress,
			swap(renewal, with(stepsOf{charge: value(charged)})),
			swap(settled, with(stepsOf{charge: gone, mail: value(other)})),
		)),
		says("are merged into those that are held, and not those that were seen", from(inProgress,
			steps(stepsOf{charge: value(charged)}), swap(with(stepsOf{mail: value(other)})).late().by(blindly),
		)),
		says("without a kind are removed", from(inProgress,
			steps(stepsOf{charge: started, mail: value(other)}), steps(stepsOf{charge: gone}),
			steps(stepsOf{"none": gone}),
			steps(stepsOf{charge: started}), // its name is free again
			steps(stepsOf{charge: gone, mail: gone}), remove().late().refused(), remove(),
		)),
		says("that were started are not started again",
			startsOnce(started), startsOnce(value(charged)), startsOnce(value(text(""))), startsOnce(failed(charged)),
		),
		says("are counted once for each Swap that changes some", from(inProgress,
			steps(two), swap(renewal),
			swap(renewal, reset, func(_ *probe, r *store.Record) { r.StepWrites = 9 }),
			steps(stepsOf{charge: value(charged)}), turn{instead: func(k *kept) {
				if r, _ := k.get(k.last.Key); r.StepWrites != 2 {
					k.t.Fatalf("two writes of steps count as %d", r.StepWrites)
				}
			}},
		)),
		says("repeated are refused if they were counted, and written again if not", from(inProgress,
			swap(with(both)), again(), steps(both), swap(with(both)).late().by(blindly),
		)),
	}
}

// startsOnce starts a step again that the record has.
func startsOnce(first stepOf) []story {
	second := swap(renewal, with(stepsOf{charge: started, mail: value(other)})).refused()
	return from(inProgress, steps(stepsOf{charge: first}), second, second.by(blindly), second.late().by(blindly))
}

// largeSteps are those that a store may keep beside the record.
func largeSteps() []check {
	kilobyte := make([]turn, 10)
	for n := range kilobyte {
		kilobyte[n] = steps(stepsOf{fmt.Sprint("item-", n): value(random(1000))})
	}
	rows := []check{
		says("of 1000 bytes come back byte for byte, one after the other", from(inProgress,
			slices.Concat(kilobyte, []turn{complete(large)})...,
		)),
		says("that are large can be read whatever became of their record since", from(inProgress, largeStepsStay)),
		says("that are large do not change what is held if they are refused", from(inProgress,
			steps(stepsOf{charge: value(large)}), swap(with(stepsOf{charge: value(large)})).late().refused(),
			swap(with(stepsOf{charge: started, mail: value(large)})).refused(), complete(large).late().refused(),
		)),
		says("handed back as they were read are the same", from(inProgress,
			steps(stepsOf{charge: value(large), mail: value(other)}), turn{instead: func(k *kept) {
				read, _ := k.get(k.last.Key)
				k.do(call{Call: calls.Call{Op: calls.Swap, Key: read.Key, Seen: read, Next: read}}, false)
			}},
		)),
	}
	for _, size := range []int{700, 4000, 4096, 4097, 30_000, 400 << 10, 1 << 20} {
		odd := func(p *probe) []byte { return append([]byte("\xff"), random(size)(p)[1:]...) }
		rows = append(rows, says(fmt.Sprintf("of %d bytes come back byte for byte", size), keepsSteps(stepsOf{
			charge: value(random(size)), mail: value(repetitive(size)), ship: value(odd), "fail": failed(random(size)),
		})))
	}
	return rows
}

// largeStepsStay reads the steps of a record that somebody has seen before it was taken over,
// became UNKNOWN, was released and was completed.
var largeStepsStay = turn{instead: func(k *kept) {
	k.play(steps(stepsOf{charge: value(large), mail: failed(large)}))
	read, _ := k.get(k.last.Key)
	want := k.last
	k.play(
		swap(takeover), swap(lost), swap(settled), swap(takeover), steps(stepsOf{ship: value(large)}), complete(large),
	)
	if d := difference(want, k.whole(read)); d != "" {
		k.t.Fatalf("what was read before the record was completed is now:\n%s", d)
	}
}}
