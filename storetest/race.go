package storetest

import (
	"math/rand/v2"
	"sync"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
)

const (
	raceRounds = 8
	racers     = 16
)

// race is a contest for one key that only one call can win: every n-th racer makes the first call,
// the others the second one.
type race struct {
	name          string
	held          change
	n             int
	first, second turn
}

func raceChecks() (checks []check) {
	mark := swap(with(stepsOf{charge: started})).by(blindly)
	step := swap(with(stepsOf{charge: value(charged)}))
	claims, takes, done := claim(), swap(takeover), complete(charged).writing(added, shared)
	for _, r := range []race{
		{"claims for one key", nil, 1, claims, claims},
		{"claims over one expired record", like(completed, expiring(0)), 1, claims, claims},
		{"takeovers of one crashed record", inProgress, 1, takes, takes},
		{"takeovers of one record without an owner", ownerless, 1, takes, takes},
		{"completions of one owner", inProgress, 1, done, done},
		{"completions with large results", inProgress, 1, complete(large), complete(large)},
		{"a completion and takeovers", inProgress, 8, done, takes},
		{"completions and takeovers", inProgress, 2, done, takes},
		{"completions and others without writes", inProgress, 2, done, swap(completion(charged))},
		{"completions and releases", inProgress, 2, done, remove()},
		{"completions and a renewal", inProgress, racers, swap(renewal), done},
		{"releases and takeovers", inProgress, 2, remove(), takes},
		{"start marks of one step", inProgress, 1, mark, mark},
		{"a step and releases", inProgress, 8, step, remove()},
		{"releases", inProgress, 1, remove(), remove()},
	} {
		checks = append(checks, check{"of " + r.name + " has one winner", func(p *probe) {
			for range raceRounds {
				p.begin(r.held).oneWins(r)
			}
		}, r.first.completes || r.second.completes})
	}
	return checks
}

// oneWins makes all calls at the same time. It sees that one is done, and that the others report
// its record.
func (k *kept) oneWins(r race) {
	k.t.Helper()
	var (
		group   sync.WaitGroup
		start   = make(chan struct{})
		ctx     = k.t.Context()
		made    = make([]call, racers)
		answers = make([]answer, racers)
		errs    = make([]error, racers)
	)
	for i, n := range rand.Perm(racers) { // or the last to be started would often be the first to run
		t := r.second
		if n%r.n == 0 {
			t = r.first
		}
		made[i] = k.call(t)
		group.Go(func() {
			<-start
			answers[i], errs[i] = made[i].make(ctx, k.store)
		})
	}
	close(start)
	group.Wait()

	winner := -1
	for n, a := range answers {
		k.noError(string(made[n].Op), errs[n])
		if a.done && winner >= 0 {
			k.t.Fatalf("two calls won:\n%s\nand\n%s", made[winner], made[n])
		}
		if a.done {
			winner = n
		}
	}
	if winner < 0 {
		k.t.Fatalf("no call won:\n%s", made[0])
	}
	k.register, _ = k.apply(made[winner])
	k.holds()
	k.commits.settle(k.probe, made[winner], true)
	for n, a := range answers {
		k.commits.settle(k.probe, made[n], false)
		if n == winner || made[n].Op == calls.Delete {
			continue
		}
		if d := difference(k.record, k.whole(a.record)); d != "" {
			k.t.Fatalf("a loser was shown another record than that of the winner:\n%s", d)
		}
	}
}
