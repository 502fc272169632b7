package storetest

import (
	"crypto/rand"
	mathrand "math/rand/v2"
	"time"

	"pgregory.net/rapid"

	"github.com/go-idempotent/idempotent/store"
)

func commitRaceChecks() []check {
	all := commitRaces()
	checks := make([]check, len(all))
	for i, r := range all {
		checks[i] = check{"among " + r.name + " has one winner, and only its writes are there", commits(func(c *committing) {
			for range raceRounds {
				nth := r.prepare(c)
				calls, winner := oneWins(c.probe, nth)
				c.onlyRowsOf(calls, winner)
			}
		})}
	}
	return checks
}

// commitRace is a contest for one key in which some calls are commits.
type commitRace struct {
	name    string
	prepare func(c *committing) func(n int) call
}

func commitRaces() []commitRace {
	// Half of the racers commit, the others do this.
	against := func(other func(held store.Record) func(int) call) func(*committing) func(int) call {
		return func(c *committing) func(int) call {
			held, shared := c.plant(c.inProgress()), row()
			return func(n int) call {
				if n%2 == 0 {
					return c.call(held, completion(held, []byte(`{"id":"ch_1"}`)), shared, row())
				}
				return other(held)(n)
			}
		}
	}
	return []commitRace{
		{"commits of one owner", func(c *committing) func(int) call {
			held, shared := c.plant(c.inProgress()), row()
			return func(int) call { return c.call(held, completion(held, []byte(`{"id":"ch_1"}`)), row(), shared) }
		}},
		{"commits of large results", func(c *committing) func(int) call {
			held, shared := c.plant(c.inProgress()), row()
			return func(int) call { return c.call(held, completion(held, c.large()), row(), shared) }
		}},
		{"commits and takeovers", against(takeovers)},
		{"commits and completions", against(func(held store.Record) func(int) call {
			return func(int) call {
				return call{op: OpSwap, key: held.Key, seen: held, next: completion(held, []byte(`{"id":"ch_1"}`))}
			}
		})},
		{"commits and releases", against(func(held store.Record) func(int) call {
			return func(int) call { return call{op: OpDelete, key: held.Key, seen: held} }
		})},
		{"commits and a renewal", func(c *committing) func(int) call {
			held, shared := c.plant(c.inProgress()), row()
			return func(n int) call {
				if n == 0 {
					return call{op: OpSwap, key: held.Key, seen: held, next: renewal(held)}
				}
				return c.call(held, completion(held, []byte(`{"id":"ch_1"}`)), shared, row())
			}
		}},
	}
}

// call is a commit that a race or a history makes.
func (c *committing) call(seen, next store.Record, rows ...Row) call {
	writes := c.features.Writes.Of(rows...)
	return call{op: OpCommit, key: seen.Key, seen: seen, next: sealed(next), writes: writes, rows: rows, token: rand.Text()}
}

// onlyRowsOf sees that the rows of the winner are written once, and those that only others have not at all.
func (c *committing) onlyRowsOf(calls []call, winner int) {
	c.t.Helper()
	won := make(map[string]bool)
	for _, r := range calls[winner].rows {
		won[r.Name] = true
		c.counts(1, r)
	}
	for _, made := range calls {
		for _, r := range made.rows {
			if !won[r.Name] {
				c.counts(0, r)
			}
		}
	}
}

func commitHistoryChecks() []check {
	return []check{
		{"among other calls is answered as a register answers it", commits(func(c *committing) {
			taken := c.taken()
			rapid.Check(c.t, func(t *rapid.T) {
				in := &committing{c.in(t), c.committer}
				sequence(in.probe, t, in.caller(taken))
			})
		})},
		{"among concurrent calls is linearizable, and the rows of each that was done are there", commits(func(c *committing) {
			taken := c.taken()
			begin := time.Now()
			for n := 0; n < histories && time.Since(begin) < historiesTime; n++ {
				linearizable(c.probe, mathrand.Uint64(), c.caller(taken))
			}
		})},
	}
}

// caller lets callers of a history commit what they would swap for a completed record. Now and then a write of theirs refuses.
func (c *committing) caller(taken Row) *historyCommits {
	return &historyCommits{committing: c, taken: taken}
}

// historyCommits makes the commits of a history.
type historyCommits struct {
	*committing

	taken Row
}

// instead returns the commit that stands in the place of a swap: of each completion, and of half of the others.
func (h *historyCommits) instead(made call, pick func(int) int) call {
	if h == nil || made.op != OpSwap || made.next.Status != store.StatusCompleted && pick(2) == 1 {
		return made
	}
	made.next.Status = store.StatusCompleted
	if made.next.Result == nil {
		made.next.Result = []byte(`"committed"`)
	}
	rows := []Row{row()}
	declines := pick(4) == 3 // rapid prefers small numbers
	if declines {
		rows = append(rows, h.taken)
	}
	commit := h.call(made.seen, made.next, rows...)
	commit.declines = declines
	return commit
}

// check sees that the row of a commit is written if and only if the commit was done.
func (h *historyCommits) check(made call, got answer) {
	if h == nil || made.op != OpCommit {
		return
	}
	h.t.Helper()
	want := 0
	if got.done {
		want = 1
	}
	h.counts(want, made.rows[0])
	h.counts(1, h.taken)
}
