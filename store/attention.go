package store

import (
	"hash/fnv"
	"strconv"
	"time"
)

// ReleasedWait is after how long a record that was released with steps is overdue, see
// [Record.AttentionAt]. Until then its client is expected to retry.
const ReleasedWait = time.Hour

// attentionShards is over how many values of [Record.Attention] the records of one operation are
// spread, so that an index by it has no hot partition.
const attentionShards = 10

// AttentionOf returns the attention of a record with this key that somebody has to settle: the
// operation, #, and a shard. It depends on the key alone.
func AttentionOf(key string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return attentionShard(operationOf(key), int(h.Sum32()%attentionShards))
}

// GivenUpOf returns the attention of a record with this key that is given up: a reconciliation has
// asked about it without an answer so often that it does so no more. A person has to settle it.
func GivenUpOf(key string) string { return givenUp(operationOf(key)) }

func givenUp(operation string) string { return operation + "#given-up" }

// GivenUp reports whether no reconciliation asks about the record any more.
func (r Record) GivenUp() bool { return r.Attention != "" && r.Attention == GivenUpOf(r.Key) }

// AttentionsOf returns the attentions that records of an operation can have: those of
// [AttentionOf], and that of [GivenUpOf].
func AttentionsOf(operation string) (open []string, done string) {
	open = make([]string, attentionShards)
	for n := range open {
		open[n] = attentionShard(operation, n)
	}
	return open, givenUp(operation)
}

func attentionShard(operation string, shard int) string { return operation + "#" + strconv.Itoa(shard) }
