package cache

import (
	"bytes"
	"context"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// overhead is what keeping a record costs beside its texts and its result, in bytes: the record itself, its place in the
// order of use and in the index.
const overhead = 640

// leastBytes is the smallest cache: with less it would hold nothing, whatever happens. A record of this module has some 200 bytes of
// texts.
const leastBytes = 1 << 10

// size is what a record counts in bytes.
func size(r store.Record) int {
	texts := len(r.Key) + len(r.Owner) + len(r.Fingerprint) + len(r.Seal) + len(r.Reason) + len(r.Parts) +
		len(r.SettledBy) + len(r.SettledReason) + len(r.Attention) + len(r.Trace) + len(r.Story)
	for _, name := range r.Derived {
		texts += len(name) + 16
	}
	return overhead + allocated(texts) + allocated(len(r.Result))
}

// allocated is what the allocator of Go takes for n bytes, at most: it rounds up by an eighth, and more than 32 KiB to whole
// pages.
func allocated(n int) int {
	const page = 8 << 10
	if n > 4*page {
		return (n + page - 1) / page * page
	}
	return n + n/8
}

// margin is how long before the expiry of a record a cache stops to answer with it: as much as clocks may differ. It is
// the default margin of a handler.
const margin = 2 * time.Second

func (s *Store) forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Remove(key)
}

// put keeps a record that fits, in place of the one under its key. The mutex is held.
func (s *Store) put(r store.Record) {
	s.kept.Remove(r.Key)
	n := size(r)
	for s.bytes+n > s.maxBytes {
		s.kept.RemoveOldest()
	}
	s.kept.Add(r.Key, r)
	s.bytes += n
}

// traffic are the calls for one key that are with the store behind. It is remembered while there is one.
type traffic struct {
	calls int
	// changing are the Swaps, Commits and Deletes among the calls, changes counts those that have begun.
	changing, changes int
	// latest is the latest instant of a claim.
	latest time.Time
}

// call is one of them. What a claim learns may be kept only if nothing can have replaced it meanwhile: no change was under way
// when the claim began, changes is the number since, and no other claim may replace it.
type call struct {
	*traffic

	key     string
	changes int
	changer bool
}

// find returns the record that refuses a claim at this instant. If none is kept, the claim begins.
func (s *Store) find(ctx context.Context, key string, now time.Time) (r store.Record, found bool, c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found = s.kept.Get(key)
	refuses := found && !r.Claimable(now.Add(margin))
	if refuses && ctx.Err() == nil {
		return r, true, call{}
	}
	if !refuses {
		s.kept.Remove(key)
	}
	c = s.begin(key)
	if c.latest.Before(now) {
		c.latest = now
	}
	return store.Record{}, false, c
}

// change begins a call that may replace the record. What is kept goes at once: from now on it is unknown what is held.
func (s *Store) change(key string) call {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Remove(key)
	c := s.begin(key)
	c.changing++
	c.traffic.changes++
	c.changer = true
	return c
}

// begin notes that a call goes to the store. It has to end. The mutex is held.
func (s *Store) begin(key string) call {
	t := s.inside[key]
	if t == nil {
		t = new(traffic)
		s.inside[key] = t
	}
	t.calls++
	c := call{traffic: t, key: key, changes: t.changes}
	if t.changing > 0 {
		c.changes = -1 // it learns nothing
	}
	return c
}

func (s *Store) end(c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.calls--
	if c.changer {
		c.changing--
	}
	if c.calls == 0 {
		delete(s.inside, c.key)
	}
}

// learn keeps the completed record that has refused a claim, if nothing can have replaced it since.
func (s *Store) learn(c call, r store.Record) {
	if r.Status != store.StatusCompleted || size(r) > s.maxBytes {
		return
	}
	r.Result = bytes.Clone(r.Result)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.changes != c.traffic.changes || r.Claimable(c.latest) {
		return
	}
	s.put(r)
}

// peek returns the record that is kept, if it is r.
func (s *Store) peek(r store.Record) (held store.Record, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, found = s.kept.Peek(r.Key)
	return held, found && same(held, r)
}

// learnResult gives the record that is kept, if it is r, its result in place of the parts.
func (s *Store) learnResult(r store.Record, result []byte) {
	if len(result) > s.maxBytes {
		return
	}
	result = bytes.Clone(result)
	s.mu.Lock()
	defer s.mu.Unlock()
	held, found := s.kept.Peek(r.Key)
	if !found || !same(held, r) {
		return
	}
	held.Result, held.Parts = result, ""
	if size(held) <= s.maxBytes {
		s.put(held)
	}
}

// same reports whether two completed records hold the same result of the same claim.
func same(a, b store.Record) bool { return a.Seal != "" && a.Seal == b.Seal }
