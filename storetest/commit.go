package storetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// Writes is access to the rows that a store writes together with a record, see [store.Committer].
type Writes struct {
	_ struct{} // literals name their fields: more may come

	// Of returns writes of the store's kind, one for each row, in this order. Each adds one to the count of its row, and makes the
	// row if there is none.
	Of func(rows ...Row) store.Writes
	// Count is how often the row of this name was written; zero if there is none.
	Count func(ctx context.Context, s store.Store, name string) (int, error)
}

// Row is what one write of the suite is about.
type Row struct {
	// Name is a random text. No two rows of one commit have the same.
	Name string
	// New is the condition that there is no such row yet.
	New bool
}

func commitChecks() []check {
	return slices.Concat(
		committedChecks(), commitRefusedChecks(), commitSeenChecks(), declinedChecks(), tokenChecks(), commitPartsChecks(), applyChecks(),
		commitContextChecks(), commitRaceChecks(), commitHistoryChecks(),
	)
}

// committing is a probe of a store that commits.
type committing struct {
	*probe

	committer store.Committer
}

// committing skips a check if the suite cannot write rows of the store.
func (p *probe) committing() *committing {
	p.t.Helper()
	if p.features.Writes == nil {
		p.t.Skipf("Features.Writes: the suite has no writes that the store could commit")
	}
	committer, err := store.CommitterOf(p.store)
	p.noError("CommitterOf", err)
	return &committing{p, committer}
}

// commits is a check of a store that commits.
func commits(run func(c *committing)) func(*probe) {
	return func(p *probe) { run(p.committing()) }
}

func committedChecks() []check {
	return []check{
		{"completes a record and applies the writes", commits(func(c *committing) {
			seen := c.plant(c.inProgress())
			c.commits(seen, completion(seen, []byte(`{"id":"ch_1"}`)), row(), fresh(), row())
		})},
		{"without writes completes a record", commits(func(c *committing) {
			seen := c.plant(c.inProgress())
			c.commits(seen, completion(seen, []byte(`{"id":"ch_1"}`)))
		})},
		{"applies many writes", commits(func(c *committing) {
			rows := make([]Row, 50)
			for n := range rows {
				rows[n] = row()
				rows[n].New = n%2 == 0
			}
			seen := c.plant(c.inProgress())
			c.commits(seen, completion(seen, []byte(`{"id":"ch_1"}`)), rows...)
		})},
		{"adds to rows that are there", commits(func(c *committing) {
			shared := row()
			for n := range 3 {
				seen := c.plant(c.inProgress())
				writes := c.features.Writes.Of(shared)
				c.commit(seen, sealed(completion(seen, []byte(`{"id":"ch_1"}`))), writes, rand.Text())
				c.counts(n+1, shared)
			}
		})},
		{"keeps the held lease if next has none", commits(commitKeepsLease)},
		{"clears the fields that become zero", commits(func(c *committing) {
			seen := c.unknown()
			seen.SettledBy, seen.SettledAt, seen.SettledReason = "dana", c.now, "ticket 4711"
			c.plant(seen)
			next := store.Record{Key: seen.Key, Status: store.StatusCompleted, Owner: seen.Owner, Lease: seen.Lease, Expiry: seen.Expiry}
			c.commits(seen, next, row())
		})},
		{"drops the steps", commits(commitDropsSteps)},
		{"keeps attributes that the store does not know", commits(func(c *committing) {
			seen := c.plant(c.inProgress())
			c.putForeign(seen.Key)
			c.commits(seen, completion(seen, []byte(`{"id":"ch_1"}`)), row())
			c.hasForeign(seen.Key, true)
		})},
		{"is followed by a claim when the record has expired", commits(func(c *committing) {
			seen := c.plant(c.inProgress())
			next := completion(seen, []byte(`{"id":"ch_1"}`))
			next.Expiry = c.now.Add(time.Hour)
			c.commits(seen, next, row())
			c.claims(c.rival(seen), next.Expiry)
		})},
		{"handed bytes may change afterwards", commits(func(c *committing) {
			for _, result := range [][]byte{[]byte(`{"id":"ch_1"}`), c.large()} {
				seen := c.plant(c.inProgress())
				writes := c.features.Writes.Of(row())
				next := sealed(completion(seen, bytes.Clone(result)))
				c.commit(seen, next, writes, rand.Text())
				scribble(next.Result)
				next.Result = result
				c.holds(next)
			}
		})},
		{"shows a record whose bytes may change", commits(func(c *committing) {
			handsOutCopies(c.probe, func(held store.Record) store.Record {
				other := c.rival(held)
				writes := c.features.Writes.Of(row())
				r, _, err := c.committer.Commit(c.t.Context(), other, sealed(completion(other, []byte(`{}`))), writes, rand.Text())
				c.noError("Commit", err)
				return r
			})
		})},
		{"keeps text as it was spelled", commits(func(c *committing) { c.keepsLayouts(store.LayoutText, `{"b" : 1.0, "a":[]}`, " hello ") })},
		{"keeps values in canonical form", commits(func(c *committing) {
			c.keepsLayouts(store.LayoutValue, values()...)
		})},
		{"keeps results as they were spelled", commits(func(c *committing) { c.keepsLayouts(store.LayoutNative, spellings()...) })},
	}
}

// row is a row that no other check writes.
func row() Row { return Row{Name: "storetest#" + rand.Text()} }

// fresh is one that must not be there.
func fresh() Row { return Row{Name: row().Name, New: true} }

// sealed is a completed record with the seal of a commit of its owner, whichever: no two are the same.
func sealed(next store.Record) store.Record {
	next.Seal = store.CommitSeal(next.Owner, next.Result, 1+mathrand.IntN(1<<30))
	return next
}

// commits commits next with these rows. It sees that both have happened, by every way to read the record.
func (c *committing) commits(seen, next store.Record, rows ...Row) store.Record {
	c.t.Helper()
	writes := c.features.Writes.Of(rows...)
	next = sealed(next)
	c.commit(seen, next, writes, rand.Text())
	c.counts(1, rows...)
	done := after(seen, next)
	c.holds(done)
	c.claimRefused(c.rival(done), c.now, done)
	c.swapRefused(seen, takeover(seen), done)
	if got := c.whole(c.get(done.Key)); !got.Sealed(got.Result) {
		c.t.Fatalf("the seal does not name the result")
	}
	return done
}

// commit makes a commit that is not refused.
func (c *committing) commit(seen, next store.Record, writes store.Writes, token string) {
	c.t.Helper()
	held, committed, err := c.committer.Commit(c.t.Context(), seen, next, writes, token)
	c.noError("Commit", err)
	if !committed {
		c.t.Fatalf("Commit was refused; seen:\n%s\nreported as held:\n%s", describe(seen), describe(held))
	}
}

// counts sees how often each of the rows was written.
func (c *committing) counts(want int, rows ...Row) {
	c.t.Helper()
	for n, r := range rows {
		got, err := c.features.Writes.Count(c.t.Context(), c.store, r.Name)
		c.noError("Writes.Count", err)
		if got != want {
			c.t.Fatalf("row %d of %d was written %d times, want %d", n+1, len(rows), got, want)
		}
	}
}

func commitKeepsLease(c *committing) {
	for _, result := range [][]byte{[]byte(`{"id":"ch_1"}`), c.large()} {
		seen := c.plant(c.inProgress())
		writes := c.features.Writes.Of(row())
		next := sealed(completion(seen, result))
		next.Lease = time.Time{}
		c.commit(seen, next, writes, rand.Text())
		next.Lease = seen.Lease
		c.holds(next)
	}
}

func commitDropsSteps(c *committing) {
	held := c.plant(c.inProgress())
	held = c.steps(held, map[string]store.Step{
		charge: value(held.Owner, `"a"`), mail: value(held.Owner, string(c.large())), ship: started(held.Owner),
	})
	seen := c.whole(c.get(held.Key))
	c.commits(blindly(seen), stepless(completion(seen, []byte(`{"id":"ch_1"}`))), row())
}

// keepsLayouts commits each of the results in this layout.
func (c *committing) keepsLayouts(layout store.Layout, results ...string) {
	c.t.Helper()
	for _, text := range results {
		result := []byte(text)
		if layout == store.LayoutValue {
			result = canonicalJSON(result)
		}
		seen := c.inProgress()
		seen.Layout = layout
		c.plant(seen)
		c.commits(seen, laidOut(completion(seen, result), layout, result), row())
	}
}

func commitRefusedChecks() []check {
	return []check{
		{"of a key without a record is refused with a zero record, and writes nothing", commits(func(c *committing) {
			seen := c.inProgress()
			c.refusedAbsent(seen)
			c.plant(seen)
			c.deletes(seen)
			c.refusedAbsent(seen)
		})},
		{"by an owner that was taken over writes nothing", commits(func(c *committing) {
			stale := c.plant(c.inProgress())
			held := takeover(stale)
			c.swaps(stale, held)
			c.refused(stale, completion(stale, []byte(`{"id":"ch_2"}`)), held)
			c.refused(stale, completion(stale, c.large()), held)
			done := completion(held, []byte(`{"id":"ch_1"}`))
			c.swaps(held, done)
			c.refused(stale, completion(stale, []byte(`{"id":"ch_2"}`)), done)
		})},
		{"by an owner whose lease was renewed since writes nothing", commits(func(c *committing) {
			seen := c.plant(c.inProgress())
			held := renewal(seen)
			c.swaps(seen, held)
			c.refused(seen, completion(seen, []byte(`{"id":"ch_1"}`)), held)
		})},
		{"by an owner that has completed writes nothing", commits(func(c *committing) {
			seen := c.plant(c.inProgress())
			done := completion(seen, []byte(`{"id":"ch_1"}`))
			done.Lease = seen.Lease // all but the status is as it was seen
			c.swaps(seen, done)
			c.refused(seen, done, done)
		})},
		{"after a commit of the same owner writes nothing", commits(func(c *committing) {
			seen := c.plant(c.inProgress())
			next := completion(seen, []byte(`{"id":"ch_1"}`))
			next.Lease = seen.Lease
			done := c.commits(seen, next, row())
			c.refused(seen, next, done)
			c.refused(seen, completion(seen, []byte(`{"id":"ch_2"}`)), done)
		})},
		{"refuses writes of another kind, and does nothing", func(p *probe) {
			committer, err := store.CommitterOf(p.store)
			if errors.Is(err, store.ErrNoCommit) {
				p.t.Skipf("%T is no Committer", p.store)
			}
			seen := p.plant(p.inProgress())
			_, committed, err := committer.Commit(p.t.Context(), seen, sealed(completion(seen, []byte(`{}`))), strange{}, rand.Text())
			if committed || !errors.Is(err, store.ErrNoCommit) {
				p.t.Fatalf("Commit of writes of another kind reported %t and %v, not ErrNoCommit", committed, err)
			}
			p.holds(seen)
			if err := committer.Apply(p.t.Context(), strange{}, rand.Text()); !errors.Is(err, store.ErrNoCommit) {
				p.t.Fatalf("Apply of writes of another kind reported %v, not ErrNoCommit", err)
			}
		}},
	}
}

// strange are writes of no store.
type strange struct{}

func (strange) Len() int { return 1 }

// refused commits next, and sees that held refuses it: it stays, and no row is written. It comes before a write whose own condition does
// not hold.
func (c *committing) refused(seen, next, held store.Record) {
	c.t.Helper()
	taken := c.taken()
	for _, rows := range [][]Row{{row(), fresh()}, {taken}, {row(), taken}} {
		writes := c.features.Writes.Of(rows...)
		got, committed, err := c.committer.Commit(c.t.Context(), seen, sealed(next), writes, rand.Text())
		c.noError("Commit that the record refuses", err)
		if committed {
			c.t.Fatalf("Commit was not refused; seen:\n%s\nheld:\n%s", describe(seen), describe(held))
		}
		c.same("the record that a refused Commit returned", held, got)
		c.holds(held)
		for _, r := range rows {
			if r != taken {
				c.counts(0, r)
			}
		}
	}
	c.counts(1, taken)
}

// taken is a row that is there, with the condition that it is not.
func (c *committing) taken() Row {
	c.t.Helper()
	r := fresh()
	c.noError("Apply", c.committer.Apply(c.t.Context(), c.features.Writes.Of(r), rand.Text()))
	c.counts(1, r)
	return r
}

func (c *committing) refusedAbsent(seen store.Record) {
	c.t.Helper()
	added := row()
	writes := c.features.Writes.Of(added)
	got, committed, err := c.committer.Commit(c.t.Context(), seen, sealed(completion(seen, []byte(`{}`))), writes, rand.Text())
	c.noError("Commit", err)
	if committed {
		c.t.Fatalf("Commit replaced a record that is not held")
	}
	c.same("the record that a refused Commit returned", store.Record{}, got)
	c.absent(seen.Key)
	c.counts(0, added)
}

// commitSeenChecks is the comparison of Swap and Delete for commits.
func commitSeenChecks() []check {
	same, other := matching(), differing()
	checks := make([]check, 0, len(same)+len(other))
	for _, s := range same {
		checks = append(checks, check{"replaces " + s.name, commits(func(c *committing) {
			held, seen := s.plant(c.probe)
			c.commits(seen, stepless(completion(takeover(held), []byte(`{"id":"ch_2"}`))), row())
		})})
	}
	for _, s := range other {
		checks = append(checks, check{"leaves alone " + s.name, commits(func(c *committing) {
			held, seen := s.plant(c.probe)
			c.refused(seen, stepless(completion(takeover(held), []byte(`{"id":"ch_2"}`))), held)
		})})
	}
	return checks
}

// declinedChecks are commits whose writes refuse.
func declinedChecks() []check {
	return []check{
		{"whose write refuses does nothing, wherever that stands", commits(func(c *committing) {
			taken := c.taken()
			for _, rows := range [][]Row{{taken}, {taken, row()}, {row(), taken}, {row(), fresh(), taken, row()}} {
				held := c.plant(c.inProgress())
				c.declined(held, held, completion(held, []byte(`{"id":"ch_1"}`)), taken, rows)
			}
		})},
		{"several of whose writes refuse does nothing", commits(func(c *committing) {
			taken, other := c.taken(), c.taken()
			held := c.plant(c.inProgress())
			c.declined(held, held, completion(held, []byte(`{"id":"ch_1"}`)), taken, []Row{taken, other})
			c.counts(1, other)
		})},
		{"whose write refuses leaves steps and results alone", commits(func(c *committing) {
			taken := c.taken()
			held := c.plant(c.inProgress())
			held = c.steps(held, map[string]store.Step{charge: value(held.Owner, `"a"`), mail: value(held.Owner, string(c.large()))})
			c.declined(blindly(held), held, stepless(completion(held, c.large())), taken, []Row{row(), taken})

			done := c.plant(completion(c.inProgress(), c.large()))
			c.declined(done, done, completion(done, c.large()), taken, []Row{row(), taken})
		})},
		{"whose write refuses leaves the record to its owner", commits(func(c *committing) {
			taken := c.taken()
			held := c.plant(c.inProgress())
			decline := func() {
				c.declined(blindly(held), held, stepless(completion(held, []byte(`{"id":"ch_1"}`))), taken, []Row{row(), taken})
			}
			decline()
			held = c.swaps(held, renewal(held))
			decline()
			held = c.steps(held, map[string]store.Step{charge: value(held.Owner, `"a"`)})
			decline()
			c.commits(blindly(held), stepless(completion(held, []byte(`{"id":"ch_2"}`))), row())

			held = c.plant(c.inProgress())
			decline()
			c.swaps(held, completion(held, []byte(`{"error":"taken"}`)))

			held = c.plant(c.inProgress())
			decline()
			c.deletes(held)
		})},
	}
}

// declined commits next with rows, one of which is taken, and sees that nothing happens to the held record and to the rows.
func (c *committing) declined(seen, held, next store.Record, taken Row, rows []Row) {
	c.t.Helper()
	writes := c.features.Writes.Of(rows...)
	_, committed, err := c.committer.Commit(c.t.Context(), seen, sealed(next), writes, rand.Text())
	if committed || !errors.Is(err, store.ErrWritesRefused) {
		c.t.Fatalf("Commit with a write whose condition does not hold reported %t and %v, not ErrWritesRefused", committed, err)
	}
	c.holds(held)
	for _, r := range rows {
		if !r.New {
			c.counts(0, r)
		}
	}
	c.counts(1, taken)
}

func tokenChecks() []check {
	return []check{
		{"repeated with its token writes nothing again", commits(func(c *committing) {
			for _, result := range [][]byte{[]byte(`{"id":"ch_1"}`), c.large()} {
				seen := c.plant(c.inProgress())
				rows := []Row{row(), fresh()}
				writes, token := c.features.Writes.Of(rows...), rand.Text()
				next := sealed(completion(seen, result))
				c.commit(seen, next, writes, token)
				for range 3 {
					held, committed, err := c.committer.Commit(c.t.Context(), seen, next, writes, token)
					c.noError("Commit that was repeated", err)
					if !committed { // it was not recognised; the record tells
						c.same("the record that a repeated Commit returned", next, held)
					}
					c.counts(1, rows...)
					c.holds(next)
				}
			}
		})},
		{"repeated with another token is refused with its own record", commits(func(c *committing) {
			seen := c.plant(c.inProgress())
			rows := []Row{row(), fresh()}
			writes := c.features.Writes.Of(rows...)
			next := sealed(completion(seen, []byte(`{"id":"ch_1"}`)))
			c.commit(seen, next, writes, rand.Text())
			held, committed, err := c.committer.Commit(c.t.Context(), seen, next, writes, rand.Text())
			c.noError("Commit", err)
			if committed {
				c.t.Fatalf("Commit with another token was not refused")
			}
			c.same("the record that a refused Commit returned", next, held)
			c.counts(1, rows...)
		})},
		{"repeated after its record is gone writes nothing again", commits(func(c *committing) {
			seen := c.plant(c.inProgress())
			added := row()
			writes, token := c.features.Writes.Of(added), rand.Text()
			next := sealed(completion(seen, []byte(`{"id":"ch_1"}`)))
			c.commit(seen, next, writes, token)
			c.deletes(next)
			_, _, err := c.committer.Commit(c.t.Context(), seen, next, writes, token)
			c.noError("Commit", err)
			c.counts(1, added)
			c.absent(seen.Key)
		})},
	}
}

func commitPartsChecks() []check {
	sizes := []int{1, 4096, 4097, 350_000, 400<<10 + 1, 1<<20 + 1, largestResult}
	checks := make([]check, 0, len(sizes)+2)
	for _, size := range sizes {
		checks = append(checks, check{fmt.Sprintf("keeps a result of %d bytes", size), commits(func(c *committing) {
			c.fits(size)
			seen := c.plant(c.inProgress())
			c.commits(seen, completion(seen, random(size)), row())
		})})
	}
	return append(checks,
		check{"that is refused does not change the held result", commits(func(c *committing) {
			stale := c.plant(c.inProgress())
			held := takeover(stale)
			c.swaps(stale, held)
			done := c.commits(held, completion(held, c.large()), row())
			c.refused(stale, completion(stale, c.large()), done)
			c.refused(held, completion(held, c.large()), done)
		})},
		check{"replaces a result", commits(func(c *committing) {
			seen := c.plant(completion(c.inProgress(), c.large()))
			done := c.commits(seen, completion(takeover(seen), c.large()), row())
			c.commits(c.get(done.Key), completion(takeover(done), []byte(`{"id":"ch_1"}`)), row())
		})},
	)
}

func applyChecks() []check {
	return []check{
		{"alone applies the writes", commits(func(c *committing) {
			rows := []Row{row(), fresh(), row()}
			c.noError("Apply", c.committer.Apply(c.t.Context(), c.features.Writes.Of(rows...), rand.Text()))
			c.counts(1, rows...)
		})},
		{"alone without writes does nothing", commits(func(c *committing) {
			c.noError("Apply", c.committer.Apply(c.t.Context(), c.features.Writes.Of(), rand.Text()))
		})},
		{"alone with a write that refuses does nothing", commits(func(c *committing) {
			taken := c.taken()
			for _, rows := range [][]Row{{taken}, {taken, row()}, {row(), taken}} {
				err := c.committer.Apply(c.t.Context(), c.features.Writes.Of(rows...), rand.Text())
				if !errors.Is(err, store.ErrWritesRefused) {
					c.t.Fatalf("Apply with a write whose condition does not hold reported %v, not ErrWritesRefused", err)
				}
				for _, r := range rows {
					if r != taken {
						c.counts(0, r)
					}
				}
				c.counts(1, taken)
			}
		})},
	}
}

func commitContextChecks() []check {
	ended := func(name string, end ending) []check {
		return []check{
			{"with a context that " + name + " fails", commits(func(c *committing) {
				seen := c.plant(c.inProgress())
				added := row()
				writes := c.features.Writes.Of(added)
				next := sealed(completion(seen, []byte(`{}`)))
				_, committed, err := c.committer.Commit(end(c.t.Context()), seen, next, writes, rand.Text())
				if committed {
					c.t.Fatalf("Commit with a context that has ended reported true")
				}
				if c.failedUnapplied("Commit", err) {
					c.holds(seen)
					c.counts(0, added)
				}
			})},
			{"alone with a context that " + name + " fails", commits(func(c *committing) {
				added := row()
				err := c.committer.Apply(end(c.t.Context()), c.features.Writes.Of(added), rand.Text())
				if c.failedUnapplied("Apply", err) {
					c.counts(0, added)
				}
			})},
		}
	}
	return slices.Concat(ended("was cancelled", cancelled), ended("is past its deadline", late))
}
