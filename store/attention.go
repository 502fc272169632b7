package store

import (
	"hash/fnv"
	"strconv"
	"time"
)

// ReleasedWait is after how long a record that was released with steps is overdue, see
// [Record.AttentionAt]. Until then its client is expected to retry.
const ReleasedWait = time.Hour

// AttentionShards is over how many values of [Record.Attention] the records of one operation are
// spread, so that an index by it has no hot partition.
const AttentionShards = 10

// AttentionOf returns the attention of a record with this key that somebody has to settle: the
// operation, #, and a shard. It depends on the key alone.
func AttentionOf(key string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return AttentionShard(operationOf(key), int(h.Sum32()%AttentionShards))
}

// GivenUpOf returns the attention of a record with this key that is given up: a reconciliation has
// asked about it without an answer so often that it does so no more. A person has to settle it.
func GivenUpOf(key string) string { return GivenUp(operationOf(key)) }

// GivenUp returns the attention of the records that are given up of an operation.
func GivenUp(operation string) string { return operation + "#given-up" }

// GivenUp reports whether no reconciliation asks about the record any more.
func (r Record) GivenUp() bool { return r.Attention != "" && r.Attention == GivenUpOf(r.Key) }

// AttentionShard returns the attention of a shard of an operation, from 0 to [AttentionShards] - 1.
func AttentionShard(operation string, shard int) string { return operation + "#" + strconv.Itoa(shard) }
