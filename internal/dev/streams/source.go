package streams

import (
	"context"
	"encoding/json"
	"errors"
)

// Source is a stream that a pump reads. It is safe for concurrent use.
type Source interface {
	// Shards returns all shards that there are.
	Shards(ctx context.Context) ([]Shard, error)
	// Iterator returns an iterator of a shard: behind a record, or at a position if the sequence number is empty.
	Iterator(ctx context.Context, shard string, from Position, after string) (*string, error)
	// Records returns what follows, and the next iterator, which is nil at the end of a shard that is closed. The error is
	// [ErrIteratorExpired] or [ErrTrimmed] where one of these is meant.
	Records(ctx context.Context, shard string, iterator *string) (records []Record, next *string, err error)
}

// Shard is one of a stream.
type Shard struct {
	ID string
	// Parents are those that it continues. They are read before.
	Parents []string
}

// Record is one of a stream, as an event has it: Text is JSON.
type Record struct {
	SequenceNumber string
	Text           json.RawMessage
}

var (
	// ErrIteratorExpired is returned when an iterator is too old to read with.
	ErrIteratorExpired = errors.New("streams: the iterator has expired")
	// ErrTrimmed is returned when the record that an iterator points at is not kept any more.
	ErrTrimmed = errors.New("streams: the record of the iterator is gone")
)
