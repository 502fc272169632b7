package memory

import (
	"container/heap"
	"time"

	"github.com/go-idempotent/idempotent/store"
)

// dropsPerClaim bounds what a claim that adds a record drops: more than it adds, so that expired
// records become fewer, and no more than a few, so that no single claim pays for thousands.
const dropsPerClaim = 4

// dropExpired drops some of the records whose expiry has passed, the oldest first. A record is
// still kept in the very instant of its expiry.
func (s *Store) dropExpired(now time.Time) {
	for range dropsPerClaim {
		if len(s.expiry) == 0 || !now.After(s.expiry[0].record.Expiry) {
			return
		}
		s.drop(s.expiry[0])
	}
}

// entry is a record and its place in the queue.
type entry struct {
	record store.Record
	place  int
}

// queue is a heap of all entries in which the first is the next to expire.
type queue []*entry

var _ heap.Interface = (*queue)(nil)

func (q *queue) Len() int           { return len(*q) }
func (q *queue) Less(i, j int) bool { return (*q)[i].record.Expiry.Before((*q)[j].record.Expiry) }

func (q *queue) Swap(i, j int) {
	entries := *q
	entries[i], entries[j] = entries[j], entries[i]
	entries[i].place, entries[j].place = i, j
}

func (q *queue) Push(x any) {
	e := x.(*entry) //nolint:forcetypeassert // package heap passes on what add pushes
	e.place = len(*q)
	*q = append(*q, e)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil // or the array would keep the record from being collected
	*q = (*q)[:last]
	return e
}
