package cache

import (
	"bytes"
	"hash/maphash"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/go-idempotent/idempotent/store"
)

const (
	// overhead is what keeping a record costs beside its texts and its result, in bytes: the record
	// itself, its place in the order of use and in the index.
	overhead = 640
	// leastBytes is the smallest cache: with less it would hold nothing, whatever happens. A record
	// of this module has some 200 bytes of texts.
	leastBytes = 1 << 10
	// margin is how long before the expiry of a record a cache stops to answer with it: as much as
	// clocks may differ. It is the default margin of a handler.
	margin = 2 * time.Second
)

// size is what a record counts in bytes. The allocator of Go takes up to a quarter more than a text
// or a result has.
func size(r store.Record) int {
	n := len(r.Result) + 16*len(r.Derived)
	for _, text := range append([]string{
		r.Key, r.Owner, r.Fingerprint, r.Seal, r.Reason, r.Parts, r.SettledBy, r.SettledReason, r.Attention, r.Trace,
		r.Story,
	}, r.Derived...) {
		n += len(text)
	}
	return overhead + n + n/4
}

// records are those that a cache keeps.
type records struct {
	maxBytes int
	seed     maphash.Seed

	mu      sync.Mutex
	bytes   int // of what is kept
	kept    *simplelru.LRU[string, store.Record]
	changes [64]changes
}

// changes are the calls that may replace records: how many have begun, and how many of them run.
// Keys share them, by their hash: a change of another key can keep a claim from learning, and
// nothing else.
type changes struct{ begun, running uint32 }

func (s *records) of(key string) *changes {
	return &s.changes[maphash.String(s.seed, key)%uint64(len(s.changes))]
}

// find returns the record that refuses a claim at this instant, if it is kept, and the changes
// before the claim.
func (s *records) find(key string, now time.Time) (r store.Record, found bool, before changes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, found = s.kept.Get(key)
	if found && r.Claimable(now.Add(margin)) {
		s.kept.Remove(key)
		found = false
	}
	return r, found, *s.of(key)
}

// learn keeps the completed record that has refused a claim, if nothing can have replaced it since.
func (s *records) learn(r store.Record, before changes) {
	if r.Status != store.StatusCompleted {
		return
	}
	r.Result = bytes.Clone(r.Result)
	s.mu.Lock()
	defer s.mu.Unlock()
	if before.running == 0 && before == *s.of(r.Key) && !s.kept.Contains(r.Key) {
		s.put(r)
	}
}

// put keeps a record if it fits, in place of the one under its key. The mutex is held.
func (s *records) put(r store.Record) {
	n := size(r)
	if n > s.maxBytes {
		return
	}
	s.kept.Remove(r.Key)
	for s.bytes+n > s.maxBytes {
		s.kept.RemoveOldest()
	}
	s.kept.Add(r.Key, r)
	s.bytes += n
}

// change begins a call that may replace the record, and returns what ends it. What is kept goes at
// once: until then nobody knows what is held.
func (s *records) change(key string) (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept.Remove(key)
	c := s.of(key)
	c.begun++
	c.running++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.running--
	}
}

// withResult is the record that is kept, if it holds the result of the same claim as r. With read
// it gets that result in place of the parts.
func (s *records) withResult(r store.Record, read []byte) (held store.Record, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, found = s.kept.Peek(r.Key)
	found = found && r.Seal != "" && held.Seal == r.Seal
	if found && read != nil {
		held.Result, held.Parts = bytes.Clone(read), ""
		s.put(held)
	}
	return held, found
}
