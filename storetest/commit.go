package storetest

import (
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"slices"

	"github.com/go-idempotent/idempotent/internal/testkit/calls"
	"github.com/go-idempotent/idempotent/store"
)

// commits makes commits in the place of completions, and counts their rows.
type commits struct {
	features *Writes
	// taken is a row that is there; its condition is that it is not. shared is one that several
	// commits add to.
	taken, shared Row
	// written is how often the rows that were written are.
	written map[string]int
	// refusals counts the commits that a record should refuse.
	refusals int
}

// rowKind is a kind of row that a commit writes.
type rowKind int

const (
	added  rowKind = iota // one that no other call writes
	made                  // likewise, with the condition that it is not there
	taken                 // one whose condition does not hold
	shared                // one that others write, too
)

// committing is a check in which completions are commits. It is skipped if the suite cannot write
// rows of the store.
func committing(run func(p *probe)) func(p *probe) {
	return func(p *probe) {
		if p.features.Writes == nil {
			p.t.Skipf("Features.Writes: the suite has no writes that the store could commit")
		}
		p.commits = &commits{
			features: p.features.Writes, taken: Row{rand.Text(), true}, shared: Row{Name: rand.Text()},
			written: make(map[string]int),
		}
		p.begin(nil).play(apply(taken))
		run(p)
	}
}

// committed are checks about commits alone.
func committed(checks ...check) []check {
	for i := range checks {
		checks[i].run, checks[i].completes = committing(checks[i].run), false
	}
	return checks
}

// apply applies writes alone.
func apply(rows ...rowKind) turn {
	return turn{instead: func(k *kept) {
		c := k.commits.with(call{Call: calls.Call{Op: calls.Apply}}, rows)
		k.do(c, c.declines)
	}}
}

// instead returns the commit of what a swap would complete. Every other one that the record should
// refuse has a write that would refuse, too: the record comes first.
func (m *commits) instead(c call, rows []rowKind, refused bool) call {
	if rows == nil {
		rows = []rowKind{added, made, added}
		if refused {
			if m.refusals++; m.refusals%2 == 0 {
				rows[1] = taken
			}
		}
	}
	c.Op = calls.Commit
	// no two commits have the same seal
	c.Next.Seal = store.CommitSeal(c.Next.Owner, c.Next.Result, 1+mathrand.IntN(1<<30))
	return m.with(c, rows)
}

// with gives a call rows to write.
func (m *commits) with(c call, rows []rowKind) call {
	c.Token = rand.Text()
	for _, kind := range rows {
		switch kind {
		case added, made:
			c.rows = append(c.rows, Row{"storetest#" + rand.Text(), kind == made})
		case taken:
			c.declines = c.declines || m.written[m.taken.Name] > 0
			c.rows = append(c.rows, m.taken)
		case shared:
			c.rows = append(c.rows, m.shared)
		}
	}
	c.Writes = m.features.Of(c.rows...)
	return c
}

// settle sees how often the rows of a call are written after it.
func (m *commits) settle(p *probe, c call, done bool) {
	p.t.Helper()
	for n, r := range c.rows {
		if done {
			m.written[r.Name]++
		}
		got, err := m.features.Count(p.t.Context(), p.store, r.Name)
		p.noError("Writes.Count", err)
		if want := m.written[r.Name]; got != want {
			p.t.Fatalf("%s\nrow %d of %d was written %d times, want %d", c, n+1, len(c.rows), got, want)
		}
	}
}

// commitChecks are about what only commits have: writes, and a token.
func commitChecks() []check {
	many := make([]rowKind, 50)
	for n := range many {
		many[n] = rowKind(n % 2) // added and made
	}
	declined := func(rows ...rowKind) turn { return complete(large).by(blindly).writing(rows...).refused() }
	nothing := []turn{
		declined(taken), declined(taken, added), declined(added, taken),
		declined(added, made, taken, added),
	}
	return append(committed(
		says("without writes completes a record", from(inProgress, complete(charged).writing())),
		says("applies many writes", from(inProgress, complete(charged).writing(many...))),
		says("adds to rows that are there", slices.Repeat(from(inProgress, complete(charged).writing(shared)), 3)),
		says("whose write refuses does nothing, wherever that stands", from(inProgress, nothing...)),
		says(
			"several of whose writes refuse does nothing",
			from(inProgress, declined(taken), turn{instead: severalDecline}),
		),
		says("whose write refuses leaves steps and results alone",
			from(inProgress, steps(stepsOf{charge: value(charged), mail: value(large)}), declined(added, taken)),
			from(completed, complete(large), declined(added, taken)),
		),
		says("whose write refuses leaves the record to its owner",
			from(inProgress, declined(added, taken), swap(renewal), declined(added, taken),
				steps(stepsOf{charge: value(charged)}), declined(added, taken), complete(other).by(blindly)),
			from(inProgress, declined(added, taken), swap(completion(text(`{"error":"taken"}`)))),
			from(inProgress, declined(added, taken), remove()),
		),
		says("repeated with its token writes nothing again",
			from(inProgress, repeated(charged)), from(inProgress, repeated(large)),
		),
		says("repeated after its record is gone writes nothing again", from(inProgress, repeated(charged, remove()))),
		says("alone applies the writes", from(nil, apply(added, made, shared, added), apply(shared))),
		says("alone without writes does nothing", from(nil, apply())),
		says(
			"alone with a write that refuses does nothing",
			from(nil, apply(taken), apply(taken, added), apply(added, taken)),
		),
	), check{"refuses writes of another kind, and does nothing", commitsNothingStrange, false})
}

// severalDecline has two writes that refuse.
func severalDecline(k *kept) {
	c := k.call(complete(charged).writing(made, taken))
	alone := c
	alone.Op, alone.rows, alone.declines, alone.Token = calls.Apply, c.rows[:1], false, rand.Text()
	alone.Writes = k.commits.features.Of(alone.rows...)
	k.do(alone, false)
	k.do(c, true)
}

// repeated commits a result, and makes the same call again, after the turns. If the store does not
// recognise it, the record tells, while there is one.
func repeated(of result, then ...turn) turn {
	return turn{instead: func(k *kept) {
		k.play(complete(of))
		c := k.before
		k.play(then...)
		for range 3 {
			got, err := c.make(k.t.Context(), k.store)
			k.noError("Commit that was repeated", err)
			if k.held && !got.done && (got.declined || !equal(k.whole(got.record), k.record)) {
				k.t.Fatalf("a commit that was repeated is answered %s\nwant its own record, or that it was done", got)
			}
			k.holds()
			k.commits.settle(k.probe, c, false)
		}
	}}
}

// strange are writes of no store.
type strange struct{}

func (strange) Len() int { return 1 }

func commitsNothingStrange(p *probe) {
	committer, err := store.CommitterOf(p.store)
	if errors.Is(err, store.ErrNoCommit) {
		p.t.Skipf("%T is no Committer", p.store)
	}
	k := p.begin(inProgress)
	done := k.last
	completion(charged)(p, &done)
	_, committed, err := committer.Commit(p.t.Context(), k.last, done, strange{}, rand.Text())
	if committed || !errors.Is(err, store.ErrNoCommit) {
		p.t.Fatalf("Commit of writes of another kind reports %t and %v, not ErrNoCommit", committed, err)
	}
	k.holds()
	if err := committer.Apply(p.t.Context(), strange{}, rand.Text()); !errors.Is(err, store.ErrNoCommit) {
		p.t.Fatalf("Apply of writes of another kind reports %v, not ErrNoCommit", err)
	}
}
