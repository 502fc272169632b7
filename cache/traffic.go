package cache

import (
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// traffic are the calls for one key that are with the store behind. It is remembered while there is one. What one of them learns
// may be kept only if none of the others can have replaced it meanwhile.
type traffic struct {
	calls int
	// changing are the Swaps, Commits and Deletes among the calls, changes counts those that have begun.
	changing, changes int
	// latest is the latest instant of a claim.
	latest time.Time
}

// kind tells calls apart by what they do to a completed record.
type kind int

const (
	// look is a Get, or a Claim: that replaces nothing which has not expired at its instant.
	look kind = iota
	// change is a Swap, a Commit or a Delete.
	change
)

// call is one of the calls under way.
type call struct {
	*traffic

	key  string
	kind kind
	// claim is the one that this process had when a change began.
	claim claim
	// alone says that no change was under way when the call began, changes is the number with itself.
	alone bool
	begun int
}

// begin notes that a call goes to the store. It has to end. A change takes away what is kept at once: from now on it is
// unknown what is held.
func (s *Store) begin(key string, k kind) call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k != change {
		return s.enter(key, k)
	}
	s.kept.Remove(key)
	c := s.enter(key, k)
	c.claim = s.claims[key]
	delete(s.claims, key)
	return c
}

// claim is who has a record that is in progress, and its lease. A completion leaves the lease as it is without saying it, and
// what is kept has to be what the store holds.
type claim struct {
	owner string
	lease time.Time
}

// note remembers a claim that was written, unless it may have been changed since.
func (s *Store) note(c call, r store.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Status == store.StatusInProgress && c.alone && c.begun == c.changes {
		s.claims[c.key] = claim{r.Owner, r.Lease}
	}
}

// noteAgain remembers the claim that this process had when a change began which is known not to have happened, under the same
// condition.
func (s *Store) noteAgain(c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.claim != (claim{}) && c.alone && c.begun == c.changes {
		s.claims[c.key] = c.claim
	}
}

// lease is that of the record that was seen, zero if it has none or if that is not known.
func (c call) lease(seen store.Record) time.Time {
	if seen.Lease.IsZero() && seen.Owner != "" && seen.Owner == c.claim.owner {
		return c.claim.lease
	}
	return seen.Lease
}

func (s *Store) enter(key string, k kind) call {
	t := s.inside[key]
	if t == nil {
		t = new(traffic)
		s.inside[key] = t
	}
	alone := t.changing == 0
	t.calls++
	if k == change {
		t.changing++
		t.changes++
	}
	return call{traffic: t, key: key, kind: k, alone: alone, begun: t.changes}
}

// undisturbed reports whether a completed record that the call has found is still held, as far as this process goes: no
// Swap, Commit or Delete was under way beside the call, and no claim that may replace the record.
func (c call) undisturbed(r store.Record) bool {
	return c.alone && c.begun == c.changes && !r.Claimable(c.latest)
}

func (s *Store) end(c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.calls--
	if c.kind == change {
		c.changing--
	}
	if c.calls == 0 {
		delete(s.inside, c.key)
	}
}
