package cache

import (
	"bytes"
	"context"
	"math"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/go-idempotent/idempotent/store"
)

// overhead is what keeping a record costs beside its texts and its result, in bytes: the record itself, its place in the
// order of use and in the index.
const overhead = 576

// leastBytes is the smallest cache: with less it would hold nothing, whatever happens. A record of this module has some 200 bytes of
// texts.
const leastBytes = 1 << 10

// size is what a record counts in bytes.
func size(r store.Record) int {
	texts := len(r.Key) + len(r.Owner) + len(r.Fingerprint) + len(r.Seal) + len(r.Reason) + len(r.Parts) +
		len(r.SettledBy) + len(r.SettledReason) + len(r.Attention)
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

// newKept returns an empty index by key in the order of use. It takes what leaves it off the number of bytes; how many
// records it holds is not limited.
func newKept(total *int) *simplelru.LRU[string, store.Record] {
	kept, err := simplelru.NewLRU(math.MaxInt, func(_ string, r store.Record) { *total -= size(r) })
	if err != nil {
		panic(err) // it is about the number
	}
	return kept
}

// margin is how long before the expiry of a record a cache stops to answer with it: as much as clocks may differ. It is
// the default margin of a handler.
const margin = 2 * time.Second

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
	c = s.enter(key, look)
	if c.latest.Before(now) {
		c.latest = now
	}
	return store.Record{}, false, c
}

// learn keeps what a call has found to be held, if it is completed and nothing can have replaced it since.
func (s *Store) learn(c call, r store.Record) {
	r.Key = c.key // a record is never kept under another key than its own
	if r.Status != store.StatusCompleted || size(r) > s.maxBytes {
		return
	}
	r = copied(r)
	r.Steps, r.StepWrites = nil, 0 // a completion drops them, whatever it was handed
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.undisturbed(r) {
		return
	}
	if held, found := s.kept.Peek(c.key); found && same(held, r) {
		return // perhaps with its result
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
