package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/go-idempotent/idempotent/store"
)

const (
	raceRounds = 8
	racers     = 16
)

func raceChecks() []check {
	all := races()
	checks := make([]check, len(all))
	for i, r := range all {
		checks[i] = check{"of " + r.name + " has one winner", func(p *probe) {
			for range raceRounds {
				oneWins(p, r.prepare(p))
			}
		}}
	}
	return checks
}

// race is a contest for one key that only one call can win.
type race struct {
	name string
	// prepare plants what is contended for and returns the n-th racer's call.
	prepare func(p *probe) func(n int) call
}

func races() []race {
	return []race{
		{"claims for one key", func(p *probe) func(int) call {
			first := p.inProgress()
			return func(int) call { return call{op: OpClaim, key: first.Key, next: p.rival(first), now: p.now} }
		}},
		{"claims over one expired record", func(p *probe) func(int) call {
			held := p.completed()
			held.Expiry = p.now
			p.plant(held)
			return func(int) call { return call{op: OpClaim, key: held.Key, next: p.rival(held), now: p.now} }
		}},
		{"takeovers of one crashed record", func(p *probe) func(int) call {
			return takeovers(p.plant(p.inProgress()))
		}},
		{"takeovers of one record without an owner", func(p *probe) func(int) call {
			return takeovers(p.plant(p.ownerless()))
		}},
		{"a completion and takeovers", func(p *probe) func(int) call {
			held := p.plant(p.inProgress())
			return func(n int) call {
				if n%8 == 0 {
					return call{op: OpSwap, key: held.Key, seen: held, next: completion(held, []byte(`{"id":"ch_1"}`))}
				}
				return takeovers(held)(n)
			}
		}},
		{"releases and takeovers", func(p *probe) func(int) call {
			held := p.plant(p.inProgress())
			return func(n int) call {
				if n%2 == 0 {
					return call{op: OpDelete, key: held.Key, seen: held}
				}
				return takeovers(held)(n)
			}
		}},
		{"start marks of one step", func(p *probe) func(int) call {
			held := p.plant(p.inProgress())
			return func(n int) call {
				next := withSteps(held, map[string]store.Step{charge: started(fmt.Sprint("A", n))})
				return call{op: OpSwap, key: held.Key, seen: blindly(held), next: next}
			}
		}},
		{"a step and releases", func(p *probe) func(int) call {
			held := p.plant(p.inProgress())
			return func(n int) call {
				if n%8 == 0 {
					next := withSteps(held, map[string]store.Step{charge: value(held.Owner, `"a"`)})
					return call{op: OpSwap, key: held.Key, seen: held, next: next}
				}
				return call{op: OpDelete, key: held.Key, seen: held}
			}
		}},
		{"releases", func(p *probe) func(int) call {
			held := p.plant(p.inProgress())
			return func(int) call { return call{op: OpDelete, key: held.Key, seen: held} }
		}},
	}
}

func takeovers(held store.Record) func(int) call {
	return func(int) call { return call{op: OpSwap, key: held.Key, seen: held, next: takeover(held)} }
}

// oneWins makes all calls at the same time, and sees that one is done and the others report its record. It returns them and the one.
func oneWins(p *probe, nth func(int) call) (calls []call, winner int) {
	p.t.Helper()
	var (
		group   sync.WaitGroup
		start   = make(chan struct{})
		ctx     = p.t.Context()
		answers = make([]answer, racers)
		errs    = make([]error, racers)
	)
	calls = make([]call, racers)
	for i, n := range rand.Perm(racers) { // or the last to be started would often be the first to run
		calls[i] = nth(n)
		group.Go(func() {
			<-start
			answers[i], errs[i] = calls[i].make(ctx, p.store)
		})
	}
	close(start)
	group.Wait()

	winner = -1
	for n, a := range answers {
		p.noError(string(calls[n].op), errs[n])
		if a.done && winner >= 0 {
			p.t.Fatalf("two calls won:\n%s\nand\n%s", calls[winner], calls[n])
		}
		if a.done {
			winner = n
		}
	}
	if winner < 0 {
		p.t.Fatalf("no call won:\n%s", calls[0])
	}
	isHeld(p, calls, answers, winner)
	return calls, winner
}

// isHeld sees that what the winner wrote is held, and is what the others were shown.
func isHeld(p *probe, calls []call, answers []answer, winner int) {
	won := after(calls[winner].seen, calls[winner].next)
	if won.StepWrites == 0 && len(won.Steps) > 0 {
		won.StepWrites = 1 // of a call that did not compare it
	}
	if calls[winner].op == OpDelete {
		won = store.Record{}
		p.absent(calls[winner].key)
	} else {
		p.holds(won)
	}
	for n, a := range answers {
		if n != winner && calls[n].op != OpDelete {
			p.same("the record that a loser was shown", won, a.record)
		}
	}
}
